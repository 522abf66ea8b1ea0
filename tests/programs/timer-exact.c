/* Proves: a timer whose expiry starts a thread (SIGEV_THREAD) comes as exactly as the kernel's own: the thread that waits for it has no timer slack. The thread that is started has the
 * slack of any other. */
// RUN: %rr %s %t
#include "common.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int slack;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void expired(union sigval v) {
    (void)v;
    pthread_mutex_lock(&lock);
    slack = prctl(PR_GET_TIMERSLACK);
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
}

/* Threads of the process that have none; -1: that cannot be seen. */
static int exact(void) {
    char path[64], text[16];
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%.20s/timerslack_ns", e->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);
        if (fd >= 0) close(fd);
        if (got < 0) n = -100;
        if (got == 2 && !memcmp(text, "1\n", 2)) n++;
    }
    if (d) closedir(d);
    return n < 0 ? -1 : n;
}

int main(void) {
    struct sigevent e = {.sigev_notify = SIGEV_THREAD};
    timer_t t;
    e.sigev_notify_function = expired;
    int before = exact(), own = prctl(PR_GET_TIMERSLACK);
    if (timer_create(CLOCK_MONOTONIC, &e, &t)) return 1;
    pthread_mutex_lock(&lock);
    timer_settime(t, 0, &(struct itimerspec){.it_value = {0, 1000000}}, NULL);
    while (!slack) pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    printf("%s\n", slack == own ? "the slack of any other" : "another slack");
    if (before >= 0 && exact() != before + 1) printf("the timer's thread has slack\n"), exit(1);
    timer_delete(t);
    return slack != own;
}
