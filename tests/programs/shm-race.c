/* Proves: two processes with two threads each that race on memory they share, by plain accesses of all sizes, copies and
 * atomics, are replayed exactly: each prints a checksum of all it read. */
// RUN: %rr %s %t
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 2400ul
static struct shared {
    volatile uint64_t m[64];
    volatile uint8_t bytes[64];
    char text[256], block[512];
    struct { uint64_t a[6]; } whole;
    uint64_t added;
    uint32_t swapped, maxed;
    uint8_t ored, lane[4]; /* a byte of each thread's own */
    int lock, ready;
    uint64_t under_lock[2];
} *s;

static volatile size_t one = 1;
static uint64_t results[2];
static char ours[512]; /* of the threads of one process */

static void *work(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, h = me + 1;
    char copy[512];
    __atomic_fetch_add(&s->ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&s->ready, __ATOMIC_RELAXED) < 4) usleep(1);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t k = (h >> 7) % 64;
        h = h * 6364136223846793005u + s->m[k] + s->bytes[h % 64];
        s->m[(h >> 20) % 64] = h;
        s->bytes[(h >> 30) % 64] = (uint8_t)h;
        h += __atomic_fetch_add(&s->added, me + 1, __ATOMIC_SEQ_CST);
        h += __atomic_exchange_n(&s->swapped, (uint32_t)h, __ATOMIC_SEQ_CST);
        h += __atomic_fetch_or(&s->ored, (uint8_t)(1 << h % 8), __ATOMIC_RELAXED);
        uint32_t seen = s->maxed;
        while (seen < (uint32_t)h && !__atomic_compare_exchange_n(&s->maxed, &seen, (uint32_t)h, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
        h += seen;
        if (i && s->lane[me] != (uint8_t)(i - 1)) _exit(5);
        memset(&s->lane[me], (int)i, one); /* in the same word as the others' */
        if (i % 32 == 0) sched_yield();
        if (i % 8 == 0) {
            while (__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE))
                while (__atomic_load_n(&s->lock, __ATOMIC_RELAXED)) usleep(1);
            s->under_lock[0]++;
            s->under_lock[1] += 2;
            if (s->under_lock[1] != 2 * s->under_lock[0]) _exit(3);
            __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
        }
        if (i % 16 == 0) {
            memcpy(copy, s->block, sizeof copy);
            for (unsigned j = 0; j < sizeof copy; j++) h = h * 31 + (unsigned char)copy[j];
            memset(s->block + h % 256, (int)h, 100);
            snprintf(s->text + h % 100, 100, "%lu and %lu", (unsigned long)me, (unsigned long)h);
            h += strlen(s->text + h % 200) + (strchr(s->text, '7') != NULL);
            memcpy(ours + h % 300, s->block + i % 300, 200); /* both at once */
            h += (unsigned char)ours[h % 512];
            ours[i % 512] = (char)h;
            memmove(s->block + h % 300, ours + i % 200, 150);
            struct shared x = {.whole = s->whole};
            x.whole.a[i % 6] += h;
            s->whole = x.whole;
            h += x.whole.a[(i + 1) % 6];
        }
    }
    results[me % 2] = h;
    return NULL;
}

int main(void) {
    pthread_t t[2];
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(s->text, "what was there before the fork");
    pid_t child = fork();
    for (uint64_t i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)((child == 0) * 2 + i));
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    int status;
    if (child && (waitpid(child, &status, 0) != child || status)) return 2;
    printf("%s %016lx %016lx\n", child ? "parent" : "child", (unsigned long)results[0], (unsigned long)results[1]);
    fflush(stdout);
    if (!child) _exit(0);
    if (s->under_lock[0] != 4 * ROUNDS / 8 || s->added != ROUNDS * (1 + 2 + 3 + 4)) return 4;
    printf("%016lx\n", (unsigned long)s->m[5]);
    return 0;
}
