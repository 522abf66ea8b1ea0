/* The second thread comes after the first one, main after the second, and the first one's end after main. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile int x, y;
static pthread_barrier_t both, end;

static void *first(void *p) {
    pthread_barrier_wait(&both);
    for (volatile int i = 0; i < 300000; i++) {}
    x = 1;
    __asm__ volatile("nop"); /* stored */
    pthread_barrier_wait(&end);
    return p;
}
static void *second(void *p) {
    pthread_barrier_wait(&both);
    while (!x) sched_yield();
    y = 2;
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&both, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(b, NULL);
    pthread_barrier_wait(&end);
    pthread_join(a, NULL);
    fprintf(stderr, "%d %d\n", x, y);
    return 0;
}
