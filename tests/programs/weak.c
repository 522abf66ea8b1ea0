/* Proves: code that weak locks keep apart is ordered by them, and by nothing else, whatever it does meanwhile: phases between barriers; loops that two
 * threads run at the same time although they are on different sides, so that they take the lock from each other at their ticks; misses, calls, mutexes,
 * copies of large structures and handlers of signals within them; functions that are part of the regions of their callers, recursive ones, and ones that
 * are regions themselves, called from within others; accesses in no loop at all. */
// RUN: %rr %s %t -weft-plan=races -weft-granularity=region
// RUN: %rr %s %t -weft-plan=races -weft-granularity=region -O1 -- 5 900
#include "common.h"
#include <signal.h>

#define N 512
struct large {
    uint64_t v[60];
};
static uint64_t a[N], b[N], mixed[N], tree[N], turns, steps;
static volatile uint64_t alone;
static struct large shared_large[4];
static struct pot {
    uint64_t v[8];
    struct small {
        uint64_t v[3];
    } small;
} pot;
static struct small pots[4] = {{{1, 2, 3}}, {{4, 5, 6}}, {{7, 8, 9}}, {{10, 11, 12}}};
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t handled;

static void handler(int sig) {
    (void)sig;
    for (int i = 0; i < 16; i++) mixed[i * 7 % N] += 3; /* while its thread is in another region */
    handled = 1;
}

/* Part of the regions of its callers: a walk like that of a tree. */
static NOINLINE uint64_t walk(uint32_t at, int depth) {
    if (!depth) return tree[at % N];
    return mix(walk(at * 2 + 1, depth - 1), walk(at * 2 + 2, depth - 1)) + tree[at % N];
}

/* Called by its address: a region of its own, wherever it is called from. */
static NOINLINE uint64_t visit(uint64_t h, int i) { return mix(h, mixed[i % N]); }
static NOINLINE uint64_t change(uint64_t h, int i) { return mixed[(i * 3) % N] += h; }
static uint64_t (*volatile const how[2])(uint64_t, int) = {visit, change};

/* The same, and the caller goes on in its own. */
static NOINLINE uint64_t maybe(uint64_t h, int i, int writes) {
    if (writes) mixed[i % 64] = h;
    return h + (uint64_t)i;
}
uint64_t (*also)(uint64_t, int, int) = maybe;

/* Behind a call of libc in a region, which takes memory of another thread: */
static char text[8][32];
static uint64_t notes[8];
static NOINLINE uint64_t part(int i) { return notes[i % 8]; }
static NOINLINE uint64_t noted(int me, int i) {
    memcpy(text[i % 8], text[(i + 1) % 8], 16 + (size_t)(i % 16)); /* as long as nobody knows */
    uint64_t was = notes[i % 8];
    if (i % 64 == me) notes[(i + 3) % 8] = was + 1;
    return was;
}
/* Left before its last call, which is one in tail position. */
static NOINLINE uint64_t last(uint64_t h, int n) {
    h = mix(h, notes[n % 8]);
    return n ? last(h, n - 1) : h;
}

static void meet(void) { pthread_barrier_wait(&barrier); }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    int low = N * me / threads, high = N * (me + 1) / threads;
    for (int round = 0; round < rounds / 100; round++) {
        /* Phases: each reads what all others have written in the one before. */
        for (int i = low; i < high; i++) a[i] = mix(h, b[N - 1 - i]);
        meet();
        for (int i = 0; i < N; i++) h = mix(h, a[i]);
        for (int i = low; i < high; i++) tree[i] = h ^ (uint64_t)i;
        meet();
        for (int i = 0; i < 8; i++) h = mix(h, walk((uint32_t)(me + i), 5));
        for (int i = low; i < high; i++) b[i] = h + (uint64_t)i;
        meet();
        /* No phases: one thread writes what the others read, and what they leave there when they call. */
        if (!me) {
            for (int i = 0; i < 16 * N; i++) mixed[i % N] = (uint64_t)i + h;
        } else {
            for (int i = 0; i < 16 * N; i++) h = mix(h, mixed[i * 5 % N]);
            for (int i = 0; i < 4 * N; i++) h = mix(h, mixed[i % N] + part(i));
        }
        for (int i = 0; i < 256; i++) h = mix(h, noted(me, i));
        h = mix(h, last(h, 3));
        /* With calls, and what others want too. */
        for (int i = 0; i < 64; i++) {
            h = how[(h >> 7) & 1](h, i);
            if (i % 16 == me % 16) {
                pthread_mutex_lock(&lock);
                turns++;
                mixed[turns % N] ^= h;
                pthread_mutex_unlock(&lock);
            }
            if (i % 32 == 5) pthread_kill(pthread_self(), SIGUSR1);
        }
        for (int i = 0; i < 2000; i++) h = mix(maybe(h, i, !me), mixed[(i * 3 + me) % 64]);
        for (int i = 0; i < 32; i++) {
            struct large copy = shared_large[(me + i) % 4];
            copy.v[i] += h;
            h = mix(h, copy.v[(i + 1) % 60]);
            shared_large[(me + i + 1) % 4] = copy;
            h = mix(h, mixed[i * 3 % N]);
        }
        /* One writes, the others read, and all wait for the same mutex before; then what the one writes is in no region but its own. */
        if (!me) {
            for (int i = 0; i < 64; i++) {
                pthread_mutex_lock(&lock);
                steps++;
                pthread_mutex_unlock(&lock);
                mixed[i % 8] = h + (uint64_t)i;
            }
            for (int i = 0; i < 40; i++) { /* which is no region, since it yields */
                alone = mix(alone, steps + h);
                memset(&pot, i, sizeof pot);
                pot.small = pots[i % 4];
                if (i % 8 == 0) sched_yield();
            }
        } else {
            for (int i = 0; i < 64; i++) {
                pthread_mutex_lock(&lock);
                steps++;
                pthread_mutex_unlock(&lock);
                h = mix(h, mixed[i * 3 % 8]);
            }
            for (int i = 0; i < 2000; i++) h = mix(h, alone + pot.v[i % 8] + pot.small.v[i % 3]);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 2000);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    signal(SIGUSR1, handler);
    uint64_t h = together(cook);
    for (int i = 0; i < N; i++) h = mix(mix(h, mixed[i]), tree[i]);
    return finish(mix(h, turns + alone + (uint64_t)handled));
}
