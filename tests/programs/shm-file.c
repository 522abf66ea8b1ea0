/* Proves: shared mappings of files, memory files and System V segments are recorded whatever is done with them: written by
 * racing threads and read back by system calls, mapped twice, made read-only, cut, grown, moved, replaced, given to the kernel
 * as a buffer; and what was written is in the file. */
// RUN: %rr %s %t
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
static uint64_t hash = 1;
static void note(uint64_t x) { hash = hash * 1099511628211u + x; }
static void need(int ok, int line) {
    if (ok) return;
    fprintf(stderr, "line %d\n", line);
    _exit(9);
}
#define NEED(x) need(!!(x), __LINE__)

static volatile uint32_t *shared;
static uint64_t seen[3];

static void *race(void *arg) {
    int me = (int)(uintptr_t)arg;
    uint64_t h = (uint64_t)me + 1;
    for (int i = 0; i < 3000; i++) {
        h = h * 6364136223846793005u + shared[h % 32];
        shared[(h >> 9) % 32] = (uint32_t)(h >> 20);
    }
    seen[me] = h;
    return NULL;
}
static void races(volatile uint32_t *p) {
    pthread_t t[3];
    shared = p;
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, race, (void *)(uintptr_t)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 3; i++) note(seen[i]);
}

static char *map(int fd, size_t n, int prot) {
    char *p = mmap(NULL, n, prot, MAP_SHARED, fd, 0);
    NEED(p != MAP_FAILED);
    return p;
}

static void on_segv(int sig) {
    (void)sig;
    printf("may not write: %016lx\n", (unsigned long)hash);
    fflush(stdout);
    _exit(0);
}

static void file(int fd) {
    char buf[256];
    NEED(ftruncate(fd, 2 * PAGE) == 0);
    char *p = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE), *q = map(fd, 2 * PAGE, PROT_READ | PROT_WRITE);
    races((volatile uint32_t *)p);
    NEED(memcmp(p, q, 2 * PAGE) == 0);
    NEED(pread(fd, buf, 128, 0) == 128 && memcmp(buf, q, 128) == 0);
    /* The kernel reads and writes it. */
    strcpy(q + 200, "written there, read here");
    NEED(pwrite(fd, p + 200, 25, 300) == 25 && strcmp(q + 300, q + 200) == 0);
    NEED(pread(fd, q + 1001, 25, 200) == 25 && strcmp(p + 1001, p + 200) == 0);
    struct iovec v[2] = {{p + 2000, 7}, {q + 2050, 18}};
    NEED(lseek(fd, 200, SEEK_SET) == 200 && readv(fd, v, 2) == 25 && !memcmp(q + 2000, "written", 7) && !strcmp(p + 2050, " there, read here"));
    note((uint64_t)atoi(strcpy(p + PAGE - 4, "123456789")));
    NEED(atoi(q + PAGE) == 56789);
    NEED(msync(p, 2 * PAGE, MS_SYNC) == 0);
    /* Only to be read; what is written elsewhere still arrives. */
    NEED(mprotect(q, PAGE, PROT_READ) == 0);
    p[10] = 77;
    NEED(q[10] == 77);
    q[PAGE + 10] = 78;
    NEED(p[PAGE + 10] == 78);
    /* Without its first page; grown and moved; replaced. */
    NEED(munmap(p, PAGE) == 0);
    p[PAGE + 20] = 79;
    NEED(q[PAGE + 20] == 79);
    NEED(ftruncate(fd, 6 * PAGE) == 0);
    char *r = mremap(p + PAGE, PAGE, 5 * PAGE, MREMAP_MAYMOVE);
    NEED(r != MAP_FAILED && r[20] == 79);
    r[4 * PAGE] = 80;
    NEED(pread(fd, buf, 1, 5 * PAGE) == 1 && buf[0] == 80);
    NEED(madvise(r, PAGE, MADV_DONTNEED) == 0 && r[20] == 79);
    NEED(mmap(r, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == r && !r[20]);
    races((volatile uint32_t *)r); /* ordinary memory now */
    NEED(q[PAGE + 20] == 79 && r[PAGE + 4] == 0);
    /* A private mapping of what was written through a shared one, which no time tells. */
    char *s = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
    NEED(s != MAP_FAILED && s[20] == 79);
    if (fork() == 0) {
        signal(SIGSEGV, on_segv);
        q[3] = 1;
        _exit(5);
    }
    int status;
    NEED(wait(&status) > 0 && status == 0);
    NEED(munmap(q, 2 * PAGE) == 0 && munmap(r + 2 * PAGE, 3 * PAGE) == 0);
}

int main(void) {
    char path[] = "/tmp/weft-shm-XXXXXX", byte;
    int fd = mkstemp(path);
    NEED(fd >= 0);
    file(fd);
    NEED(pread(fd, &byte, 1, PAGE + 20) == 1 && byte == 79);
    /* Read-only, of a file that is being written. */
    int ro = open(path, O_RDONLY);
    volatile char *r = map(ro, PAGE, PROT_READ);
    NEED(pwrite(fd, "x", 1, 5) == 1 && r[5] == 'x' && pwrite(fd, "y", 1, 5) == 1 && r[5] == 'y');
    NEED(mprotect((void *)(uintptr_t)r, PAGE, PROT_READ | PROT_WRITE) == -1);
    NEED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ro, 0) == MAP_FAILED);
    unlink(path);
    fd = memfd_create("shared", 0);
    file(fd);
    /* A segment that a process finds by itself. */
    int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    NEED(id >= 0);
    volatile uint32_t *a = shmat(id, NULL, 0);
    NEED(a != (void *)-1);
    races(a);
    if (fork() == 0) {
        volatile uint32_t *b = shmat(id, NULL, SHM_RDONLY);
        while (!__atomic_load_n(&a[500], __ATOMIC_ACQUIRE)) usleep(1);
        note(b[600]);
        a[700] = 17;
        printf("child %016lx\n", (unsigned long)hash);
        fflush(stdout);
        _exit(shmdt((void *)(uintptr_t)b));
    }
    a[600] = 1234567;
    __atomic_store_n(&a[500], 1, __ATOMIC_RELEASE);
    int status;
    NEED(wait(&status) > 0 && status == 0);
    struct shmid_ds ds;
    NEED(a[700] == 17 && shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_segsz == 3 * PAGE && ds.shm_nattch == 1);
    NEED(shmctl(id, IPC_RMID, NULL) == 0 && shmdt((void *)(uintptr_t)a) == 0 && shmdt((void *)(uintptr_t)a) == -1);
    printf("%016lx\n", (unsigned long)hash);
    return 0;
}
