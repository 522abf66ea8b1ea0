/* Proves: message queues and semaphore sets of System V, between racing threads and between processes, replay exactly. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

struct message {
    long type;
    char text[100];
};
static int queue, set;

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        struct message m = {.type = 1 + rnd(&s) % 3};
        int n = snprintf(m.text, sizeof m.text, "%d.%ld.%llx", me, i, (unsigned long long)h);
        if (msgsnd(queue, &m, (size_t)n, 0)) abort();
        ssize_t r = msgrcv(queue, &m, sizeof m.text, rnd(&s) % 2 ? -3 : 0, 0);
        if (r < 0) abort();
        h = mix(mix_bytes(h, m.text, (size_t)r), (uint64_t)m.type);
        struct sembuf up = {(unsigned short)(rnd(&s) % 4), 1, 0};
        if (semop(set, &up, 1)) abort();
        unsigned short all[4];
        if (semctl(set, 0, GETALL, all)) abort();
        h = mix_bytes(h, all, sizeof all);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    queue = msgget(IPC_PRIVATE, 0600);
    set = semget(IPC_PRIVATE, 4, 0600);
    unsigned short all[4] = {1, 2, 3, 4};
    if (queue < 0 || set < 0 || semctl(set, 0, SETALL, all)) abort();
    pid_t child = fork();
    if (child < 0) abort();
    uint64_t h = together(cook);
    if (!child) _exit((int)(h & 63));
    int status;
    waitpid(child, &status, 0);
    struct msqid_ds ds;
    if (msgctl(queue, IPC_STAT, &ds)) abort();
    h = mix(mix(h, (uint64_t)status), (uint64_t)ds.msg_qnum);
    if (msgctl(queue, IPC_RMID, NULL) || semctl(set, 0, IPC_RMID)) abort();
    h = mix(h, (uint64_t)msgrcv(queue, &ds, 8, 0, 0)); /* gone */
    return finish(h);
}
