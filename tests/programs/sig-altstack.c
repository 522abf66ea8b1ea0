/* Proves: stack overflow handled on the program's own alternate stack, and faults that a handler repairs, replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static volatile uint32_t pot[8];
static __thread sigjmp_buf back;
static __thread char *page;
static __thread char alt[32768];
static __thread volatile int deep;

static void on_segv(int sig, siginfo_t *info, void *context) {
    char here;
    ucontext_t *u = (ucontext_t *)context;
    pot[1] += (uint32_t)sig;
    if (page && (char *)info->si_addr >= page && (char *)info->si_addr < page + 4096) {
        mprotect(page, 4096, PROT_READ | PROT_WRITE); /* and the access is done again */
        return;
    }
    stack_t now;
    sigaltstack(NULL, &now);
    pot[2] += now.ss_flags == SS_ONSTACK && &here >= alt && &here < alt + sizeof alt;
    pot[3] += u->uc_mcontext.gregs[REG_RSP] != 0;
    siglongjmp(back, 1);
}
static void on_ill(int sig, siginfo_t *info, void *context) {
    ucontext_t *u = (ucontext_t *)context;
    pot[4] += (uint32_t)sig + (info->si_addr == (void *)u->uc_mcontext.gregs[REG_RIP]);
    u->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

static NOINLINE uint64_t overflow(uint64_t h) {
    volatile char big[4096];
    big[h % 4096] = (char)h;
    deep++;
    uint64_t r = overflow(mix(h, (uint64_t)big[(h + 1) % 4096] * 0));
    return r + (uint64_t)big[h % 4096];
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    stack_t s, old;
    memset(&s, 0, sizeof s);
    s.ss_sp = alt;
    s.ss_size = sizeof alt;
    int r = sigaltstack(&s, &old);
    h = mix(h, (uint64_t)(r + old.ss_flags));
    page = (char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (volatile long i = 0; i < rounds; i++) {
        if (i % 10 == 0) {
            deep = 0;
            if (!sigsetjmp(back, 1)) h = overflow(h);
            h = mix(h, (uint64_t)deep);
        }
        mprotect(page, 4096, PROT_READ);
        ((volatile char *)page)[h % 4096] += (char)h;
        __asm__ volatile("ud2");
        h = mix(h, (uint64_t)(unsigned char)page[h % 4096] + pot[h % 8]++);
    }
    munmap(page, 4096);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 50);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_segv;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &a, NULL);
    a.sa_sigaction = on_ill;
    sigaction(SIGILL, &a, NULL);
    return finish(mix(together(cook), pot[2] + pot[3]));
}
