/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Says by hand which regions it is in, as instrumented code would (include/weft/abi.h): 40 of them, r0 to r39. `profile.cpp WHAT`. */
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".pushsection .weft.regions,\"\",@progbits\n"
        ".irp d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n .ascii \"function r\\d p.c:\\d\\n\"\n .endr\n"
        ".irp t, 1, 2, 3\n .irp d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n .ascii \"loop r\\t\\d p.c:\\t\\d\\n\"\n .endr\n .endr\n"
        ".popsection\n");

extern "C" {
void __weft_profile_enter(uint32_t id);
void __weft_profile_leave(void);
void __weft_profile_at(uint32_t id);
}
#define enter __weft_profile_enter
#define leave __weft_profile_leave
#define at __weft_profile_at
#define NOINLINE __attribute__((noinline))

static pthread_barrier_t barrier;
static void meet() { pthread_barrier_wait(&barrier); }
static pthread_t start(void *(*f)(void *), uint32_t id = 0) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, (void *)(uintptr_t)id)) abort();
    return t;
}
static void finish(pthread_t t) { pthread_join(t, NULL); }

/* In r2 and out again, on another thread: it must be beside nothing that was left. */
static void *in_r2(void *p) {
    enter(2);
    leave();
    return p;
}

/* ---- two phases, in both of which two threads are at the same time */
static void *two_phases(void *p) {
    enter(0);
    meet();
    leave();
    meet();
    enter(1);
    meet();
    leave();
    return p;
}

/* ---- 20 phases, in each of which two threads enter one region each at the same moment, and are in them until both are */
static void *many_phases(void *p) {
    static int here[20];
    uint32_t me = (uint32_t)(uintptr_t)p;
    for (uint32_t i = 0; i < 20; i++) {
        meet();
        __atomic_fetch_add(&here[i], 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&here[i], __ATOMIC_SEQ_CST) < 2) {}
        enter(2 * i + me);
        meet();
        leave();
    }
    return p;
}

/* ---- r1 while another thread is in r0 */
static void *holds_r0(void *p) {
    enter(0);
    meet();
    meet();
    leave();
    return p;
}

/* ---- ways to leave that are not told */
static jmp_buf back;
static NOINLINE void jumps() {
    enter(0);
    longjmp(back, 1);
}
static NOINLINE void throws(int deep) {
    enter(0);
    if (deep) throws(deep - 1);
    throw 1;
}
/* In a region, from always the same frame. */
static NOINLINE void once(uint32_t id, bool leaves) {
    enter(id);
    if (!leaves) throw 1;
    pthread_join(start(in_r2), NULL);
    leave();
}
static NOINLINE void ends_thread() {
    enter(0);
    pthread_exit(NULL);
}
static void *ends(void *p) {
    enter(1);
    ends_thread();
    return p;
}
static void *is_cancelled(void *p) {
    enter(0);
    meet();
    for (;;) pause();
    return p;
}
static NOINLINE void recurses(int deep) {
    enter(0);
    if (deep) recurses(deep - 1);
    if (deep == 2) {
        enter(1);
        leave();
    }
    leave();
}
static NOINLINE void allocates(size_t n) {
    enter(0);
    char *p = (char *)alloca(n);
    memset(p, 1, n);
    __asm__ volatile("" : : "r"(p) : "memory");
    leave();
}
static NOINLINE void scoped(size_t n) {
    {
        char p[n];
        memset(p, 1, n);
        enter(0);
        __asm__ volatile("" : : "r"(p) : "memory");
    }
    leave();
}

static void handler(int) {
    enter(1);
    leave();
}

/* ---- threads that come, and go while they are in something */
static void *in_turn(void *p) {
    uint32_t id = (uint32_t)(uintptr_t)p;
    enter(id);
    meet();
    meet();
    return p; /* still in it */
}

/* ---- r0, and when it was left, r1 in another thread: beside each other, unless something orders them */
static int was_in;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static void *was_in_r0(void *p) {
    uint32_t how = (uint32_t)(uintptr_t)p;
    enter(0);
    leave();
    if (how == 1) pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
    if (how == 2) pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock);
    if (how == 3) sem_post(&sem);
    if (how == 4) {
        while (!__atomic_load_n(&was_in, __ATOMIC_ACQUIRE)) {}
        pthread_mutex_lock(&mutex);
        was_in = 2;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        return p;
    }
    __atomic_store_n(&was_in, 1, __ATOMIC_RELEASE);
    if (how == 5) meet();
    return p;
}
static void then_r1(uint32_t how) {
    pthread_t t = start(was_in_r0, how);
    if (how == 4) {
        pthread_mutex_lock(&mutex);
        __atomic_store_n(&was_in, 1, __ATOMIC_RELEASE);
        while (was_in != 2) pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    while (!__atomic_load_n(&was_in, __ATOMIC_ACQUIRE)) {}
    if (how == 1) pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
    if (how == 2) pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock);
    if (how == 3) sem_wait(&sem);
    if (how == 5) meet();
    enter(1);
    leave();
    finish(t);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "nothing";
    auto is = [&](const char *s) { return !strcmp(what, s); };
    pthread_barrier_init(&barrier, NULL, 2);
    if (is("nothing")) {
        printf("%s %s\n", getenv("WEFT_RT_PROFILE") ? "there" : "clean", argc > 2 ? argv[2] : "");
        return 7;
    } else if (!strncmp(what, "then-", 5)) {
        sem_init(&sem, 0, 0);
        then_r1((uint32_t)atoi(what + 5));
    } else if (is("phases")) {
        pthread_t t = start(two_phases);
        two_phases(NULL);
        finish(t);
    } else if (is("many-phases")) {
        pthread_t t = start(many_phases, 1);
        many_phases(NULL);
        finish(t);
    } else if (is("overlap") || is("at")) {
        pthread_t t = start(holds_r0);
        meet();
        if (is("at")) {
            at(1);
        } else {
            enter(1);
            leave();
        }
        meet();
        finish(t);
        enter(2); /* nobody is anywhere any more */
        leave();
    } else if (is("nested")) {
        enter(0);
        enter(1);
        leave();
        enter(3);
        leave();
        at(4);
        leave();
        finish(start(in_r2));
    } else if (is("ended")) {
        finish(start(ends));
        pthread_t t = start(is_cancelled);
        meet();
        pthread_cancel(t);
        finish(t);
        finish(start(in_r2));
        enter(3);
        leave();
    } else if (is("longjmp")) {
        enter(3);
        if (!setjmp(back)) jumps();
        enter(4); /* from above: r0 is not there any more, r3 is */
        leave();
        leave();
        finish(start(in_r2));
    } else if (is("throw")) {
        for (int i = 0; i < 1000; i++) {
            enter(3);
            try {
                throws(i % 50);
            } catch (int) {
            }
            leave();
        }
        finish(start(in_r2));
    } else if (is("again")) { /* nobody can know that r0 was left before r1; but when r0 comes again, both were */
        for (uint32_t i = 0; i < 3; i++) {
            try {
                once(i % 2, i == 2);
            } catch (int) {
            }
        }
    } else if (is("recursion")) {
        recurses(99);
        finish(start(in_r2));
    } else if (is("alloca")) {
        try {
            throws(5);
        } catch (int) {
        }
        allocates((size_t)argc * 1000);
        finish(start(in_r2));
    } else if (is("scoped")) {
        enter(4);
        scoped((size_t)argc * 1000);
        finish(start(in_r2));
        leave();
    } else if (is("deep")) {
        for (uint32_t i = 0; i < 40; i++)
            if (i != 2) enter(i);
        for (uint32_t i = 0; i < 39; i++) leave();
        finish(start(in_r2));
        leave(), leave(); /* of nothing */
        enter(40), leave(), enter(1000000000), at(1000000000);
    } else if (is("signal")) {
        signal(SIGUSR1, handler);
        enter(0);
        raise(SIGUSR1);
        leave();
        finish(start(in_r2));
    } else if (is("threads")) {
        for (uint32_t i = 0; i < 30; i += 2) {
            pthread_t t = start(in_turn, i);
            meet();
            enter(i + 1);
            leave();
            meet();
            finish(t);
        }
    } else if (is("kill") || is("abort") || is("_exit")) {
        enter(0);
        enter(1);
        if (is("kill")) kill(getpid(), SIGKILL);
        if (is("abort")) abort();
        _exit(3);
    } else if (is("waits")) {
        enter(0);
        enter(1);
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    } else if (is("fork") || is("fork-call")) {
        pthread_t t = start(holds_r0);
        meet();
        enter(3);
        pid_t pid = is("fork") ? fork() : (pid_t)syscall(SYS_fork);
        if (!pid) { /* r0's thread is not here, and this one is in r3 */
            enter(1);
            leave();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        leave();
        meet();
        finish(t);
    } else {
        return 9;
    }
    return 0;
}
