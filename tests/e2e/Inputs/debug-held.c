/* The second thread comes after the first one, and main after the second. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile int x, y;
static pthread_barrier_t both;

static void *first(void *p) {
    pthread_barrier_wait(&both);
    for (volatile int i = 0; i < 300000; i++) {}
    x = 1;
    __asm__ volatile("nop"); /* stored */
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
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(b, NULL);
    pthread_join(a, NULL);
    fprintf(stderr, "%d %d\n", x, y);
    return 0;
}
