/* Proves: threads that match with the same regular expression replay: libc allocates memory there, with a lock of its own held. */
// RUN: %rr %s %t -r 4
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

static regex_t expression[8];
static pthread_barrier_t all;
static volatile unsigned pot;

static void *run(void *arg) {
    unsigned h = (unsigned)(size_t)arg;
    char text[64];
    for (int i = 0; i < 8; i++) {
        pthread_barrier_wait(&all);
        for (int k = 0; k < 20; k++) {
            regmatch_t found[3];
            snprintf(text, sizeof text, "x%u-%da%u", h, k, h >> 7);
            int r = regexec(&expression[i], text, 3, found, 0);
            void *p = malloc(100 + 50 * (size_t)k);
            h = h * 31 + (r ? 1 : (unsigned)found[1].rm_eo) + (unsigned)((size_t)p >> 4);
            free(p);
            pot = pot * 31 + h;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t t[4];
    pthread_barrier_init(&all, NULL, 4);
    for (int i = 0; i < 8; i++) regcomp(&expression[i], "([0-9]+)-([0-9]*|[a-f]+)a", REG_EXTENDED);
    for (size_t i = 0; i < 4; i++) pthread_create(t + i, NULL, run, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    printf("%u\n", pot);
    for (int i = 0; i < 8; i++) regfree(&expression[i]);
    return 0;
}
