/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two kinds of players at a table. Who plays takes the ball off the table, hits it and puts it back; the umpire looks
 * at the ball while it lies there. He asks first whether there is a ball, but when he looks at it, it may be gone. */
// KIND: LEAP PingPong: not-atomic
// FAILS: a null pointer is used
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 10 in 1000
// ARGS: PLAYERS=2 HITS=200
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct ball {
    int hits;
    char last[16];
};

static struct {
    pthread_mutex_t turn; /* between players */
    struct ball *volatile ball;
    int score;
    pthread_mutex_t score_lock;
} table = {.turn = PTHREAD_MUTEX_INITIALIZER, .score_lock = PTHREAD_MUTEX_INITIALIZER};

static int hits;
static pthread_barrier_t start;

static void *player(void *arg) {
    const char *name = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < hits; i++) {
        pthread_mutex_lock(&table.turn);
        struct ball *ball = table.ball;
        table.ball = NULL;
        ball->hits++;
        snprintf(ball->last, sizeof ball->last, "%s", name);
        table.ball = ball;
        pthread_mutex_unlock(&table.turn);
    }
    return NULL;
}

static void *umpire(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < hits; i++) {
        if (table.ball == NULL) continue; /* in play */
        pthread_mutex_lock(&table.score_lock);
        table.score = table.ball->hits;
        pthread_mutex_unlock(&table.score_lock);
    }
    return arg;
}

int main(int argc, char **argv) {
    int players = argc > 1 ? atoi(argv[1]) : 2;
    hits = argc > 2 ? atoi(argv[2]) : 200;
    static char names[1000][8];
    table.ball = calloc(1, sizeof *table.ball);
    pthread_t *t = calloc((size_t)players + 1, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)players + 1);
    for (int i = 0; i < players; i++) {
        snprintf(names[i % 1000], sizeof names[0], "p%d", i % 1000);
        pthread_create(&t[i], NULL, player, names[i % 1000]);
    }
    pthread_create(&t[players], NULL, umpire, NULL);
    for (int i = 0; i <= players; i++) pthread_join(t[i], NULL);
    printf("%d hits, last by %s\n", table.ball->hits, table.ball->last);
    free(t);
    return 0;
}
