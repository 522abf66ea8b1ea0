/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The current settings, read without a lock: a reader says by a hazard pointer what it looks at, and who replaces the settings frees the old ones when nobody
 * does. But the reader does not look again whether they are still the current ones when it has said so. */
// KIND: hazard pointer that comes too late
// FAILS: settings are used that were freed
// SHOWS: signal 6
// LEAST: 2 threads, 1 iteration, 2 preemptions
// NATIVE: 7 in 1000
// ARGS: READERS=2 CHANGES=200
// LARGE: 33 50
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC 0x5e77
struct settings {
    int magic, version;
};
static _Atomic(struct settings *) current, hazard[100];
static atomic_int stop;

static struct settings *settings(int version) {
    struct settings *s = malloc(sizeof *s);
    s->magic = MAGIC;
    s->version = version;
    return s;
}

static void *reader(void *arg) {
    long me = (long)arg;
    while (!stop) {
        struct settings *s = current;
        hazard[me] = s;
        if (s->magic != MAGIC) {
            fprintf(stderr, "settings that were freed\n");
            abort();
        }
        hazard[me] = NULL;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2, changes = argc > 2 ? atoi(argv[2]) : 200;
    pthread_t t[100];
    current = settings(0);
    for (long i = 0; i < readers; i++) pthread_create(&t[i], NULL, reader, (void *)i);
    for (int i = 1; i <= changes; i++) {
        struct settings *old = atomic_exchange(&current, settings(i));
        for (int k = 0; k < readers; k++)
            while (hazard[k] == old) {}
        free(old);
    }
    stop = 1;
    for (int i = 0; i < readers; i++) pthread_join(t[i], NULL);
    return 0;
}
