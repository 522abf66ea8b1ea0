/* Only by a branch does the status depend on what the other thread did. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int flag, unrelated, data, status;

static void *setter(void *arg) {
    flag = 1;                                       // in
    return arg;
}

static void *idle(void *arg) {
    unrelated = 5;                                  // out
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, setter, NULL);         // in
    pthread_create(&b, NULL, idle, NULL);           // out
    pthread_join(a, NULL);                          // out
    pthread_join(b, NULL);                          // out
    data = unrelated + 1;                           // out
    if (data > 100) abort();                        // out
    if (flag)                                       // in
        status = 3;                                 // in
    for (int i = 0; i < data; i++) data += i & 1;   // out
    printf("%d\n", data);                           // out
    exit(status);                                   // in
}
