/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* System calls: what a thread gets from outside is an input.
 *
 * One function, weft__sys, does a call as its entry in syscalls.def says, for wrappers (wrap_sys.c) and for calls trapped
 * by Syscall User Dispatch alike. Memory that the kernel reads or writes is never the program's own while the thread is
 * outside: in-data is copied to a bounce buffer first, out-data is copied from it afterwards, both as owned accesses. So a
 * race of another thread with a buffer is ordered like any other race.
 *
 * An input's bytes: 8 bytes result, then for each out-parameter 4 bytes length and the data. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/sockios.h>
#include <linux/wait.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { EMUL = 1, NATIVE, VM, WRITE, SPECIAL, ABSENT, REFUSE };
struct entry {
    const char *name;
    int class;
    const char *params;
};
#define SYS_MAX 512
static const struct entry table[SYS_MAX] = {
#define S(nr, name, class, params) [nr] = {#name, class, params},
#include "syscalls.def"
#undef S
};


const char *weft__sys_name(long nr) { return nr >= 0 && nr < SYS_MAX && table[nr].name ? table[nr].name : "?"; }

/* ---- bounce buffer */

unsigned char *weft__bounce(struct weft_thread *t, size_t n) {
    if (t->bounce_size < n) {
        size_t old = t->bounce_size;
        size_t want = old ? old : 65536;
        while (want < n) want *= 2;
        unsigned char *b = weft__rt_map(want);
        if (old) {
            weft__copy(b, t->bounce, old);
            weft__raw(SYS_munmap, t->bounce, old);
        }
        t->bounce = b;
        t->bounce_size = want;
    }
    return t->bounce;
}

static size_t string_length(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

/* Takes a string: its lines, as far as it goes. Only record looks at the memory. */
void weft__take_string(struct weft_thread *t, const char *s, size_t max) {
    if (weft__mode != WEFT_RECORD || !s) return;
    for (;;) {
        int waited = 0;
        uint64_t p = (uint64_t)(uintptr_t)s, end = p + max;
        if (end < p) end = UINT64_MAX;
        while (p < end) {
            waited |= weft__rec_take(t, p, 1, 0, 0);
            uint64_t stop = (p | (WEFT_LINE - 1)) + 1;
            if (stop > end) stop = end;
            for (; p < stop; p++)
                if (!*(const char *)(uintptr_t)p) goto whole;
        }
    whole:
        if (!waited) return;
    }
}

/* ---- parameters */

struct param {
    char dir; /* i, o, b */
    int arg;
    enum { P_CONST, P_ARG, P_RESULT, P_STRING, P_LENPTR } kind;
    int size_arg;
    long size; /* constant or multiplier */
    long more; /* bytes beside that */
};

static const char *next_param(const char *s, struct param *p) {
    while (*s == ' ') s++;
    if (!*s) return NULL;
    p->dir = *s++;
    p->arg = *s++ - '0';
    p->size = 1;
    p->more = 0;
    p->kind = P_CONST;
    p->size_arg = 0;
    char k = *s++;
    if (k == 's')
        p->kind = P_STRING;
    else if (k == '=') {
        p->size = 0;
        while (*s >= '0' && *s <= '9') p->size = p->size * 10 + (*s++ - '0');
    } else if (k == '@') {
        p->kind = P_LENPTR;
        p->size_arg = *s++ - '0';
    } else { /* ':' */
        if (*s == 'r')
            p->kind = P_RESULT;
        else {
            p->kind = P_ARG;
            p->size_arg = *s - '0';
        }
        s++;
        if (*s == '*') {
            s++;
            p->size = 0;
            while (*s >= '0' && *s <= '9') p->size = p->size * 10 + (*s++ - '0');
        }
        if (*s == '+') p->more = s[1] - '0', s += 2;
    }
    return s;
}

#define WAITID_INFO 28 /* bytes that waitid gives */
/* All parameters of a call. Those of the table are read once. */
struct params {
    struct param p[6], *end;
};
static struct params *params_of(long nr, const char *text, struct params *own) {
    static struct params known[SYS_MAX];
    struct params *k = &known[nr];
    /* Pairs with the store below: whoever reads it first, all would write the same. */
    int in_table = text == table[nr].params;
    if (in_table && likely(__atomic_load_n(&k->end, __ATOMIC_ACQUIRE) != NULL)) return k;
    struct param *p = own->p;
    for (const char *s = text; p < own->p + 6 && (s = next_param(s, p));) p++;
    own->end = p;
    if (in_table) {
        for (int i = 0; i < 6; i++) k->p[i] = own->p[i];
        __atomic_store_n(&k->end, k->p + (p - own->p), __ATOMIC_RELEASE);
    }
    return own;
}

#define RW_MAX 0x7ffff000l /* the kernel moves no more than this in one call */

/* Room that an out-parameter may need, before the call. For results: the argument after the pointer is the room. */
static size_t room_for(const struct param *p, const long a[6]) {
    switch (p->kind) {
    case P_CONST: return (size_t)p->size;
    case P_ARG: return (size_t)a[p->size_arg] * (size_t)p->size + (size_t)p->more;
    case P_RESULT:
        /* read(fd, buf, n), getrandom(buf, n), sched_getaffinity(pid, n, buf): by position */
        return 0;
    case P_LENPTR: return a[p->size_arg] ? *(uint32_t *)a[p->size_arg] : 0;
    default: return 0;
    }
}

static size_t result_room(long nr, const struct param *p, const long a[6]) {
    if (nr == SYS_sched_getaffinity) return (size_t)a[1];
    if (nr == SYS_getgroups) return (size_t)a[0] * 4;
    long n = a[p->arg + 1];
    if (p->size > 1) n *= p->size;
    return (n < 0 ? 0 : n > RW_MAX ? (size_t)RW_MAX : (size_t)n) + (size_t)p->more;
}

/* Calls that never wait, for nothing: not worth going outside. */
static int is_brief(long nr) {
    return nr == SYS_getpid || nr == SYS_gettid || nr == SYS_lseek || nr == SYS_epoll_ctl || nr == SYS_getsockopt || nr == SYS_getsockname || nr == SYS_getpeername;
}

static long do_call(struct weft_thread *t, long nr, const long b[6]) {
    if (is_brief(nr)) return raw(nr, b);
    if (unlikely(t->live)) { /* it is not waited for, and nobody else's turn comes between */
        weft__own_ready(t, nr);
        return raw(nr, b);
    }
    weft__outside(t);
    long r = weft__raw_wait(t, nr, b);
    weft__inside(t);
    return r;
}

/* Record: the two commonest kinds, and the same bytes as emulated makes: nothing but a result; or as many bytes as the result. */
static long emulate_plain(struct weft_thread *t, long nr, const long a[6]) {
    weft__tick(t);
    long r = do_call(t, nr, a);
    weft__log_input(t, (uint64_t)nr, r, NULL, 0);
    return r;
}
static long emulate_read(struct weft_thread *t, long nr, const long a[6], int arg, size_t room) {
    long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    unsigned char *buf = weft__bounce(t, room + 16);
    b[arg] = (long)(buf + 4);
    weft__tick(t);
    long r = do_call(t, nr, b);
    uint32_t n = failed(r) ? 0 : (size_t)r > room ? (uint32_t)room : (uint32_t)r;
    __builtin_memcpy(buf, &n, 4);
    weft__log_input(t, (uint64_t)nr, r, buf, 4ul + n);
    if (n) {
        weft__take(t, (void *)a[arg], n);
        weft__copy((void *)a[arg], buf + 4, n);
        weft__tick(t);
    }
    return r;
}

#define FD_MAX WEFT_CONSOLE
static unsigned char console[FD_MAX] = {[1] = 1, [2] = 2}; /* which descriptors are the recorded stdout and stderr */

/* Not live: what is read is somewhere else. */
static int refers(struct weft_thread *t, long nr) {
    if (!weft__given) return weft__gate_op(t) == WEFT_OP_REFERENCE;
    const struct weft_sched_item *r = weft__given_find(t, WEFT_ITEM_INPUT, WEFT_OP_REFERENCE), *d = weft__given_find(t, WEFT_ITEM_INPUT, nr);
    return r && (!d || r < d);
}

/* Steered: the run goes on beyond the trace, and this can be done here: it is about the process itself, or its stdout. */
static int done_anyway(struct weft_thread *t, long nr, const long a[6]) {
    if (t->live) return 1;
    if (!weft__given || weft__given_find(t, WEFT_ITEM_INPUT, nr)) return 0;
    switch (nr) {
    case SYS_newfstatat:
        if (!a[1] || *(const char *)a[1]) return 0; /* fallthrough */
    case SYS_fstat: case SYS_ioctl: case SYS_lseek: return a[0] >= 0 && a[0] <= 2 && console[a[0]];
    case SYS_fcntl: return a[0] >= 0 && a[0] <= 2 && console[a[0]] && (a[1] == F_GETFL || a[1] == F_SETFL || a[1] == F_GETFD);
    case SYS_getpid: case SYS_gettid: case SYS_getppid: case SYS_getuid: case SYS_geteuid: case SYS_getgid: case SYS_getegid:
    case SYS_uname: case SYS_sched_getaffinity: case SYS_getrusage: case SYS_sysinfo: return 1;
    default: return 0;
    }
}

/* Steered: a thread that makes such a call waits, as far as the others are concerned. */
static int lets_others(long nr) {
    switch (nr) {
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_pause: case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6:
    case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_accept: case SYS_accept4: return 1;
    default: return 0;
    }
}

/* Steered: of a call that asks about a path; 0: it does not. */
static uint64_t path_key(long nr, const long a[6]) {
    const char *path;
    switch (nr) {
    case SYS_stat: case SYS_lstat: case SYS_access: case SYS_readlink: case SYS_open: path = (const char *)a[0]; break;
    case SYS_newfstatat: case SYS_statx: case SYS_faccessat: case SYS_faccessat2: case SYS_readlinkat: case SYS_openat: path = (const char *)a[1]; break;
    default: return 0;
    }
    uint64_t h = weft_hash(&nr, sizeof nr), n = 0;
    if (!path || *path != '/') return 0;
    while (path[n]) n++;
    h = weft_hash_more(h, path, n);
    return h ? h : 1;
}

/* While failures are wanted, one sleep in eight takes longer, up to 16 times, as it may on a busy machine: who takes a sleep for an
 * order ("it has surely started by now") is found out. b: what the call gets, a copy. */
#define LONGER_NS 100000000ull
static void oversleep(struct weft_thread *t, long nr, const long b[6]) {
    if ((nr != SYS_nanosleep && (nr != SYS_clock_nanosleep || b[1] & TIMER_ABSTIME)) || weft__given) return;
    struct timespec *ts = (struct timespec *)b[nr == SYS_nanosleep ? 0 : 2];
    t->rng = t->rng * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t x = (uint32_t)(t->rng >> 32);
    if (!ts || x & 7 || ts->tv_sec < 0 || ts->tv_sec > 1000 || ts->tv_nsec < 0 || ts->tv_nsec > 999999999) return;
    uint64_t ns = (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec, more = ns / 1024 * ((x >> 3) & 16383);
    ns += more < LONGER_NS ? more : LONGER_NS;
    *ts = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* Of n bytes of an out-parameter, those that the kernel has written; the program finds the others as they were. b: what the call got. */
static size_t written(long nr, const struct param *p, const long a[6], const long b[6], long r, size_t n) {
    switch (nr) {
    case SYS_nanosleep: return r == -EINTR ? (size_t)p->size : 0; /* what is left */
    case SYS_clock_nanosleep: return r == -EINTR && !(a[1] & TIMER_ABSTIME) ? (size_t)p->size : 0;
    case SYS_wait4: return r > 0 ? n : 0;
    case SYS_waitid: /* without a child as well, with zeros */
        if (p->arg == 2) return r == -EFAULT || r == -EINTR ? 0 : (size_t)p->size;
        return !a[2] || *(int *)b[2] ? n : 0;
    case SYS_capget: return p->arg == 1 && *(uint32_t *)b[0] == 0x19980330 && n > 12 ? 12 : n; /* _LINUX_CAPABILITY_VERSION_1 */
    case SYS_rt_sigpending: return (size_t)a[1] < n ? (size_t)a[1] : n;
    case SYS_syslog: return a[0] >= 2 && a[0] <= 4 ? n : 0; /* others give a size */
    default: return n;
    }
}

/* Out-data of the kernel's to the program. */
static void give(long nr, const struct param *p, void *to, const void *from, size_t n) {
    if (nr == SYS_waitid && p->arg == 2 && n == WAITID_INFO) { /* without the padding */
        weft__copy(to, from, 12);
        weft__copy((char *)to + 16, (const char *)from + 16, n - 16);
    } else
        weft__copy(to, from, n);
}

long weft__emulated(struct weft_thread *t, long nr, const long a[6], const char *params) {
    long b[6];
    struct params own, *all = params_of(nr, params, &own);
    struct param *list = all->p, *p, *end_of = all->end;
    for (int i = 0; i < 6; i++) b[i] = a[i];
    if (!RECORD && !done_anyway(t, nr, a)) {
        /* The ticks of what record reads and copies below. */
        for (p = list; p < end_of; p++) {
            if (!a[p->arg]) continue;
            if (p->dir == 'i' && p->kind == P_STRING) {
                weft__take_string(t, (const char *)a[p->arg], SIZE_MAX);
                weft__tick(t);
            }
            if (p->dir != 'i' && p->kind == P_LENPTR) {
                if (weft__given) weft__take_read(t, (void *)a[p->size_arg], 4);
                weft__tick(t);
            }
        }
        for (p = list; p < end_of; p++)
            if (a[p->arg] && p->dir != 'o') {
                if (weft__given && p->kind != P_STRING) weft__take_read(t, (void *)a[p->arg], room_for(p, a));
                weft__tick(t);
            }
        weft__tick(t);
        if (weft__given && lets_others(nr)) weft__turns_yield(t);
        if ((nr == SYS_read || nr == SYS_pread64) && refers(t, nr)) return weft__file_read_again(t, a);
        uint64_t key = weft__given ? path_key(nr, a) : 0;
        struct weft_sched_item *it = key ? weft__given_path(t, nr, key) : weft__gate_input(t, WEFT_ITEM_INPUT, nr);
        if (!it && weft__given && (nr == SYS_nanosleep || nr == SYS_clock_nanosleep)) {
            weft__log_input(t, (uint64_t)nr, 0, NULL, 0); /* it sleeps more often than in the trace */
            return 0;
        }
        if (!it) weft__diverged("thread %u at tick %lu makes the system call %s, which the recording does not have there", t->slot, t->tls->clock, weft__sys_name(nr));
        const char *d = weft__gate_data(it), *end = d + it->size;
        int64_t r;
        __builtin_memcpy(&r, d, 8);
        d += 8;
        for (p = list; p < end_of; p++) {
            if (p->dir == 'i') continue;
            uint32_t n;
            if (d + 4 > end) break;
            __builtin_memcpy(&n, d, 4);
            d += 4;
            if (n && a[p->arg]) {
                if (weft__given) weft__take(t, (void *)a[p->arg], n);
                give(nr, p, (void *)a[p->arg], d, n);
                weft__tick(t);
            }
            d += n;
            if (p->kind == P_LENPTR && d + 4 <= end) {
                if (a[p->size_arg] && !failed(r)) {
                    if (weft__given) weft__take(t, (void *)a[p->size_arg], 4);
                    __builtin_memcpy((void *)a[p->size_arg], d, 4);
                    weft__tick(t);
                }
                d += 4;
            }
        }
        return r;
    }
    if (end_of == list) return emulate_plain(t, nr, a);
    if (end_of == list + 1 && list->dir == 'o' && list->kind == P_RESULT && list->size == 1 && !list->more && a[list->arg] && nr != SYS_syslog)
        return emulate_read(t, nr, a, list->arg, result_room(nr, list, a));
    /* Lay out: outs, then ins; before the first there is room for its length, as the log wants it. */
    size_t outs = 0, ins = 0;
    size_t off[6] = {0}, room[6] = {0};
    uint32_t lens[6] = {0};
    for (p = list; p < end_of; p++) {
        if (!a[p->arg]) continue;
        if (p->dir == 'i') {
            if (p->kind == P_STRING) {
                /* Each access has a tick of its own: while one waits, what an earlier one took may go. */
                weft__take_string(t, (const char *)a[p->arg], SIZE_MAX);
                room[p->arg] = string_length((const char *)a[p->arg]) + 1;
                weft__tick(t);
            } else {
                room[p->arg] = room_for(p, a);
            }
            ins += (room[p->arg] + 15) & ~15ul;
        } else {
            if (p->kind == P_LENPTR) weft__take_read(t, (void *)a[p->size_arg], 4);
            room[p->arg] = p->kind == P_RESULT ? result_room(nr, p, a) : room_for(p, a);
            if (p->kind == P_LENPTR) {
                lens[p->arg] = a[p->size_arg] ? *(uint32_t *)a[p->size_arg] : 0;
                weft__tick(t);
            }
            outs += (room[p->arg] + 16 + 15) & ~15ul;
        }
    }
    unsigned char *buf = weft__bounce(t, outs + ins + 64);
    size_t at = 16;
    for (int pass = 0; pass < 2; pass++)
        for (p = list; p < end_of; p++) {
            if (!a[p->arg] || (p->dir == 'i') != (pass == 1)) continue;
            at = (at + 15) & ~15ul;
            off[p->arg] = at;
            b[p->arg] = (long)(buf + at);
            if (p->dir != 'o') {
                weft__take_read(t, (void *)a[p->arg], room[p->arg]);
                weft__copy(buf + at, (void *)a[p->arg], room[p->arg]);
                weft__tick(t);
            }
            if (p->kind == P_LENPTR) b[p->size_arg] = (long)&lens[p->arg];
            at += room[p->arg];
        }
    weft__tick(t); /* what was read above is done: now the thread may lose it */
    for (p = list; p < end_of; p++) /* a sleep that a signal ends before it has begun: all is left */
        if (p->dir == 'o' && a[p->arg] && (nr == SYS_nanosleep || nr == SYS_clock_nanosleep)) weft__copy((void *)b[p->arg], (void *)b[list->arg], sizeof(struct timespec));
    if (unlikely(weft__delays | weft__steering)) oversleep(t, nr, b);
    long r = do_call(t, nr, b);
    /* Out-data into one run of bytes for the log; then into the program's memory, each with a tick. */
    size_t total = 0, need = outs + ins + 64, sole = 0; /* where the data is, if there is but one */
    size_t got[6] = {0};
    for (p = list; p < end_of; p++) {
        if (p->dir == 'i') continue;
        size_t n = 0;
        if (!failed(r) && a[p->arg]) {
            n = p->kind == P_RESULT ? (size_t)r * (size_t)p->size + (size_t)p->more : room[p->arg];
            if (p->kind == P_LENPTR && lens[p->arg] < n) n = lens[p->arg];
            if (p->kind == P_RESULT && n > room[p->arg]) n = room[p->arg];
        }
        if (a[p->arg]) n = written(nr, p, a, b, r, n);
        got[p->arg] = n;
        sole = total || p->kind == P_LENPTR ? 0 : off[p->arg];
        total += 4 + n + (p->kind == P_LENPTR ? 4 : 0);
    }
    unsigned char *log = buf + sole - 4;
    if (sole) {
        uint32_t n = (uint32_t)(total - 4);
        __builtin_memcpy(log, &n, 4);
    } else {
        buf = weft__bounce(t, need + total);
        log = buf + need;
    }
    size_t k = 0;
    for (p = list; !sole && p < end_of; p++) {
        if (p->dir == 'i') continue;
        uint32_t n = (uint32_t)got[p->arg];
        __builtin_memcpy(log + k, &n, 4);
        weft__copy(log + k + 4, buf + off[p->arg], n);
        k += 4 + n;
        if (p->kind == P_LENPTR) {
            __builtin_memcpy(log + k, &lens[p->arg], 4);
            k += 4;
        }
    }
    weft__log_input(t, (uint64_t)nr, r, log, total);
    for (p = list; p < end_of; p++) {
        if (p->dir == 'i') continue;
        if (got[p->arg]) {
            weft__take(t, (void *)a[p->arg], got[p->arg]);
            give(nr, p, (void *)a[p->arg], buf + off[p->arg], got[p->arg]);
            weft__tick(t);
        }
        if (p->kind == P_LENPTR && a[p->size_arg] && !failed(r)) {
            weft__take(t, (void *)a[p->size_arg], 4);
            *(uint32_t *)a[p->size_arg] = lens[p->arg];
            weft__tick(t);
        }
    }
    return r;
}

/* Whether an argument points where there is never any memory: then the kernel shall say so (EFAULT, or what else it finds
 * wrong first), not a fault in here. */
static int nowhere(long p) { return (unsigned long)p - 1 < 65535 || (unsigned long)p >> 47; }
/* The same for where there is none now: unmapped, or not to be read. Whether there is any is not ordered with threads that map memory just
 * then, so it is in the recording. The calling thread is at a fresh tick. */
#define LOOKS (weft__mode == WEFT_RECORD)
static int unreadable(struct weft_thread *t, int bad) {
    if (LOOKS) {
        if (unlikely(bad)) weft__log_input(t, WEFT_OP_UNREADABLE, 0, NULL, 0);
        return bad;
    }
    if (weft__gate_op(t) != WEFT_OP_UNREADABLE) return 0;
    weft__input(t, WEFT_OP_UNREADABLE, 0, NULL, 0);
    return 1;
}
static int lost(struct weft_thread *t, long p) { return nowhere(p) || unreadable(t, LOOKS && p && !weft__peek((uint64_t)p)); }
static int points_nowhere(struct weft_thread *t, long nr, const long a[6], const char *params) {
    struct params own, *all = params_of(nr, params, &own);
    int bad = 0;
    for (const struct param *p = all->p; p < all->end; p++) {
        if (nowhere(a[p->arg]) || (p->kind == P_LENPTR && nowhere(a[p->size_arg]))) return 1;
        if (LOOKS && a[p->arg] && !weft__peek((uint64_t)a[p->arg])) bad = 1;
        if (LOOKS && p->kind == P_LENPTR && a[p->size_arg] && !weft__peek((uint64_t)a[p->size_arg])) bad = 1;
    }
    return unreadable(t, bad);
}

/* ---- output */


static void track_fd(long nr, const long a[6], long r) {
    if (failed(r)) return;
    if (nr == SYS_close && a[0] >= 0 && a[0] < FD_MAX) console[a[0]] = 0;
    if (r >= 0 && r < FD_MAX) {
        if (nr == SYS_dup || nr == SYS_dup2 || nr == SYS_dup3 || (nr == SYS_fcntl && (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)))
            console[r] = a[0] >= 0 && a[0] < FD_MAX ? console[a[0]] : 0;
        else if (nr == SYS_open || nr == SYS_openat || nr == SYS_socket)
            console[r] = 0;
    }
}

/* A program that was executed knows from the launcher which of its descriptors these are. */
void weft__console_begin(struct weft_thread *t) {
    weft__tick(t);
    if (RECORD && weft__control->executed) {
        weft__copy(console, weft__control->console, sizeof console);
        weft__log_input(t, WEFT_OP_DESCRIPTORS, 0, console, sizeof console);
        weft__files_inherited(t, console);
    } else if (!RECORD && weft__gate_op(t) == WEFT_OP_DESCRIPTORS) {
        weft__input(t, WEFT_OP_DESCRIPTORS, 0, console, sizeof console);
        weft__files_inherited(t, console);
    }
}

struct write_item {
    uint64_t hash;
    uint32_t console;
    uint32_t file;   /* number (files.c) */
    int64_t at;      /* in the file, or of a console: number of the write; is there only if there is one */
    uint64_t after;  /* of a console: the write that was logged last, by any process; is there only then */
};
#define WRITE_SHORT 16
#define WRITE_FILE 24

static void console_write(int fd, const unsigned char *p, size_t n) {
    while (n) {
        long r = weft__raw(SYS_write, fd, p, n);
        if (r == -EINTR || r == -EAGAIN) continue;
        if (r <= 0) return;
        p += r;
        n -= (size_t)r;
    }
}

/* Several processes may write to the recorded stdout. What one of them has written and logged comes first in replay too;
 * of two writes at the same time, any. A process that could not go on will not write: then nobody waits. */
static void console_after(uint64_t n) {
    uint64_t *done = &weft__root->console_done[n % WEFT_CONSOLE_RING];
    for (;;) {
        uint32_t wake = __atomic_load_n(&weft__root->console_wake, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(done, __ATOMIC_SEQ_CST) >= n || __atomic_load_n(&weft__root->console_free, __ATOMIC_SEQ_CST)) return;
        weft__raw(SYS_futex, &weft__root->console_wake, FUTEX_WAIT, wake, 0);
    }
}
static void console_wake(void) {
    __atomic_fetch_add(&weft__root->console_wake, 1, __ATOMIC_SEQ_CST);
    weft__raw(SYS_futex, &weft__root->console_wake, FUTEX_WAKE, 1 << 30);
}
static void console_was(uint64_t n) {
    uint64_t *done = &weft__root->console_done[n % WEFT_CONSOLE_RING], had = __atomic_load_n(done, __ATOMIC_SEQ_CST);
    while (had < n && !__atomic_compare_exchange_n(done, &had, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    console_wake();
}
void weft__console_free(void) {
    __atomic_store_n(&weft__root->console_free, 1, __ATOMIC_SEQ_CST);
    console_wake();
}
static void console_logged(uint64_t n) {
    uint64_t *last = &weft__root->console_last, had = __atomic_load_n(last, __ATOMIC_SEQ_CST);
    while (had < n && !__atomic_compare_exchange_n(last, &had, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
}

/* What several threads write to the recorded stdout comes out in one order, which is that of this lock. */
static int console_lock[3];
static long console_fd[3]; /* of who has the lock */
void weft__sys_forked(void) {
    weft__files_forked();
    console_lock[0] = console_lock[1] = console_lock[2] = 0;
    weft__sys_vm_forked();
}

static int writable(long fd) {
    struct pollfd p = {(int)fd, POLLOUT, 0};
    struct timespec none = {0};
    return weft__raw(SYS_ppoll, &p, 1, &none, 0, 8) == 1 && (p.revents & POLLOUT);
}

/* The process is about to end in this thread. What another one has just written must get into its stream first, or the
 * replay would not show it. But not for long if it waits for a reader, who may never come. */
void weft__console_settle(void) {
    struct timespec ts = {0, 500000};
    if (weft__steering) weft__steer_end();
    for (int k = 1; k <= 2; k++)
        for (int i = 0, zero = 0; i < 200 || (i < 20000 && writable(console_fd[k])); i++, zero = 0) {
            if (__atomic_compare_exchange_n(&console_lock[k], &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) break;
            weft__raw(SYS_nanosleep, &ts, 0);
        }
}

/* A steered run: as much is written as was in the trace, or all. Only the recorded stdout and stderr are there. */
static long write_steered(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, struct write_item *w) {
    struct write_item was = {0};
    struct weft_sched_item *it = weft__given_find(t, WEFT_ITEM_INPUT, nr);
    int64_t r = (int64_t)n;
    if (it && it->size >= 8 + WRITE_SHORT && it->size <= 8 + sizeof was) {
        int64_t gave;
        __builtin_memcpy(&gave, weft__gate_data(it), 8);
        __builtin_memcpy(&was, (const char *)weft__gate_data(it) + 8, it->size - 8);
        weft__given_use(t, it);
        if (was.hash == w->hash || failed(gave)) r = gave;
    }
    w->console = b[0] >= 0 && b[0] < FD_MAX ? console[b[0]] : 0;
    if (!w->console) weft__own_write(t, nr, b, data, n, &r);
    w->file = w->console || r <= 0 ? 0 : was.file;
    w->at = was.at;
    if (w->console) {
        weft__order(t, &console_lock[w->console]);
        if (r > 0) console_write((int)w->console, data, (size_t)r);
        w->after = weft__root->console_last;
        w->at = (int64_t)++weft__root->console_seq;
        weft__root->console_last = (uint64_t)w->at;
    }
    weft__log_input(t, (uint64_t)nr, r, w, w->console ? sizeof *w : w->file ? WRITE_FILE : WRITE_SHORT);
    return r;
}

/* n bytes, gathered at data (record: in the bounce buffer; replay: too), go out by call nr. */
long weft__write_out(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n) {
    struct write_item w = {weft_hash(data, n), 0, 0, 0, 0};
    if (RECORD) {
        w.console = b[0] >= 0 && b[0] < FD_MAX ? console[b[0]] : 0;
        w.file = w.console ? 0 : weft__file_of(b[0]);
        int *lock = w.console ? &console_lock[w.console] : w.file ? weft__file_lock(w.file) : NULL, zero = 0;
        weft__tick(t);
        if (lock && !__atomic_compare_exchange_n(lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            weft__outside(t);
            weft__lock(lock);
            weft__inside(t);
        }
        if (w.console) console_fd[w.console] = b[0];
        if (lock) weft__order(t, lock);
        weft__outside(t);
        long r = weft__raw_wait(t, nr, b);
        if (w.file && r > 0) w.at = weft__file_offset(nr, b, r);
        if (w.console) {
            w.after = __atomic_load_n(&weft__root->console_last, __ATOMIC_SEQ_CST);
            w.at = (int64_t)__atomic_add_fetch(&weft__root->console_seq, 1, __ATOMIC_SEQ_CST);
        }
        weft__inside(t);
        weft__log_input(t, (uint64_t)nr, r, &w, w.console ? sizeof w : w.file ? WRITE_FILE : WRITE_SHORT);
        if (w.console) console_logged((uint64_t)w.at);
        if (lock) weft__unlock(lock);
        return r;
    }
    struct write_item was = {0};
    weft__tick(t);
    if (weft__given) return write_steered(t, nr, b, data, n, &w);
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, nr);
    if (!it || (it->size != 8 + sizeof was && it->size != 8 + WRITE_FILE && it->size != 8 + WRITE_SHORT))
        weft__diverged("thread %u at tick %lu makes the system call %s, which the recording does not have there", t->slot,
                       t->tls->clock, weft__sys_name(nr));
    int64_t r;
    __builtin_memcpy(&r, weft__gate_data(it), 8);
    __builtin_memcpy(&was, (const char *)weft__gate_data(it) + 8, it->size - 8);
    if (was.hash != w.hash)
        weft__diverged("thread %u at tick %lu writes %lu bytes to descriptor %ld that differ from the recorded ones", t->slot,
                       t->tls->clock, n, b[0]);
    if (was.console && was.after) console_after(was.after);
    if (was.console && r > 0 && !(nr == SYS_pwrite64 && weft__raw(nr, was.console, data, r, b[3]) == r))
        console_write((int)was.console, data, (size_t)r);
    if (was.console && was.at) console_was((uint64_t)was.at);
    if (was.file && r > 0) weft__file_write(was.file, data, (size_t)r, was.at);
    return r;
}

/* Takes a lock of the runtime's that is held while a call is made. */
static void lock_for(struct weft_thread *t, int *lock) {
    int zero = 0;
    if (__atomic_compare_exchange_n(lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    weft__outside(t);
    weft__lock(lock);
    weft__inside(t);
}

static long do_write(struct weft_thread *t, long nr, const long a[6]) {
    if (a[2] < 0) return weft__emulated(t, nr, a, ""); /* the kernel refuses it */
    size_t n = a[2] > RW_MAX ? (size_t)RW_MAX : (size_t)a[2];
    unsigned char *buf = weft__bounce(t, n + 16);
    weft__take_read(t, (void *)a[1], n);
    weft__copy(buf, (void *)a[1], n);
    long b[6] = {a[0], (long)buf, (long)n, a[3], a[4], a[5]};
    return weft__write_out(t, nr, b, buf, n);
}

/* ---- the end of the process */

/* The process ends here as the recording did, in replay, whatever the program is about to become. */
__attribute__((noreturn)) void weft__end_as_recorded(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    weft__gate_finish(t);
    weft__gate_end_process(s);
}

/* The same for a process that becomes the program of another part: that one ends it. */
void weft__become_as_recorded(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    weft__gate_finish(t);
    weft__control->exit_kind = s->end_kind;
    weft__control->exit_code = s->end_code;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
}

void weft__note_reached(struct weft_thread *t) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || o == t || !o->alive || !o->tls) continue;
        if (weft__given && o->tls->clock == o->last_clock) continue; /* it has not begun */
        /* A tick that it has surely begun: its clock says so. */
        uint64_t c = __atomic_load_n(&o->tls->clock, __ATOMIC_ACQUIRE);
        weft__log_item(t, WEFT_ITEM_REACHED, s, &c, 8, NULL, 0);
    }
}

static long end_process(struct weft_thread *t, const long a[6]) {
    if (weft__mode == WEFT_RECORD) {
        weft__control->last_site = t->last_site;
        weft__control->last_slot = t->slot;
        if (weft__given && a[0]) weft__look(WEFT_LOOK_END);
        weft__console_settle();
        weft__note_reached(t);
        weft__log_input(t, SYS_exit_group, a[0], NULL, 0);
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, SYS_exit_group);
        if (!it) weft__diverged("thread %u ends the process at tick %lu, which the recording does not have there", t->slot, t->tls->clock);
        int64_t was;
        __builtin_memcpy(&was, weft__gate_data(it), 8);
        if (was != a[0]) weft__diverged("the program exits with status %ld, recorded was %ld", a[0], was);
        weft__gate_finish(t);
        weft__access_end();
    }
    weft__control->exit_kind = WEFT_END_EXIT;
    weft__control->exit_code = (uint32_t)a[0] & 0xff;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
    return raw(SYS_exit_group, a);
}

/* ---- calls with code of their own */

/* A call that weft does not know of: where the kernel does not either, it has done nothing, and the program is told what it is told natively. */
static int not_known(struct weft_thread *t, long nr, const long a[6], long answer, long *r) {
    *r = weft__emulated(t, nr, a, "");
    return *r == answer || *r == -EBADF;
}

static long do_ioctl(struct weft_thread *t, const long a[6]) {
    static const struct { unsigned long req; const char *params; } known[] = {
        /* files */
        {FIONREAD, "o2=4"}, {FIONBIO, "i2=4"}, {FIOASYNC, "i2=4"}, {FIOCLEX, ""}, {FIONCLEX, ""}, {FIOQSIZE, "o2=8"}, {FIGETBSZ, "o2=4"},
        {0x40044900, ""}, /* INOTIFY_IOC_SETNEXTWD */
        {0x40085400, "i2=8"}, /* TFD_IOC_SET_TICKS */
        {FICLONE, ""}, {FICLONERANGE, "i2=32"}, {FS_IOC_GETFLAGS, "o2=4"}, {FS_IOC_SETFLAGS, "i2=4"}, {FS_IOC_FSGETXATTR, "o2=28"},
        {BLKGETSIZE64, "o2=8"}, {BLKSSZGET, "o2=4"}, {BLKGETSIZE, "o2=8"}, {BLKBSZGET, "o2=4"}, {BLKPBSZGET, "o2=4"}, {BLKROGET, "o2=4"},
        {RNDGETENTCNT, "o2=4"},
        /* terminals */
        {TCGETS, "o2=36"}, {TCSETS, "i2=36"}, {TCSETSW, "i2=36"}, {TCSETSF, "i2=36"}, {TCSBRK, ""}, {TCXONC, ""}, {TCFLSH, ""},
        {TIOCGWINSZ, "o2=8"}, {TIOCSWINSZ, "i2=8"}, {TIOCGPGRP, "o2=4"}, {TIOCSPGRP, "i2=4"}, {TIOCGSID, "o2=4"},
        {TIOCOUTQ, "o2=4"}, {TIOCSCTTY, ""}, {TIOCNOTTY, ""}, {TIOCGPTN, "o2=4"}, {TIOCSPTLCK, "i2=4"},
        {TCGETA, "o2=18"}, {TCSETA, "i2=18"}, {TCSETAW, "i2=18"}, {TCSETAF, "i2=18"}, {TCSBRKP, ""}, {TIOCEXCL, ""}, {TIOCNXCL, ""},
        {TIOCGEXCL, "o2=4"}, {TIOCPKT, "i2=4"}, {TIOCGPKT, "o2=4"}, {TIOCGPTLCK, "o2=4"}, {TIOCGETD, "o2=4"}, {TIOCSETD, "i2=4"}, {TIOCMGET, "o2=4"},
        {TIOCGSOFTCAR, "o2=4"}, {TIOCSSOFTCAR, "i2=4"}, {TIOCSTI, "i2=1"}, {TIOCGPTPEER, ""}, {TIOCSIG, ""}, {TIOCVHANGUP, ""}, {TIOCSBRK, ""}, {TIOCCBRK, ""},
        {TIOCMSET, "i2=4"}, {TIOCMBIS, "i2=4"}, {TIOCMBIC, "i2=4"}, {TIOCGDEV, "o2=4"},
        {_IOC(_IOC_READ, 'T', 0x2a, 44), "o2=44"}, {_IOC(_IOC_WRITE, 'T', 0x2b, 44), "i2=44"}, /* TCGETS2, TCSETS2, TCSETSW2, TCSETSF2 */
        {_IOC(_IOC_WRITE, 'T', 0x2c, 44), "i2=44"}, {_IOC(_IOC_WRITE, 'T', 0x2d, 44), "i2=44"},
        /* sockets and network interfaces */
        {SIOCATMARK, "o2=4"}, {SIOCGIFNAME, "b2=40"}, {SIOCGIFFLAGS, "b2=40"}, {SIOCGIFADDR, "b2=40"}, {SIOCGIFNETMASK, "b2=40"},
        {SIOCGIFBRDADDR, "b2=40"}, {SIOCGIFMTU, "b2=40"}, {SIOCGIFHWADDR, "b2=40"}, {SIOCGIFINDEX, "b2=40"},
        {SIOCGIFDSTADDR, "b2=40"}, {SIOCGIFMETRIC, "b2=40"}, {SIOCGIFTXQLEN, "b2=40"}, {SIOCSPGRP, "i2=4"}, {SIOCGPGRP, "o2=4"}, {FIOSETOWN, "i2=4"}, {FIOGETOWN, "o2=4"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].req == (unsigned long)a[1]) return weft__emulated(t, SYS_ioctl, a, known[i].params);
    if (a[1] == SIOCGIFCONF) return !a[2] || nowhere(a[2]) ? weft__emulated(t, SYS_ioctl, a, "") : weft__sys_ifconf(t, a);
    long r;
    if (not_known(t, SYS_ioctl, a, -ENOTTY, &r)) return r;
    weft__refuse("ioctl 0x%lx cannot be recorded yet", (unsigned long)a[1]);
}

/* What the kernel says of a process differs in replay, if only because weft starts it in another way. */
static long do_prctl(struct weft_thread *t, const long a[6]) {
    switch (a[0]) {
    case PR_GET_PDEATHSIG: case PR_GET_UNALIGN: case PR_GET_TSC: case PR_GET_CHILD_SUBREAPER:
        return weft__emulated(t, SYS_prctl, a, nowhere(a[1]) ? "" : "o1=4");
    case PR_GET_TID_ADDRESS: return weft__emulated(t, SYS_prctl, a, nowhere(a[1]) ? "" : "o1=8");
    case PR_GET_NAME: return weft__emulated(t, SYS_prctl, a, nowhere(a[1]) ? "" : "o1=16");
    case PR_SET_NAME: {
        long r = weft__emulated(t, SYS_prctl, a, nowhere(a[1]) ? "" : "i1s");
        if (!RECORD && r == 0) raw(SYS_prctl, a); /* for those who look at the threads of a replay */
        return r;
    }
    case PR_SET_PDEATHSIG: case PR_GET_DUMPABLE: case PR_SET_DUMPABLE: case PR_GET_KEEPCAPS: case PR_SET_KEEPCAPS:
    case PR_GET_TIMING: case PR_SET_TIMING: case PR_GET_SECCOMP: case PR_CAPBSET_READ: case PR_CAPBSET_DROP:
    case PR_GET_SECUREBITS: case PR_SET_SECUREBITS: case PR_SET_TIMERSLACK: case PR_GET_TIMERSLACK:
    case PR_SET_CHILD_SUBREAPER: case PR_SET_NO_NEW_PRIVS: case PR_GET_NO_NEW_PRIVS: case PR_SET_THP_DISABLE:
    case PR_GET_THP_DISABLE: case PR_CAP_AMBIENT: case PR_GET_SPECULATION_CTRL: case PR_SET_SPECULATION_CTRL:
    case PR_MCE_KILL: case PR_MCE_KILL_GET: case PR_SET_IO_FLUSHER: case PR_GET_IO_FLUSHER:
    case 65: case 66: case 67: case 68: /* PR_{SET,GET}_MDWE, PR_{SET,GET}_MEMORY_MERGE */
    case PR_SET_PTRACER: return weft__emulated(t, SYS_prctl, a, "");
    case PR_SET_VMA: return weft__sys_vm(t, SYS_prctl, a);
    default: {
        long r;
        if (not_known(t, SYS_prctl, a, -EINVAL, &r)) return r;
        weft__refuse("prctl option %ld cannot be recorded yet", a[0]);
    }
    }
}

static long do_fcntl(struct weft_thread *t, const long a[6]) {
    switch (a[1]) {
    case F_GETLK:
    case F_OFD_GETLK: return weft__emulated(t, SYS_fcntl, a, "b2=32");
    case 17: return weft__emulated(t, SYS_fcntl, a, "o2=8"); /* F_GETOWNER_UIDS */
    case F_GET_RW_HINT: case F_GET_FILE_RW_HINT: return weft__emulated(t, SYS_fcntl, a, "o2=8");
    case F_SET_RW_HINT: case F_SET_FILE_RW_HINT: return weft__emulated(t, SYS_fcntl, a, "i2=8");
    case F_GETOWN_EX: return weft__emulated(t, SYS_fcntl, a, "o2=8");
    case F_SETOWN_EX: return weft__emulated(t, SYS_fcntl, a, "i2=8");
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: return weft__emulated(t, SYS_fcntl, a, "i2=32");
    case F_DUPFD: case F_DUPFD_CLOEXEC: case F_GETFD: case F_SETFD: case F_GETFL: case F_SETFL: case F_GETOWN: case F_SETOWN:
    case F_SETSIG: case F_GETSIG: case F_GETLEASE: case F_SETLEASE: case F_NOTIFY: case F_SETPIPE_SZ: case F_GETPIPE_SZ:
    case F_ADD_SEALS: case F_GET_SEALS: {
        long r = weft__emulated(t, SYS_fcntl, a, "");
        weft__file_after(t, SYS_fcntl, a, r, 0);
        track_fd(SYS_fcntl, a, r);
        return r;
    }
    default: {
        long r;
        if (not_known(t, SYS_fcntl, a, -EINVAL, &r)) return r;
        weft__refuse("fcntl command %ld cannot be recorded yet", a[1]);
    }
    }
}

static long do_semctl(struct weft_thread *t, const long a[6]) {
    switch (a[2] & 0xff) {
    case 0: case 11: case 12: case 14: case 15: case 16: /* IPC_RMID, GETPID, GETVAL, GETNCNT, GETZCNT, SETVAL */
        return weft__emulated(t, SYS_semctl, a, "");
    case 1: return weft__emulated(t, SYS_semctl, a, "i3=104"); /* IPC_SET */
    case 2: return weft__emulated(t, SYS_semctl, a, "o3=104"); /* IPC_STAT */
    case 13: case 17: { /* GETALL, SETALL: a number for each semaphore of the set */
        char ds[104], params[32];
        int64_t n = 0;
        if (RECORD && weft__raw(SYS_semctl, a[0], 0, 2 /* IPC_STAT */, ds) >= 0) __builtin_memcpy(&n, ds + 80, 8);
        n = weft__input(t, SYS_semctl, n, NULL, 0);
        weft__tick(t);
        weft__format(params, sizeof params, "%c3=%lu", (a[2] & 0xff) == 13 ? 'o' : 'i', (unsigned long)n * 2);
        return weft__emulated(t, SYS_semctl, a, params);
    }
    default: weft__refuse("semctl command %ld cannot be recorded yet", a[2]);
    }
}

static long do_msgctl(struct weft_thread *t, const long a[6]) {
    switch (a[1] & 0xff) {
    case 0: return weft__emulated(t, SYS_msgctl, a, "");       /* IPC_RMID */
    case 1: return weft__emulated(t, SYS_msgctl, a, "i2=120"); /* IPC_SET */
    case 2: return weft__emulated(t, SYS_msgctl, a, "o2=120"); /* IPC_STAT */
    default: weft__refuse("msgctl command %ld cannot be recorded yet", a[1]);
    }
}

static long do_select(struct weft_thread *t, long nr, const long a[6]) {
    /* nfds, three sets, timeout: sizes depend on nfds */
    size_t set = ((size_t)(a[0] < 0 ? 0 : a[0]) + 63) / 64 * 8;
    char p[96];
    weft__format(p, sizeof p, "b1=%lu b2=%lu b3=%lu %s4=16", set, set, set, nr == SYS_select ? "b" : "i");
    long b[6] = {a[0], a[1], a[2], a[3], a[4], 0};
    struct {
        uint64_t *mask;
        size_t size;
    } sixth = {NULL, 8};
    uint64_t mask = 0, kernel;
    if (nr == SYS_pselect6 && a[5]) {
        weft__take(t, (void *)a[5], sizeof sixth);
        sixth.mask = weft__signal_mask_in(t, *(long *)a[5], &mask, &kernel);
        b[5] = (long)&sixth;
    }
    long r = weft__emulated(t, nr, b, p);
    return weft__signal_mask_out(t, r, &mask, sixth.mask != NULL);
}

/* What FUTEX_WAKE_OP does to its second word (futex(2)). */
static void futex_op(uint32_t *word, uint32_t code) {
    uint32_t op = code >> 28 & 7, arg = (uint32_t)((int32_t)(code << 8) >> 20);
    if (code >> 28 & FUTEX_OP_OPARG_SHIFT) arg = 1u << (arg & 31);
    switch (op) {
    case FUTEX_OP_SET: *word = arg; break;
    case FUTEX_OP_ADD: *word += arg; break;
    case FUTEX_OP_OR: *word |= arg; break;
    case FUTEX_OP_ANDN: *word &= ~arg; break;
    case FUTEX_OP_XOR: *word ^= arg; break;
    }
}

/* A steered run: nobody waits in the kernel. Those who were to wait elsewhere are woken: they look again. */
static long futex_steered(struct weft_thread *t, int op, const long a[6]) {
    uint32_t *word = (uint32_t *)a[0];
    const struct timespec *until = (const struct timespec *)a[3];
    struct timespec copy;
    long r = 0;
    switch (op) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (until) {
            weft__take_read(t, until, sizeof *until);
            copy = *until;
            until = &copy;
        }
        weft__take_read(t, word, 4);
        if (*word != (uint32_t)a[2])
            r = -EAGAIN;
        else {
            weft__turns_wait_begin(t, WEFT_WAIT_FUTEX, word);
            int e = weft__turns_wait(t, until);
            r = e == ETIMEDOUT ? -ETIMEDOUT : e == EINTR ? -EINTR : 0;
        }
        break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: r = weft__turns_wake(word, (int)a[2]); break;
    case FUTEX_WAKE_OP:
        weft__take(t, (void *)a[4], 4);
        futex_op((uint32_t *)a[4], (uint32_t)a[5]);
        r = weft__turns_wake(word, (int)a[2]) + weft__turns_wake((void *)a[4], (int)a[3]);
        break;
    case FUTEX_CMP_REQUEUE:
        weft__take_read(t, word, 4);
        if (*word != (uint32_t)a[5]) {
            r = -EAGAIN;
            break;
        } /* fallthrough */
    case FUTEX_REQUEUE: r = weft__turns_wake(word, 1 << 30); break;
    default: weft__refuse("this futex operation (%d) cannot be steered", op);
    }
    weft__log_input(t, SYS_futex, r, NULL, 0);
    return r;
}

/* A futex that the program uses itself: its result is an input. Those of libc's own locks run natively and leave no trace. */
static long do_futex(struct weft_thread *t, const long a[6], int foreign) {
    if (foreign) {
        int out = t->tls->outside;
        int op = (int)a[1] & FUTEX_CMD_MASK, waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI;
        int record = weft__mode == WEFT_RECORD;
        if (!out && record) weft__outside(t);
        if (waits && !a[3] && !record) weft__gate_foreign_wait(t, 1);
        if (waits && weft__given) weft__turns_away(t, 1);
        long r = raw(SYS_futex, a);
        if (waits && weft__given) weft__turns_away(t, 0);
        if (waits && !a[3] && !record) weft__gate_foreign_wait(t, 0);
        if (!out && record) weft__inside(t);
        return r;
    }
    long r = 0, b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    int op = (int)a[1] & FUTEX_CMD_MASK, common = 0, common2 = 0;
    b[0] = (long)weft__shm_real((void *)a[0], &common);
    if (op == FUTEX_WAKE_OP || op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE) b[4] = (long)weft__shm_real((void *)a[4], &common2);
    if (weft__given) return futex_steered(t, op, a);
    switch (op) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
        weft__refuse("futex with priority inheritance, which puts thread ids into memory, cannot be recorded yet");
    case FUTEX_WAKE_OP:
        if (nowhere(a[4])) break; /* EFAULT */
        /* The kernel writes the second word: with the thread inside, as an access of its own. */
        weft__take(t, (void *)a[4], 4);
        if (RECORD) r = raw(SYS_futex, b);
        r = weft__input(t, SYS_futex, r, NULL, 0);
        if (!RECORD && !failed(r) && !common2) futex_op((uint32_t *)a[4], (uint32_t)a[5]);
        return r;
    default: break;
    }
    if (RECORD) {
        t->blocked_on = (void *)a[0];
        weft__outside(t);
        r = weft__raw_wait(t, SYS_futex, b);
        weft__inside(t);
        t->blocked_on = NULL;
    }
    return weft__input(t, SYS_futex, r, NULL, 0);
}

/* A byte for each page. */
static long do_mincore(struct weft_thread *t, const long a[6]) {
    char p[32];
    weft__format(p, sizeof p, "o2=%lu", ((size_t)a[1] + 4095) / 4096);
    return weft__emulated(t, SYS_mincore, a, lost(t, a[2]) ? "" : p);
}

long weft__sys_kill(struct weft_thread *t, long nr, const long a[6]);
long weft__sys_sigaltstack(struct weft_thread *t, const long a[6]);

/* ppoll and epoll_pwait: a signal mask for the time of the call. */
static long with_mask(struct weft_thread *t, long nr, const long a[6]) {
    int at = nr == SYS_ppoll ? 3 : 4;
    uint64_t mask = 0, kernel;
    long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    b[at] = (long)weft__signal_mask_in(t, a[at], &mask, &kernel);
    const char *params = nr == SYS_ppoll ? "b0:1*8 i2=16" : "o1:r*12";
    long r = weft__emulated(t, nr, b, points_nowhere(t, nr, b, params) ? "" : params);
    return weft__signal_mask_out(t, r, &mask, a[at] != 0);
}

/* What weft cannot record, and programs can do without: as if the kernel were older. Noted once. */
static long absent(struct weft_thread *t, long nr) {
    static unsigned char noted[SYS_MAX];
    char text[96];
    if (weft__mode == WEFT_RECORD && !__atomic_exchange_n(&noted[nr], 1, __ATOMIC_RELAXED)) {
        size_t n = weft__format(text, sizeof text, "%s cannot be recorded: the program was told that there is none (ENOSYS)", weft__sys_name(nr));
        weft__log_item(t, WEFT_ITEM_NOTE, 0, text, n, NULL, 0);
    }
    return -ENOSYS;
}

/* close and close_range, all but the log's own descriptors. In replay this is an ordinary call. */
static long close_others(struct weft_thread *t, long nr, const long a[6]) {
    uint64_t from = (unsigned)a[0], to = nr == SYS_close ? from : (unsigned)a[1];
    long r = nr == SYS_close ? -EBADF : 0;
    weft__tick(t);
    if (nr == SYS_close_range && (from > to || a[2]))
        r = raw(nr, a); /* wrong, or only a flag to be set, which ours have anyway */
    else
        while (nr == SYS_close_range && from <= to) {
            uint64_t next = from;
            while (next <= to && next < 1 << 21 && !weft__log_own_fd((long)next)) next++;
            if (next > from) r = weft__raw(nr, from, next >= 1 << 21 ? to : next - 1, 0);
            if (failed(r) || next >= 1 << 21) break;
            from = next + 1;
        }
    return weft__input(t, (int)nr, r, NULL, 0);
}

/* Calls that leave no trace and no tick, because foreign code makes them in numbers that depend on timing: by an instruction of its own,
 * or through syscall() and the like. Not so the C++ library, whose calls are the program's. 1: it was one, and *r is its result. */
int weft__sys_traceless(struct weft_thread *t, long nr, const long a[6], uint64_t ip, long *r) {
    if ((nr != SYS_futex && nr != SYS_sched_yield && nr != SYS_membarrier) || weft__in_weft_code(ip) || weft__in_cxx_code(ip)) return 0;
    if (nr == SYS_futex)
        *r = do_futex(t, a, 1);
    else {
        int waits = weft__given && nr == SYS_sched_yield; /* for another thread, which has to get its turn */
        if (waits) weft__turns_away(t, 1);
        *r = raw(nr, a);
        if (waits) weft__turns_away(t, 0);
    }
    return 1;
}

/* Steered: a call on what the program itself writes (own.c). The same ticks, and the same bytes for the log, as in any recording. */
static long own_call(struct weft_thread *t, long nr, const long a[6], int how, const long shadow[6], const char *params) {
    if (how == WEFT_OWN_LIVE) {
        t->live = (int)a[0] + 1;
        long r = weft__emulated(t, nr, shadow, nr == SYS_recvfrom && !a[4] && !a[5] ? "o1:r" : params);
        t->live = 0;
        weft__own_end(nr, a);
        return r;
    }
    struct {
        uint32_t n;
        struct stat st;
    } __attribute__((packed)) got = {sizeof got.st, {0}};
    struct stat *out = (struct stat *)(nr == SYS_fstat ? a[1] : a[2]);
    if (nr == SYS_newfstatat) {
        weft__take_string(t, (const char *)a[1], SIZE_MAX);
        weft__tick(t);
        weft__tick(t);
    }
    weft__tick(t);
    struct stat st;
    weft__own_stat(t, nr, a[0], &st);
    got.st = st;
    weft__log_input(t, (uint64_t)nr, 0, &got, sizeof got);
    weft__take(t, out, sizeof st);
    weft__copy(out, &st, sizeof st);
    weft__tick(t);
    return 0;
}

/* The thread is inside and at a fresh tick, unless the call is traceless. `foreign`: trapped, not called through us. */
long weft__sys(struct weft_thread *t, long nr, const long a[6], int foreign, uint64_t ip) {
    t->foreign = foreign;
    t->cancel_point = weft__cancel_nr(nr, foreign) && !(nr == SYS_fcntl && a[1] != F_SETLKW);
    if (unlikely(t->cancel_point && weft__cancel_due(t))) return -WEFT_CANCELLED;
    if (nr < 0 || nr >= SYS_MAX || !table[nr].name)
        weft__refuse("system call %ld is not known to this version; called at @0x%lx", nr, ip);
    const struct entry *e = &table[nr];
    long r;
    switch (e->class) {
    case EMUL: {
        if (RECORD && unlikely((nr == SYS_dup2 || nr == SYS_dup3) && weft__log_own_fd(a[1]) && a[0] != a[1])) weft__log_move_fd(a[1]);
        int file = weft__file_call(nr), own = 0;
        long shadow[6];
        uint32_t before = file ? weft__file_before(nr, a) : 0;
        /* Whose call on a file that the program writes came first: a replay need not know, but weft simplify asks. */
        int *lock = RECORD ? weft__file_order(nr, a) : NULL;
        if (lock) {
            lock_for(t, lock);
            weft__order(t, lock);
        }
        if (unlikely(weft__given)) own = weft__own_begin(t, nr, a, shadow);
        if (RECORD && unlikely(nr == SYS_close_range || (nr == SYS_close && weft__log_own_fd(a[0]))))
            r = close_others(t, nr, a);
        else if (own)
            r = own_call(t, nr, a, own, shadow, e->params);
        else if (RECORD && (nr == SYS_read || nr == SYS_pread64) && unlikely(weft__file_refers(a[0]) && a[2] >= 0 && a[1] && !nowhere(a[1])))
            r = weft__file_read(t, nr, a);
        else
            r = weft__emulated(t, nr, a, points_nowhere(t, nr, a, e->params) ? "" : nr == SYS_recvfrom && !a[4] && !a[5] ? "o1:r" : e->params);
        if (lock) weft__unlock(lock);
        if (unlikely(weft__given)) weft__own_made(nr, a, r);
        if (file) weft__file_after(t, nr, a, r, before);
        track_fd(nr, a, r);
        if (!RECORD && r > 0 && nr == SYS_wait4) weft__child_ended(t, r);
        if (!RECORD && !r && nr == SYS_waitid && a[2] && a[3] & WEXITED && !(a[3] & WNOWAIT)) weft__child_ended(t, ((siginfo_t *)a[2])->si_pid);
        /* Where the recorded stdout and stderr were moved (a sparse file is written that way), so is what replay writes. */
        if (!RECORD && !failed(r) && (nr == SYS_lseek || nr == SYS_ftruncate) && a[0] >= 0 && a[0] < FD_MAX && console[a[0]])
            weft__raw(nr, console[a[0]], a[1], a[2]);
        return r;
    }
    case WRITE:
        if (unlikely(a[2] > 0 && (!a[1] || lost(t, a[1])))) return weft__emulated(t, nr, a, "");
        return do_write(t, nr, a);
    case VM:
        if (unlikely(weft__given)) weft__own_begin(t, nr, a, (long[6]){0});
        return weft__sys_vm(t, nr, a);
    case NATIVE:
        if (RECORD) weft__outside(t);
        if (weft__given && nr == SYS_sched_yield) weft__turns_yield(t);
        r = !RECORD && nr == SYS_sched_yield ? 0 : raw(nr, a);
        if (RECORD) weft__inside(t);
        return r;
    case ABSENT: return absent(t, nr);
    case REFUSE:
        if (nr == SYS_clone || nr == SYS_clone3)
            weft__refuse("a thread or process that is made without pthread_create or fork cannot be recorded yet (libc makes threads of its own "
                         "for aio_read and its family, getaddrinfo_a, and mq_notify with SIGEV_THREAD); called at @0x%lx", ip);
        weft__refuse("the system call %s cannot be recorded yet; called at @0x%lx", e->name, ip);
    default: break;
    }
    if (unlikely(weft__given)) weft__own_begin(t, nr, a, (long[6]){0}); /* what has no shadow */
    switch (nr) {
    case SYS_exit_group: return end_process(t, a);
    case SYS_execve: return weft__sys_execve(t, a);
    case SYS_exit:
        if (weft__thread_exit(t)) {
            t->ends_process = 1; /* on_sigsys goes on in exit(0) */
            return 0;
        }
        return raw(SYS_exit, a);
    case SYS_ioctl: return do_ioctl(t, a);
    case SYS_fcntl:
        r = do_fcntl(t, a);
        if (unlikely(weft__given)) weft__own_made(nr, a, r);
        return r;
    case SYS_prctl: return do_prctl(t, a);
    case SYS_select:
    case SYS_pselect6: return do_select(t, nr, a);
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2: return !a[1] || lost(t, a[1]) ? weft__emulated(t, nr, a, "") : weft__sys_writev(t, nr, a);
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2: return !a[1] || lost(t, a[1]) ? weft__emulated(t, nr, a, "") : weft__sys_readv(t, nr, a);
    case SYS_sendto: return (a[2] && !a[1]) || lost(t, a[1]) || lost(t, a[4]) ? weft__emulated(t, nr, a, "") : weft__sys_sendto(t, a);
    case SYS_sendmsg: return !a[1] || lost(t, a[1]) ? weft__emulated(t, nr, a, "") : weft__sys_sendmsg(t, a);
    case SYS_recvmsg: return !a[1] || lost(t, a[1]) ? weft__emulated(t, nr, a, "") : weft__sys_recvmsg(t, a);
    case SYS_sendmmsg:
    case SYS_recvmmsg: return !a[1] || lost(t, a[1]) ? weft__emulated(t, nr, a, "") : weft__sys_mmsg(t, nr, a);
    case SYS_semctl: return do_semctl(t, a);
    case SYS_msgctl: return do_msgctl(t, a);
    case SYS_shmat: return weft__sys_shmat(t, a);
    case SYS_shmdt: return weft__sys_shmdt(t, a);
    case SYS_shmctl: return weft__sys_shmctl(t, a);
    case SYS_msync: return weft__sys_msync(t, a);
    case SYS_futex: return do_futex(t, a, 0);
    case SYS_mincore: return do_mincore(t, a);
    case SYS_rt_sigaction: return weft__sys_sigaction(t, a);
    case SYS_rt_sigprocmask: return weft__sys_sigprocmask(t, a);
    case SYS_sigaltstack: return weft__sys_sigaltstack(t, a);
    case SYS_rt_sigsuspend: return weft__sys_sigsuspend(t, a);
    case SYS_rt_sigtimedwait: return weft__emulated(t, nr, a, "i0=8 o1=128 i2=16");
    case SYS_ppoll:
    case SYS_epoll_pwait: return with_mask(t, nr, a);
    case SYS_timer_create:
        return weft__emulated(t, nr, a, "i1=64 o2=4");
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill: return weft__sys_kill(t, nr, a);
    default: weft__refuse("the system call %s cannot be recorded yet; called at @0x%lx", e->name, ip);
    }
}

/* From the SIGSYS handler. */
long weft__sys_trapped(struct weft_thread *t, long nr, const long a[6], uint64_t ip) {
    int was;
    long r;
    if (weft__sys_traceless(t, nr, a, ip, &r)) return r;
    t->called_at = ip;
    weft__enter(&was);
    r = weft__sys(t, nr, a, !weft__in_weft_code(ip), ip);
    weft__leave(t, was);
    t->called_at = 0;
    return r;
}
