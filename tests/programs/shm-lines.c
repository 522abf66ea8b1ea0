/* Proves: threads that race on different lines of memory that processes share, and on ranges of them that overlap, wrap around and are
 * copied into one another, are replayed exactly: readers that do not wait for one another come before who writes after them. */
// RUN: %rr %s %t
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 1500u
#define LINES 600 /* more than there are stripes */
static struct shared {
    volatile uint64_t line[LINES][8];
    volatile int ready;
    char pad[60];
    char big[3][24 * 1024];
    volatile uint64_t rare;
} *s;
static uint64_t results[THREADS];
static volatile size_t length = 200;

static void *work(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, h = me + 1;
    __atomic_fetch_add(&s->ready, 1, __ATOMIC_SEQ_CST);
    while (s->ready < 2 * THREADS) usleep(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        h = h * 6364136223846793005u + 1442695040888963407u;
        /* Nearly all only read, the same few lines. */
        h += s->line[1][h >> 61] + s->line[2][h >> 58 & 7] + s->rare;
        if (h >> 57 == 0) s->line[1][i & 7] = h, s->rare++;
        /* A line of one's own, and the same line of somebody else, 256 lines further on. */
        s->line[10 + me][i & 7] += h;
        h += s->line[10 + me + 256][i & 7];
        if (i % 4 == 0) s->line[10 + (me + 1) % THREADS + 256][i & 7] = h;
        /* An access of two lines. */
        uint64_t two;
        memcpy(&two, (char *)s->line[40 + i % 8] + 60, 8);
        h += two;
        if (i % 8 == 0) memcpy((char *)s->line[40 + i % 8] + 60, &h, 8);
        if (i % 4 == 0) { /* from range to range: neither has all of the other's stripes */
            char *to = s->big[i / 4 % 3] + (h >> 40) % 2000, *from = s->big[(i / 4 + 1 + h % 2) % 3] + (h >> 20) % 2000;
            memcpy(to, from, length);
            to[h % length] = (char)h;
        }
        if (i % 256 == 40 * me) /* longer than all stripes, by way of what is the thread's alone */
            memmove(s->big[0] + 3000, s->big[0] + 2000 + h % 100, 90 * length);
    }
    results[me] = h;
    return NULL;
}

static void all(void) {
    pthread_t t[THREADS];
    uint64_t h = 0;
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) h = h * 31 + results[i];
    for (unsigned i = 0; i < sizeof s->big; i++) h = h * 31 + ((unsigned char *)s->big)[i];
    printf("%016lx\n", h);
    fflush(stdout);
}

int main(void) {
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return 2;
    pid_t child = fork();
    if (child < 0) return 3;
    if (!child) {
        all();
        return 0;
    }
    all();
    int status = 0;
    waitpid(child, &status, 0);
    return status ? 4 : 0;
}
