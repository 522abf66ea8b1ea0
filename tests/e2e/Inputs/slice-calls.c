/* What passes through the runtime: memory that functions of libc write, arguments and results of threads, a routine that is called
 * once, a handler, memory that is used again; and through recursion, a table of functions and a switch. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wanted, unwanted, handled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
    wanted = 4;                                     // in
    unwanted = 4;                                   // out
}

static void on_signal(int sig) {
    handled = sig;                                  // in
}

__attribute__((noinline)) static int twice(int x) { return 2 * x; } // in
__attribute__((noinline)) static int thrice(int x) { return 3 * x; } // out
static int (*const table[])(int) = {twice, thrice};

__attribute__((noinline, optnone)) static int depth(int n) {
    if (n == 0) return 1;                           // in
    return 1 + depth(n - 1);                        // in
}

static void *give(void *arg) {
    int *n = arg;
    unwanted += 3;                                  // out
    return (void *)(long)(*n + 1);                  // in
}

__attribute__((noinline)) static int choose(int k) {
    switch (k) {                                    // in
    case 0: return thrice(unwanted);                // out
    case 1: return twice(unwanted) - 1;             // out
    case 2: return 23;
    case 3: return unwanted;                        // out
    case 4: return unwanted ^ 5;                    // out
    case 5: return unwanted | 2;                    // out
    default: return -1;                             // out
    }
}

int main(int argc, char **argv) {
    pthread_t t;
    void *result;
    int n = argc + 1;                               // in
    char from[16] = "", to[16], *copy;
    from[1] = argv[0][0];                           // in: by a register that calls preserve
    from[0] = 'x';
    pthread_once(&once, initialise);                // in
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);                                 // in
    pthread_create(&t, NULL, give, &n);             // in
    pthread_join(t, &result);                       // in
    memcpy(to, from, sizeof to);                    // in
    copy = malloc(16);                              // in
    strcpy(copy, to);                               // in
    char *other = malloc(16);                       // out
    strcpy(other, "xyz");                           // out
    unwanted += (int)strlen(other);                 // out
    int sum = wanted + handled + (int)(long)result + copy[1] + depth(n + 2) + table[argc / 2](argc) + choose(n); // in
    printf("%d %d\n", sum, unwanted);
    assert(sum < 0);                                // in
    return 0;
}
