/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A session of a message server. Its dispatcher starts with the session, and the listener is set afterwards: most often
 * before the first message is there. */
// KIND: LEAN OpenJMS: order violation, 20 sessions, 10 rounds
// FAILS: a listener is called that is not set: a null function pointer
// SHOWS: signal 11
// LEAST: 2 threads, 1 iteration, 0 preemptions
// NATIVE: 982 in 1000
// ARGS: SESSIONS=3 ROUNDS=5
// LARGE: 20 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
    pthread_t dispatcher;
    pthread_mutex_t lock;
    void (*volatile listener)(struct session *, const char *);
    int number, messages;
    char header[200];
    unsigned long bytes;
};

static int rounds;

static void count(struct session *s, const char *message) {
    for (; *message; message++) s->bytes++;
    s->messages++;
}

static void *dispatch(void *arg) {
    struct session *s = arg;
    char message[64];
    for (int i = 0; i < 20; i++) { /* the greeting */
        snprintf(message, sizeof message, "session %d: %s", s->number, "hello");
        snprintf(s->header, sizeof s->header, "%s; %d", message, i);
    }
    pthread_mutex_lock(&s->lock);
    s->listener(s, s->header);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static struct session *open_session(int number) {
    struct session *s = calloc(1, sizeof *s);
    s->number = number;
    pthread_mutex_init(&s->lock, NULL);
    pthread_create(&s->dispatcher, NULL, dispatch, s);
    return s;
}

int main(int argc, char **argv) {
    int sessions = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 5;
    struct session **all = calloc((size_t)sessions, sizeof *all);
    unsigned long bytes = 0;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < sessions; i++) {
            all[i] = open_session(i);
            all[i]->listener = count;
        }
        for (int i = 0; i < sessions; i++) {
            pthread_join(all[i]->dispatcher, NULL);
            bytes += all[i]->bytes;
            free(all[i]);
        }
    }
    printf("%lu bytes\n", bytes);
    return 0;
}
