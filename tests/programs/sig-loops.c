/* Proves: a handler that comes between two accesses of a loop whose clock is in a register does not turn the clock back. */
// RUN: %rr %s %t
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile int a[4096], n;
static long sum;
static void h(int s) { (void)s; for (int i = 0; i < 10; i++) n += a[i * 7]; }
int main(void) {
    struct sigaction x = {.sa_handler = h};
    struct itimerval t = {{0, 300}, {0, 300}}, z = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &x, 0);
    setitimer(ITIMER_REAL, &t, 0);
    for (long i = 0; i < 6000000; i++) { a[i & 4095] = (int)i; sum += a[(i * 31) & 4095]; a[(i + 9) & 4095]++; }
    setitimer(ITIMER_REAL, &z, 0);
    printf("%ld %d\n", sum, n);
    return 0;
}
