/* Proves: what a call of the runtime's leaves in vector registers is the same in the replay: a variadic function with an argument of type double stores
 * eight of them, whatever is in there. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O1
// RUN: %rr %s %t -O3 -march=native
// SOAK: 2 4 8
#include "common.h"
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
static char text[64] = "what lies around in registers";
static uint32_t numbers[40];
static int wire[2];

static NOINLINE double sum(int n, ...) {
    va_list ap;
    double h = 0;
    va_start(ap, n);
    for (int i = 0; i < n; i++) h += va_arg(ap, double);
    va_end(ap);
    return h;
}
static NOINLINE uint64_t dig(uint64_t h) {
    volatile unsigned char ground[600];
    for (int i = 0; i < 600; i++) h = mix(h, ground[i]);
    return h;
}
static int smaller(const void *a, const void *b) { return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : *(const uint32_t *)a > *(const uint32_t *)b; }
static NOINLINE void *nothing(void *p) { return p; }

static NOINLINE uint64_t call(int which, uint64_t h) {
    struct timespec ts = {0, 1000};
    char buf[64];
    pthread_t t;
    switch (which) {
    case 0:
        if (pthread_mutex_trylock(&lock) == 0) pthread_mutex_unlock(&lock);
        break;
    case 1: h = mix(h, (uint64_t)strncmp(text, "what lies elsewhere", 12 + h % 8)); break;
    case 2: memmove(&numbers[h % 5], &numbers[(h >> 8) % 20], 20 + h % 40); break;
    case 3: free(calloc(1 + h % 50, 8)); break;
    case 4: qsort(numbers, 40, 4, smaller); break;
    case 5:
        pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_REALTIME, &ts);
        pthread_cond_timedwait(&nobody, &lock, &ts);
        pthread_mutex_unlock(&lock);
        break;
    case 6: h = mix(h, (uint64_t)write(wire[1], text, 20) + (uint64_t)read(wire[0], buf, 20)); break;
    case 7: nanosleep(&ts, NULL); break;
    case 8: snprintf(buf, sizeof buf, "%.3f %s", (double)(h % 1000), text), h = mix(h, strlen(buf)); break;
    case 9:
        if (pthread_create(&t, NULL, nothing, NULL) == 0) pthread_join(t, NULL);
        break;
    default: text[30 + h % 20] = 'x', h = mix(h, strchr(text, 'y') != NULL);
    }
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = call((int)(h % 11), h);
        h += (uint64_t)sum(1, (double)(h % 7));
        h = dig(h);
        numbers[h % 40] = (uint32_t)h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 150);
    if (pipe(wire)) return 1;
    return finish(together(cook));
}
