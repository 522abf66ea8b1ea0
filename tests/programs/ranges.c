/* Proves: loops whose memory is looked at before they begin replay exactly when others take some of it meanwhile: forwards and
 * backwards, of all sizes, with early ends, over memory that is shared, split, or nobody's yet, and when a fault in the middle
 * runs a handler that has such loops itself. */
// RUN: %rr %s %t
// SOAK: 2 4 8 32
#include "common.h"
#include <signal.h>
#include <sys/mman.h>

#define N 6000
static uint8_t bytes[N];
static uint16_t halves[N];
static uint32_t words[N];
static uint64_t longs[N];
static double reals[N];
static struct __attribute__((packed)) {
    char a;
    uint32_t b;
    uint64_t c;
} odd[N / 8];
static uint64_t total;
static pthread_barrier_t all;
static char *page; /* one that nobody may touch, now and then */
static volatile uint32_t faults;
static __thread uint32_t box[200];
static uint32_t *volatile door[MAX_THREADS];

static NOINLINE void shift(uint32_t *to, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++) to[i] += from[i] * 3 + 1;
}
static NOINLINE void back(uint64_t *p, int n) {
    for (int i = n - 1; i > 0; i--) p[i] = p[i] * 5 + p[i - 1];
}
static NOINLINE uint64_t sum(const uint8_t *p, const uint16_t *q, int n) {
    uint64_t s = 0;
    for (int i = 0; i < n; i++) s = s * 31 + p[i] + q[i];
    return s;
}
static NOINLINE void bump(uint8_t *p, uint16_t *q, int n, int by) {
    for (int i = 0; i < n; i += 3) p[i] = (uint8_t)(p[i] + by), q[i] = (uint16_t)(q[i] ^ by);
}
static NOINLINE int find(const uint32_t *p, int n, uint32_t what) {
    for (int i = 0; i < n; i++)
        if ((p[i] & 0xff) == what) return i;
    return -1;
}
static NOINLINE void smooth(double *p, int n) {
    for (int i = 1; i < n - 1; i++) p[i] = 0.25 * (p[i - 1] + 2 * p[i] + p[i + 1]) + 1;
}
static NOINLINE void gather(int n) { /* one place again and again, in memory */
    uint64_t *volatile at = &total;
    uint64_t *t = at;
    for (int i = 0; i < n; i++) *t = *t * 7 + odd[i].b + odd[i].c++;
}
static NOINLINE void mingle(uint32_t *p, const uint64_t *q, int n) { /* misses between the read and the write */
    for (int i = 0; i < n; i++) p[i] = p[i] * 3 + (uint32_t)q[(p[i] >> 7) % N];
}
static NOINLINE uint64_t crash(const char *p, const uint32_t *q, int n) {
    uint64_t h = 0;
    for (int i = 0; i < n; i++) h = h * 3 + q[i] + (uint8_t)p[i];
    return h;
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info, (void)context;
    shift(words + 100, words + 2000, 300);
    faults += 1 + (uint32_t)find(words, N, 7);
    mprotect(page, 4096, PROT_READ);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    int per = N / threads, lo = per * me;
    char *own = malloc(20000);
    door[me] = box;
    pthread_barrier_wait(&all);
    for (long i = 0; i < rounds; i++) {
        int n = (int)(h % 900) + 10, at = (int)((h >> 16) % (N - 1000));
        int mine = (h >> 32) % 2; /* its own part, but for the borders */
        if (mine) at = lo, n = per;
        switch ((h >> 40) % 11) {
        case 0: shift(words + at, words + (at + 500) % (N - n), n); break;
        case 1: back(longs + at, n); break;
        case 2: h = mix(h, sum(bytes + at, halves + at, n)); break;
        case 3: bump(bytes + at, halves + at, n, (int)(h & 7)); break;
        case 4: h = mix(h, (uint64_t)find(words + at, n, (uint32_t)(h >> 8) & 0xff)); break;
        case 5: smooth(reals + at, n); break;
        case 6: gather(n % (N / 8)); break;
        case 9: /* thread-local memory that others know */
            for (int k = 0; k < 200; k++) box[k] = box[k] * 3 + words[k];
            shift(door[h % (uint64_t)threads], words, 200);
            h = mix(h, box[h % 200]);
            break;
        case 7: mingle(words + at, longs, n); break;
        case 8:
            for (int k = 0; k < 20000; k++) own[k] = (char)(own[k] + k + (int)words[at]);
            h = mix(h, (uint64_t)own[h % 20000]);
            break;
        default:
            if (i % 2 == 0) mprotect(page, 4096, PROT_NONE);
            h = mix(h, crash(page, words + at, 1000) + faults);
        }
        h = mix(h, total);
    }
    free(own);
    pthread_barrier_wait(&all);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 6, 4000);
    for (int i = 0; i < N; i++) bytes[i] = (uint8_t)i, halves[i] = (uint16_t)(i * 7), words[i] = (uint32_t)i * 2654435761u, longs[i] = (uint64_t)i, reals[i] = i;
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4096; i++) page[i] = (char)i;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &a, NULL);
    uint64_t h = together(cook);
    h = mix(h, sum(bytes, halves, N) + total);
    for (int i = 0; i < N; i++) h = mix(h, words[i] + longs[i] + (uint64_t)reals[i]);
    return finish(h);
}
