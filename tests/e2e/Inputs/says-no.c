/* It is right to end with status 3; when the count is wrong, it ends with 1. */
#include <pthread.h>
#include <stdio.h>

static volatile int counter;

static void *count(void *arg) {
    for (int i = 0; i < 10; i++) {
        char text[32];
        int was = counter;
        snprintf(text, sizeof text, "%d after %d", i, was);
        counter = was + 1;
        ++*(int *)arg;
    }
    return NULL;
}

int main(void) {
    pthread_t t[4];
    int done[4] = {0}, sum = 0;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, count, &done[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        sum += done[i];
    }
    if (counter == sum) return 3;
    fprintf(stderr, "counted %d of %d\n", counter, sum);
    return 1;
}
