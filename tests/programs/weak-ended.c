/* Proves: a weak lock that a thread had when it ended is taken without a word to it: what is where its stack was is the program's. */
// RUN: %rr %s %t
// FLAGS: -weft-plan=races -weft-granularity=region
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (1ul << 20)
static long data[64];

static void *worker(void *p) {
    for (int i = 0; i < 64; i++) data[i] += i;
    return p;
}
__attribute__((noinline)) static void turn(void) {
    for (int i = 0; i < 64; i++) data[i] ^= i * 3;
}

int main(int argc, char **argv) {
    (void)argv;
    pthread_t t;
    pthread_attr_t a;
    char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&a);
    if (stack == MAP_FAILED || pthread_attr_setstack(&a, stack, SIZE) || pthread_create(&t, &a, worker, NULL)) return 2;
    if (argc > 9) turn(); /* it might race with the worker */
    pthread_join(t, NULL);
    memset(stack, 0, SIZE);
    turn();
    int changed = 0;
    for (size_t i = 0; i < SIZE; i++) changed += stack[i] != 0;
    printf("%d bytes changed\n", changed);
    return changed != 0;
}
