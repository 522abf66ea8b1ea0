/* Proves: handlers interrupted by handlers, sa_mask, SA_NODEFER, SA_RESETHAND and longjmp out of them replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>

static volatile uint32_t pot[8];
static volatile uint64_t trace[MAX_THREADS];
static __thread int who, depth, deepest, more;
static __thread sigjmp_buf back;
static __thread volatile int may_jump;

static void note(int sig) {
    trace[who] = mix(trace[who], pot[(uint32_t)sig % 8]++ + (uint32_t)depth);
    if (depth > deepest) deepest = depth;
}
static void outer(int sig) {
    depth++;
    note(sig);
    raise(SIGUSR2); /* runs inside this one */
    errno = 77;
    note(sig + 100);
    depth--;
}
static void inner(int sig) {
    depth++;
    note(sig);
    if (more-- > 0) raise(SIGUSR1); /* masked here: runs after the outer one */
    for (int i = 0; i < 20; i++) note(i);
    depth--;
}
static void again(int sig) { /* SA_NODEFER */
    depth++;
    note(sig);
    if (depth < 4) raise(sig);
    depth--;
}
static void jumper(int sig) {
    note(sig);
    if (may_jump) {
        depth = 0;
        siglongjmp(back, 1);
    }
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    who = me;
    for (volatile long i = 0; i < rounds; i++) {
        if (sigsetjmp(back, 1)) {
            may_jump = 0;
            h = mix(h, pot[5]++);
            continue;
        }
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        errno = 5;
        switch (i % 10) {
        case 1:
            more = 1;
            raise(SIGUSR1);
            break;
        case 4: raise(SIGRTMIN + 1); break;
        case 7:
            may_jump = 1;
            raise(SIGRTMIN + 2);
            break;
        }
        h = mix(mix(h, trace[me]), (uint64_t)errno);
    }
    return mix(h, (uint64_t)deepest);
}

static volatile int once_hits;
static void once(int sig) { once_hits += sig; }

int main(int argc, char **argv) {
    args(argc, argv, 2, 200);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = outer;
    sigaction(SIGUSR1, &a, NULL);
    a.sa_handler = inner;
    sigaddset(&a.sa_mask, SIGUSR1);
    sigaction(SIGUSR2, &a, NULL);
    sigemptyset(&a.sa_mask);
    a.sa_handler = again;
    a.sa_flags = SA_NODEFER;
    sigaction(SIGRTMIN + 1, &a, NULL);
    a.sa_handler = jumper;
    a.sa_flags = 0;
    sigaction(SIGRTMIN + 2, &a, NULL);
    a.sa_handler = once;
    a.sa_flags = SA_RESETHAND;
    sigaction(SIGURG, &a, NULL);
    raise(SIGURG);
    raise(SIGURG); /* ignored by default */
    struct sigaction now;
    sigaction(SIGURG, NULL, &now);
    printf("%d %d\n", once_hits == SIGURG, now.sa_handler == SIG_DFL);
    return finish(together(cook));
}
