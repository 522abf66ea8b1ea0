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
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/wait.h>
#include <signal.h>
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

void weft__sys_forked(void) {
    weft__files_forked();
    weft__console_forked();
    weft__sys_vm_forked();
}

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
    if (unlikely(t->live)) return weft__own_do(t, nr, b); /* nobody else's turn comes between */
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
    b[arg] = (long)buf;
    weft__tick(t);
    long r = do_call(t, nr, b);
    uint32_t n = failed(r) ? 0 : (size_t)r > room ? (uint32_t)room : (uint32_t)r;
    weft__log_out(t, (uint64_t)nr, r, buf, n, NULL, 0);
    if (n) {
        weft__take(t, (void *)a[arg], n);
        weft__copy((void *)a[arg], buf, n);
        weft__tick(t);
    }
    return r;
}

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
    case SYS_fstat: case SYS_ioctl: case SYS_lseek: return a[0] <= 2 && weft__console(a[0]);
    case SYS_fcntl: return a[0] <= 2 && weft__console(a[0]) && (a[1] == F_GETFL || a[1] == F_SETFL || a[1] == F_GETFD);
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
    /* Out-data into the log: that of the first one from where it is, if it is the only long one; then into the program's memory, each with a tick. */
    size_t total = 0, need = outs + ins + 64;
    size_t got[6] = {0};
    struct param *first = NULL;
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
        if (!first) first = p;
        total += 4 + n + (p->kind == P_LENPTR ? 4 : 0);
    }
    if (first && total - got[first->arg] > 1024) first = NULL;
    buf = weft__bounce(t, need + total - (first ? got[first->arg] : 0));
    unsigned char *log = buf + need;
    size_t k = 0;
    for (p = list; p < end_of; p++) {
        if (p->dir == 'i') continue;
        if (p != first) {
            uint32_t n = (uint32_t)got[p->arg];
            __builtin_memcpy(log + k, &n, 4);
            weft__copy(log + k + 4, buf + off[p->arg], n);
            k += 4 + n;
        }
        if (p->kind == P_LENPTR) {
            __builtin_memcpy(log + k, &lens[p->arg], 4);
            k += 4;
        }
    }
    if (first)
        weft__log_out(t, (uint64_t)nr, r, buf + off[first->arg], (uint32_t)got[first->arg], log, k);
    else
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

/* Whether an argument points where there is no memory now: unmapped, or not to be read. Whether there is any is not ordered with threads that
 * map memory just then, so it is in the recording. The calling thread is at a fresh tick. */
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
static int lost(struct weft_thread *t, long p) { return weft__nowhere(p) || unreadable(t, LOOKS && p && !weft__peek((uint64_t)p)); }
static int points_nowhere(struct weft_thread *t, long nr, const long a[6], const char *params) {
    struct params own, *all = params_of(nr, params, &own);
    int bad = 0;
    for (const struct param *p = all->p; p < all->end; p++) {
        if (weft__nowhere(a[p->arg]) || (p->kind == P_LENPTR && weft__nowhere(a[p->size_arg]))) return 1;
        if (LOOKS && a[p->arg] && !weft__peek((uint64_t)a[p->arg])) bad = 1;
        if (LOOKS && p->kind == P_LENPTR && a[p->size_arg] && !weft__peek((uint64_t)a[p->size_arg])) bad = 1;
    }
    return unreadable(t, bad);
}

/* Takes a lock of the runtime's that is held while a call is made. */
static void lock_for(struct weft_thread *t, int *lock) {
    int zero = 0;
    if (__atomic_compare_exchange_n(lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    weft__outside(t);
    weft__lock(lock);
    weft__inside(t);
}

/* ---- calls with code of their own */

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
        *r = weft__sys_futex(t, a, 1);
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
        t->live = nr == SYS_poll ? 1 : (int)a[0] + 1;
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
    if (foreign && t->streams && nr == SYS_read) t->cancel_point = 2;
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
        if (weft__file_ordered(nr)) weft__tick(t); /* what the call takes may come after others */
        if (unlikely(weft__given)) own = weft__own_begin(t, nr, a, shadow);
        if (RECORD && unlikely(nr == SYS_close_range || (nr == SYS_close && weft__log_own_fd(a[0]))))
            r = close_others(t, nr, a);
        else if (own)
            r = own_call(t, nr, a, own, shadow, e->params);
        else if (RECORD && (nr == SYS_read || nr == SYS_pread64) && unlikely(weft__file_refers(a[0]) && a[2] >= 0 && a[1] && !weft__nowhere(a[1])))
            r = weft__file_read(t, nr, a);
        else
            r = weft__emulated(t, nr, a, points_nowhere(t, nr, a, e->params) ? "" : nr == SYS_recvfrom && !a[4] && !a[5] ? "o1:r" : e->params);
        if (lock) weft__unlock(lock);
        if (unlikely(weft__given)) weft__own_made(nr, a, r);
        if (file) weft__file_after(t, nr, a, r, before);
        weft__console_fds(nr, a, r);
        if (!RECORD && r > 0 && nr == SYS_wait4) weft__child_ended(t, r);
        if (!RECORD && !r && nr == SYS_waitid && a[2] && a[3] & WEXITED && !(a[3] & WNOWAIT)) weft__child_ended(t, ((siginfo_t *)a[2])->si_pid);
        /* Where the recorded stdout and stderr were moved (a sparse file is written that way), so is what replay writes. */
        if (!RECORD && !failed(r) && (nr == SYS_lseek || nr == SYS_ftruncate) && weft__console(a[0]))
            weft__raw(nr, weft__console(a[0]), a[1], a[2]);
        return r;
    }
    case WRITE:
        if (unlikely(a[2] > 0 && (!a[1] || lost(t, a[1])))) return weft__emulated(t, nr, a, "");
        return weft__sys_write(t, nr, a);
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
    case SYS_exit_group: return weft__sys_exit_group(t, a);
    case SYS_execve: return weft__sys_execve(t, a);
    case SYS_exit:
        if (weft__thread_exit(t)) {
            t->ends_process = 1; /* on_sigsys goes on in exit(0) */
            return 0;
        }
        return raw(SYS_exit, a);
    case SYS_ioctl: return weft__sys_ioctl(t, a);
    case SYS_fcntl:
        r = weft__sys_fcntl(t, a);
        if (unlikely(weft__given)) weft__own_made(nr, a, r);
        return r;
    case SYS_prctl: return weft__sys_prctl(t, a);
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
    case SYS_semctl: return weft__sys_semctl(t, a);
    case SYS_msgctl: return weft__sys_msgctl(t, a);
    case SYS_shmat: return weft__sys_shmat(t, a);
    case SYS_shmdt: return weft__sys_shmdt(t, a);
    case SYS_shmctl: return weft__sys_shmctl(t, a);
    case SYS_msync: return weft__sys_msync(t, a);
    case SYS_futex: return weft__sys_futex(t, a, 0);
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

/* From the SIGSYS handler, if it is not traceless. */
long weft__sys_trapped(struct weft_thread *t, long nr, const long a[6], uint64_t ip) {
    int was;
    t->called_at = ip;
    weft__enter(&was);
    long r = weft__sys(t, nr, a, !weft__in_weft_code(ip), ip);
    if (unlikely(r == -EINTR)) t->cut = 1;
    weft__leave(t, was);
    t->called_at = 0;
    return r;
}
