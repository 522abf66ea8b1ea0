/* Proves: process and thread ids, names, limits and the environment are the recorded ones in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t cook(int me) {
    char name[64];
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        snprintf(name, sizeof name, "worker-%d", me);
        pthread_setname_np(pthread_self(), name);
        name[0] = 0;
        pthread_getname_np(pthread_self(), name, sizeof name);
        pthread_mutex_lock(&lock);
        printf("%s tid %d cpu %s env %s\n", name, (int)gettid(), sched_getcpu() >= 0 ? "known" : "unknown",
               getenv("HOME") ? "set" : "unset");
        pthread_mutex_unlock(&lock);
        h = mix(h, (uint64_t)sched_getcpu() + (uint64_t)syscall(SYS_gettid));
        errno = me;
        sched_yield();
        h = mix(h, (uint64_t)errno);
        struct sysinfo s;
        sysinfo(&s);
        h = mix(h, s.freeram + s.procs);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 5);
    struct utsname u;
    struct rlimit r;
    char host[256] = "", cwd[4096] = "";
    uname(&u);
    getrlimit(RLIMIT_NOFILE, &r);
    gethostname(host, sizeof host);
    if (!getcwd(cwd, sizeof cwd)) return 3;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("pid %d parent %d uid %d %s %s files %lu cpus %ld %d pages %ld %s\n", getpid(), getppid(), (int)getuid(),
           u.sysname, host, (unsigned long)r.rlim_cur, sysconf(_SC_NPROCESSORS_ONLN), CPU_COUNT(&set),
           sysconf(_SC_PAGESIZE), cwd);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "WEFT", 4) == 0) printf("seen: %s\n", *e); /* the runtime's own, not the program's */
    return finish(together(cook));
}
