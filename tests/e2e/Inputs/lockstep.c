/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two threads in step, by a condition variable and by yielding. The last signal is lost if it comes between the other one's look and its wait; an
 * earlier one that is lost does no harm. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define N 20
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int stage;

static void *wait_for(void *x) {
    for (int i = 1; i <= N; i++) {
        pthread_mutex_lock(&lock);
        if (stage < i) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    }
    return x;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, wait_for, NULL);
    for (int i = 1; i <= N; i++) {
        stage = i;
        pthread_cond_signal(&changed);
        sched_yield();
    }
    pthread_join(t, NULL);
    puts("done");
    return 0;
}
