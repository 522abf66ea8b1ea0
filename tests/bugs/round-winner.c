/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A game in rounds. In each, players start together, at a barrier that is made anew, and who finds that nobody has won yet is the winner:
 * two players can find that. */
// KIND: check, then act, in one of several rounds with threads and a barrier of their own
// FAILS: a round has two winners
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 1000
// ARGS: ROUNDS=8 PLAYERS=4
// LARGE: 11 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t start;
static volatile int won, winners;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *player(void *arg) {
    pthread_barrier_wait(&start);
    if (won) return NULL;
    won = 1;
    pthread_mutex_lock(&lock);
    winners++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 8, players = argc > 2 ? atoi(argv[2]) : 4;
    pthread_t *t = calloc((size_t)players, sizeof *t);
    for (int r = 0; r < rounds; r++) {
        won = winners = 0;
        pthread_barrier_init(&start, NULL, (unsigned)players);
        for (int i = 0; i < players; i++) pthread_create(&t[i], NULL, player, &t[i]);
        for (int i = 0; i < players; i++) pthread_join(t[i], NULL);
        pthread_barrier_destroy(&start);
        if (winners > 1) {
            fprintf(stderr, "round %d has %d winners\n", r, winners);
            return 1;
        }
    }
    free(t);
    return 0;
}
