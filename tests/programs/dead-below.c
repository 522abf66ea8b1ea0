/* Proves: what an operation leaves below the stack pointer is the same in record and replay, one by one. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <time.h>

/* Each line of output is one kind of operation: the first line that differs names the guilty one. */
static volatile uint32_t pot[16];
static volatile int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char shared[256];

static NOINLINE void fill(void) {
    volatile unsigned char g[3000];
    for (int i = 0; i < 3000; i++) g[i] = 0xaa;
}
/* An array that nothing was ever stored to lies where the operation had its frames; volatile keeps the loads. */
static NOINLINE uint64_t below(uint64_t h) {
    volatile unsigned char ground[2800];
    for (int i = 0; i < 2800; i++) h = mix(h, ground[i]);
    return h;
}

static void op_nothing(void) {}
static void op_load(void) { (void)pot[3]; }
static void op_store(void) { pot[5]++; }
static void op_loop(void) {
    for (uint32_t i = 0; i < 64; i++) pot[i % 16] += i;
}
static void op_atomic(void) { __atomic_fetch_add(&pot[7], 1, __ATOMIC_SEQ_CST); }
static void op_memcpy(void) { memcpy(shared, (void *)(shared + 100), (size_t)(pot[1] & 1) + 100); }
static void op_mutex(void) {
    pthread_mutex_lock(&lock);
    pot[0]++;
    pthread_mutex_unlock(&lock);
}
static void op_malloc(void) { free(malloc(100)); }
static void op_malloc_large(void) { free(malloc(300000)); }
static void op_yield(void) { sched_yield(); }
static void op_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
}
static void op_getpid(void) { (void)getpid(); }
static void op_sleep(void) {
    struct timespec t = {0, 1000};
    nanosleep(&t, NULL);
}
static void op_snprintf(void) {
    char text[64];
    snprintf(text, sizeof text, "%d %s", 12345, "text");
}
static void op_getenv(void) { (void)getenv("HOME"); }
static void *empty(void *p) { return p; }
static void op_thread(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, empty, NULL) == 0) pthread_join(t, NULL);
}

#define OPS(X)                                                                                                         \
    X(nothing) X(load) X(store) X(loop) X(atomic) X(memcpy) X(mutex) X(malloc) X(malloc_large) X(yield) X(time)        \
    X(getpid) X(sleep) X(snprintf) X(getenv) X(thread)

static void *disturb(void *p) {
    (void)p;
    for (uint32_t i = 0; !stop; i++) {
        pot[i % 16] += i;
        ((volatile char *)shared)[i % 256]++;
        if (i % 8 == 0) op_mutex();
    }
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 20);
    pthread_t t[MAX_THREADS];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&t[i], NULL, disturb, NULL)) return 3;
#define RUN(name)                                                                                                      \
    {                                                                                                                  \
        uint64_t h = 0;                                                                                                \
        for (long i = 0; i < rounds; i++) fill(), op_##name(), h = below(h);                                           \
        printf("%-12s %016llx\n", #name, (unsigned long long)h);                                                       \
        fflush(stdout);                                                                                                \
    }
    OPS(RUN)
    stop = 1;
    for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
    return 0;
}
