/* Proves: memory that a handler of SIGSEGV makes accessible when it is first touched, as collectors of garbage have it, may be touched by
 * memset, memcpy and memmove, in both directions and over several pages: the handler was not called for these, and the recording
 * crashed. Nor was it for SIGBUS, behind the end of a file, with a handler that jumps out. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define PAGES 6
static char *arena;
static volatile uint32_t faults;
static __thread sigjmp_buf *back;
static const char *file;

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    char *page = (char *)((uintptr_t)info->si_addr & ~(PAGE - 1));
    faults += (uint32_t)sig;
    if (sig == SIGBUS) siglongjmp(*back, 1);
    if (page < arena || mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0) _exit(99);
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    char *mine = arena + (size_t)me * PAGES * PAGE, model[PAGES * PAGE];
    sigjmp_buf jump;
    back = &jump;
    memset(model, 0, sizeof model);
    for (volatile long i = 0; i < rounds; i++) {
        size_t n = 1 + h % (3 * PAGE), from = (h >> 16) % (PAGES * PAGE - n), to = (h >> 32) % (PAGES * PAGE - n);
        mprotect(mine, PAGES * PAGE, i & 4 ? PROT_READ : PROT_NONE);
        switch (i % 4) {
        case 0:
            if (memset(mine + to, (int)h & 255, n) != mine + to) return 1;
            memset(model + to, (int)h & 255, n);
            break;
        case 1: /* both ways, with what is there */
            if (memmove(mine + to, mine + from, n) != mine + to) return 2;
            memmove(model + to, model + from, n);
            break;
        case 2:
            if (memcpy(mine + to, model + from, n) != mine + to) return 3;
            memmove(model + to, model + from, n);
            break;
        default: {
            char copy[3 * PAGE + 1];
            if (!sigsetjmp(jump, 1)) memcpy(copy, file + PAGE - n % 100, n);
            else h = mix(h, faults);
        }
        }
        mprotect(mine, PAGES * PAGE, PROT_READ | PROT_WRITE);
        for (size_t k = 0; k < sizeof model; k += 97)
            if (mine[k] != model[k]) return 4;
        h = mix(h, faults + (uint64_t)(unsigned char)mine[to]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 40);
    arena = mmap(NULL, 16 * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *f = tmpfile();
    fputs("one page with some bytes", f);
    fflush(f);
    file = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
    return finish(mix(together(cook), faults));
}
