/* Proves: threads race with others that unmap and map the same place: whether an access faults, and what it finds, is the same. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define PLACE ((uint32_t *)0x200000000000)
#define PAGES 4
static __thread sigjmp_buf back;
static void fault(int sig) {
    (void)sig;
    siglongjmp(back, 1);
}

static uint64_t look(uint64_t h, uint32_t r) {
    volatile uint32_t *p = PLACE + r % (PAGES * 1024);
    if (sigsetjmp(back, 1)) return mix(h, 7);
    uint32_t v = *p;
    if (r & 1) *p = v + 1;
    return mix(h, v);
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        if (me & 1) {
            h = look(h, r);
            continue;
        }
        size_t n = 4096u * (1 + r % PAGES);
        void *p = mmap(PLACE, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        h = mix(h, p == PLACE);
        if (p == PLACE) h = look(h, r | 1);
        for (uint32_t k = 0; k < (r >> 8) % 4; k++) h = look(h, rnd(&s));
        h = mix(h, (uint64_t)munmap((char *)PLACE + 4096 * ((r >> 16) % PAGES), n));
    }
    return h;
}

int main(int argc, char **argv) {
    struct sigaction a = {.sa_handler = fault, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &a, NULL);
    args(argc, argv, 4, 400);
    return finish(together(cook));
}
