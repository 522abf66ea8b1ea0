/* Proves: a breakpoint instruction ends the process with SIGTRAP, as natively, and a handler of the program's sees it. */
// STATUS: 133
// RUN: %rr %s %t
#include "common.h"
#include <signal.h>
#include <ucontext.h>

static volatile int handled;
static void on_trap(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)info;
    handled = *(unsigned char *)(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - 1) == 0xcc;
}

static void *work(void *p) {
    struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &sa, NULL);
    __asm__ volatile("int3");
    printf("handled %d\n", handled);
    fflush(stdout);
    signal(SIGTRAP, SIG_DFL);
    __asm__ volatile("int3");
    printf("alive\n");
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
