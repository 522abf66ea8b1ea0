/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Users of a game enter their names in a table; each takes the next free row. Two that come at once take the same row,
 * and another row stays empty. (LEAN simplifies a program like this one with 33 users.) */
// KIND: LEAN BuggyPro: race, 33 users
// FAILS: the list of users has an empty row: a null pointer
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 215 in 1000
// ARGS: USERS=6 GUESSES=10
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct user {
    char name[16];
    int number, guesses, right;
};

static struct user **users;
static volatile int entered;
static int guesses;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static long log_size;
static pthread_barrier_t start;

static void enter(struct user *u) {
    int row = entered;
    snprintf(u->name, sizeof u->name, "user%d", row);
    users[row] = u;
    entered = row + 1;
}

static void *play(void *arg) {
    unsigned seed = (unsigned)(size_t)arg;
    struct user *u = calloc(1, sizeof *u);
    u->number = rand_r(&seed) % 10;
    pthread_barrier_wait(&start);
    enter(u);
    for (int i = 0; i < guesses; i++) {
        u->guesses++;
        u->right += rand_r(&seed) % 10 == u->number;
        pthread_mutex_lock(&log_lock);
        log_size += (long)strlen(u->name) + 4;
        pthread_mutex_unlock(&log_lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 6;
    guesses = argc > 2 ? atoi(argv[2]) : 10;
    users = calloc((size_t)n, sizeof *users);
    pthread_t *t = calloc((size_t)n, sizeof *t);
    int *came = calloc((size_t)n, sizeof *came), rows = 0, right = 0;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) came[i] = pthread_create(&t[i], NULL, play, (void *)(size_t)(i + 1)) == 0;
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        rows += came[i];
    }
    for (int i = 0; i < rows; i++) right += users[i]->right;
    printf("%d users, %d right guesses\n", rows, right);
    return 0;
}
