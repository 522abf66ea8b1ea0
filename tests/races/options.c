/* Proves: functions that the runtime interposes call nothing back: what main does after getopt comes before its threads. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static int *table, length;
static volatile int racy;

static void *run(void *arg) {
    long sum = 0;
    for (int i = 0; i < length; i++) sum += table[i];
    racy = (int)sum; // RACE a
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t[2];
    char bytes[8] = {0}, *line = NULL;
    struct iovec part = {bytes, sizeof bytes};
    size_t room = 0;
    for (int option; (option = getopt(argc, argv, "n:")) != -1;)
        if (option == 'n') length = atoi(optarg);
    if (getline(&line, &room, stdin) < 0 || readv(0, &part, 1) < 0) return 1;
    length += bytes[0] + line[0];
    free(line);
    table = calloc((size_t)length + 1, sizeof *table);
    for (int i = 0; i < length; i++) table[i] = i;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
