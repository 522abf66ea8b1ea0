/* Proves: destructors of thread-specific data, which race, run in the replay as they did. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"

static pthread_key_t key[3];
static volatile uint32_t pot[8];
static uint64_t last[MAX_THREADS];

struct value {
    int me, again;
    uint64_t h;
};

static void destroy(void *p) {
    struct value *v = (struct value *)p;
    for (int i = 0; i < 20; i++) {
        v->h = mix(v->h, pot[v->h % 8]);
        pot[(v->h >> 5) % 8] += (uint32_t)v->h;
    }
    if (v->again-- > 0) {
        pthread_setspecific(key[v->h % 2], v); /* is destroyed once more */
        return;
    }
    __atomic_fetch_add(&last[v->me], v->h, __ATOMIC_RELAXED);
    free(v);
}

static void *work(void *p) {
    int me = (int)(uintptr_t)p;
    for (int k = 0; k < 3; k++) {
        struct value *v = (struct value *)malloc(sizeof *v);
        v->me = me, v->again = k == 0, v->h = seed_of(me * 3 + k);
        if (pthread_getspecific(key[k])) exit(3);
        pthread_setspecific(key[k], v);
    }
    for (int i = 0; i < 50; i++) pot[i % 8] ^= (uint32_t)(me + i);
    if (me & 1) pthread_exit(NULL);
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 8, 10);
    uint64_t h = 0;
    for (int k = 0; k < 3; k++) pthread_key_create(&key[k], destroy);
    for (long i = 0; i < rounds; i++) {
        pthread_t t[MAX_THREADS];
        for (int k = 0; k < threads; k++) pthread_create(&t[k], NULL, work, (void *)(uintptr_t)k);
        for (int k = 0; k < threads; k++) pthread_join(t[k], NULL);
        for (int k = 0; k < threads; k++) h = mix(h, last[k]);
    }
    pthread_key_delete(key[2]);
    for (int k = 0; k < 8; k++) h = mix(h, pot[k]);
    return finish(h);
}
