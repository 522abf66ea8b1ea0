/* A thread whose loop ends earlier when iterations are left out: its first one says how many there are. The next thread has its slot, and
 * races with another one in the same loop. */
#include <pthread.h>
#include <stdio.h>

static volatile int rounds = 2, counter, ready;

static void count(int i) {
    int was = counter;
    char text[32];
    snprintf(text, sizeof text, "%d after %d", was, i);
    counter = was + 1;
}

static void *work(void *arg) {
    int *done = arg;
    for (int i = 0; i < rounds; i++) {
        count(i);
        if (!ready) rounds = 20;
        ++*done;
    }
    if (ready) return NULL;
    rounds = 2;
    ready = 1;
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    int done[3] = {0};
    pthread_create(&a, NULL, work, &done[0]);
    pthread_join(a, NULL);
    if (!ready) return 2;
    pthread_create(&b, NULL, work, &done[1]);
    pthread_create(&c, NULL, work, &done[2]);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    int sum = done[0] + done[1] + done[2];
    if (counter == sum) return 0;
    fprintf(stderr, "counted %d of %d\n", counter, sum);
    return 1;
}
