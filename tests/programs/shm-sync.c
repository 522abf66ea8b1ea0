/* Proves: locks, condition variables, semaphores, barriers and futexes that two processes share work while they are
 * recorded, and each process is replayed exactly. */
// RUN: %rr %s %t
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 300
#define PLACES 4

static struct shared {
    pthread_mutex_t mutex, queue_lock, robust;
    pthread_cond_t more, room;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    sem_t ping, pong;
    uint32_t turn; /* futex */
    uint64_t counter, spun, order;
    uint64_t queue[PLACES], put, got;
    uint64_t pair[2];
} *s;

static uint64_t hash = 1;
static void note(uint64_t x) { hash = hash * 1099511628211u + x; }
static void need(int ok, int line) {
    if (ok) return;
    fprintf(stderr, "line %d\n", line);
    _exit(9);
}
#define NEED(x) need(x, __LINE__)

static void *produce(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&s->queue_lock);
        while (s->put - s->got == PLACES) pthread_cond_wait(&s->room, &s->queue_lock);
        s->queue[s->put++ % PLACES] = (uint64_t)(uintptr_t)arg + (uint64_t)i;
        pthread_cond_signal(&s->more);
        pthread_mutex_unlock(&s->queue_lock);
    }
    return NULL;
}
static void *consume(void *sum) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&s->queue_lock);
        while (s->put == s->got) pthread_cond_wait(&s->more, &s->queue_lock);
        *(uint64_t *)sum = *(uint64_t *)sum * 31 + s->queue[s->got++ % PLACES];
        pthread_cond_signal(&s->room);
        pthread_mutex_unlock(&s->queue_lock);
    }
    return NULL;
}

static void futex(int op, uint32_t value) { syscall(SYS_futex, &s->turn, op, value, NULL, NULL, 0); }

static void both(int me) {
    pthread_t t[2];
    uint64_t sums[2] = {0, 0};
    struct timespec soon;
    pthread_barrier_wait(&s->barrier);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, me ? produce : consume, me ? (void *)(uintptr_t)(i * 1000) : &sums[i]);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&s->mutex);
        note(s->counter++);
        pthread_mutex_unlock(&s->mutex);
        if (pthread_mutex_trylock(&s->mutex) == 0) {
            note(s->order = s->order * 2 + (uint64_t)me);
            pthread_mutex_unlock(&s->mutex);
        } else
            note(77);
        pthread_spin_lock(&s->spin);
        note(s->spun++);
        pthread_spin_unlock(&s->spin);
        if (i % 3 == me) {
            pthread_rwlock_wrlock(&s->rwlock);
            s->pair[0]++;
            s->pair[1] = s->pair[0] * 3;
            pthread_rwlock_unlock(&s->rwlock);
        } else {
            pthread_rwlock_rdlock(&s->rwlock);
            NEED(s->pair[1] == s->pair[0] * 3);
            note(s->pair[0]);
            pthread_rwlock_unlock(&s->rwlock);
        }
        if (i % 10 == 0) {
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_nsec = (soon.tv_nsec + 300000) % 1000000000;
            if (pthread_mutex_timedlock(&s->mutex, &soon) == 0) pthread_mutex_unlock(&s->mutex);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        NEED(sem_wait(me ? &s->pong : &s->ping) == 0);
        note(s->order = s->order * 3 + (uint64_t)me);
        int v;
        sem_getvalue(&s->ping, &v);
        note((uint64_t)v);
        sem_post(me ? &s->ping : &s->pong);
    }
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t mine = (uint32_t)(2 * i + me), now;
        while ((now = __atomic_load_n(&s->turn, __ATOMIC_ACQUIRE)) != mine) futex(FUTEX_WAIT, now);
        note(s->order = s->order * 5 + (uint64_t)me);
        __atomic_store_n(&s->turn, mine + 1, __ATOMIC_RELEASE);
        futex(FUTEX_WAKE, 1);
    }
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    note(sums[0]);
    note(sums[1]);
    pthread_barrier_wait(&s->barrier);
    if (me) { /* dies with it */
        pthread_mutex_lock(&s->robust);
        s->order = 4711;
    }
}

int main(void) {
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    pthread_rwlockattr_t r;
    pthread_barrierattr_t b;
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->mutex, &m);
    pthread_mutex_init(&s->queue_lock, &m);
    pthread_mutexattr_setrobust(&m, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->robust, &m);
    pthread_condattr_init(&c);
    pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&s->more, &c);
    pthread_cond_init(&s->room, &c);
    pthread_rwlockattr_init(&r);
    pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&s->rwlock, &r);
    pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED);
    pthread_mutex_lock(&s->mutex); /* held across the fork */
    pid_t child = fork();
    if (!child) while (!__atomic_load_n(&s->put, __ATOMIC_ACQUIRE)) usleep(10); /* what follows is done when it is shared */
    else {
        pthread_barrierattr_init(&b);
        pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&s->barrier, &b, 2);
        sem_init(&s->ping, 1, 1);
        sem_init(&s->pong, 1, 0);
        pthread_mutex_unlock(&s->mutex);
        s->got = 1;
        __atomic_store_n(&s->put, 1, __ATOMIC_RELEASE);
    }
    both(!child);
    int status;
    if (child && (waitpid(child, &status, 0) != child || status)) return 2;
    printf("%s %016lx\n", child ? "parent" : "child", (unsigned long)hash);
    fflush(stdout);
    if (!child) _exit(0);
    int dead = pthread_mutex_lock(&s->robust);
    printf("%d %d %lu\n", dead == EOWNERDEAD, pthread_mutex_consistent(&s->robust), (unsigned long)s->order);
    pthread_mutex_unlock(&s->robust);
    NEED(pthread_barrier_destroy(&s->barrier) == 0);
    NEED(s->counter == 2 * ROUNDS && s->spun == 2 * ROUNDS);
    return 0;
}
