/* Proves: cancellation at read, write, poll, sleep, join, timed waits and pthread_testcancel, with thread-specific data. */
// RUN: %rr %s %t
// SOAK: 8 16
#include "common.h"
#include <poll.h>
#include <semaphore.h>
#include <time.h>

static volatile uint32_t pot[8];
static int pipes[2], full[2];
static sem_t zero;
static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile uint64_t gone;

static void destroy(void *p) { gone = mix(gone, (uintptr_t)p + pot[1]++); }
static void cleanup(void *p) {
    pot[2]++;
    *(uint64_t *)p = mix(*(uint64_t *)p, pot[3]++);
}
static void unlock(void *p) { pthread_mutex_unlock((pthread_mutex_t *)p); }
static void *forever(void *p) {
    (void)p;
    for (;;) pause();
}

static uint64_t state[MAX_THREADS];
static void *victim(void *p) {
    int me = (int)(uintptr_t)p, old;
    char buf[4096];
    pthread_setspecific(key, (void *)(uintptr_t)(me + 1));
    pthread_cleanup_push(cleanup, &state[me]);
    switch (me % 8) {
    case 0: if (read(pipes[0], buf, 1)) {} break;
    case 1: memset(buf, 1, sizeof buf);
        for (;;) if (write(full[1], buf, sizeof buf) < 0) break;
        break;
    case 2: poll(NULL, 0, 100000); break;
    case 3: sleep(1000); break;
    case 4: {
        pthread_t c;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        pthread_create(&c, NULL, forever, NULL);
        pthread_detach(c);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
        while (sem_wait(&zero) == 0) {}
        break;
    }
    case 5: {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += 1000;
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlock, &lock);
        for (;;) pthread_cond_timedwait(&never, &lock, &t);
        pthread_cleanup_pop(1);
        break;
    }
    case 6:
        for (;;) {
            state[me] = mix(state[me], pot[state[me] % 8]++);
            pthread_testcancel();
        }
    default: pthread_exit((void *)77);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 8, 4);
    uint64_t h = 0;
    if (pipe(pipes) || pipe(full)) return 3;
    sem_init(&zero, 0, 0);
    pthread_key_create(&key, destroy);
    for (long i = 0; i < rounds; i++) {
        pthread_t t[MAX_THREADS];
        for (int k = 0; k < threads; k++) pthread_create(&t[k], NULL, victim, (void *)(uintptr_t)k);
        if (i & 1) usleep(3000);
        for (int k = 0; k < threads; k++) pthread_cancel(t[k]);
        for (int k = 0; k < threads; k++) {
            void *r;
            pthread_join(t[k], &r);
            h = mix(mix(h, (uintptr_t)r), state[k]);
        }
    }
    return finish(mix(h, gone + pot[2]));
}
