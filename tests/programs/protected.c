/* Proves: memory that nobody writes any more, but that one thread protects, discards and maps anew while others read it: what they find,
 * a fault or which bytes, is the same in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define SIZE 8192
static const char *page, *discarded;
static __thread sigjmp_buf *back;

static void on_fault(int sig) {
    (void)sig;
    siglongjmp(*back, 1);
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    sigjmp_buf j;
    back = &j;
    for (volatile long i = 0; i < rounds; i++) {
        if (me == 0) {
            if (mprotect((void *)(uintptr_t)page, SIZE, i % 2 ? PROT_READ : PROT_NONE)) abort();
            if (i % 16 == 0 && madvise((void *)(uintptr_t)discarded, SIZE, MADV_DONTNEED)) abort();
            sched_yield();
        }
        if (sigsetjmp(j, 1)) {
            h = mix(h, 99);
            continue;
        }
        h = mix(h, (uint64_t)discarded[h % SIZE]);
        h = mix(h, (uint64_t)page[h % SIZE]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 3000);
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *q = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SIZE; i++) p[i] = (char)i, q[i] = (char)(i * 3);
    page = p;
    discarded = q;
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_fault;
    a.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &a, NULL);
    return finish(together(cook));
}
