/* Workers wait for jobs by epoll of a pipe and an eventfd of the program's own, main by poll for their answers; the sum of what they did is not
 * atomic. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
enum { WORKERS = 2, ROUNDS = 3 };
static int jobs[WORKERS][2], answers, stop;
static volatile int sum;
static void *work(void *arg) {
    int *job = arg, poller = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = job[0]}, last = {.events = EPOLLIN, .data.fd = stop};
    epoll_ctl(poller, EPOLL_CTL_ADD, job[0], &e);
    epoll_ctl(poller, EPOLL_CTL_ADD, stop, &last);
    for (;;) {
        if (epoll_wait(poller, &e, 1, -1) != 1) abort();
        if (e.data.fd == stop) break;
        char c;
        if (read(job[0], &c, 1) != 1) abort();
        sum++;
        uint64_t one = 1;
        if (write(answers, &one, sizeof one) != sizeof one) abort();
    }
    close(poller);
    return NULL;
}
int main(void) {
    pthread_t t[WORKERS];
    answers = eventfd(0, EFD_NONBLOCK);
    stop = eventfd(0, 0);
    for (int i = 0; i < WORKERS; i++) {
        if (pipe(jobs[i])) return 9;
        pthread_create(&t[i], NULL, work, jobs[i]);
    }
    uint64_t n;
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < WORKERS; i++)
            if (write(jobs[i][1], "x", 1) != 1) return 9;
        for (int had = 0; had < WORKERS; had += (int)n) {
            struct pollfd p = {.fd = answers, .events = POLLIN};
            while (poll(&p, 1, 1000) == 0) continue;
            if (read(answers, &n, sizeof n) != sizeof n) n = 0;
        }
    }
    n = 1;
    if (write(stop, &n, sizeof n) != sizeof n) return 9;
    for (int i = 0; i < WORKERS; i++) pthread_join(t[i], NULL);
    if (sum == WORKERS * ROUNDS) return 0;
    fprintf(stderr, "%d of %d\n", sum, WORKERS * ROUNDS);
    return 1;
}
