/* Proves: every address that a program can print (stack, heap, mmap, thread, TLS, code) is the same in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -fPIE -pie -- 8
// SOAK: 2 8
#include "common.h"
#include <sys/mman.h>
#include <sys/syscall.h>

static __thread int local;
static int global;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t cook(int me) {
    int here;
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        void *small = malloc(24), *large = malloc(1 << 20), *aligned = NULL, *zeroed = calloc(3, 100);
        if (posix_memalign(&aligned, 4096, 8192)) return 1;
        void *m = mmap(NULL, 12345, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *more = realloc(zeroed, 5000);
        pthread_mutex_lock(&lock);
        printf("%d: stack %p tls %p self %lx small %p large %p aligned %p calloc %p mmap %p tid %d\n", me,
               (void *)&here, (void *)&local, (unsigned long)pthread_self(), small, large, aligned, more, m,
               (int)(syscall(SYS_gettid) - getpid()));
        pthread_mutex_unlock(&lock);
        h = mix(h, (uintptr_t)small ^ (uintptr_t)m);
        free(large);
        munmap(m, 12345);
        if (i & 1) free(small);
        free(aligned);
        if (me & 1) free(more);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4);
    int here;
    printf("main: stack %p heap %p global %p code %p libc %p argv %p env %p stdout %p\n", (void *)&here, malloc(1),
           (void *)&global, (void *)(uintptr_t)main, (void *)(uintptr_t)printf, (void *)argv, (void *)environ,
           (void *)stdout);
    uint64_t h = together(cook);
    printf("main: stack %p heap %p tls %p self %lx\n", (void *)&here, malloc(100), (void *)&local,
           (unsigned long)pthread_self());
    return finish(h);
}
