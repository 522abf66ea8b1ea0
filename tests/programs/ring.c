/* Proves: rings with plain head and tail (one producer, one consumer each, no lock) replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"

#define SLOTS 16
struct ring {
    volatile uint32_t head, tail;
    volatile uint64_t item[SLOTS];
};
static struct ring rings[MAX_THREADS];

/* Thread 2k sends to 2k+1, and gets an answer back through the other ring of the pair. */
static void put(struct ring *r, uint64_t v) {
    while (r->head - r->tail == SLOTS) sched_yield();
    r->item[r->head % SLOTS] = v;
    __asm__ volatile("" ::: "memory");
    r->head++;
}
static int poll(struct ring *r, uint64_t *v) {
    if (r->head == r->tail) return 0;
    *v = r->item[r->tail % SLOTS];
    __asm__ volatile("" ::: "memory");
    r->tail++;
    return 1;
}

static uint64_t cook(int me) {
    struct ring *out = &rings[me], *in = &rings[me ^ 1];
    uint64_t h = seed_of(me), v;
    long got = 0, idle = 0;
    for (long i = 0; i < rounds; i++) {
        put(out, h);
        while (poll(in, &v)) h = mix(h, v), got++;
    }
    while (got < rounds) {
        if (poll(in, &v)) h = mix(h, v), got++;
        else if (++idle % 64 == 0) sched_yield();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 3000);
    threads = (threads + 1) & ~1;
    return finish(together(cook));
}
