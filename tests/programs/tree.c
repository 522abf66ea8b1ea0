/* Proves: 1,000 threads created and joined in a racing tree, up to 200 alive at once, record and replay. */
// RUN: %rr %s %t -r 1
// SOAK: 1000
#include "common.h"

/* THREADS is the number of threads in all. Every thread may start up to three children as long as there are threads
 * left to start and fewer than 200 are alive; who gets them is a race. */
static volatile int left, alive, most;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t pot[16];

static int may_start(void) {
    pthread_mutex_lock(&lock);
    int yes = left > 0 && alive < 200;
    if (yes) {
        left--;
        if (++alive > most) most = alive;
    }
    pthread_mutex_unlock(&lock);
    return yes;
}

static void *grow(void *arg) {
    uint64_t h = (uint64_t)(uintptr_t)arg;
    pthread_t child[3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 5) % 16] += (uint32_t)h;
        if (may_start()) {
            if (pthread_create(&child[n], NULL, grow, (void *)(uintptr_t)(h ^ (uint64_t)i))) exit(3);
            n++;
        }
    }
    for (int i = 0; i < n; i++) {
        void *r;
        pthread_join(child[i], &r);
        h = mix(h, (uintptr_t)r + pot[i]);
    }
    pthread_mutex_lock(&lock);
    alive--;
    pthread_mutex_unlock(&lock);
    return (void *)(uintptr_t)h;
}

int main(int argc, char **argv) {
    int total = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t h = 1;
    left = total;
    while (left > 0) {
        pthread_t t[8];
        int n = 0;
        while (n < 8 && may_start()) {
            if (pthread_create(&t[n], NULL, grow, (void *)(uintptr_t)mix(h, (uint64_t)n))) return 3;
            n++;
        }
        for (int i = 0; i < n; i++) {
            void *r;
            pthread_join(t[i], &r);
            h = mix(h, (uintptr_t)r);
        }
    }
    printf("%d threads, %d alive at once\n", total, most);
    return finish(mix(h, (uint64_t)most));
}
