/* Three threads race on `tally`: updates are lost, in another way in every recording. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

volatile int tally;
static pthread_barrier_t start;

static void *work(void *p) {
    long me = (long)p;
    pthread_barrier_wait(&start);
    for (int i = 0; i < 20; i++) {
        int mine = tally; /* load */
        sched_yield();
        tally = mine + 1; /* store */
        if (i % 5 == me) sched_yield();
    }
    return p;
}

__attribute__((noinline, used)) int twice(int n) { return 2 * n + tally * 0; }
__attribute__((noinline, used)) char *copy(const char *s) {
    char *p = malloc(100);
    snprintf(p, 100, "<%s>", s);
    return p;
}

static void check(int n) {
    if (n != 60) *(volatile int *)8 = n; /* crash */
}

int main(int argc, char **argv) {
    pthread_t t[3];
    (void)argv;
    pthread_barrier_init(&start, NULL, 3);
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    char *p = copy("end");
    fprintf(stderr, "tally %d %p %s\n", tally, (void *)p, p); /* gdb buffers stdout, which it has in common */
    if (argc > 1) check(tally);
    return tally == 60 ? 0 : 3; /* bad */
}
