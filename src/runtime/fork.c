/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Forked processes.
 *
 * The child has the memory that the parent had at one moment, so at that moment all threads must stand at known places.
 * In record the forking thread stops the world (owner.c): all others come to a tick and stay there, its position comes
 * after all of theirs, and they go on after it. In replay these edges do the same.
 *
 * The child is a process of its own in every way: its table is empty, its log and its control block are new files in a
 * folder inside the parent's (log.c), its schedule is a memory file of its own, and its thread goes on with its clock. So
 * a trace holds a trace for each process that was forked, and nothing else knows about it. The numbers of parts follow from
 * the parent's own history; programs that it executes are numbered with them (exec.c).
 *
 * libc's fork is used in both modes, since it puts libc's own locks in order. It wants the lock of libc's list of streams,
 * whose holder might have to come inside; so that is taken before the world stops. Who looks up a name may have another one that it wants;
 * so the fork takes its turn among those lookups, in replay as well. */
#define _GNU_SOURCE
#include "real.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

static uint32_t forks; /* of this process: parts */
static int forks_lock;

/* Replay: who had which pid. */
#define CHILDREN 1024
static struct {
    long was, is;
} children[CHILDREN];
static uint32_t nchildren;

void weft__child_ended(struct weft_thread *t, long pid) {
    (void)t;
    for (uint32_t i = 0; i < nchildren && i < CHILDREN; i++)
        if (children[i].was == pid && children[i].is) {
            weft__raw(SYS_wait4, children[i].is, 0, 0, 0);
            children[i].is = 0;
            return;
        }
}

void weft__child_new(long was, long is) {
    uint32_t i = __atomic_fetch_add(&nchildren, 1, __ATOMIC_RELAXED);
    if (i < CHILDREN) children[i].was = was, children[i].is = is;
}

uint32_t weft__part_number(void) {
    weft__lock(&forks_lock);
    uint32_t n = ++forks;
    weft__unlock(&forks_lock);
    return n;
}

uint32_t weft__part_fd(uint32_t part) {
    struct weft_control *c = weft__control;
    return part > c->parts ? 0 : ((const uint32_t *)(weft__file + c->parts_off))[part - 1];
}

/* Replay: the part's memory file instead of the parent's. */
static void map_part(uint32_t part) {
    struct weft_control *c = weft__control;
    if (!weft__part_fd(part)) weft__raw(SYS_exit_group, 0); /* it left no trace */
    struct weft_threads threads = c->threads;
    long fd = weft__launcher_fd(weft__part_fd(part), O_RDWR);
    if (fd < 0) weft__diverged("the schedule of a forked process cannot be opened (error %ld)", -fd);
    weft__raw(SYS_munmap, weft__file, c->map_size);
    long r = weft__raw(SYS_mmap, c, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (r == (long)c) r = weft__raw(SYS_mmap, weft__file, c->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
    if (r != (long)weft__file) weft__rt_panic("cannot map the schedule of a forked process");
    c->pid = (uint64_t)weft__raw(SYS_getpid);
    c->threads = threads;
    weft__raw(SYS_close, fd);
    weft__debug_wait();
}

static void child(struct weft_thread *t, uint32_t part) {
    forks = nchildren = 0;
    forks_lock = 0;
    weft__sud_again(t);
    weft__thread_forked(t);
    weft__heap_forked();
    weft__sys_forked();
    weft__streams_forked();
    weft__take_forked();
    if (RECORD) {
        weft__log_forked(t, part);
        weft__rec_forked(t);
        weft__log_item(t, WEFT_ITEM_START, 0, NULL, 0, NULL, 0);
    } else {
        map_part(part);
        weft__shm_forked();
        weft__gate_forked(t);
        weft__holds_forked(t);
        if (!weft__gate_input(t, WEFT_ITEM_START, 0))
            weft__diverged("a process is forked at tick %lu of thread %u, but its trace does not begin there", t->tls->clock, t->slot);
    }
    weft__modules(t);
    weft__signal_forked(t);
    if (!RECORD) weft__gate_arm(t);
}

/* The process is forked at (clock, 0); 0 in the child; -errno. */
WEFT_HIDDEN long weft__fork_rt(void) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) {
        weft__heap_fork(1);
        long r = weft__real.fork();
        weft__heap_fork(0);
        return r < 0 ? -(long)*weft__real.__errno_location() : r;
    }
    if (weft__given) weft__refuse("the program forks, and a run with several processes cannot be steered");
    uint64_t all = ~(1ul << (SIGSYS - 1)), mask; /* libc may be trapped (filter.c) */
    uint32_t part;
    int64_t pid;
    weft__names_take(t);
    weft__tick(t);
    if (RECORD) {
        weft__outside(t);
        weft__real._IO_list_lock();
        weft__lock(&forks_lock);
        weft__inside(t);
        part = ++forks;
        weft__raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &mask, 8);
        weft__rec_stop(t);
        weft__shm_fork(t);
        pid = weft__real.fork();
        if (pid < 0) pid = -(int64_t)*weft__real.__errno_location();
        if (pid) {
            weft__log_input(t, WEFT_OP_FORK, pid, &part, sizeof part);
            weft__unlock(&forks_lock);
            weft__rec_go(t);
        }
        weft__real._IO_list_unlock();
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_FORK);
        if (!it || it->size != 12)
            weft__diverged("thread %u at tick %lu forks, which the recording does not have there", t->slot, t->tls->clock);
        __builtin_memcpy(&pid, weft__gate_data(it), 8);
        __builtin_memcpy(&part, (const char *)weft__gate_data(it) + 8, 4);
        weft__raw(SYS_rt_sigprocmask, 2, &all, &mask, 8);
        weft__shm_fork(t);
        if (!failed(pid)) {
            long r = weft__real.fork();
            if (r < 0) weft__diverged("thread %u at tick %lu: fork fails here (error %d)", t->slot, t->tls->clock, *weft__real.__errno_location());
            if (r == 0)
                pid = 0;
            else
                weft__child_new(pid, r);
        }
    }
    if (!pid) child(t, part);
    weft__raw(SYS_rt_sigprocmask, 2, &mask, 0, 8);
    weft__tick(t); /* done: whoever waits may go on */
    weft__names_give(t);
    weft__tick(t); /* a position that others may know to be done is no place for another fork's edge */
    weft__leave(t, was);
    return pid;
}
