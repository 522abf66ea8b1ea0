/* Proves: 100,000 allocations with frees by other threads give the same pointers in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"

/* Each thread allocates, frees some itself, and leaves the others in its neighbour's basket. */
#define BASKET 64
static struct {
    pthread_mutex_t lock;
    void *item[BASKET];
    int n;
} basket[MAX_THREADS];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    void *mine[32] = {0};
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r % 32;
        size_t n = (r >> 5) % 16 ? 1 + (r >> 9) % 256 : 1 + (r >> 9) % 20000;
        if (r % 7 == 0 && mine[k]) {
            mine[k] = realloc(mine[k], n);
        } else {
            int to = (me + 1 + (int)(r >> 20) % threads) % threads;
            pthread_mutex_lock(&basket[to].lock);
            if (mine[k] && basket[to].n < BASKET) basket[to].item[basket[to].n++] = mine[k], mine[k] = NULL;
            pthread_mutex_unlock(&basket[to].lock);
            free(mine[k]);
            mine[k] = r % 5 ? malloc(n) : r % 10 ? calloc(1, n) : aligned_alloc(64, (n + 63) & ~63ul);
        }
        h = mix(h, (uintptr_t)mine[k]);
        *(unsigned char *)mine[k] = (unsigned char)me;
        if (r % 3 == 0) {
            void *p = NULL;
            pthread_mutex_lock(&basket[me].lock);
            if (basket[me].n) p = basket[me].item[--basket[me].n];
            pthread_mutex_unlock(&basket[me].lock);
            if (p) h = mix(h, *(unsigned char *)p);
            free(p);
        }
    }
    printf("%d: %p\n", me, mine[3]);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 25000);
    for (int i = 0; i < threads; i++) pthread_mutex_init(&basket[i].lock, NULL);
    uint64_t h = together(cook);
    for (int i = 0; i < threads; i++) h = mix(h, (uint64_t)basket[i].n);
    return finish(h);
}
