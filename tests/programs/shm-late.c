/* Proves: memory that is mapped as shared is ordinary memory to threads until a fork, and shared with the other process for
 * the same threads from then on, whatever they did with it before: read it together, owned it, quarrelled over it. */
// RUN: %rr %s %t
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
static struct shared {
    volatile uint64_t read_by_all[32], own[THREADS][16], raced[16];
    volatile int started, over;
} *s;
static uint64_t results[THREADS];

static void *work(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, h = me + 1;
    __atomic_fetch_add(&s->started, 1, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < 500 || !s->over; i++) {
        for (int k = 0; k < 32; k += 4) h = h * 31 + s->read_by_all[k];
        s->own[me][i % 16] += h;
        h += s->own[me][(i + 1) % 16];
        s->raced[h % 16] = h * 31 + s->raced[(h >> 8) % 16];
        if (i % 16 == 0) sched_yield();
    }
    /* What the other process wrote last is seen by all. */
    for (uint64_t k = 0; k < 32; k++)
        if (s->read_by_all[k] != 1000 + k) _exit(3);
    results[me] = h;
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int k = 0; k < 32; k++) s->read_by_all[k] = (uint64_t)k;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    while (s->started < THREADS) sched_yield();
    usleep(500);
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        if (!child) {
            uint64_t h = 1;
            for (int i = 0; i < 300; i++) {
                for (uint64_t k = 0; k < 32; k++) s->read_by_all[k] = (i == 299 ? 1000 : (uint64_t)i * 7) + k;
                h = h * 31 + s->own[i % THREADS][i % 16] + s->raced[h % 16];
                if (i % 8 == 0) sched_yield();
            }
            printf("child %016lx\n", (unsigned long)h);
            fflush(stdout);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status) return 2;
    }
    s->over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) printf("%016lx\n", (unsigned long)results[i]);
    return 0;
}
