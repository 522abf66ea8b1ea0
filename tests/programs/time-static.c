/* Proves: the one result that localtime, gmtime, asctime and ctime share between threads is ordered memory. */
// RUN: %rr %s %t -r 6
// SOAK: 2 4
#include "common.h"
#include <time.h>

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        time_t t = i * 100000 * (me + 1);
        struct tm *p = localtime(&t);
        h = mix(h, (uint64_t)(p->tm_sec + p->tm_hour * 60));
        p = gmtime(&t);
        h = mix(h, (uint64_t)p->tm_min);
        h = mix_bytes(h, ctime(&t), 24);
        h = mix_bytes(h, asctime(p), 24);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    uint64_t h = together(cook);
    time_t t = 1000000000;
    struct tm wrong = {.tm_mon = 12, .tm_wday = -1, .tm_year = 100000}, *p = gmtime(&t);
    if (strcmp(asctime(p), "Sun Sep  9 01:46:40 2001\n") || strcmp(asctime(&wrong), "??? ???  0 00:00:00 101900\n")) return 3;
    return finish(h);
}
