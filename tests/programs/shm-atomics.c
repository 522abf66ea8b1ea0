/* Proves: atomic operations of every kind and size on memory that two processes share are atomic between them while they are
 * recorded, and replay with the same results. */
// FLAGS: -mcx16
// RUN: %rr %s %t
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 600
typedef unsigned __int128 u128;
#define SIZES(X) X(8) X(16) X(32) X(64)
#define MIN(n) (-1 - (int64_t)((1ull << (n - 1)) - 1))

static struct shared {
#define X(n)                                                                                                           \
    uint##n##_t add##n, sub##n, xor##n, and##n, or##n, nand##n, umax##n, umin##n, cas##n, swap##n;                     \
    int##n##_t max##n, min##n;
    SIZES(X)
#undef X
    void *pointer;
    _Alignas(16) u128 wide, plain;
    int ready;
} *s;

static uint64_t results[2];

static void *work(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, h = me + 1;
    u128 old;
    __atomic_fetch_add(&s->ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&s->ready, __ATOMIC_RELAXED) < 4) usleep(1);
    for (uint64_t i = 0; i < ROUNDS; i++) {
#define X(n)                                                                                                           \
        h = h * 31 + __atomic_fetch_add(&s->add##n, (uint##n##_t)(me + 1), __ATOMIC_SEQ_CST);                          \
        h = h * 31 + __atomic_fetch_sub(&s->sub##n, (uint##n##_t)(me + 1), __ATOMIC_SEQ_CST);                          \
        h = h * 31 + __atomic_xor_fetch(&s->xor##n, (uint##n##_t)(1u << me), __ATOMIC_SEQ_CST);                        \
        h = h * 31 + __atomic_and_fetch(&s->and##n, (uint##n##_t)~(1ull << i % 4), __ATOMIC_SEQ_CST);                    \
        h = h * 31 + __atomic_fetch_or(&s->or##n, (uint##n##_t)(1u << me), __ATOMIC_SEQ_CST);                          \
        h = h * 31 + __atomic_nand_fetch(&s->nand##n, (uint##n##_t)h, __ATOMIC_SEQ_CST);                               \
        h = h * 31 + (uint64_t)__atomic_fetch_max(&s->max##n, (int##n##_t)((int64_t)(i % 50) - 25), __ATOMIC_SEQ_CST); \
        h = h * 31 + (uint64_t)__atomic_fetch_min(&s->min##n, (int##n##_t)(25 - (int64_t)(i % 50)), __ATOMIC_SEQ_CST); \
        h = h * 31 + __atomic_fetch_max(&s->umax##n, (uint##n##_t)(200 + i % 50), __ATOMIC_SEQ_CST);                   \
        h = h * 31 + __atomic_fetch_min(&s->umin##n, (uint##n##_t)(200 - i % 50), __ATOMIC_SEQ_CST);                   \
        h = h * 31 + __atomic_exchange_n(&s->swap##n, (uint##n##_t)h, __ATOMIC_SEQ_CST);                               \
        uint##n##_t seen##n = __atomic_load_n(&s->cas##n, __ATOMIC_RELAXED);                                           \
        while (!__atomic_compare_exchange_n(&s->cas##n, &seen##n, (uint##n##_t)(seen##n + 1), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) h++;
        SIZES(X)
#undef X
        h += (uintptr_t)__atomic_exchange_n(&s->pointer, (void *)(uintptr_t)h, __ATOMIC_SEQ_CST);
        old = s->wide; /* torn, perhaps */
        while (!__atomic_compare_exchange_n(&s->wide, &old, ((old >> 64) + 3) << 64 | (uint64_t)((uint64_t)old + 1), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) h++;
        old = __atomic_load_n(&s->plain, __ATOMIC_SEQ_CST);
        if ((uint64_t)(old >> 64) != (uint64_t)old * 7) _exit(3);
        h = h * 31 + (uint64_t)old;
        __atomic_store_n(&s->plain, (u128)(h * 7) << 64 | h, __ATOMIC_SEQ_CST);
        if (i % 8 == 0) sched_yield();
    }
    results[me % 2] = h;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
#define X(n) s->umin##n = (uint##n##_t)~0ull, s->min##n = 100, s->max##n = (int##n##_t)MIN(n), s->and##n = (uint##n##_t)~0ull;
    SIZES(X)
#undef X
    pid_t child = fork();
    for (uint64_t i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)((child == 0) * 2 + i));
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    int status;
    if (child && (waitpid(child, &status, 0) != child || status)) return 2;
    printf("%s %016lx %016lx\n", child ? "parent" : "child", (unsigned long)results[0], (unsigned long)results[1]);
    if (!child) return 0;
#define X(n)                                                                                                           \
    if (s->add##n != (uint##n##_t)(ROUNDS * 10) || s->sub##n != (uint##n##_t)(-ROUNDS * 10) || s->xor##n ||             \
        s->and##n != (uint##n##_t)~15ull || s->or##n != 15 || s->max##n != 24 || s->min##n != -24 || s->umax##n != 249 || \
        s->umin##n != 151 || s->cas##n != (uint##n##_t)(ROUNDS * 4))                                                   \
        return n;
    SIZES(X)
#undef X
    return s->wide != ((u128)(ROUNDS * 12) << 64 | (ROUNDS * 4));
}
