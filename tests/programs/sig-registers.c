/* Proves: a handler finds what the interrupted thread has in registers: in its context, as natively. Collectors of garbage that stop
 * threads by signals look there for pointers; the registers were zero, and what only a register led to was freed. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <signal.h>

#define MOST 16
static uintptr_t volatile half[MOST][2];
static int ready[MOST], seen[MOST], missed[MOST];
static __thread int number;
static __thread const uintptr_t *base;
static pthread_t thread[MOST];

static void on_usr(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)info;
    int me = number;
    if (!ready[me]) return;
    uintptr_t secret = half[me][0] ^ half[me][1];
    const uintptr_t *p = context;
    while (p < base && *p != secret) p++;
    missed[me] += p == base;
    ready[me] = 0;
    __atomic_add_fetch(&seen[me], 1, __ATOMIC_RELEASE);
}

/* The secret is in a register only. */
static NOINLINE uint64_t spin(int me, int turn) {
    half[me][1] = (uintptr_t)0x5ec0e7 << 20 | (uintptr_t)(turn << 4 | me);
    half[me][0] = 0x1111111100000000;
    uintptr_t secret = half[me][0] ^ half[me][1];
    __asm__ volatile("" : "+r"(secret));
    __atomic_store_n(&ready[me], 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&seen[me], __ATOMIC_ACQUIRE) <= turn) __asm__ volatile("" : "+r"(secret));
    return secret;
}

static void *cook(void *n) {
    uint64_t h = 0;
    int me = (int)(intptr_t)n;
    number = me;
    base = (const uintptr_t *)__builtin_frame_address(0);
    for (int i = 0; i < rounds; i++) h = mix(h, spin(me, i));
    __atomic_store_n(&seen[me], -1, __ATOMIC_RELEASE);
    return (void *)(h & 0xffff);
}

int main(int argc, char **argv) {
    uint64_t h = 0;
    int bad = 0;
    args(argc, argv, 2, 50);
    if (threads > MOST) threads = MOST;
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_usr;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &a, NULL);
    for (intptr_t i = 0; i < threads; i++) pthread_create(&thread[i], NULL, cook, (void *)i);
    for (int left = threads; left;) {
        left = 0;
        for (int i = 0; i < threads; i++) {
            if (__atomic_load_n(&seen[i], __ATOMIC_ACQUIRE) < 0) continue;
            left++;
            if (__atomic_load_n(&ready[i], __ATOMIC_ACQUIRE)) pthread_kill(thread[i], SIGUSR1);
        }
        sched_yield();
    }
    for (int i = 0; i < threads; i++) {
        void *r;
        pthread_join(thread[i], &r);
        h = mix(h, (uint64_t)(uintptr_t)r);
        bad += missed[i];
    }
    if (bad) return printf("%d were not found\n", bad), 1;
    return finish(h);
}
