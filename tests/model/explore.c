/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Explores every interleaving of small scenarios of the ownership protocol, over the protocol's own code.
 *
 * OWNER_C (src/runtime/owner.c, or a copy with a mistake put in) and event.c are included below, with their atomics,
 * system calls, pauses, time stamps and table address replaced by macros. Each modelled thread is a coroutine with a
 * small stack of its own. Before every operation on memory that another thread may look at without a lock, it comes
 * back to the explorer, which decides who goes on. Everything that makes up a state (protocol words, stripes, table
 * entries, stacks, and the history so far) can be copied, hashed and put back, so the search is a depth-first walk over
 * states that visits each one once: no bound on preemptions, no sampling (a 64-bit hash stands for a state, so two
 * states in 2^64 may be taken for one).
 *
 * The history is part of the state, in a form that does not depend on the order of what does not conflict: per thread
 * its positions, logged edges and accesses, and per access the conflicting ones of others that came just before it.
 *
 * Checked at every step:
 *   - who writes an entry of the table may (I1 to I4 in owner.c);
 *   - when an access happens, the line is the thread's own, or the thread holds the stripe of the word, or it is a read
 *     of a line that is in the thread's list of shared ones; and nobody else's conflicting access comes between a
 *     thread's check and its access;
 *   - who has a line in its list is known to the line's place, or the line is being closed; others change a thread's
 *     list only under its lock (I7 and I8);
 *   - who has a side of a weak lock has its line, or is known as a reader of it, and it is the lock's side; nobody has another
 *     one; an access that has no check, in a region, happens while its thread has the side; what an ended thread had is not written;
 *   - a tick that does not look up has nobody waiting for its answer (no lost request);
 *   - a thread that was told to stop, because another one forks, does so at its next tick; from then on until that one
 *     lets the world go on, nobody else is inside and nobody else accesses anything;
 *   - somebody can go on, or all are at their end (no deadlock); no cycle of states in which everybody
 *     who can move does (no livelock).
 * Checked at every end: a replay of what was logged. A thread's replay is a chain: at each position (gate.c, at()) it
 * arrives, waits for its edges in the order in which they were logged, does its accesses, and is done when it arrives
 * at the next position. "Reached" with step k is published after its k-th wait there, "done" after the accesses. The
 * chains must all come to their end (no cycle: the replay does not hang), every mark must be met, and every two
 * conflicting accesses must be ordered by chains and edges as they were in the recording.
 *
 * With -t memory is x86-TSO: stores of less than sequential consistency, and the program's own, go through a buffer per
 * thread, first in first out, that drains at any time; locked instructions wait for it to be empty. Fields that are
 * only touched under a lock are written directly: nobody can see when.
 *
 * With -d locks are as in the code: compare-and-swap, spinning, futex. Without it, taking a lock or a stripe, and being
 * answered, is one step that waits (whether it was asleep is the explorer's choice): what is gained goes into larger scenarios.
 *
 * Not modelled: time (whether a line is split, whether an episode is over, whether an asked thread holds what it has, or answers at a later check, and
 * whether a reader wants to share are free choices of the explorer, as often as the scenario allows), signals, more than
 * two lines and three threads, slots used again, clocks wrapping round, the log's encoding, what happens in a forked
 * process. */
#define _GNU_SOURCE
#include "runtime.h"
#define weft__raw6 weft__raw6_unused
#include "sys.h"
#undef weft__raw6
#include <errno.h>
#include <setjmp.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifndef OWNER_C
#define OWNER_C "../../src/runtime/owner.c"
#endif
#define THREADS 3
#define HOLD_TICKS 1
#define HOLD_MOST 1
#define AT_ONCE 1
#define LONG_FIRST 0
#define SHARED_SETS 2
#define WAYS 1
#ifndef READERS
#define READERS 3 /* 2: three readers are ANYBODY */
#endif
#define SHARES(h, page_reads) ex_shares()
#define SHARE_LINES(page_reads) (sc->page_heat < PAGE_QUARREL ? PAGE_LINES : 1)
#define CLOSE_LINES(row) SHARE_LINES(0)
#define READS_AT(line) ex_reads_at(line)
#define LATE(t) ex_late()
#define STACK 8192
#define LINES 4  /* A, B, and those of the weak locks P and Q */
#define SIDES 2  /* of each that are used */
#undef WEFT_TABLE_ENTRIES
#define WEFT_TABLE_ENTRIES 16384ul
#define LOG_MAX 120
#define BUFFER 20 /* a thread whose buffer is nearly full waits until it drains */
#define CELLS 40  /* 4 bytes each: 16 per line, then objects */
#define OBJECT_CELL 32
#define SIDE_BIT(lock, side) (CELLS + (lock) * SIDES + (side)) /* an access without a check, on that side */
#define ALL_SIDES (((1ull << 2 * SIDES) - 1) << CELLS)

/* ---- the state --------------------------------------------------------------------------------------------------- */

enum kind { K_START, K_LOAD, K_STORE, K_RMW, K_ACCESS, K_SLEEP, K_FUTEX, K_MUTEX, K_CHOOSE, K_SPIN, K_STEP, K_END };
static const char *const kind_names[] = {"start", "load",  "store",  "locked", "access", "sleep",
                                         "futex", "mutex", "choose", "spin",   "step",   "end"};

struct co {
    char *sp;
    void *addr;
    uint64_t val, last;
    const char *func;
    uint16_t size;
    uint8_t kind, wait; /* wait: 0 no, 1 until *addr == val, 2 until it is not, 3 until woken, 4: see look_again() */
    uint8_t locked;     /* waits for an empty buffer */
    uint8_t choices, choice, woken;
};

/* One line of a thread's history. POS: (tick, site). EDGE: (tick, site) comes after (slot, otick, osite, step).
 * ACC: an access at (tick, site). REQ: the thread's ACC at index `step` must come after ACC `osite` of slot. */
enum { H_POS = 1, H_EDGE, H_ACC, H_REQ };
struct hist {
    uint8_t kind, tick, site, slot, otick, osite, step, zero;
};
#define STEP_DONE 0xff

struct buffered {
    void *addr;
    uint64_t val;
    uint8_t size, acc; /* size 0: an access of the program, `acc`, of `mask` */
    uint64_t mask;
};

struct cell {
    uint8_t wt, wi;          /* last write: thread + 1, its ACC */
    uint8_t ri[THREADS + 1]; /* reads since: ACC + 1 */
};

struct open {
    uint64_t mask;
    uint8_t write;
};

static struct {
    struct co co[THREADS + 1];
    struct weft_tls tls[THREADS + 1];
    struct weft_seen seen[THREADS + 1][THREADS + 2];
    struct cell cells[CELLS];
    struct open open[THREADS + 1];
    uint64_t reads[THREADS + 1][LINES]; /* by the page of the first line that lies in it */
    /* Accesses without a check: by lock, thread, side (SIDES: a fork, which conflicts with all), and whether it writes; ACC + 1. */
    uint8_t side_acc[2][THREADS + 1][SIDES + 1][2];
    uint64_t was[THREADS + 1][2]; /* what tls.region was before the thread entered regions */
    uint8_t inner[THREADS + 1];   /* how many */
    uint8_t stripe_holder[LINES][8], object_holder, lock_holder[THREADS + 1], place_holder[SHARED_SETS];
    int mutex, forks_lock, born;
    uint8_t mapping; /* the thread that maps memory */
    /* While a thread stops the world: who; whether all others stand; who was looked at last, and how it was; who was told.
     * And how often it was over. */
    uint8_t stopper, still, looked, looked_state, told, stops;
    struct weft_pos parent; /* of a thread that is created */
    uint8_t hot_left, joins_left, holds_left, shares_left, preemptions, last_run;
    uint8_t nbuf[THREADS + 1], nhist[THREADS + 1];
    /* from here on only the used part is kept */
    struct weft_thread threads[THREADS + 1];
    struct buffered buf[THREADS + 1][BUFFER];
    struct hist hist[THREADS + 1][LOG_MAX];
} W;
static char stacks[THREADS + 1][STACK] __attribute__((aligned(64)));

struct weft_thread *weft__threads[WEFT_MAX_SLOT + 2];
uint32_t weft__slots = THREADS + 1;
int weft__shm_any; /* no memory is shared with other processes here */
int weft__accesses; /* nobody wants to know of them */
int weft__proves;   /* nothing is verified */
void weft__shm_forked(void) {}
int weft__mode = WEFT_RECORD;
__thread struct weft_tls __weft_tls;
static uint16_t ex_table[WEFT_TABLE_ENTRIES + 64 * WEFT_WEAK_LOCKS];
static uint32_t line_of[LINES]; /* their indices */
static uint32_t ex_reads_at(uint32_t line) {
    uint32_t l = 0;
    while (l < LINES - 1 && line_of[l] / 64 != line / 64) l++;
    return l;
}
static uint32_t lock_of[2];     /* P and Q: which weak locks they are */
#define NAME(l) "ABPQ"[l]

/* ---- options and scenario ---- */
static int tso, detailed, bound = -1, verbose, cur; /* cur: the thread that runs; 0: the explorer */
static int sleeps;                                  /* where locks are one step: who is answered may have been asleep */
static int forkers, creates;                        /* so many in the scenario */
static const struct scenario *sc;
struct scenario {
    const char *name;
    const char *init; /* owners of A and B: 0, 1, 2, 3, S: split, H: shared by 1 and 2, R: by 1 and 3, G: by all; if there
                         is more, of P and Q: 0, or who has side a: 1, 2, 3, or H: 1 and 2 */
    char where;       /* s: same page; p: neighbours in two pages; h: two pages
                         with one place for readers; c: and with the same stripes */
    int page_heat;    /* 3: lines go one by one; less: whole pages as often as that is below 3 */
    int hot, joins;   /* how often the explorer may choose so */
    const char *prog[THREADS];
    const char
        *in; /* where it runs: s SC, t TSO, d SC with locks in detail, a SC with few places for readers (S, T, D, A: in
                long runs only); z: who is answered may have been asleep (in long runs always: it takes
              three times as many states); !: is wrong */
    int holds;  /* how often a thread may keep what it is asked for */
    int shares; /* how often a reader may want to share */
};

/* ---- coroutines -------------------------------------------------------------------------------------------------- */

void ex_switch(char **save, char *to);
__asm__(".text\n.globl ex_switch\nex_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
static char *main_sp;
static char failure[512];
static jmp_buf flushing;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *fmt, ...) {
    va_list a;
    va_start(a, fmt);
    if (!failure[0]) vsnprintf(failure, sizeof failure, fmt, a);
    va_end(a);
    char *none;
    if (cur) ex_switch(&none, main_sp);
    longjmp(flushing, 1);
}

static void to_explorer(void) {
    ex_switch(&W.co[cur].sp, main_sp);
}

static const void *stop_word(void); /* below: needs owner.c */
static uint8_t *weak_word(int lock);
static int place_at(const void *p);

static const char *name_of(const void *p) {
    static char s[4][64];
    static int k;
    char *b = s[k++ & 3];
    for (int i = 0; i < LINES; i++)
        if (p == &ex_table[line_of[i]]) return snprintf(b, 64, "table[%c]", NAME(i)), b;
    for (int i = 0; i < 2; i++)
        if (p == weak_word(i)) return snprintf(b, 64, "side of %c", NAME(2 + i)), b;
    for (int t = 1; t <= THREADS; t++) {
        struct weft_thread *x = &W.threads[t];
#define F(f, text)                                                                                                     \
    if (p == (const void *)&f) return snprintf(b, 64, text " of %d", t), b;
        F(x->lock, "lock") F(x->waiters, "waiters") F(x->served, "served") F(W.tls[t].limit, "limit")
    }
    if (p == &W.mutex) return "mutex";
    if (p == &W.forks_lock) return "forks_lock";
    if (p == stop_word()) return "stopped";
    if (place_at(p) >= 0) return snprintf(b, 64, "lock of set %d", place_at(p)), b;
    return snprintf(b, 64, "%p", p), b;
}

/* The thread is about to do something that others can see: the explorer decides when. */
static void point(enum kind k, void *addr, unsigned size, int wait, uint64_t val, const char *func) {
    struct co *c = &W.co[cur];
    c->kind = (uint8_t)k;
    c->addr = addr;
    c->size = (uint16_t)size;
    c->wait = (uint8_t)wait;
    c->val = val;
    c->func = func;
    c->locked = tso && (k == K_RMW || k == K_FUTEX || k == K_MUTEX);
    to_explorer();
}

static int choose(int n, const char *what) {
    struct co *c = &W.co[cur];
    c->choices = (uint8_t)n;
    point(K_CHOOSE, NULL, 0, 0, 0, what);
    c->choices = 0;
    if (verbose) printf("%*s%d: %s: %s\n", cur * 4, "", cur, what, c->choice ? "yes" : "no");
    return c->choice;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static uint64_t raw_get(const void *p, unsigned n) {
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}
static uint64_t view(int t, const void *p, unsigned n) {
    for (int i = W.nbuf[t]; i--;)
        if (W.buf[t][i].size && W.buf[t][i].addr == p) return W.buf[t][i].val;
    return raw_get(p, n);
}

static int which_line(uint32_t line) {
    for (int l = 0; l < LINES; l++)
        if (line == line_of[l]) return l;
    return -1;
}
static int slot_is_thread(uint64_t v) {
    return v >= 1 && v <= THREADS;
}

static int stripe_at(const void *p, int *line, int *word); /* below: needs owner.c */
static int place_of(int l);
static int in_list(int t, int l);
static int closing_of(int t, int l);
static int closer(int l);
static void settle_stripe(int line, int word, uint8_t holder);
static void calm(uint64_t entry);
static int is_object(const void *p);
static void object_event(void);

/* A store of thread t reaches memory. */
static void memory_write(int t, void *p, unsigned n, uint64_t v) {
    if ((char *)p >= (char *)ex_table && (char *)p < ((char *)ex_table + sizeof ex_table)) {
        int l = which_line((uint32_t)((uint16_t *)p - ex_table));
        if (l >= 0) {
            uint16_t old = ex_table[line_of[l]];
            int all = 1;
            for (int w = 0; w < 8; w++)
                all &= W.stripe_holder[l][w] == t;
            if (slot_is_thread(old) && W.lock_holder[old] != t)
                fail("I1: thread %d changes table[%c] from %u to %u without the lock of %u", t, NAME(l), old,
                     (unsigned)v, old);
            if (old == WEFT_NOBODY && v != (uint64_t)t)
                fail("I3: table[%c] leaves NOBODY to %u by thread %d", NAME(l), (unsigned)v, t);
            if (old == WEFT_SPLIT && (!all || v != (uint64_t)t))
                fail("I4: thread %d joins line %c without its stripes", t, NAME(l));
            if (v == WEFT_SPLIT && (!all || old != t))
                fail("I4: thread %d splits line %c of %u without its stripes", t, NAME(l), old);
            if (slot_is_thread(old) && old != t && W.threads[old].state == WEFT_IN)
                fail("I2: thread %d takes line %c from %u, which is inside", t, NAME(l), old);
            if (slot_is_thread(old) && old != t && W.threads[old].keeps == line_of[l] + 1)
                fail("thread %d takes line %c from %u, which was given it in its sleep", t, NAME(l), old);
            if (slot_is_thread(old) && closing_of(old, l))
                fail("I7: thread %d changes table[%c] while thread %u is closing it", t, NAME(l), old);
            if ((old == WEFT_SHARED || v == WEFT_SHARED) && W.place_holder[place_of(l)] != t)
                fail("I7: thread %d changes table[%c] from %x to %x without the lock of its place", t, NAME(l), old,
                     (unsigned)v);
            if (old == WEFT_SHARED &&
                (v != (uint64_t)t || W.lock_holder[t] != t || !closing_of(t, l)))
                fail("I7: thread %d makes table[%c] %x instead of closing it", t, NAME(l), (unsigned)v);
            if (v == WEFT_SHARED && !slot_is_thread(old))
                fail("I7: thread %d shares line %c of %x", t, NAME(l), old);
        }
    }
    int line, word;
    if (v == 0 && stripe_at(p, &line, &word)) settle_stripe(line, word, 0);
    memcpy(p, &v, n);
}

static void log_req(int t, int acc, int u, int other) {
    for (int i = 0; i < W.nhist[t]; i++) {
        struct hist *h = &W.hist[t][i];
        if (h->kind == H_REQ && h->step == acc && h->slot == u && h->osite == other) return;
    }
    if (W.nhist[t] == LOG_MAX) fail("history full");
    W.hist[t][W.nhist[t]++] =
        (struct hist){.kind = H_REQ, .slot = (uint8_t)u, .osite = (uint8_t)other, .step = (uint8_t)acc};
}

static int log_pos(int t, int kind, uint64_t tick, uint64_t site) {
    if (W.nhist[t] == LOG_MAX) fail("history full");
    W.hist[t][W.nhist[t]] = (struct hist){.kind = (uint8_t)kind, .tick = (uint8_t)tick, .site = (uint8_t)site};
    return W.nhist[t]++;
}

static uint64_t bit_of(int lock, int side) {
    return 1ull << (lock_of[lock] * WEFT_WEAK_SIDES + (uint32_t)side);
}

/* The same of what is in mask that has no check. */
static void side_effect(int t, int acc, uint64_t mask, int write) {
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < SIDES; s++) {
            if (!(mask >> SIDE_BIT(k, s) & 1)) continue;
            for (int u = 1; u <= THREADS && !W.still; u++)
                if (u != t && W.threads[u].sides & bit_of(k, !s))
                    fail("thread %d %s on side %c of %c while thread %d has the other one", t, write ? "writes" : "reads", 'a' + s,
                         NAME(2 + k), u);
            for (int u = 1; u <= THREADS; u++)
                for (int o = 0; o <= SIDES; o++)
                    for (int w = !write; w < 2; w++)
                        if (u != t && o != s && W.side_acc[k][u][o][w]) log_req(t, acc, u, W.side_acc[k][u][o][w] - 1);
            W.side_acc[k][t][W.still ? SIDES : s][write] = (uint8_t)(acc + 1);
        }
}

/* The access `acc` of thread t happens. */
static void effect(int t, int acc, uint64_t mask, int write) {
    if (W.still && W.still != t) fail("thread %d accesses something while thread %d forks", t, W.still);
    for (int c = 0; c < OBJECT_CELL && !W.still; c++) {
        if (!(mask >> c & 1)) continue;
        int l = c / 16, w = c % 16 / 2;
        uint64_t e = write ? ex_table[line_of[l]] : view(t, &ex_table[line_of[l]], 2);
        if (W.mapping == t) continue; /* whoever claims the line has to wait */
        if (e == (uint64_t)t || (e == WEFT_SPLIT && W.stripe_holder[l][w] == t)) continue;
        if (!write && (e == WEFT_SHARED || closer(l)) && in_list(t, l)) continue;
        fail("access without ownership: thread %d %s word %d of line %c, whose entry is %x (stripe held by %d)", t,
             write ? "writes" : "reads", w, 'A' + l, (unsigned)e, W.stripe_holder[l][w]);
    }
    for (int u = 1; u <= THREADS; u++) {
        if (u == t) continue;
        uint64_t other = write || W.open[u].write ? W.open[u].mask : 0;
        for (int i = 0; i < W.nbuf[u]; i++)
            if (!W.buf[u][i].size) other |= W.buf[u][i].mask;
        if (other & mask & ((1ull << OBJECT_CELL) - 1))
            fail("thread %d accesses what thread %d has checked and not yet accessed", t, u);
    }
    for (int c = 0; c < CELLS; c++) {
        if (!(mask >> c & 1)) continue;
        struct cell *x = &W.cells[c];
        if (x->wt && x->wt != t) log_req(t, acc, x->wt, x->wi);
        if (write) {
            for (int u = 1; u <= THREADS; u++)
                if (u != t && x->ri[u]) log_req(t, acc, u, x->ri[u] - 1);
            memset(x, 0, sizeof *x);
            x->wt = (uint8_t)t;
            x->wi = (uint8_t)acc;
        } else
            x->ri[t] = (uint8_t)(acc + 1);
    }
    side_effect(t, acc, mask, write);
    if (verbose) printf("%*s%d: *** %s %016llx\n", t * 4, "", t, write ? "writes" : "reads", (unsigned long long)mask);
}

static void flush_one(int t) {
    struct buffered b = W.buf[t][0];
    W.nbuf[t]--;
    memmove(&W.buf[t][0], &W.buf[t][1], W.nbuf[t] * sizeof b);
    if (b.size)
        memory_write(t, b.addr, b.size, b.val);
    else
        effect(t, b.acc, b.mask, 1);
}

static void buffer(struct buffered b) {
    if (W.nbuf[cur] == BUFFER) fail("store buffer full");
    W.buf[cur][W.nbuf[cur]++] = b;
}

/* Whether others may look at p without a lock, now. */
static int is_seen(const void *p, int store, uint64_t v) {
    if ((const char *)p >= (const char *)ex_table && (const char *)p < (const char *)ex_table + sizeof ex_table)
        return which_line((uint32_t)((const uint16_t *)p - ex_table)) >= 0;
    struct weft_thread *me = &W.threads[cur];
    if (p == &me->sig_pending || p == &weft__slots) return 0;
    if (p == stop_word()) return forkers > 0;
    if (store && p == &me->tls->limit && v == 0)
        return 0;                                   /* all stores of others are 0 as well, and nobody else reads */
    if (store && p == &me->waiters && !v) return 0; /* others look only under the lock, which is held */
    if (store && p == &me->served) return 0;        /* not yet in anybody's list */
    return 1;
}

static void say(const char *what, void *p, uint64_t v, const char *f) {
    if (verbose) printf("%*s%d: %s %s %s = %llx\n", cur * 4, "", cur, f, what, name_of(p), (unsigned long long)v);
}

static uint64_t ex_load(void *p, unsigned n, const char *f) {
    if (is_seen(p, 0, 0)) {
        int wait = 0;
        uint64_t val = 0;
        if (!detailed && !strcmp(f, "wait_served")) wait = 2, val = WEFT_ASKED;
        point(K_LOAD, p, n, wait, val, f);
    }
    uint64_t v = view(cur, p, n);
    if (detailed) W.co[cur].last = v;
    say("load", p, v, f);
    if (!strcmp(f, "own_small") && W.threads[cur].nheld) calm(v);
    struct weft_thread *t = &W.threads[cur];
    if (p == &t->tls->limit && v > t->tls->clock + HOLD_TICKS && t->waiters && !t->lock)
        fail("lost request: thread %d ticks on while thread %u waits for its answer", cur, t->waiters->slot);
    return v;
}

static void ex_store(void *p, unsigned n, uint64_t v, int order, const char *f) {
    int release = !strcmp(f, "stripe_unlock");
    if (is_seen(p, 1, v) && (tso || detailed || !release))
        point(order == __ATOMIC_SEQ_CST ? K_RMW : K_STORE, p, n, 0, 0, f);
    say("store", p, v, f);
    if (release && is_object(p)) object_event();
    if (p == stop_word()) {
        W.stopper = (uint8_t)(v ? cur : 0);
        W.still = W.looked = W.looked_state = W.told = 0;
        W.stops += !v;
    }
    if (tso && order != __ATOMIC_SEQ_CST)
        buffer((struct buffered){.addr = p, .val = v, .size = (uint8_t)n});
    else
        memory_write(cur, p, n, v);
}

static void got_lock(void *p, int held) {
    int line, word;
    for (int t = 1; t <= THREADS; t++)
        if (p == &W.threads[t].lock) {
            W.lock_holder[t] = (uint8_t)(held ? cur : 0);
            if (held && W.stopper == cur && !W.still) W.looked = (uint8_t)t, W.looked_state = (uint8_t)W.threads[t].state;
        }
    if (place_at(p) >= 0) W.place_holder[place_at(p)] = (uint8_t)(held ? cur : 0);
    if (held && stripe_at(p, &line, &word)) settle_stripe(line, word, (uint8_t)cur);
}

static uint64_t ex_exchange(void *p, unsigned n, uint64_t v, const char *f) {
    int unlock = !strcmp(f, "weft__unlock"), stripe = !strcmp(f, "stripe_lock");
    /* A release comes for free with the step before it; a stripe is waited for and taken in one step. In TSO
     * the buffer must be empty first, so there it is a step. */
    if (tso || detailed || !unlock) point(K_RMW, p, n, !detailed && stripe ? 1 : 0, 0, f);
    uint64_t old = raw_get(p, n);
    if (unlock) got_lock(p, 0);
    memory_write(cur, p, n, v);
    if (stripe && !old) got_lock(p, 1);
    if (!strcmp(f, "weft__lock") && !old) got_lock(p, 1);
    if (detailed) W.co[cur].last = old;
    say("exchange", p, v, f);
    return old;
}

static int ex_cas(void *p, unsigned n, void *expected, uint64_t v, const char *f) {
    int lock = !strcmp(f, "weft__lock"), answer = !strcmp(f, "serve");
    if (!detailed && answer && sleeps && choose(2, "asleep")) { /* it waits for WEFT_WOKEN now */
        *(int *)expected = WEFT_ASLEEP;
        return 0;
    }
    if (is_seen(p, 0, 0)) point(K_RMW, p, n, !detailed && lock ? 1 : 0, 0, f);
    uint64_t old = raw_get(p, n), e = raw_get(expected, n);
    if (detailed) W.co[cur].last = old;
    say(old == e ? "cas" : "failed cas", p, v, f);
    if (old != e) {
        memcpy(expected, &old, n);
        return 0;
    }
    memory_write(cur, p, n, v);
    if (lock) got_lock(p, 1);
    return 1;
}

/* Whether another look at thread t, by who stops the world, would find or do something else than the last one. */
static int look_again(int t) {
    return W.threads[t].state != W.looked_state || (W.looked_state == WEFT_IN && W.tls[t].limit != 0);
}

/* Inside the loops of owner.c that spin: the loop's counter after a pause. A stripe is spun for until it changes, a
 * thread that is to stop until that makes a difference; the others go to sleep in the kernel at once. */
static int ex_pause(const char *f) {
    struct co *c = &W.co[cur];
    if (!strcmp(f, "weft__rec_stop")) {
        if (W.looked_state == WEFT_IN) W.told |= (uint8_t)(1 << W.looked);
        point(K_SPIN, &W.threads[W.looked].state, 4, 4, W.looked, f);
        return -1;
    }
    if (strcmp(f, "stripe_lock")) return 100000;
    point(K_SPIN, c->addr, c->size, 2, c->last, f);
    return -1;
}

static long ex_raw6(long nr, long a, long b, long c, long d, long e, long g) {
    (void)d, (void)e, (void)g;
    if (nr != SYS_futex) fail("system call %ld", nr);
    if (!detailed) { /* only those of threads that stand still */
        if (b == FUTEX_WAIT_PRIVATE) point(K_FUTEX, (void *)a, 4, 2, (uint64_t)c, "futex wait");
        return 0;
    }
    point(K_FUTEX, (void *)a, 4, 0, 0, b == FUTEX_WAIT_PRIVATE ? "futex wait" : "futex wake");
    say("futex", (void *)a, (uint64_t)c, b == FUTEX_WAIT_PRIVATE ? "wait" : "wake");
    if (b == FUTEX_WAIT_PRIVATE) {
        if (raw_get((void *)a, 4) != (uint64_t)c) return -EAGAIN;
        W.co[cur].woken = 0;
        point(K_SLEEP, (void *)a, 4, 3, 0, "sleep");
        return 0;
    }
    int asleep[THREADS], n = 0;
    for (int t = 1; t <= THREADS; t++)
        if (W.co[t].kind == K_SLEEP && W.co[t].addr == (void *)a && !W.co[t].woken) asleep[n++] = t;
    if (!n) return 0;
    if (c >= n) {
        for (int k = 0; k < n; k++)
            W.co[asleep[k]].woken = 1;
        return n;
    }
    W.co[asleep[n > 1 ? choose(n, "wakes which") : 0]].woken = 1;
    return 1;
}

static uint64_t ex_tsc(const char *f);
static int ex_shares(void);
static uint32_t ex_late(void);

#define weft__raw6 ex_raw6
#define weft__pause() (i = ex_pause(__func__))
#define weft__tsc() ex_tsc(__func__)
#undef WEFT_TABLE_ADDR
#define WEFT_TABLE_ADDR ((uintptr_t)ex_table)
#define __atomic_load_n(p, o) ((__typeof__(*(p)))(uintptr_t)ex_load((void *)(p), sizeof *(p), __func__))
#define __atomic_store_n(p, v, o) ex_store((void *)(p), sizeof *(p), (uint64_t)(uintptr_t)(v), (o), __func__)
#define __atomic_exchange_n(p, v, o)                                                                                   \
    ((__typeof__(*(p)))(uintptr_t)ex_exchange((void *)(p), sizeof *(p), (uint64_t)(uintptr_t)(v), __func__))
#define __atomic_compare_exchange_n(p, e, v, w, o, q) ex_cas((void *)(p), sizeof *(p), (e), (uint64_t)(v), __func__)
#include OWNER_C
#undef TABLE
#include "../../src/runtime/event.c"
#undef __atomic_load_n
#undef __atomic_store_n
#undef __atomic_exchange_n
#undef __atomic_compare_exchange_n

/* ---- what owner.c expects around it. What else event.c calls never happens here: the linker leaves it open.
 * ---------- */

void weft__log_edge(struct weft_thread *t, uint64_t tick, uint64_t site, const struct weft_pos *o) {
    int s = (int)t->slot;
    if (W.nhist[s] == LOG_MAX) fail("history full");
    W.hist[s][W.nhist[s]++] = (struct hist){
        .kind = H_EDGE,
        .tick = (uint8_t)tick,
        .site = (uint8_t)site,
        .slot = (uint8_t)o->slot,
        .otick = (uint8_t)o->tick,
        .osite = (uint8_t)o->site,
        .step = o->step == WEFT_DONE ? STEP_DONE : (uint8_t)o->step,
    };
    if (verbose)
        printf("%*s%d: +++ edge (%llu, %llu) after (%llu, %llu) of %u, %s %u\n", s * 4, "", s, (unsigned long long)tick,
               (unsigned long long)site, (unsigned long long)o->tick, (unsigned long long)o->site, o->slot,
               o->step == WEFT_DONE ? "done" : "step", o->step == WEFT_DONE ? 0 : o->step);
}
static const void *stop_word(void) {
    return &stopped;
}
static int stripe_at(const void *p, int *line, int *word) {
    if ((const char *)p < (const char *)stripes || (const char *)p >= (const char *)(stripes + STRIPES)) return 0;
    uint32_t i = (uint32_t)((const struct stripe *)p - stripes);
    for (int l = 0; l < 2; l++)
        if (i >> 3 == (line_of[l] & (STRIPES / 8 - 1))) {
            *line = l;
            *word = (int)(i & 7);
            return 1;
        }
    return 0;
}
static uint8_t *weak_word(int lock) {
    return &weak_side[lock_of[lock]];
}
static int place_at(const void *p) {
    for (int i = 0; i < SHARED_SETS; i++)
        if (p == &shared[i].lock) return i;
    return -1;
}
static int place_of(int l) {
    return (int)(shared_set(line_of[l]) - shared);
}
static int in_list(int t, int l) {
    return (W.reads[t][ex_reads_at(line_of[l])] & line_bit(line_of[l])) != 0;
}
static int closing_of(int t, int l) {
    return closes(&W.threads[t], line_of[l]);
}
/* Who closes line l. */
static int closer(int l) {
    for (int t = 1; t <= THREADS; t++)
        if (closing_of(t, l)) return t;
    return 0;
}
/* Whether l is SHARED, and its place knows u as a reader. */
static int is_reader(int u, int l) {
    struct shared *d = &shared[place_of(l)].way[0];
    int known = d->readers == ANYBODY;
    for (int i = 0; i < d->readers && i < READERS; i++)
        known |= d->reader[i] == u;
    return ex_table[line_of[l]] == WEFT_SHARED && d->page == line_of[l] / PAGE_LINES + 1 && d->lines & line_bit(line_of[l]) && known;
}
/* Who has a side of a weak lock may have it. */
#define GONE 0xdeadull /* a word of a thread that has ended */
static void check_sides(void) {
    for (int k = 0; k < 2; k++) {
        uint64_t any = 0, mask = ((1ull << WEFT_WEAK_SIDES) - 1) << lock_of[k] * WEFT_WEAK_SIDES;
        for (int u = 1; u <= THREADS && !failure[0]; u++) {
            uint64_t has = W.threads[u].sides & mask;
            any |= has;
            if (W.co[u].kind == K_END) {
                if (W.tls[u].weak != GONE && sc->prog[u - 1][0] != '-')
                    snprintf(failure, sizeof failure, "a word of thread %d is written, which has ended", u);
                continue;
            }
            if ((W.tls[u].weak & mask) != (mask & ~has))
                snprintf(failure, sizeof failure, "thread %d does not know which sides of %c it has", u, NAME(2 + k));
            if (!has || tso) continue;
            if (ex_table[line_of[2 + k]] != u && !is_reader(u, 2 + k) && !closer(2 + k))
                snprintf(failure, sizeof failure, "thread %d has a side of %c, but not its line", u, NAME(2 + k));
            else if (1ull << (*weak_word(k) - 1) != has)
                snprintf(failure, sizeof failure, "thread %d has another side of %c than the lock is on", u, NAME(2 + k));
        }
        if (any & (any - 1) && !failure[0]) snprintf(failure, sizeof failure, "two sides of %c at once", NAME(2 + k));
    }
}
/* After a step of thread t, before which the lists were so. */
static void check_lists(int t, uint64_t was[][LINES]) {
    for (int u = 1; u <= THREADS && !failure[0]; u++) {
        /* In SC a lock may be given back in the same step. */
        if (u != t && (tso || detailed) && W.lock_holder[u] != t && memcmp(was[u], W.reads[u], sizeof was[u]))
            snprintf(failure, sizeof failure, "I8: thread %d changes the list of thread %d without its lock", t, u);
        for (int l = 0; l < LINES && !tso; l++) {
            if (!in_list(u, l) || closer(l)) continue;
            if (!is_reader(u, l))
                snprintf(failure, sizeof failure, "I8: thread %d has line %c in its list unknown to all", u, NAME(l));
        }
    }
}
static void settle_stripe(int line, int word, uint8_t holder) {
    W.stripe_holder[line][word] = holder;
    if (sc->where == 'c') W.stripe_holder[1 - line][word] = holder;
}
/* The thread has locked words of a line, to access them: has it been calm there for long? */
static void calm(uint64_t entry) {
    int yes = W.joins_left && entry == WEFT_SPLIT && choose(2, "calm");
    if (yes) W.joins_left--;
    for (int l = 0; l < 2; l++)
        *line_heat(line_of[l]) = (struct heat){.seen = yes ? 0xfff0 : 0};
}

static const void *object = (void *)64; /* hashed into objects[] */
static struct stripe *object_stripe(void) {
    return stripe_of(object);
}
static int is_object(const void *p) {
    return p == &object_stripe()->lock;
}
static void object_event(void) {
    int acc = log_pos(cur, H_ACC, W.tls[cur].clock, 0);
    effect(cur, acc, 1ull << OBJECT_CELL, 1);
}

void *weft__rt_may_map(size_t n) {
    if (n != WEFT_READS_SIZE) fail("a map of %zu bytes", n);
    return W.reads[cur];
}

/* t reads what another one owns: does it rather share it? */
static int ex_shares(void) {
    int yes = W.shares_left && choose(2, "share");
    W.shares_left -= (uint8_t)yes;
    return yes;
}

/* t is to answer at a tick: does it rather do so at its next check, or the one after that? */
static uint32_t ex_late(void) {
    uint32_t n = W.holds_left ? (uint32_t)choose(3, "late") : 0;
    W.holds_left -= n != 0;
    return n;
}

/* Time stamps are asked for where the protocol decides by them: the explorer decides. */
static uint64_t ex_tsc(const char *f) {
    struct weft_thread *t = &W.threads[cur];
    t->quarrels = sc->holds ? HOT : 0;
    if (!strcmp(f, "acquire")) {
        int hot = W.hot_left && choose(2, "hot");
        W.hot_left -= (uint8_t)hot;
        t->rng = hot ? 0 : 10; /* 10 gives 650 of 1,024: no split */
    }
    if (!strcmp(f, "holds")) {
        int yes = W.holds_left && choose(2, "hold");
        W.holds_left -= (uint8_t)yes;
        t->tenure = yes ? 2 : 1;
    }
    return 1;
}

/* ---- the modelled program ---------------------------------------------------------------------------------------- */

static uint64_t mask_of(uint64_t p, unsigned n) {
    uint64_t m = 0;
    for (uint64_t a = p & ~3ull; a < p + n; a += 4) {
        int l = which_line((uint32_t)(a >> WEFT_LINE_SHIFT));
        m |= 1ull << (l * 16 + (int)(a & 63) / 4);
    }
    return m;
}

static void do_access(int t, uint64_t site, uint64_t mask, int write) {
    W.open[t] = (struct open){mask, (uint8_t)write};
    point(K_ACCESS, NULL, 0, 0, 0, write ? "write" : "read");
    int acc = log_pos(t, H_ACC, W.tls[t].clock, site);
    W.open[t] = (struct open){0};
    if (tso && write)
        buffer((struct buffered){.acc = (uint8_t)acc, .mask = mask});
    else
        effect(t, acc, mask, write);
}

/* As the pass compiles it. */
static void checked_access(struct weft_thread *t, uint64_t p, unsigned n, int write, uint64_t site) {
    int s = (int)t->slot;
    log_pos(s, H_POS, t->tls->clock, site);
    uint64_t first = LINE_OF(p), last = LINE_OF(p + n - 1);
    int bad = ex_load(&ex_table[first], 2, "check") != t->tls->me;
    if (last != first) bad |= ex_load(&ex_table[last], 2, "check") != t->tls->me;
    const uint64_t *list = (void *)(uintptr_t)(t->tls->saved[3] + WEFT_READS_ADDR);
    if (bad && !write && t->tls->saved[3] && list[READS_AT(first)] & line_bit((uint32_t)first) && list[READS_AT(last)] & line_bit((uint32_t)last)) {
        if (verbose) printf("%*s%d: reads on\n", s * 4, "", s);
        bad = 0;
    }
    if (bad) weft__rec_miss(t, p, n | (write ? WEFT_ACC_WRITE : 0), site);
    do_access(s, site, mask_of(p, n), write);
}

static void fresh_tick(struct weft_thread *t) {
    int s = (int)t->slot, to_stop = W.told >> s & 1, stops = W.stops;
    log_pos(s, H_POS, t->tls->clock + 1, 0);
    weft__tick(t);
    if (to_stop && W.stops == stops) fail("thread %d was told to stop and ticks on", s);
}

/* As in fork.c: all that there is goes into the new process. */
static void fork_op(struct weft_thread *t) {
    int s = (int)t->slot;
    fresh_tick(t);
    weft__outside(t);
    if (forkers > 1) point(K_MUTEX, &W.forks_lock, 4, 1, 0, "lock");
    W.forks_lock = s;
    weft__inside(t);
    weft__rec_stop(t);
    W.still = (uint8_t)s;
    point(K_ACCESS, NULL, 0, 0, 0, "fork");
    int acc = log_pos(s, H_ACC, t->tls->clock, 0);
    effect(s, acc, ((2ull << OBJECT_CELL) - 1) | ALL_SIDES, 1);
    if (forkers > 1) point(K_MUTEX, &W.forks_lock, 4, 0, 0, "unlock");
    W.forks_lock = 0;
    weft__rec_go(t);
    fresh_tick(t);
}

/* As in thread.c. */
static void create_op(struct weft_thread *t) {
    struct weft_thread *c = &W.threads[THREADS];
    fresh_tick(t);
    c->stop_age = t->stop_age;
    W.parent = standing(t, 0);
    point(K_STEP, NULL, 0, 0, 0, "create");
    W.born = 1;
}
static void begin_op(struct weft_thread *t) {
    int s = (int)t->slot;
    t->tls = &W.tls[s];
    W.tls[s].limit = 0;
    weft__rec_begin(t);
    fresh_tick(t);
    weft__rec_edge(t, 0, &W.parent);
    weft__rec_after_fork(t);
}

/* As the pass compiles it (src/pass/rewrite/regions.c). */
static void look(struct weft_thread *t, uint64_t site) {
    log_pos((int)t->slot, H_POS, t->tls->clock, site);
    if (t->tls->region & t->tls->weak) weft__rec_weak(t, site);
}
static void side_access(struct weft_thread *t, int lock, int write) {
    int s = (int)t->slot, i = W.nhist[s] - 1, side = 0;
    while (W.hist[s][i].kind != H_POS)
        i--;
    while (side < SIDES && !(t->tls->region & bit_of(lock, side)))
        side++;
    if (side == SIDES) fail("bad program: no region of %c", NAME(2 + lock));
    point(K_ACCESS, NULL, 0, 0, 0, write ? "write" : "read");
    if (!(t->sides & bit_of(lock, side)))
        fail("thread %d is on side %c of %c, which it does not have", s, 'a' + side, NAME(2 + lock));
    int acc = log_pos(s, H_ACC, W.hist[s][i].tick, W.hist[s][i].site);
    if (tso && write)
        buffer((struct buffered){.acc = (uint8_t)acc, .mask = 1ull << SIDE_BIT(lock, side)});
    else
        effect(s, acc, 1ull << SIDE_BIT(lock, side), write);
}

/* r|w LINE WORD: 8 bytes; line in lower case: the upper 4 bytes only    x|y: write, read 8 bytes across A and B
 * t tick   o out and in   j,J take A, B and write word 0   k take both and write both    n an ordered operation
 * i take A and read word 0     K take A to write it and B to read it     g take both and read both
 * L a loop begins that writes A and B: it does, if it gets them     M a loop of A in which B is written in between
 * z waits in a loop for another thread to change A, and sleeps, if A is still its own or shared
 * e{LOCK SIDE} enter a region; LOCK is P or Q, SIDE a or b     E leave it     v|V LOCK read, write in it what has no check
 * G take both, with the region's weak locks, and write both
 * In a region all but accesses and G are calls, and looked behind.
 * l,u lock and unlock     f fork     B first of all: the thread begins    c thread 3 is created, which begins with B
 * - alone: there is no such thread
 * b (wrong) take A, read it, and go outside in the same tick
 * m (wrong) take A, write it, take B, write it, in one tick */
static void run_op(struct weft_thread *t, const char **prog, uint64_t site) {
    const char *p = *prog;
    int s = (int)t->slot;
    uint64_t a = (uint64_t)line_of[0] << WEFT_LINE_SHIFT, b = (uint64_t)line_of[1] << WEFT_LINE_SHIFT;
    switch (*p++) {
    case 'r':
    case 'w': {
        uint64_t q = (*p == 'A' || *p == 'a' ? a : b) + 8u * (unsigned)(p[1] - '0');
        int half = *p >= 'a';
        checked_access(t, q + (half ? 4 : 0), half ? 4 : 8, p[-1] == 'w', site);
        p += 2;
        break;
    }
    case 'x':
        checked_access(t, a + 60, 8, 1, site);
        break;
    case 'y':
        checked_access(t, a + 60, 8, 0, site);
        break;
    case 't':
        fresh_tick(t);
        break;
    case 'o':
        fresh_tick(t);
        weft__outside(t);
        weft__inside(t);
        break;
    case 'z':
        fresh_tick(t);
        if (weft__rec_has(t, line_of[0], 1, 0)) doze(t);
        break;
    case 'j':
    case 'J': {
        uint64_t q = p[-1] == 'j' ? a : b;
        fresh_tick(t);
        weft__take(t, (void *)q, 8);
        do_access(s, 0, mask_of(q, 8), 1);
        break;
    }
    case 'i':
        fresh_tick(t);
        weft__take_read(t, (void *)a, 8);
        do_access(s, 0, mask_of(a, 8), 0);
        break;
    case 'k':
    case 'g': {
        int write = p[-1] == 'k';
        fresh_tick(t);
        while (weft__rec_take(t, a, 8, 0, write) | weft__rec_take(t, b, 8, 0, write)) {
        }
        do_access(s, 0, mask_of(a, 8), write);
        do_access(s, 0, mask_of(b, 8), write);
        break;
    }
    case 'K':
        fresh_tick(t);
        weft__take2(t, (void *)a, 8, (void *)b, 8);
        do_access(s, 0, mask_of(a, 8), 1);
        do_access(s, 0, mask_of(b, 8), 0);
        break;
    case 'G': /* as in take.c */
        fresh_tick(t);
        while (weft__rec_take(t, a, 8, 0, 1) | weft__rec_take(t, b, 8, 0, 1) || weft__rec_again(t, 0)) {
        }
        do_access(s, 0, mask_of(a, 8), 1);
        do_access(s, 0, mask_of(b, 8), 1);
        break;
    case 'L':
    case 'M': { /* as in loops.c */
        uint64_t all = 8 | WEFT_RANGE_WRITES | WEFT_RANGE_ALL;
        log_pos(s, H_POS, t->tls->clock, site);
        t->tls->range[0] = (struct weft_tls_range){a, all};
        t->tls->range[1] = (struct weft_tls_range){b, all};
        t->tls->fast = p[-1] == 'L' ? 2 : 1;
        if (weft__rec_loop_begin(t, site)) {
            do_access(s, site, mask_of(a, 8), 1);
            if (p[-1] == 'L')
                do_access(s, site, mask_of(b, 8), 1);
            else {
                site |= 0x80;
                checked_access(t, b, 8, 1, site);
                do_access(s, site, mask_of(a, 8), 1);
            }
        }
        t->tls->fast = 0;
        break;
    }
    case 'e':
        W.was[s][W.inner[s]++] = t->tls->region;
        t->tls->region = 0;
        for (; *p == 'P' || *p == 'Q'; p += 2)
            t->tls->region |= bit_of(*p == 'Q', p[1] - 'a');
        look(t, site);
        break;
    case 'E':
        t->tls->region = W.was[s][--W.inner[s]];
        look(t, site);
        break;
    case 'v':
    case 'V':
        side_access(t, *p == 'Q', p[-1] == 'V');
        p++;
        break;
    case 'n':
        fresh_tick(t);
        weft__order(t, object);
        break;
    case 'l':
        fresh_tick(t);
        point(K_MUTEX, &W.mutex, 4, 0, 0, "trylock");
        if (W.mutex) {
            weft__outside(t);
            point(K_MUTEX, &W.mutex, 4, 1, 0, "lock");
            W.mutex = s;
            weft__inside(t);
        } else
            W.mutex = s;
        weft__order(t, object);
        break;
    case 'u':
        fresh_tick(t);
        weft__order(t, object);
        point(K_MUTEX, &W.mutex, 4, 0, 0, "unlock");
        W.mutex = 0;
        break;
    case 'd': /* unmaps A; whoever comes to it then finds new memory */
        fresh_tick(t);
        weft__take(t, (void *)a, 8);
        do_access(s, 0, mask_of(a, 8), 1);
        weft__rec_maps_begin();
        weft__rec_maps_gone(t, a, 8);
        weft__rec_maps_end(t, 1);
        break;
    case 'p': /* maps A, after and before what others do there */
        fresh_tick(t);
        for (;;) {
            weft__rec_maps_begin();
            if (weft__rec_maps_may(t, a, 8)) break;
            weft__rec_maps_end(t, 0);
            while (weft__rec_maps_take(t, a, 8)) {
            }
        }
        W.mapping = (uint8_t)s;
        do_access(s, 0, mask_of(a, 8), 1);
        if (tso) point(K_MUTEX, &W.mutex, 4, 0, 0, "mapped"); /* a system call leaves nothing in the buffer */
        W.mapping = 0;
        weft__rec_maps_end(t, 1);
        break;
    case 'f':
        fork_op(t);
        break;
    case 'c':
        create_op(t);
        break;
    case 'B':
        begin_op(t);
        break;
    case 'b':
        fresh_tick(t);
        weft__take(t, (void *)a, 8);
        do_access(s, 0, mask_of(a, 8), 0);
        weft__outside(t);
        weft__inside(t);
        break;
    case 'm':
        fresh_tick(t);
        weft__take(t, (void *)a, 8);
        do_access(s, 0, mask_of(a, 8), 1);
        weft__take(t, (void *)b, 8);
        do_access(s, 0, mask_of(b, 8), 1);
        break;
    default:
        fail("bad program at %s", p - 1);
    }
    while (*p == ' ')
        p++;
    *prog = p;
}

/* What nobody will read again would only keep equal states apart. */
static void tidy(struct weft_thread *t) {
    t->here = t->grant = (struct weft_pos){0};
    if (t->closing) fail("thread %u is still closing a line", t->slot);
    t->closing_lines = 0;
    t->want = 0;
    t->wish = 0;
    t->granted = 0;
    t->next = NULL;
    if (t->keeps) fail("thread %u goes on, and keeps a line", t->slot);
    if (!W.nbuf[t->slot]) t->served = WEFT_ANSWERED;
    for (uint32_t i = t->nheld; i < WEFT_HELD_MAX; i++)
        t->held[i] = 0;
    t->edges = t->misses = t->splits = t->asks = 0;
    t->nlost = 0; /* it is between loops */
    memset(t->lost, 0, sizeof t->lost);
}

__attribute__((noinline)) static void run_ops(struct weft_thread *t, const char *p) {
    uint64_t site = 1;
    while (*p) {
        /* Nor in registers. */
        __asm__ volatile(
            "xorl %%ebx, %%ebx\nxorl %%r12d, %%r12d\nxorl %%r13d, %%r13d\nxorl %%r14d, %%r14d\nxorl %%r15d, %%r15d" ::
                : "rbx", "r12", "r13", "r14", "r15");
        int called = !strchr("rwxyeEvVGB", *p);
        run_op(t, &p, site);
        if (called && t->tls->region) look(t, site);
        site++;
        tidy(t);
    }
}

static void body(void) {
    struct weft_thread *t = &W.threads[cur];
    run_ops(t, sc->prog[cur - 1]);
    fresh_tick(t); /* weft__thread_exit */
    weft__rec_end(t);
    if (forkers) point(K_STEP, NULL, 0, 0, 0, "exit");
    t->alive = 0;
    t->tls->weak = GONE;
    point(K_END, NULL, 0, 0, 0, "end");
    abort();
}

/* ---- replaying what was logged ----------------------------------------------------------------------------------- */

#define NODES 400
static struct node {
    uint8_t kind; /* 0 arrive, 1 wait, 2 access, 3 done */
    uint8_t pos, step;
    int dep_t, dep_n;
    uint16_t vc[THREADS + 1];
} node[THREADS + 1][NODES];
static int nnodes[THREADS + 1];

static int find_node(int t, int tick, int site, int step) {
    for (int i = 0; i < nnodes[t]; i++) {
        struct hist *h = &W.hist[t][node[t][i].pos];
        if (h->tick != tick || h->site != site) continue;
        if (step == STEP_DONE ? node[t][i].kind == 3 : (node[t][i].kind < 2 && node[t][i].step == step)) return i;
    }
    return -1;
}

static const char *check_end(void) {
    static char why[300];
    static uint16_t acc_node[THREADS + 1][LOG_MAX];
    for (int t = 1; t <= THREADS; t++) {
        nnodes[t] = 0;
        for (int i = 0; i < W.nhist[t]; i++) {
            struct hist *p = &W.hist[t][i];
            if (p->kind != H_POS) continue;
            int step = 0;
            node[t][nnodes[t]++] = (struct node){.kind = 0, .pos = (uint8_t)i};
            for (int j = 0; j < W.nhist[t]; j++)
                if (W.hist[t][j].kind == H_EDGE && W.hist[t][j].tick == p->tick && W.hist[t][j].site == p->site)
                    node[t][nnodes[t]++] =
                        (struct node){.kind = 1, .pos = (uint8_t)i, .step = (uint8_t)++step, .dep_t = j};
            for (int j = 0; j < W.nhist[t]; j++)
                if (W.hist[t][j].kind == H_ACC && W.hist[t][j].tick == p->tick && W.hist[t][j].site == p->site)
                    acc_node[t][j] = (uint16_t)(nnodes[t] + 1);
            node[t][nnodes[t]++] = (struct node){.kind = 2, .pos = (uint8_t)i};
            node[t][nnodes[t]++] = (struct node){.kind = 3, .pos = (uint8_t)i};
            if (nnodes[t] > NODES - 40) return "too many nodes";
        }
    }
    for (int t = 1; t <= THREADS; t++) {
        int waits = 0, edges = 0;
        for (int i = 0; i < W.nhist[t]; i++)
            edges += W.hist[t][i].kind == H_EDGE;
        for (int i = 0; i < nnodes[t]; i++) {
            struct node *n = &node[t][i];
            if (n->kind != 1) continue;
            waits++;
            struct hist *e = &W.hist[t][n->dep_t];
            n->dep_t = e->slot;
            n->dep_n = find_node(e->slot, e->otick, e->osite, e->step);
            if (n->dep_n < 0) {
                snprintf(why, sizeof why,
                         "thread %d at (%d, %d) waits for (%d, %d) step %d of thread %d, which never comes", t, e->tick,
                         e->site, e->otick, e->osite, e->step, e->slot);
                return why;
            }
        }
        if (waits != edges) return "an edge was logged at a position that is not passed";
    }
    int at[THREADS + 1] = {0};
    for (int moved = 1; moved;) {
        moved = 0;
        for (int t = 1; t <= THREADS; t++)
            while (at[t] < nnodes[t]) {
                struct node *n = &node[t][at[t]];
                if (n->kind == 1 && at[n->dep_t] <= n->dep_n) break;
                memset(n->vc, 0, sizeof n->vc);
                if (at[t]) memcpy(n->vc, node[t][at[t] - 1].vc, sizeof n->vc);
                if (n->kind == 1)
                    for (int u = 1; u <= THREADS; u++)
                        if (node[n->dep_t][n->dep_n].vc[u] > n->vc[u]) n->vc[u] = node[n->dep_t][n->dep_n].vc[u];
                n->vc[t] = (uint16_t)(++at[t]);
                moved = 1;
            }
    }
    for (int t = 1; t <= THREADS; t++)
        if (at[t] < nnodes[t]) {
            struct hist *h = &W.hist[t][node[t][at[t]].pos];
            snprintf(why, sizeof why, "the replay hangs: thread %d waits at (%d, %d) for thread %d", t, h->tick,
                     h->site, node[t][at[t]].dep_t);
            return why;
        }
    for (int t = 1; t <= THREADS; t++)
        for (int i = 0; i < W.nhist[t]; i++) {
            struct hist *h = &W.hist[t][i];
            if (h->kind != H_REQ) continue;
            if (node[t][acc_node[t][h->step] - 1].vc[h->slot] < acc_node[h->slot][h->osite]) {
                struct hist *b = &W.hist[t][h->step], *a = &W.hist[h->slot][h->osite];
                snprintf(why, sizeof why,
                         "no order in the replay: the access of thread %d at (%d, %d) came after that of thread %d at "
                         "(%d, %d)",
                         t, b->tick, b->site, h->slot, a->tick, a->site);
                return why;
            }
        }
    return NULL;
}

static void print_history(void) {
    for (int t = 1; t <= THREADS; t++)
        for (int i = 0; i < W.nhist[t]; i++) {
            struct hist *h = &W.hist[t][i];
            if (h->kind == H_EDGE)
                printf("  log of %d: (%d, %d) after (%d, %d) of %d, %s %d\n", t, h->tick, h->site, h->otick, h->osite,
                       h->slot, h->step == STEP_DONE ? "done" : "step", h->step == STEP_DONE ? 0 : h->step);
        }
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

#define FIXED_PART offsetof(__typeof__(W), threads)
#define THREAD_PART offsetof(struct weft_thread, log) /* what the protocol uses */
#define SNAP_MAX (sizeof W + 4096 + sizeof stacks)
static struct stripe *world_stripes[16];
static int nworld_stripes;

static char *put(char *o, const void *p, size_t n) {
    memcpy(o, p, n);
    return o + n;
}
static const char *get(const char *i, void *p, size_t n) {
    memcpy(p, i, n);
    return i + n;
}
static uint8_t *heat_of(int l) {
    return &heat_of_page(line_of[l])->heat;
}

static size_t save(char *o) {
    char *start = o;
    o = put(o, &W, FIXED_PART);
    for (int t = 1; t <= THREADS; t++) {
        o = put(o, &W.threads[t], THREAD_PART);
        o = put(o, &W.threads[t].sides, sizeof W.threads[t].sides);
        o = put(o, &W.threads[t].nlost, sizeof W.threads[t].nlost);
        o = put(o, W.threads[t].lost, sizeof W.threads[t].lost);
        o = put(o, &W.threads[t].stop_age, sizeof W.threads[t].stop_age);
        o = put(o, &W.threads[t].alive, sizeof W.threads[t].alive);
        o = put(o, W.buf[t], W.nbuf[t] * sizeof W.buf[t][0]);
        o = put(o, W.hist[t], W.nhist[t] * sizeof W.hist[t][0]);
        if (W.co[t].kind != K_END) o = put(o, W.co[t].sp, (size_t)(stacks[t] + STACK - W.co[t].sp));
    }
    for (int i = 0; i < nworld_stripes; i++)
        o = put(o, world_stripes[i], sizeof(struct stripe));
    o = put(o, object_stripe(), sizeof(struct stripe));
    o = put(o, &maps, sizeof maps);
    o = put(o, shared, sizeof shared);
    for (int l = 0; l < LINES; l++) {
        o = put(o, &ex_table[line_of[l]], 2);
        o = put(o, heat_of(l), 1);
    }
    o = put(o, weak_side, sizeof weak_side);
    o = put(o, &stopped, sizeof stopped);
    o = put(o, &stop_age, sizeof stop_age);
    o = put(o, &stop_pos, sizeof stop_pos);
    while ((o - start) & 7)
        *o++ = 0;
    return (size_t)(o - start);
}
static void restore(const char *i) {
    i = get(i, &W, FIXED_PART);
    for (int t = 1; t <= THREADS; t++) {
        i = get(i, &W.threads[t], THREAD_PART);
        i = get(i, &W.threads[t].sides, sizeof W.threads[t].sides);
        i = get(i, &W.threads[t].nlost, sizeof W.threads[t].nlost);
        i = get(i, W.threads[t].lost, sizeof W.threads[t].lost);
        i = get(i, &W.threads[t].stop_age, sizeof W.threads[t].stop_age);
        i = get(i, &W.threads[t].alive, sizeof W.threads[t].alive);
        i = get(i, W.buf[t], W.nbuf[t] * sizeof W.buf[t][0]);
        i = get(i, W.hist[t], W.nhist[t] * sizeof W.hist[t][0]);
        if (W.co[t].kind != K_END) i = get(i, W.co[t].sp, (size_t)(stacks[t] + STACK - W.co[t].sp));
    }
    for (int k = 0; k < nworld_stripes; k++)
        i = get(i, world_stripes[k], sizeof(struct stripe));
    i = get(i, object_stripe(), sizeof(struct stripe));
    i = get(i, &maps, sizeof maps);
    i = get(i, shared, sizeof shared);
    for (int l = 0; l < LINES; l++) {
        i = get(i, &ex_table[line_of[l]], 2);
        i = get(i, heat_of(l), 1);
    }
    i = get(i, weak_side, sizeof weak_side);
    i = get(i, &stopped, sizeof stopped);
    i = get(i, &stop_age, sizeof stop_age);
    i = get(i, &stop_pos, sizeof stop_pos);
    for (int l = 0; l < 2; l++)
        line_heat(line_of[l])->caution = 0; /* of no importance, as the explorer decides */
}

static uint64_t hash_bytes(const char *p, size_t n) {
    uint64_t h[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint64_t m = 0x9e3779b97f4a7c15ull;
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int k = 0; k < 8; k++) {
            uint64_t w;
            memcpy(&w, p + i + 8 * k, 8);
            h[k] = (h[k] ^ w) * m;
            h[k] ^= h[k] >> 29;
        }
    for (; i < n; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        h[0] = (h[0] ^ w) * m;
        h[0] ^= h[0] >> 31;
    }
    uint64_t r = n;
    for (int k = 0; k < 8; k++) {
        r = (r ^ h[k]) * 0xd6e8feb86659fd93ull;
        r ^= r >> 32;
    }
    return r & ~1ull ? r & ~1ull : 2;
}

static uint64_t *seen_set; /* hashes; the low bit says that the state is on the path now */
static size_t seen_cap, seen_n;
static uint64_t *seen_find(uint64_t h) {
    size_t i = (size_t)(h * 0x9e3779b97f4a7c15ull >> 20) & (seen_cap - 1);
    while (seen_set[i] && (seen_set[i] & ~1ull) != h)
        i = (i + 1) & (seen_cap - 1);
    return &seen_set[i];
}
static uint64_t *seen_add(uint64_t h) {
    if (seen_n * 10 >= seen_cap * 7) {
        uint64_t *old = seen_set;
        size_t n = seen_cap;
        seen_cap = n ? n * 2 : 1 << 16;
        seen_set = calloc(seen_cap, 8);
        if (!seen_set) {
            fprintf(stderr, "no memory for %zu states\n", seen_cap);
            exit(2);
        }
        for (size_t i = 0; i < n; i++)
            if (old[i]) *seen_find(old[i] & ~1ull) = old[i];
        free(old);
    }
    return seen_find(h);
}

static void init_world(void) {
    memset(&W, 0, sizeof W);
    memset(stacks, 0, sizeof stacks);
    for (size_t i = 0; i < sizeof ex_table / 2; i++)
        ex_table[i] = 0xfff0;
    line_of[0] = sc->where == 'p' ? 63 : 1;
    line_of[1] = sc->where == 'p' ? 64 : sc->where == 'c' ? 1 + STRIPES / 8 : sc->where == 'h' ? 5 * PAGE_LINES + 2 : 2;
    if ((place_of(0) == place_of(1)) == (sc->where == 'p')) abort();
    /* The places for readers of P and Q are not the same. */
    line_of[2] = WEAK_LINE(lock_of[0] = 1);
    for (lock_of[1] = 2; line_of[3] = WEAK_LINE(lock_of[1]), place_of(3) == place_of(2); lock_of[1]++) {
    }
    nworld_stripes = 0;
    memset(shared, 0, sizeof shared);
    memset(weak_side, 0, sizeof weak_side);
    for (int l = 0; l < 2; l++) {
        char c = sc->init[l];
        const char *readers = c == 'H' ? "12" : c == 'R' ? "13" : c == 'G' ? "123" : NULL;
        ex_table[line_of[l]] = c == 'S' ? WEFT_SPLIT : readers ? WEFT_SHARED : (uint16_t)(c - '0');
        if (readers) {
            struct shared *d = &shared[place_of(l)].way[0];
            d->page = line_of[l] / PAGE_LINES + 1;
            d->lines |= line_bit(line_of[l]);
            d->pos = (struct weft_pos){1, 0, 1, 0};
            for (const char *r = readers; *r; r++) {
                int x = *r - '0';
                W.threads[x].slot = (uint32_t)x;
                W.threads[x].reads = W.reads[x];
                add_reader(d, &W.threads[x]);
                remember(&W.threads[x], line_of[l], line_bit(line_of[l]));
            }
        }
        *heat_of(l) = (uint8_t)sc->page_heat;
        for (uint32_t w = 0; w < 8 && !(l && sc->where == 'c'); w++)
            world_stripes[nworld_stripes++] = &stripes[((line_of[l] << 3) + w) & (STRIPES - 1)];
    }
    for (int i = 0; i < nworld_stripes; i++)
        memset(world_stripes[i], 0, sizeof(struct stripe));
    memset(object_stripe(), 0, sizeof(struct stripe));
    memset(&maps, 0, sizeof maps);
    for (int t = 1; t <= THREADS; t++)
        W.tls[t].weak = ~0ull;
    for (int l = 2; l < LINES; l++) {
        char c = strlen(sc->init) > (size_t)l ? sc->init[l] : '0';
        *heat_of(l) = PAGE_QUARREL;
        ex_table[line_of[l]] = c == 'H' ? WEFT_SHARED : (uint16_t)(c - '0');
        if (c == '0') continue;
        *weak_word(l - 2) = (uint8_t)(lock_of[l - 2] * WEFT_WEAK_SIDES + 1);
        struct shared *d = &shared[place_of(l)].way[0];
        if (c == 'H')
            *d = (struct shared){.page = line_of[l] / PAGE_LINES + 1, .lines = line_bit(line_of[l]), .pos = {1, 0, 1, 0}};
        for (int x = 1; x <= THREADS; x++) {
            if (c == 'H' ? x == 3 : x != c - '0') continue;
            W.threads[x].sides |= bit_of(l - 2, 0);
            W.tls[x].weak &= ~bit_of(l - 2, 0);
            if (c != 'H') continue;
            W.threads[x].slot = (uint32_t)x;
            W.threads[x].reads = W.reads[x];
            add_reader(d, &W.threads[x]);
            remember(&W.threads[x], line_of[l], line_bit(line_of[l]));
        }
    }
    W.hot_left = (uint8_t)sc->hot;
    W.joins_left = (uint8_t)sc->joins;
    W.holds_left = (uint8_t)sc->holds;
    W.shares_left = (uint8_t)sc->shares;
    stopped = 0;
    stop_age = 0;
    stop_pos = (struct weft_pos){0};
    forkers = creates = 0;
    for (int t = 0; t < THREADS; t++) {
        forkers += strchr(sc->prog[t], 'f') != NULL;
        creates += strchr(sc->prog[t], 'c') != NULL;
    }
    W.born = !creates;
    for (int t = 1; t <= THREADS; t++) {
        struct weft_thread *x = &W.threads[t];
        weft__threads[t] = x;
        x->slot = (uint32_t)t;
        x->tls = &W.tls[t];
        x->seen = W.seen[t];
        x->rng = 1;
        x->state = WEFT_IN;
        x->alive = 1;
        x->served = WEFT_ANSWERED;
        x->tls->me = (uint16_t)t;
        x->tls->clock = 1;
        x->tls->limit = WEFT_NEVER;
        log_pos(t, H_POS, 1, 0);
        tell_reads(x);
        W.co[t].kind = K_START;
        W.co[t].func = "start";
        if (sc->prog[t - 1][0] == 'B') {
            x->state = WEFT_OUT;
            x->tls->saved[3] = 0;
            x->tls = NULL;
            W.co[t].wait = 1;
            W.co[t].addr = &W.born;
            W.co[t].size = 4;
            W.co[t].val = 1;
        }
        if (sc->prog[t - 1][0] == '-') {
            x->state = WEFT_OUT;
            x->tls = NULL;
            x->alive = 0;
            W.co[t].kind = K_END;
        }
        char **top = (char **)(void *)(stacks[t] + STACK - 16);
        *top = (char *)body;
        W.co[t].sp = (char *)(top - 6);
    }
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

#define FLUSH 0x80
struct frame {
    size_t snap; /* offset of its copy */
    uint64_t hash;
    uint8_t n, next, move[16], val[16];
    uint8_t can, moved; /* threads that could move here; the one that did */
};
#define DEPTH 3000
static struct frame path[DEPTH];
static char *snaps;
static size_t snaps_cap;
static uint64_t states, steps, ends, deepest;
static double deadline_at;

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int enabled(int t) {
    struct co *c = &W.co[t];
    if (c->kind == K_END) return 0;
    if (c->locked && W.nbuf[t]) return 0;
    if ((c->kind == K_STORE || c->kind == K_ACCESS) && W.nbuf[t] >= BUFFER - 4) return 0;
    if (c->wait == 1) return view(t, c->addr, c->size) == c->val;
    if (c->wait == 2) return view(t, c->addr, c->size) != c->val;
    if (c->wait == 3) return c->woken;
    if (c->wait == 4) return look_again((int)c->val);
    return 1;
}

static void moves(struct frame *f) {
    f->n = f->next = f->can = 0;
    for (int t = 1; t <= THREADS; t++)
        if (W.co[t].kind == K_CHOOSE) {
            for (int v = 0; v < W.co[t].choices; v++)
                f->move[f->n] = (uint8_t)t, f->val[f->n++] = (uint8_t)v;
            f->can = (uint8_t)(1 << t);
            return;
        }
    int last = W.last_run, last_can = last && enabled(last);
    for (int t = 1; t <= THREADS; t++)
        if (enabled(t)) {
            f->can |= (uint8_t)(1 << t);
            if (bound >= 0 && last_can && t != last && W.preemptions >= bound) continue;
            f->move[f->n] = (uint8_t)t, f->val[f->n++] = 0;
        }
    for (int t = 1; t <= THREADS; t++)
        if (W.nbuf[t]) f->move[f->n] = (uint8_t)(t | FLUSH), f->val[f->n++] = 0;
}

static void step(int move, int val) {
    int t = move & 7;
    steps++;
    if (move & FLUSH) {
        if (verbose)
            printf("%*s%d: a store reaches memory: %s\n", t * 4, "", t,
                   W.buf[t][0].size ? name_of(W.buf[t][0].addr) : "data");
        if (!setjmp(flushing)) flush_one(t);
        return;
    }
    struct co *c = &W.co[t];
    if (bound >= 0) {
        if (W.last_run && t != W.last_run && enabled(W.last_run)) W.preemptions++;
        W.last_run = (uint8_t)t;
    }
    c->choice = (uint8_t)val;
    c->wait = 0;
    size_t dirty = (size_t)(c->sp - stacks[t]);
    if (dirty > 1536) dirty = 1536;
    memset(c->sp - dirty, 0, dirty);
    uint64_t lists_were[THREADS + 1][LINES];
    memcpy(lists_were, W.reads, sizeof lists_were);
    cur = t;
    ex_switch(&main_sp, c->sp);
    cur = 0;
    check_lists(t, lists_were);
    check_sides();
    for (int u = 1; u <= THREADS && W.still && !failure[0]; u++)
        if (u != W.still && W.threads[u].state != WEFT_OUT)
            snprintf(failure, sizeof failure, "thread %d is inside while thread %d forks", u, W.still);
    if (c->sp < stacks[t] + 512) abort();
}

static void report(int depth, const char *why) {
    printf("  FOUND: %s\n", why);
    if (!strchr(sc->in, '!')) {
        printf("  schedule (%d steps):\n", depth);
        char said[sizeof failure];
        memcpy(said, failure, sizeof said);
        restore(snaps + path[0].snap);
        failure[0] = 0;
        verbose = 1;
        for (int i = 0; i < depth && !failure[0]; i++)
            step(path[i].move[path[i].next - 1], path[i].val[path[i].next - 1]);
        verbose = 0;
        print_history();
        memcpy(failure, said, sizeof said);
    }
}

/* The states path[from..depth] form a cycle: it is a livelock if nobody who could always move there never did. */
static int is_fair_cycle(int from, int depth) {
    uint8_t always = 0xff, moved = 0;
    for (int i = from; i <= depth; i++) {
        always &= path[i].can;
        int m = path[i].move[path[i].next - 1];
        moved |= (uint8_t)(1 << (m & 7));
    }
    return !(always & ~moved);
}

/* 0: all explored; 1: something was found; 2: out of time. `random`: or too deep; three threads that want both lines at
 * once can take them from one another for as long as the schedule will have it. */
static int explore(int random) {
    static char scratch[SNAP_MAX];
    int depth = 0;
    size_t used;
    free(seen_set);
    seen_set = NULL;
    seen_cap = seen_n = 0;
    states = steps = ends = deepest = 0;
    failure[0] = 0;
    init_world();
    used = save(snaps);
    path[0] = (struct frame){.snap = 0, .hash = hash_bytes(snaps, used)};
    *seen_add(path[0].hash) = path[0].hash | 1;
    seen_n++;
    states = 1;
    moves(&path[0]);
    size_t top = used;
    for (;;) {
        struct frame *f = &path[depth];
        if (f->next == f->n) {
            *seen_find(f->hash) = f->hash;
            top = f->snap;
            if (depth-- == 0) return 0;
            continue;
        }
        restore(snaps + f->snap);
        int k = f->next++;
        step(f->move[k], f->val[k]);
        if (failure[0]) {
            report(depth + 1, failure);
            return 1;
        }
        size_t n = save(scratch);
        uint64_t h = hash_bytes(scratch, n), *slot = seen_add(h);
        if (*slot) {
            if (*slot & 1) {
                int from = depth;
                while (from > 0 && path[from].hash != h)
                    from--;
                if (is_fair_cycle(from, depth)) {
                    snprintf(failure, sizeof failure, "a cycle of %d steps that never ends", depth - from + 1);
                    report(depth + 1, failure);
                    return 1;
                }
            }
            continue;
        }
        seen_n++;
        states++;
        if (depth + 1 >= DEPTH) {
            if (random) return 2;
            fprintf(stderr, "too deep: %s\n", sc->name);
            exit(2);
        }
        struct frame *g = &path[depth + 1];
        moves(g);
        if (!g->n) {
            int left = 0;
            for (int t = 1; t <= THREADS; t++)
                left |= (W.co[t].kind != K_END) << t;
            if (left) {
                int o = snprintf(failure, sizeof failure, "deadlock:");
                for (int t = 1; t <= THREADS; t++)
                    if (left >> t & 1)
                        o += snprintf(failure + o, sizeof failure - (size_t)o, " thread %d in %s (%s, %s);", t,
                                      W.co[t].func, kind_names[W.co[t].kind], name_of(W.co[t].addr));
            } else {
                ends++;
                const char *why = check_end();
                if (why) snprintf(failure, sizeof failure, "%s", why);
            }
            if (failure[0]) {
                report(depth + 1, failure);
                return 1;
            }
            *slot = h;
            continue;
        }
        if (top + n > snaps_cap) {
            fprintf(stderr, "snapshots full\n");
            exit(2);
        }
        memcpy(snaps + top, scratch, n);
        g->snap = top;
        g->hash = h;
        top += n;
        *slot = h | 1;
        depth++;
        if ((uint64_t)depth > deepest) deepest = (uint64_t)depth;
        if (deadline_at > 0 && !(states & 1023) && now() > deadline_at) return 2;
    }
}

#include "scenarios.h"

/* A scenario from a seed. */
static const struct scenario *random_scenario(uint64_t seed) {
    static struct scenario r;
    static char text[THREADS][32], init[3], name[80];
    static const char *const ops[] = {"wA0", "rA0", "wB0", "rB0", "wA1", "ra0", "wa0", "wA7", "rA7", "wB1",
                                      "x",   "y",   "t",   "t",   "o",   "j",   "J",   "k",   "n",   "t",   "f",
                                      "rA0", "rA0", "rB0", "y",   "i",   "K",   "g"};
    uint64_t x = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
#define PICK(n) ((int)(((x ^= x << 13, x ^= x >> 7, x ^= x << 17) >> 11) % (unsigned)(n)))
    for (int i = 0; i < 8; i++)
        (void)PICK(2);
    for (int l = 0; l < 2; l++)
        init[l] = "0123SSHHG"[PICK(9)];
    r = (struct scenario){.name = name, .init = init, .in = ""};
    r.where = "sspch"[PICK(5)];
    if ((r.where == 'h' || r.where == 'c') && init[0] > 'A' && init[0] != 'S') init[1] = '1'; /* only one can be shared */
    r.page_heat = PICK(4);
    r.hot = PICK(3);
    r.joins = PICK(2);
    r.holds = PICK(3);
    r.shares = PICK(4);
    for (int t = 0; t < THREADS; t++) {
        int n = 1 + PICK(3), o = 0;
        for (int k = 0; k < n; k++) {
            const char *op = ops[PICK(sizeof ops / sizeof *ops)];
            if ((r.where == 'c' || r.where == 'h') && (*op == 'x' || *op == 'y')) op = "wB0";
            o += snprintf(text[t] + o, sizeof text[t] - (size_t)o, "%s%s", k ? " " : "", op);
        }
        r.prog[t] = text[t];
    }
    snprintf(name, sizeof name, "%llu: %s %c %d %d %d %d %d {%s | %s | %s}", (unsigned long long)seed, init, r.where,
             r.page_heat, r.hot, r.joins, r.holds, r.shares, text[0], text[1], text[2]);
    return &r;
}

int main(int argc, char **argv) {
    const char *only = NULL;
    int lng = 0, first_only = 0;
    uint64_t seed = 0, seeds = 0;
    double limit = 0, t0 = now();
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(a, "-t"))
            tso = 1;
        else if (!strcmp(a, "-d"))
            detailed = 1;
        else if (!strcmp(a, "-l"))
            lng = 1;
        else if (!strcmp(a, "-x"))
            first_only = 1;
        else if (!strcmp(a, "-b"))
            bound = atoi(v), i++;
        else if (!strcmp(a, "-s"))
            limit = atof(v), i++;
        else if (!strcmp(a, "-r"))
            seed = strtoull(v, NULL, 0), seeds = ~0ull, i++;
        else if (!strcmp(a, "-n"))
            seeds = strtoull(v, NULL, 0), i++;
        else
            only = a;
    }
    snaps_cap = 256ul << 20;
    snaps = mmap(NULL, snaps_cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t all_states = 0, all_steps = 0, all_ends = 0;
    int ran = 0, bad = 0, cut = 0;
    for (uint64_t i = 0; i < (seeds ? seeds : sizeof scenarios / sizeof *scenarios); i++) {
        sc = seeds ? random_scenario(seed + i) : &scenarios[i];
        char mode = READERS == 2 ? 'a' : tso ? 't' : detailed ? 'd' : 's';
        if (!seeds &&
            (only ? strcmp(only, sc->name) != 0 : !strchr(sc->in, mode) && !(lng && strchr(sc->in, mode - 32))))
            continue;
        double t1 = now();
        deadline_at = limit > 0 ? t1 + limit : 0;
        sleeps = lng || seeds || only || strchr(sc->in, 'z');
        int r = explore(seeds != 0), expect = strchr(sc->in, '!') != NULL;
        printf("%-18s %9llu states %10llu steps %7llu ends  depth %3llu  %6.2f s%s\n", sc->name,
               (unsigned long long)states, (unsigned long long)steps, (unsigned long long)ends,
               (unsigned long long)deepest, now() - t1,
               r == 2   ? "  CUT SHORT"
               : r == 1 ? expect ? "  found, as it must be" : "  WRONG"
               : expect ? "  NOT FOUND"
                        : "");
        ran++;
        all_states += states;
        all_steps += steps;
        all_ends += ends;
        cut += r == 2;
        if (r != 2 && (r == 1) != expect) {
            bad++;
            if (first_only) break;
        }
    }
    printf("%d scenarios%s%s, %llu states, %llu steps, %llu ends replayed, %.1f s: %d wrong", ran,
           tso ? ", TSO" : ", SC", detailed ? ", locks in detail" : READERS == 2 ? ", few places for readers" : "",
           (unsigned long long)all_states, (unsigned long long)all_steps, (unsigned long long)all_ends, now() - t0, bad);
    if (cut) printf(", %d cut short", cut);
    printf("\n");
    return bad ? 1 : ran ? 0 : 2;
}
