/* Proves: libc functions with hidden shared state (getenv, strtok, localtime, strerror, rand) replay in order. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <errno.h>
#include <libgen.h>
#include <locale.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t pot[8];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char name[32], text[64];
    for (long i = 0; i < rounds; i++) {
        snprintf(name, sizeof name, "WORD%d", (int)(h % 4));
        snprintf(text, sizeof text, "%d,%ld,,%x;%s", me, i, pot[h % 8], "end");
        pthread_mutex_lock(&lock);
        setenv(name, text, 1);
        char *e = getenv(name);
        h = mix_bytes(h, e, strlen(e));
        if (h % 8 == 0) unsetenv(name);
        for (char *w = strtok(text, ",;"); w; w = strtok(NULL, ",;")) h = mix_bytes(h, w, strlen(w));
        pthread_mutex_unlock(&lock);
        char *save, copy[] = "one two three";
        for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) h = mix(h, strlen(w));
        /* These return a buffer of libc's that all threads share. */
        time_t t = (time_t)(h % 4000000000u);
        pthread_mutex_lock(&lock);
        struct tm *tm = localtime(&t);
        h = mix(h, (uint64_t)(tm->tm_year * 400 + tm->tm_yday));
        h = mix(h, (uint64_t)gmtime(&t)->tm_sec);
        char *a = asctime(localtime(&t));
        h = mix_bytes(h, a, strnlen(a, 26));
        pthread_mutex_unlock(&lock);
        char *m = strerror((int)(h % 100));
        h = mix_bytes(h, m, strlen(m));
        h = mix(h, (uint64_t)rand());
        char path[] = "/some/where/file";
        h = mix(h, strlen(basename(path)) + (uint64_t)atoi("123") + (uint64_t)strtod("1.5e3", NULL));
        pot[(h >> 4) % 8] = (uint32_t)h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 150);
    setlocale(LC_ALL, "C");
    uint64_t h = together(cook);
    return finish(h);
}
