/* Proves: memory and semaphores that processes find by a name (shm_open, sem_open) are recorded, in a process that
 * has them before the fork and in one that opens them after it. */
// RUN: %rr %s %t
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 400
static char memory[64], first[64], second[64];

static uint64_t *open_memory(void) {
    int fd = shm_open(memory, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, 4096)) return NULL;
    uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

int main(void) {
    snprintf(memory, sizeof memory, "/weft-%d", (int)getpid());
    snprintf(first, sizeof first, "/weft-first-%d", (int)getpid());
    snprintf(second, sizeof second, "/weft-second-%d", (int)getpid());
    sem_t *a = sem_open(first, O_CREAT, 0600, 1), *b;
    uint64_t *p, h = 1;
    if (a == SEM_FAILED) return 1;
    int me = fork() == 0;
    if (me && (a = sem_open(first, 0)) == SEM_FAILED) return 2;
    if ((b = sem_open(second, O_CREAT, 0600, 0)) == SEM_FAILED || !(p = open_memory())) return 3;
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(me ? b : a);
        p[i % 10] += p[(i + 3) % 10] * 3 + (uint64_t)me + 1;
        h = h * 31 + p[i % 7];
        sem_post(me ? a : b);
        if (i % 50 == 0) __atomic_fetch_add(&p[100 + i], 1, __ATOMIC_SEQ_CST);
    }
    sem_close(a);
    sem_close(b);
    int status = 0;
    if (!me && (wait(&status) < 0 || status)) return 4;
    printf("%s %016lx\n", me ? "child" : "parent", (unsigned long)h);
    if (me) return 0;
    for (int i = 0; i < ROUNDS; i += 50)
        if (p[100 + i] != 2) return 5;
    return shm_unlink(memory) | sem_unlink(first) | sem_unlink(second);
}
