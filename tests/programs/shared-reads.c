/* Proves: lines that many threads read, and now and then one of them writes, replay exactly, however they are read: plainly,
 * atomically, across two lines, by libc, by the kernel; by threads that come and go; and over a fork. */
// RUN: %rr %s %t
// RUN: %rr %s %t -- 12
// SOAK: 2 4 8 16 40
#include "common.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define BYTES 16384
static union {
    uint64_t word[BYTES / 8];
    atomic_uint counter[BYTES / 4];
    char text[BYTES];
} m __attribute__((aligned(4096)));
static char *volatile names[64]; /* strings on the heap */

/* Reads at some place in one of many ways, and nearly never writes. */
static NOINLINE uint64_t look(uint64_t *s, uint64_t h, int null) {
    uint32_t r = rnd(s), at = r % (BYTES - 128);
    char out[128];
    switch (r >> 20 & 15) {
    case 0: return mix(h, atomic_load_explicit(&m.counter[at / 4], memory_order_relaxed));
    case 1: { /* two lines */
        uint64_t v;
        memcpy(&v, m.text + (at | 63) - 3, 8);
        return mix(h, v);
    }
    case 2: memcpy(out, m.text + at, 100); return mix_bytes(h, out, 100);
    case 3: return mix(h, (uint64_t)memcmp(m.text + at, m.text + (at ^ 64), 64));
    case 4: return mix(h, strnlen(m.text + at, 100));
    case 5: return mix(h, (uint64_t)snprintf(out, sizeof out, "%s %.20s", names[r % 64], m.text + at)) ^ (unsigned char)out[3];
    case 6: return mix(h, strlen(names[at % 64]));
    case 7: return mix(h, (uint64_t)write(null, m.text + at, 100));
    default: return mix(h, m.word[at / 8]);
    }
}

static NOINLINE void change(uint64_t *s, uint64_t h) {
    uint32_t r = rnd(s), at = r % (BYTES - 128);
    switch (r >> 20 & 7) {
    case 0: atomic_fetch_add(&m.counter[at / 4], (unsigned)h); break;
    case 1: memset(m.text + at, (int)h, 90); break;
    case 2: memmove(m.text + at, m.text + (at ^ 1024), 90); break;
    case 3: *names[r % 64] = (char)('a' + h % 26); break;
    case 4: { /* first read, then written: from reader to owner */
        uint64_t v = m.word[at / 8];
        sched_yield();
        m.word[at / 8] = v + 1;
        break;
    }
    default: m.word[at / 8] ^= h; break;
    }
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    int p[2];
    if (pipe(p)) abort();
    close(p[0]); /* the kernel looks at the bytes and refuses them */
    for (long i = 0; i < rounds; i++) {
        h = look(&s, h, p[1]);
        if (rnd(&s) % 64 == 0) change(&s, h);
    }
    close(p[1]);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < BYTES / 8; i++) m.word[i] = i * 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < 64; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        names[i] = strdup(name);
    }
    uint64_t h = together(cook);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) abort();
    h = mix(h, together(cook)); /* threads on slots that were used before; in both processes */
    if (!child) {
        printf("child %016llx\n", (unsigned long long)h);
        fflush(stdout);
        _exit((int)(h & 63));
    }
    int status;
    waitpid(child, &status, 0);
    h = mix(mix_bytes(h, &m, sizeof m), (uint64_t)status);
    return finish(h);
}
