/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* System calls that programs make often, without the cost of a trap: the libc functions of the same name, interposed. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/time.h>
#include <sys/types.h>

static long result(long r) {
    if (r < 0 && r > -4096) {
        *weft__real.__errno_location() = (int)-r;
        return -1;
    }
    return r;
}

/* Gives what the kernel gives. */
static long plain_call(long nr, long a, long b, long c, long d, long e, long f) {
    long v[6] = {a, b, c, d, e, f};
    int was;
    struct weft_thread *t = weft__enter(&was);
    long r;
    if (!t) {
        /* As libc does it: its cancellation may end the call. */
        int old, point = weft__cancel_nr(nr, 0);
        if (point) weft__real.pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        r = weft__raw6(nr, a, b, c, d, e, f);
        if (point) weft__real.pthread_setcanceltype(old, &old);
        return r;
    }
    while (unlikely((r = weft__sys(t, nr, v, 0, 0)) == -WEFT_RESTART))
        if (!weft__interrupt(t)) weft__tick(t);
    if (unlikely(r == -WEFT_CANCELLED)) {
        weft__leave(t, was);
        return -1;
    }
    weft__return(t, was);
    return r;
}
static long call(long nr, long a, long b, long c, long d, long e, long f) { return result(plain_call(nr, a, b, c, d, e, f)); }

#define W3(name, nr)                                                                                                   \
    WEFT_HIDDEN long weft__w_##name(long a, long b, long c) { return call(nr, a, b, c, 0, 0, 0); }                      \
    WEFT_WRAP(name, weft__w_##name)
#define W6(name, nr)                                                                                                   \
    WEFT_HIDDEN long weft__w_##name(long a, long b, long c, long d, long e, long f) { return call(nr, a, b, c, d, e, f); } \
    WEFT_WRAP(name, weft__w_##name)
W3(read, SYS_read);
W3(write, SYS_write);
W3(close, SYS_close);
W3(lseek, SYS_lseek);
W3(lseek64, SYS_lseek);
W6(pread, SYS_pread64);
W6(pread64, SYS_pread64);
W6(pwrite, SYS_pwrite64);
W6(pwrite64, SYS_pwrite64);
W3(readv, SYS_readv);
W3(writev, SYS_writev);
W3(poll, SYS_poll);
W6(recvfrom, SYS_recvfrom);
W6(sendto, SYS_sendto);
W3(getpid, SYS_getpid);
W3(gettid, SYS_gettid);
W6(epoll_wait, SYS_epoll_wait);
/* What a server does for each connection and request: six traps of 3 us made lighttpd take 2.4 times its native time. */
W3(sendmsg, SYS_sendmsg);
W3(recvmsg, SYS_recvmsg);
W3(accept, SYS_accept);
W6(accept4, SYS_accept4);
W3(socket, SYS_socket);
W3(connect, SYS_connect);
W3(shutdown, SYS_shutdown);
W3(getsockname, SYS_getsockname);
W3(getpeername, SYS_getpeername);
W6(getsockopt, SYS_getsockopt);
W6(setsockopt, SYS_setsockopt);
W6(sendfile, SYS_sendfile);
W6(sendfile64, SYS_sendfile);
W6(epoll_ctl, SYS_epoll_ctl);
W3(ioctl, SYS_ioctl);
W3(stat, SYS_stat);
W3(stat64, SYS_stat);
W3(lstat, SYS_lstat);
W3(lstat64, SYS_lstat);
W3(fstat, SYS_fstat);
W3(fstat64, SYS_fstat);
W3(getrandom, SYS_getrandom);
W3(munmap, SYS_munmap);
W3(mprotect, SYS_mprotect);
W3(madvise, SYS_madvise);
W3(dup, SYS_dup);
W3(dup2, SYS_dup2);
W3(pipe2, SYS_pipe2);
W3(access, SYS_access);
W3(unlink, SYS_unlink);
W3(ftruncate, SYS_ftruncate);
W3(ftruncate64, SYS_ftruncate);
W3(fsync, SYS_fsync);
W3(fdatasync, SYS_fdatasync);

WEFT_HIDDEN long weft__w_recv(long fd, long p, long n, long flags) { return call(SYS_recvfrom, fd, p, n, flags, 0, 0); }
WEFT_WRAP(recv, weft__w_recv);
WEFT_HIDDEN long weft__w_send(long fd, long p, long n, long flags) { return call(SYS_sendto, fd, p, n, flags, 0, 0); }
WEFT_WRAP(send, weft__w_send);
/* A group's number comes back negative from F_GETOWN: libc asks in another way. */
WEFT_HIDDEN long weft__w_fcntl(long fd, long command, long arg) {
    struct f_owner_ex owner = {0, 0};
    if ((int)command != F_GETOWN) return call(SYS_fcntl, fd, command, arg, 0, 0, 0);
    long r = call(SYS_fcntl, fd, F_GETOWN_EX, (long)&owner, 0, 0, 0);
    return r < 0 ? r : owner.type == F_OWNER_PGRP ? -owner.pid : owner.pid;
}
WEFT_WRAP(fcntl, weft__w_fcntl);
WEFT_WRAP(fcntl64, weft__w_fcntl);
WEFT_HIDDEN long weft__w_epoll_pwait(long fd, long events, long max, long ms, long mask) {
    return call(SYS_epoll_pwait, fd, events, max, ms, mask, 8);
}
WEFT_WRAP(epoll_pwait, weft__w_epoll_pwait);
WEFT_HIDDEN long weft__w_fstatat(long at, long path, long out, long flags) {
    return call(SYS_newfstatat, at, path, out, flags, 0, 0);
}
WEFT_WRAP(fstatat, weft__w_fstatat);
WEFT_WRAP(fstatat64, weft__w_fstatat);

/* libc makes the same call for all of these. (Threads that look for work now and then sleep more often than a server has requests: with a trap each, memcached
 * took 1 us more for each request.) */
WEFT_HIDDEN int weft__w_clock_nanosleep(clockid_t clock, long flags, long ts, long left) {
    if (clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL;
    if (clock == CLOCK_PROCESS_CPUTIME_ID) clock = -6; /* the kernel's name for one's own, whatever its number */
    return (int)-plain_call(SYS_clock_nanosleep, clock, flags, ts, left, 0, 0);
}
WEFT_WRAP(clock_nanosleep, weft__w_clock_nanosleep);
WEFT_HIDDEN long weft__w_nanosleep(long ts, long left) { return call(SYS_clock_nanosleep, CLOCK_REALTIME, 0, ts, left, 0, 0); }
WEFT_WRAP(nanosleep, weft__w_nanosleep);
WEFT_HIDDEN long weft__w_usleep(unsigned us) {
    struct timespec ts = {us / 1000000, us % 1000000 * 1000l};
    return call(SYS_clock_nanosleep, CLOCK_REALTIME, 0, (long)&ts, 0, 0, 0);
}
WEFT_WRAP(usleep, weft__w_usleep);

/* The mode is there only if the file may be made. */
static long mode_of(long flags, long mode) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0;
}
WEFT_HIDDEN long weft__w_open(long path, long flags, long mode) {
    return call(SYS_openat, AT_FDCWD, path, flags, mode_of(flags, mode), 0, 0);
}
WEFT_WRAP(open, weft__w_open);
WEFT_WRAP(open64, weft__w_open);
WEFT_HIDDEN long weft__w_openat(long at, long path, long flags, long mode) {
    return call(SYS_openat, at, path, flags, mode_of(flags, mode), 0, 0);
}
WEFT_WRAP(openat, weft__w_openat);
WEFT_WRAP(openat64, weft__w_openat);

/* Who maps memory that processes share will use it, and must be built with weft (shm.c). */
static long map(long nr, long a, long b, long c, long d, long e, long f) {
    struct weft_thread *t = weft__active();
    if (t) t->maps = weft__in_weft_code(weft__caller()) ? WEFT_MAPS_OWN : WEFT_MAPS_FOREIGN;
    long r = call(nr, a, b, c, d, e, f);
    if (t) t->maps = WEFT_MAPS_LIBC;
    return r;
}
WEFT_HIDDEN long weft__w_mmap(long a, long b, long c, long d, long e, long f) { return map(SYS_mmap, a, b, c, d, e, f); }
WEFT_HIDDEN long weft__w_shmat(long a, long b, long c) { return map(SYS_shmat, a, b, c, 0, 0, 0); }
WEFT_WRAP(mmap, weft__w_mmap);
WEFT_WRAP(mmap64, weft__w_mmap);
WEFT_WRAP(shmat, weft__w_shmat);

/* syscall(): whatever the program asks for, with the number first. So the last of six arguments is on the program's stack,
 * which the body is not on: the entry (stubs.S) puts it into tls.saved[8]. */
WEFT_HIDDEN long weft__w_syscall(long nr, long a, long b, long c, long d, long e) {
    long v[6] = {a, b, c, d, e, (long)__weft_tls.saved[8]}, r;
    struct weft_thread *t = weft__active();
    if (t && weft__sys_traceless(t, nr, v, weft__caller(), &r)) return result(r);
    if (t && nr == SYS_futex && unlikely(weft__waits)) { /* where it was stuck it does not come to the call itself */
        int op = (int)b & FUTEX_CMD_MASK;
        if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
            weft__signal_note(t, WEFT_WAIT_FUTEX, (void *)a);
        else
            weft__wait_note(WEFT_WAIT_FUTEX, (void *)a, NULL);
        r = call(nr, a, b, c, d, e, v[5]);
        WAITED(t);
        return r;
    }
    return call(nr, a, b, c, d, e, v[5]);
}

/* Yielding is no input, but a tick: the thread is outside meanwhile. Not done in replay, where nothing depends on it: on a busy machine the thread
 * would come back behind all others that want to run (tests/programs/ring.c at a load of 15: 7 s for 400 edges). */
WEFT_HIDDEN int weft__w_sched_yield(void) {
    static const long none[6];
    int was;
    long r;
    struct weft_thread *t = weft__active();
    if (t && weft__sys_traceless(t, SYS_sched_yield, none, weft__caller(), &r)) return 0;
    t = weft__enter(&was);
    if (t && unlikely(weft__given))
        weft__turns_yield(t);
    else if (!t || likely(!weft__steering) || !weft__steer_lets(t)) {
        if (t) weft__outside(t);
        if (weft__mode != WEFT_REPLAY) weft__raw(SYS_sched_yield);
        if (t) weft__inside(t);
    }
    if (t) weft__leave(t, was);
    return 0;
}
WEFT_WRAP(sched_yield, weft__w_sched_yield);
WEFT_WRAP(pthread_yield, weft__w_sched_yield);
WEFT_WRAP(thrd_yield, weft__w_sched_yield);

/* ---- time: from the vDSO in record, which the launcher hides from libc */

int weft__vdso_clock_gettime(clockid_t c, struct timespec *ts);

static int clock_input(clockid_t c, struct timespec *ts) {
    int was, r = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return weft__vdso_clock_gettime(c, ts);
    if (WEFT_LIVE) r = weft__vdso_clock_gettime(c, ts);
    r = weft__given ? weft__given_time(t, ts) : (int)weft__input(t, WEFT_OP_CLOCK, r, ts, sizeof *ts);
    weft__leave(t, was);
    return r;
}

/* Writes a result into the program's memory. */
static void put(void *to, const void *from, size_t n) {
    struct weft_thread *t = weft__active();
    int was;
    if (t) {
        weft__enter(&was);
        weft__take(t, to, n);
    }
    weft__copy(to, from, n);
    if (t) weft__leave(t, was);
}

WEFT_HIDDEN long weft__w_clock_gettime(clockid_t c, struct timespec *ts) {
    struct timespec v = {0, 0};
    int r = clock_input(c, &v);
    if (r == 0) put(ts, &v, sizeof v);
    return result(r);
}
WEFT_WRAP(clock_gettime, weft__w_clock_gettime);

/* libc makes it from the thread's number in the kernel, which is another one in replay. */
WEFT_HIDDEN int weft__w_getcpuclockid(pthread_t p, clockid_t *out) {
    clockid_t c = 0;
    int was, r = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return weft__real.pthread_getcpuclockid(p, out);
    if (WEFT_LIVE) r = weft__real.pthread_getcpuclockid(p, &c);
    r = (int)weft__input(t, WEFT_OP_CLOCK, r, &c, sizeof c);
    weft__leave(t, was);
    if (r == 0) put(out, &c, sizeof c);
    return r;
}
WEFT_WRAP(pthread_getcpuclockid, weft__w_getcpuclockid);

WEFT_HIDDEN long weft__w_gettimeofday(struct timeval *tv, void *tz) {
    struct timespec v = {0, 0};
    (void)tz;
    clock_input(CLOCK_REALTIME, &v);
    struct timeval out = {v.tv_sec, v.tv_nsec / 1000};
    if (tv) put(tv, &out, sizeof out);
    return 0;
}
WEFT_WRAP(gettimeofday, weft__w_gettimeofday);

WEFT_HIDDEN time_t weft__w_time(time_t *out) {
    struct timespec v = {0, 0};
    clock_input(CLOCK_REALTIME_COARSE, &v);
    if (out) put(out, &v.tv_sec, sizeof *out);
    return v.tv_sec;
}
WEFT_WRAP(time, weft__w_time);

WEFT_HIDDEN clock_t weft__w_clock(void) {
    struct timespec v = {0, 0};
    clock_input(CLOCK_PROCESS_CPUTIME_ID, &v);
    return v.tv_sec * 1000000 + v.tv_nsec / 1000;
}
WEFT_WRAP(clock, weft__w_clock);

/* The processor's number: from the kernel in record, not from where libc keeps it (rseq), which is no call at all. */
WEFT_HIDDEN int weft__w_sched_getcpu(void) {
    unsigned cpu = 0;
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t || WEFT_LIVE) weft__raw(SYS_getcpu, &cpu, 0, 0);
    if (!t) return (int)cpu;
    cpu = (unsigned)weft__input(t, WEFT_OP_CPU, (int64_t)cpu, NULL, 0);
    weft__leave(t, was);
    return (int)cpu;
}
WEFT_WRAP(sched_getcpu, weft__w_sched_getcpu);

/* For src/inst/timer.c. No event and no input: nobody sees it but by the clock. What the program has set is in force again when it is over; all threads are
 * taken to have what the first one has that asks. */
WEFT_HIDDEN void weft__w_exact(int on) {
    static long slack; /* ns; 0: not known yet */
    long had = __atomic_load_n(&slack, __ATOMIC_RELAXED);
    if (!had) {
        had = weft__raw(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
        __atomic_store_n(&slack, had, __ATOMIC_RELAXED);
    }
    if (had > 0) weft__raw(SYS_prctl, PR_SET_TIMERSLACK, on ? 1 : had, 0, 0, 0);
}
WEFT_WRAP(__weft_exact, weft__w_exact);
