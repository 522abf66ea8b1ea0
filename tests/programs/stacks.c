/* Proves: stacks given by the program, small ones, and their attributes, work and replay; addresses are the same. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <limits.h>
#include <sys/mman.h>

static volatile uint32_t pot[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *cook(void *p) {
    uint64_t h = seed_of((int)(uintptr_t)p);
    pthread_attr_t a;
    void *base;
    size_t size, guard;
    if (pthread_getattr_np(pthread_self(), &a)) return NULL;
    pthread_attr_getstack(&a, &base, &size);
    pthread_attr_getguardsize(&a, &guard);
    pthread_attr_destroy(&a);
    for (int i = 0; i < 300; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
    }
    pthread_mutex_lock(&lock);
    printf("%d: here %d size %zu guard %zu, %016llx\n", (int)(uintptr_t)p,
           (char *)&h > (char *)base && (char *)&h < (char *)base + size, size, guard, (unsigned long long)h);
    pthread_mutex_unlock(&lock);
    return &pot[h % 8] == NULL ? NULL : (void *)(uintptr_t)h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 6);
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        pthread_t t[MAX_THREADS];
        void *own[MAX_THREADS] = {0};
        for (int k = 0; k < threads; k++) {
            pthread_attr_t a;
            pthread_attr_init(&a);
            if (k % 4 == 0) {
                own[k] = mmap(NULL, 128 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                pthread_attr_setstack(&a, own[k], 128 << 10);
            } else if (k % 4 == 1) pthread_attr_setstacksize(&a, (size_t)PTHREAD_STACK_MIN);
            else if (k % 4 == 2) pthread_attr_setguardsize(&a, 64 << 10), pthread_attr_setstacksize(&a, 1 << 20);
            if (pthread_create(&t[k], &a, cook, (void *)(uintptr_t)k)) return 3;
            pthread_attr_destroy(&a);
        }
        for (int k = 0; k < threads; k++) {
            void *r;
            pthread_join(t[k], &r);
            h = mix(mix(h, (uintptr_t)r), (uintptr_t)own[k]);
            if (own[k]) munmap(own[k], 128 << 10);
        }
    }
    return finish(h);
}
