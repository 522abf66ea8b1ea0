/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The title of a song is a pointer and a length. The player sets the two one after the other, and the display reads
 * them as if they always belonged together. Each of them is atomic. */
// KIND: multi-variable atomicity
// FAILS: the display reads a title with the length of another one: assertion
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 79 in 1000
// ARGS: DISPLAYS=2 SONGS=400
// LARGE: 33 10
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const titles[] = {"Etude", "Nocturne", "Prelude and fugue", "Gigue", "Sarabande"};
enum { TITLES = sizeof titles / sizeof *titles };

static struct {
    const char *_Atomic title;
    atomic_size_t length;
} now;

static int songs;
static pthread_barrier_t start;

static void *play(void *arg) {
    unsigned seed = 1;
    pthread_barrier_wait(&start);
    for (int i = 0; i < songs; i++) {
        const char *title = titles[rand_r(&seed) % TITLES];
        now.title = title;
        now.length = strlen(title);
        for (int k = 0; k < 20; k++) rand_r(&seed); /* it plays */
    }
    return arg;
}

static void *display(void *arg) {
    long *shown = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < songs; i++) {
        char line[64];
        const char *title = now.title;
        size_t length = now.length;
        assert(strlen(title) == length);
        *shown += snprintf(line, sizeof line, "> %.*s", (int)length, title);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int displays = argc > 1 ? atoi(argv[1]) : 2;
    songs = argc > 2 ? atoi(argv[2]) : 400;
    pthread_t player, *t = calloc((size_t)displays, sizeof *t);
    long *shown = calloc((size_t)displays * 8, sizeof *shown);
    now.title = "";
    pthread_barrier_init(&start, NULL, (unsigned)displays + 1);
    pthread_create(&player, NULL, play, NULL);
    for (int i = 0; i < displays; i++) pthread_create(&t[i], NULL, display, &shown[8 * i]);
    for (int i = 0; i < displays; i++) pthread_join(t[i], NULL);
    pthread_join(player, NULL);
    free(t);
    free(shown);
    return 0;
}
