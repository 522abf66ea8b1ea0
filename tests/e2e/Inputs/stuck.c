/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stuck HOW: gets stuck in the way HOW, always. Lines that the test looks for have a name in a comment. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t meeting, both;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t items;
static pthread_t threads[3];
static volatile int never;

/* Both hold their first one before they want their second. */
__attribute__((noinline)) static void locks_second(pthread_mutex_t *m) {
    if (pthread_mutex_lock(m) != 0) abort(); /* second */
}
static void *locks(void *p) {
    pthread_mutex_t **m = p;
    pthread_mutex_lock(m[0]); /* first */
    pthread_barrier_wait(&meeting);
    locks_second(m[1]);
    return NULL;
}
static void *writes(void *p) {
    pthread_rwlock_rdlock(&table); /* reads */
    pthread_barrier_wait(&meeting);
    pthread_rwlock_wrlock(&table); /* upgrades */
    return p;
}
static void *waits(void *p) {
    pthread_mutex_lock(&a);
    while (!never) pthread_cond_wait(&ready, &a); /* lost */
    return p;
}
static void *joins(void *p) {
    pthread_mutex_lock(&a);
    pthread_barrier_wait(&meeting);
    pthread_join(threads[1], NULL);
    return p;
}
static void *is_joined(void *p) {
    pthread_barrier_wait(&meeting);
    pthread_mutex_lock(&a);
    return p;
}
static void *leaves_it_locked(void *p) {
    pthread_mutex_lock(&b); /* left */
    return p;
}
static void *spins(void *p) {
    while (!never) {} /* runs */
    return p;
}
static void *spins_for_lock(void *p) {
    pthread_spin_lock(&spin);
    return p;
}
static void *reads(void *p) {
    int fd[2];
    char byte;
    if (pipe(fd) || read(fd[0], &byte, 1) < 0) abort(); /* reads a pipe */
    return p;
}
static void begins(void) {
    pthread_mutex_lock(&a); /* in once */
    pthread_barrier_wait(&meeting);
    sem_wait(&items);
}
static void *begins_once(void *p) {
    pthread_once(&once, begins);
    return p;
}
static void *comes(void *p) {
    pthread_barrier_wait(&both);
    return p;
}
static void *takes(void *p) {
    pthread_mutex_lock(&a);
    return p;
}
static void start(int n, void *(*f)(void *), void *p) { pthread_create(&threads[n], NULL, f, p); }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_mutex_t *ab[] = {&a, &b}, *ba[] = {&b, &a}, *bc[] = {&b, &c}, *ca[] = {&c, &a};
    int status;
    pthread_barrier_init(&meeting, NULL, strcmp(how, "three") == 0 ? 3 : 2);
    pthread_barrier_init(&both, NULL, 2);
    pthread_spin_init(&spin, 0);
    sem_init(&items, 0, 0);
    printf("stuck: %s\n", how);
    fflush(stdout);
    if (strcmp(how, "two") == 0) start(0, locks, ab), start(1, locks, ba);
    if (strcmp(how, "three") == 0) start(0, locks, ab), start(1, locks, bc), start(2, locks, ca);
    if (strcmp(how, "upgrade") == 0) start(0, writes, NULL), start(1, writes, NULL);
    if (strcmp(how, "wakeup") == 0) {
        pthread_cond_signal(&ready); /* too early */
        start(0, waits, NULL);
    }
    if (strcmp(how, "join") == 0) start(1, is_joined, NULL), start(0, joins, NULL);
    if (strcmp(how, "left") == 0) {
        start(0, leaves_it_locked, NULL);
        pthread_join(threads[0], NULL);
        pthread_mutex_lock(&b);
    }
    if (strcmp(how, "self") == 0) {
        pthread_mutex_lock(&c); /* once is enough */
        pthread_mutex_lock(&c);
    }
    if (strcmp(how, "many") == 0) {
        start(0, begins_once, NULL);
        pthread_barrier_wait(&meeting);
        start(1, begins_once, NULL);
        start(2, comes, NULL);
    }
    if (strcmp(how, "runs") == 0) {
        pthread_spin_lock(&spin); /* spun */
        start(0, spins, NULL), start(1, reads, NULL), start(2, spins_for_lock, NULL);
    }
    if (strcmp(how, "fork") == 0) {
        pthread_mutex_t *x[] = {&a, &b};
        pthread_mutex_lock(&b);
        start(0, locks, x);
        pthread_barrier_wait(&meeting);
        if (fork() == 0) {
            pthread_mutex_lock(&a); /* in the child */
            _exit(0);
        }
        wait(&status);
    }
    if (strcmp(how, "crowd") == 0) {
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        pthread_mutex_lock(&a);
        for (int i = 0; i < 3000; i++)
            if (pthread_create(&threads[0], &small, takes, NULL) != 0) abort();
    }
    for (int i = 0; i < 3; i++)
        if (threads[i]) pthread_join(threads[i], NULL);
    return 0;
}
