/* Proves: a thread that waits for input of a stream is cancelled there, holds no lock of the stream afterwards, and replays so. */
/* Recordings were stuck: what libc reads for itself was never interrupted. */
// RUN: %rr %s %t
// SOAK: 8 16
#include "common.h"

static int pipes[MAX_THREADS][2];
static FILE *in[MAX_THREADS];
static volatile int waits[MAX_THREADS];
static uint64_t gone;

static void cleanup(void *p) { gone = mix(gone, *(uint64_t *)p); }
static void *reader(void *p) {
    int me = (int)(uintptr_t)p, n;
    char line[100], *all = NULL;
    size_t room = 0;
    uint64_t seen = (uint64_t)me;
    pthread_cleanup_push(cleanup, &seen);
    for (;;) {
        waits[me]++;
        switch (me % 5) {
        case 0: if (fgets(line, sizeof line, in[me])) seen = mix_bytes(seen, line, strlen(line)); break;
        case 1: seen = mix(seen, (uint64_t)fgetc(in[me])); break;
        case 2: if (getline(&all, &room, in[me]) > 0) seen = mix_bytes(seen, all, strlen(all)); break;
        case 3: if (fread(line, 1, 6, in[me]) == 6) seen = mix_bytes(seen, line, 6); break;
        case 4: if (fscanf(in[me], "%d", &n) == 1) seen = mix(seen, (uint64_t)n); break;
        }
    }
    pthread_cleanup_pop(1);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t[MAX_THREADS];
    args(argc, argv, 5, 20);
    for (int i = 0; i < threads; i++) {
        void *r;
        if (pipe(pipes[i]) || !(in[i] = fdopen(pipes[i][0], "r"))) return 1;
        for (long k = 0; k < rounds; k++) {
            waits[i] = 0;
            pthread_create(&t[i], NULL, reader, (void *)(uintptr_t)i);
            if (write(pipes[i][1], "12345\n", 6) != 6) return 1;
            while (k % 4 && waits[i] < 2) sched_yield();
            if (k % 3 == 0) usleep(200);
            pthread_cancel(t[i]);
            pthread_join(t[i], &r);
            gone = mix(gone, r == PTHREAD_CANCELED);
        }
        close(pipes[i][1]);
        fclose(in[i]); /* needs its lock */
    }
    return finish(gone);
}
