/* Proves: functions of libc that are called through pointers are ordered as those called by name. */
// RUN: %rr %s %t -r 6
// SOAK: 2 4 8
#include "common.h"

static int (*volatile random_one)(void) = rand;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;
static size_t (*volatile length)(const char *) = strlen;
static int (*volatile new_key)(pthread_key_t *, void (*)(void *)) = pthread_key_create;
static long (*volatile number)(const char *) = atol;
static int (*const compare[2])(const char *, const char *) = {strcmp, strcasecmp};
static volatile char from[64], to[64];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        pthread_key_t k;
        h = mix(h, (uint64_t)random_one());
        copy((void *)to, (void *)from, 63);
        from[i % 60] = (char)('0' + h % 10);
        h = mix_bytes(h, (void *)to, 64);
        if (i % 20 == 0 && new_key(&k, NULL) == 0) h = mix(h, k);
        if (i % 33 == 0) fill((void *)to, (int)h & 63, 60);
        h = mix(mix(h, length((char *)from)), (uint64_t)number((char *)from));
        h = mix(h, (uint64_t)compare[i % 2]((char *)from, (char *)to));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    return finish(together(cook));
}
