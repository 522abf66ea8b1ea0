/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recording: who owns which line, and the edges that follow from it. (design: ownership; LEAP gives the theorem.)
 *
 * The table has one entry per 64-byte line: nobody, a thread's slot, SPLIT, or SHARED. A thread reads and writes lines whose
 * entry is its own slot without any synchronisation, and reads those that are in its list of SHARED ones (a bit for each line, which code of executables
 * looks at itself, when it finds SHARED in the table). The rules that make
 * this sound:
 *
 *   I1  An entry that holds slot u changes only under u's lock.
 *   I2  It is changed by u itself (at a tick, in a miss, when it goes outside), or by another thread while u's state is not
 *       IN. So, as long as u is IN and in neither, what u's check saw stays true: a plain load is enough, and the access
 *       that follows it in program order is covered.
 *   I3  An entry leaves NOBODY by compare-and-swap to who claims it. It comes back when its owner has unmapped the memory. That,
 *       and mapping memory of which all entries are NOBODY's or one's own, is done under the lock of `maps`, which has the
 *       position of the last one that did; who claims takes that lock afterwards. So memory is mapped before or after what
 *       others do there.
 *   I4  An entry leaves SPLIT only under the locks of all eight word stripes of the line, to the thread that holds them.
 *       It becomes SPLIT only by its owner, under the owner's lock and the eight stripes.
 *   I5  A thread becomes OUT only under its own lock with no one in its list of waiters, so nobody who asked it is left
 *       without an answer. It may be WAITING with some in its list, since it will be IN again: it waits for a thread that
 *       was IN when asked, and whoever that one waits for later was IN then, so there is no circle; or it wakes somebody
 *       (lend()), and waits for nobody. Of those that are WAITING only two are asked: who closes the line (I7), by nobody who
 *       has somebody in its own list, and nobody asks that one while it waits, so it is in no circle either; and who was given
 *       the line in its sleep, and waits for nobody any more. Who waits for a line that its owner has given to another one
 *       waits for that one from then on (hand_on), if it may be asked. Whenever a thread goes on IN with somebody in its list, its
 *       limit is a few ticks away at most. It becomes IN again under its own lock: if it spins, by who answers it, in the
 *       same step in which it gets the line; if it sleeps, by itself when it runs again, and until then others take what it
 *       has, also what it got with the line, but not the line. (It may take long until it runs, and with it waited all who
 *       needed something it has: half of the sleeps of Apache's workers were for somebody who had been woken and did not
 *       run yet.) Therefore who answers also logs the waiter's edge: whoever takes something from the waiter before it runs
 *       comes after where that came from.
 *   I6  Whoever holds a stripe waits for nothing but stripes with higher numbers and, in split() and weft__rec_maps_gone(), its
 *       own thread's lock, under which nobody takes a stripe. That of `maps` is held during a system call, and nobody who has
 *       another one takes it. Stripes held for an access are released at the thread's next tick or miss, before
 *       anything else is done there. The lock of a set of shared pages is the last of all: who has it waits for none.
 *   I7  An entry becomes SHARED, and leaves it, only under the lock of the page's set. It becomes SHARED as I1 and I2 allow,
 *       from its owner. It leaves SHARED to the thread t that stores it, under t's lock, and t->closing and closing_lines have it from
 *       the same moment until every thread that the page's place knew as a reader has stopped. A reader stops reading all of these lines in one
 *       step, at one position. So long a line stays t's: it is
 *       not taken while t is WAITING, goes with no page, and t answers nobody who wants it.
 *   I8  A thread that has a line in its list is known to the line's place, or the line is being closed and its writer has
 *       still to come to this reader. The list is changed by its thread, or by another one under its lock while it is not
 *       IN; so as in I2, what a read found there stays true until it is done. (A slot's
 *       next thread goes on with the list, as it does with what the slot owns.)
 *
 * Memory ordering. Hand-over u -> t: u's accesses precede, in program order, either its own store of the entry (serve) or
 * its release of its lock when it went OUT; t loads the entry or takes the lock with acquire before it goes on. Both are
 * under lock u, so lock order gives happens-before; the table entry itself needs no order of its own. Request: the asker
 * pushes itself to u's list under u's lock and then stores 0 into u's limit. u re-arms by exchanging its limit (a full
 * barrier) and then looks at the list: if its exchange overwrote the asker's 0, the push was before it in the asker's
 * program order and u sees it. If not, the 0 stands and u's next tick comes here. So no request is lost. Shared lines: the
 * owner's accesses are before it was shared, under the lock of the set, which a new reader takes; a reader's are before its
 * answer, or before it went OUT, and the writer has that answer, or takes its lock.
 *
 * Edges. A line taken from u while OUT or WAITING: to u.here, "reached": where u went outside. A line given by u: to the
 * position at which u answers. A word of a SPLIT line: to the last access of that word, "done". Splitting marks
 * all eight words with where the owner stood ("reached": its own access there is still to come); joining (taking a SPLIT
 * line whole) comes after the last access of each word. A reader of a SHARED line: to the position of the page's place, which
 * comes after where the owner of each of its lines stood. A writer: to where each reader stopped; the last owner is one of
 * them. Who claims a line: to where memory was last mapped or unmapped, "done". Who answers logs nothing: others may know its position to be done, or its end to be logged. An edge that follows
 * from what the thread has seen already is not logged.
 *
 * Lines of memory that processes share are COMMON (shm.c): no thread owns them, and accesses of them are ordered by stripes of
 * their own, which come after all stripes of words.
 *
 * Words of lines 4 GiB apart share stripes as the lines share an entry: stripes are chosen by the low 32 bits. */
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <linux/futex.h>

#define TABLE ((uint16_t *)WEFT_TABLE_ADDR)
#define WEAK_LINE(w) ((uint32_t)WEFT_TABLE_ENTRIES + (w) * PAGE_LINES) /* of a weak lock: a page of its own, behind all lines of memory */
#define LINE_OF(p) ((uint32_t)(p) >> WEFT_LINE_SHIFT)
#define PAGE_LINES 64u
int weft__steering; /* enum weft_chaos */
int weft__given;    /* the run is steered (turns.c) */
int weft__words;    /* to compare with: each word that is accessed has a lock of its own, always */
int weft__delays;   /* failures are wanted: lines are split often, and delays between accesses of their words are long and many */

/* ---- locks ----------------------------------------------------------------------------------------------------- */

void weft__lock(int *l) {
    int z = 0;
    if (likely(__atomic_compare_exchange_n(l, &z, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) return;
    for (int i = 0; i < 60; i++) {
        weft__pause();
        z = 0;
        if (__atomic_load_n(l, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(l, &z, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
    }
    while (__atomic_exchange_n(l, 2, __ATOMIC_ACQUIRE) != 0) weft__raw(SYS_futex, l, FUTEX_WAIT_PRIVATE, 2, 0);
}

int weft__lock_within(int *l, int ms) {
    struct timespec most = {ms / 1000, ms % 1000 * 1000000l};
    while (__atomic_exchange_n(l, 2, __ATOMIC_ACQUIRE) != 0)
        if (weft__raw(SYS_futex, l, FUTEX_WAIT_PRIVATE, 2, ms ? &most : NULL) == -ETIMEDOUT) return 0;
    return 1;
}

void weft__unlock(int *l) {
    if (unlikely(__atomic_exchange_n(l, 0, __ATOMIC_RELEASE) == 2)) weft__raw(SYS_futex, l, FUTEX_WAKE_PRIVATE, 1);
}

static void lock2(struct weft_thread *a, struct weft_thread *b) {
    if (a->slot > b->slot) {
        struct weft_thread *x = a;
        a = b;
        b = x;
    }
    weft__lock(&a->lock);
    weft__lock(&b->lock);
}
static void unlock2(struct weft_thread *a, struct weft_thread *b) {
    weft__unlock(&a->lock);
    weft__unlock(&b->lock);
}

/* u is locked, and something is taken from it. Whether it has to be woken then. */
static int dozed(struct weft_thread *u) {
    if (likely(!u->dozes)) return 0;
    __atomic_store_n(&u->dozes, 0, __ATOMIC_RELAXED);
    return 1;
}
static void rouse(struct weft_thread *u) {
    weft__raw(SYS_futex, &u->dozes, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- word stripes ---------------------------------------------------------------------------------------------- */

#define STRIPES (1u << 16)
struct stripe {
    int lock; /* spin, then yield: held for one access only */
    uint16_t slot; /* of the last access; 0: none */
    uint64_t tick;
    uint64_t site;
    uint32_t step; /* as in struct weft_pos; not DONE after a split */
    uint32_t zero;
};
static struct stripe stripes[STRIPES] __attribute__((aligned(64)));
/* Order of operations on mutexes, streams and the like: by address, in a table of their own so that racing data does not
 * slow them down. */
#define OBJECTS (1u << 14)
static struct stripe objects[OBJECTS] __attribute__((aligned(64)));
/* Where memory was last mapped or unmapped: not beside what all threads read. */
static struct {
    _Alignas(64) struct stripe last;
} maps;

static void stripe_lock(struct stripe *s) {
    for (int i = 0;; i++) {
        /* At first it is not looked at: it would be fetched twice, to be read and then to be written. */
        if ((!i || !__atomic_load_n(&s->lock, __ATOMIC_RELAXED)) && !__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE)) return;
        if (i < 200)
            weft__pause();
        else
            weft__raw(SYS_sched_yield);
    }
}
static void stripe_unlock(struct stripe *s) { __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE); }

/* ---- edges ----------------------------------------------------------------------------------------------------- */

/* (clock, site) of t comes after `to`. */
void weft__rec_edge(struct weft_thread *t, uint64_t site, const struct weft_pos *to) {
    if (to->slot == t->slot || !to->slot) return;
    struct weft_seen *s = &t->seen[to->slot];
    if (to->tick < s->tick) return;
    if (to->tick == s->tick && to->site == 0 && !to->step) return; /* whatever was seen of that tick, it had begun */
    if (to->tick == s->tick && to->site == s->site && to->step <= s->step) return;
    s->tick = to->tick;
    s->site = to->site;
    s->step = to->step;
    if (t->at_tick != t->tls->clock || t->at_site != site) {
        t->at_tick = t->tls->clock;
        t->at_site = site;
        t->at_step = 0;
    }
    t->at_step++;
    weft__log_edge(t, t->tls->clock, site, to);
}

/* Where t stands, at (clock, site): what it got there so far came before. */
static struct weft_pos standing(const struct weft_thread *t, uint64_t site) {
    uint64_t now = t->tls->clock;
    return (struct weft_pos){now, site, t->slot, t->at_tick == now && t->at_site == site ? t->at_step : 0};
}

static void stripe_edge(struct weft_thread *t, uint64_t site, struct stripe *s) {
    if (s->slot && s->slot != t->slot) {
        struct weft_pos to = {s->tick, s->site, s->slot, s->step};
        weft__rec_edge(t, site, &to);
    }
}
static void stripe_mark(struct weft_thread *t, uint64_t site, struct stripe *s, uint32_t step) {
    s->slot = (uint16_t)t->slot;
    s->tick = t->tls->clock;
    s->site = site;
    s->step = step;
}

void weft__rec_release(struct weft_thread *t) {
    for (uint32_t i = 0; i < t->nheld; i++) stripe_unlock(&stripes[t->held[i]]);
    t->nheld = 0;
    if (unlikely(t->common)) weft__shm_release(t);
}

/* Time, for what follows; in a steered run one that is the same whenever it is made again. */
#define moment() (unlikely(weft__given) ? weft__root->events << 10 : weft__tsc())

/* ---- heat: what is quarrelled over. Heuristics only; racing updates are harmless. -----------------------------------
 *
 * A thread that wants back at once what it gave would make lines go to and fro with every few accesses, at the price of two
 * threads' waiting each time. So a quarrelling thread that is asked keeps what it has for a tenure: for some microseconds
 * it works at full speed, and takes what it needs from those who wait; then the others do. A tenure is longer when it has
 * to begin with much taking, or with a sleep, so that these are a small part of it. What tenures hide, races between two
 * ticks, is shown by episodes: at a random share of the hand-overs the line is split for a number of accesses. If those
 * show that threads use different words of it (false sharing), it stays split. The first episodes of a line that is asked
 * for again and again come soon and are long, so that they cover the whole of a short run; so are the first ones of a process. Of others a
 * line would have too many where much memory goes from thread to thread once in a while: each access of a split line costs as much as a hand-over. */

#define HEAT (PAGE_LINES << 9)
static struct heat {
    uint32_t when;     /* tsc >> 10: last asked for, or accessed while split */
    uint32_t since;    /* and last shared */
    uint16_t episodes; /* long ones that it had */
    uint16_t last;     /* while split: who accessed it last */
    uint16_t reads, caution;       /* hand-overs to readers in a row; how many it takes until it is shared (log2) */
    uint16_t seen, crossed, mixed; /* accesses; those of a word that another one accessed last; those of such a line */
    uint16_t asked;    /* who had it before had to be asked */
    uint32_t zero[2];  /* none lies in two cache lines */
} heat[HEAT] __attribute__((aligned(32)));
static uint32_t first_episodes; /* up to LONG_FIRST */
static uint32_t first_takes;    /* up to FIRST_TAKES */
static uint32_t early, early_apart; /* early ones after those, and how often one was found to be worth its while; of late */
/* All that is known of a page lies side by side: a hand-over looks at most of it, and what another thread changed last has to be fetched. */
static struct page_heat {
    uint32_t when;        /* tsc >> 10: last handed over */
    uint32_t closed;      /* and a line that several read was written last, */
    uint8_t row;          /* so often in a row */
    uint8_t heat;         /* hand-overs of several lines, so soon one after the other that it is a quarrel */
    uint8_t reads;        /* hand-overs to readers in a row */
    uint8_t line, before; /* that of the last hand-over of several, and of the one before it */
    uint16_t giver;       /* who had the last one */
} page_heat[HEAT] __attribute__((aligned(16)));
_Static_assert(sizeof(struct page_heat) == 16, "in one cache line");
#define QUICK 64        /* tsc >> 10: about 25 us */
#define PAGE_QUARREL 3
#define AHEAD 16        /* lines that are given to who walks through a page that is quarrelled over */
#define QUARREL 2600    /* cycles: who asks so soon after it gave or got something quarrels */
#define HOT 4           /* so many times in a row */
#define TENURE 2048     /* cycles, and a random 0 to 3 times as much */
#define CROWDED 6       /* so many bits more in a crowd */
#define CROWD_ROUND 64  /* tenures, of which so many find out whether there is one: */
#define CROWD_PROBE 8
#define TAKE_SHARE 1024 /* cycles more for each line taken */
#define LONGEST (1u << 22)
#ifndef HOLD_TICKS
#define HOLD_TICKS 8    /* after so many the end of a tenure is looked for first, and after at most */
#define HOLD_MOST 512   /* so many again */
#endif
#define SPIN 2000       /* for an answer, before a sleep */
#define DOZE 40000      /* cycles that a loop only waits, before it sleeps, */
#define DOZE_NS 100000  /* and how long at most, each time; */
#define AWAKE 1000      /* but that often a thread goes on waiting instead: some 20 ms */
#define EPISODE 64      /* accesses; the first one 16 times as many, the second 8 times, ... */
#define EPISODES 16     /* so many of 1,024 hand-overs begin one; */
#define FEWER 2         /* so many of those from a thread that is outside, after */
#define FIRST_TAKES 4096 /* so many of these */
#define EARLY 6         /* but the first ones of a line that is asked for again */
#define SOON 1024       /* within this time (tsc >> 10: about 0.4 ms) */
#define CAUTION 9       /* log2 of the hand-overs to readers that it takes to share a line, at most */
#define WORTH 48        /* tsc >> 10, about 20 us: so long for each reader should a line stay shared */
#define EARLY_SHARE 512 /* in so many of 1,024, */
#define EARLY_DULL 32   /* or so many, where hardly any */
#define EARLY_WORTH 8   /* one of so many */
#define EARLY_KNOWN 256 /* was worth its while, of so many or more */
#ifndef LONG_FIRST
#define LONG_FIRST 64   /* so many episodes of a process are long, whoever wanted the line */
#endif
#ifndef SHARES
#define SHARES(h, page_reads) ((h)->reads >= 2u << (h)->caution || (!(h)->caution && (page_reads) > 2))
#define SHARE_LINES(page_reads) ((page_reads) < 2 ? 1 : 1u << ((page_reads) - 2))
#define CLOSE_LINES(row) (1u << (row))
#endif

static uint64_t line_bit(uint32_t line) { return 1ull << (line % PAGE_LINES); }
/* Those of a page lie side by side: to share a page looks at all of them. But where threads go through many pages at the same pace, the same lines of two pages
 * should not meet. */
static struct heat *line_heat(uint32_t line) {
    uint32_t h = line / PAGE_LINES * 2654435761u;
    return &heat[(h >> 23) * PAGE_LINES + (line ^ (h >> 17 & 56)) % PAGE_LINES];
}
static struct page_heat *heat_of_page(uint32_t line) { return &page_heat[((line / PAGE_LINES) * 2654435761u) >> 17]; }

/* An access of a SPLIT line by t; crossed: the word was another's. Whether the episode is over. */
static int episode(struct weft_thread *t, uint32_t line, int crossed) {
    struct heat *h = line_heat(line);
    int length = h->episodes ? (EPISODE << 5) >> h->episodes : EPISODE; /* h->episodes is 6 at most */
    if (length < EPISODE) length = EPISODE;
    h->crossed = (uint16_t)(h->crossed + crossed);
    h->mixed = (uint16_t)(h->mixed + (h->last != t->slot));
    h->last = (uint16_t)t->slot;
    h->when = (uint32_t)(moment() >> 10);
    if (++h->seen < length) return 0;
    /* A hand-over costs as much as some accesses of split words; if it takes an answer, as many. */
    int apart = h->mixed > length / (h->asked ? 8 : 2) && h->crossed < h->mixed / 4;
    h->seen = h->crossed = h->mixed = 0;
    early_apart += (uint32_t)apart;
    return !apart && !weft__words;
}

/* t is to get the line from another thread. Whether it should rather read it together with that one: when it was read again
 * and again. Where the next write came soon, it takes more the next time. */
static int wish_for(uint32_t line, int write) {
    struct heat *h = line_heat(line);
    struct page_heat *p = heat_of_page(line);
    if (write) {
        if (h->reads) h->reads = 0;
        if (p->reads) p->reads = 0;
        return WEFT_OWN;
    }
    if (line >= WEAK_LINE(0)) return WEFT_SHARE;
    if (p->row && (uint32_t)(moment() >> 10) - p->closed < SOON) p->row = 0;
    h->reads = (uint16_t)(h->reads + (h->reads < 1u << CAUTION));
    p->reads = (uint8_t)(p->reads + (p->reads < 8));
    return SHARES(h, p->reads) && !weft__steering && !weft__words ? WEFT_SHARE : WEFT_OWN; /* then every access comes here anyway */
}
/* How many, around it: more and more of a page that is only read. */
static uint32_t share_lines(uint32_t line) {
    return SHARE_LINES(heat_of_page(line)->reads);
}
/* A line that so many threads share is to be written. */
static void shared_for(uint32_t line, uint32_t readers) {
    struct heat *h = line_heat(line);
    h->reads = 0;
    if ((uint32_t)(moment() >> 10) - h->since > WORTH * readers)
        h->caution = (uint16_t)(h->caution - (h->caution > 0));
    else {
        h->caution = (uint16_t)(h->caution + (h->caution + 1 < CAUTION));
        heat_of_page(line)->reads = 0;
    }
}

/* Which lines of the page are then closed at once, if they are shared: more and more of a page that is written and not read again soon. (fft, where
 * what all have read is written anew in the next phase: 6.3 million lines were closed one by one.) */
static uint64_t close_lines(uint32_t line) {
    struct page_heat *p = heat_of_page(line);
    uint32_t n = CLOSE_LINES(p->row), first = line % PAGE_LINES & ~(n - 1);
    p->closed = (uint32_t)(moment() >> 10);
    p->row = (uint8_t)(p->row + (p->row < 6));
    return line >= WEAK_LINE(0) ? line_bit(line) : n == PAGE_LINES ? ~0ull : ((1ull << n) - 1) << first;
}

/* t got the line by asking for it. How often an early episode begins then; 0: none may. */
static int asked_again(uint32_t line) {
    struct heat *h = line_heat(line);
    uint32_t now = (uint32_t)(moment() >> 10), soon = now - h->when < SOON;
    h->when = now;
    h->asked = 1;
    if (!soon || h->episodes >= EARLY) return 0;
    return early >= EARLY_KNOWN && early_apart < early / EARLY_WORTH && !weft__delays ? EARLY_DULL : EARLY_SHARE;
}

/* A line was taken from a thread that is outside: how often an episode begins then. Servers, whose threads mostly wait, hand over everything that way, again
 * and again, and each episode costs as much as many hand-overs. (Apache: 74 of the 99 misses of a request were accesses of split lines.) */
static int rare(uint32_t line) {
    struct heat *h = line_heat(line);
    if (h->asked) h->asked = 0;
    if (first_takes >= FIRST_TAKES) return FEWER;
    first_takes++;
    return EPISODES;
}

/* t is about to ask. */
static void quarrel(struct weft_thread *t) {
    if (moment() - t->stirred < QUARREL)
        t->quarrels += t->quarrels < 4 * HOT;
    else
        t->quarrels /= 2;
}

/* A crowd: threads have to wait for a core, so hand-overs go through the kernel. Then it does not pay to spin, and tenures
 * are long. A round of tenures begins with some in which all is as without a crowd: do waits end in sleeps all the same? */
static struct {
    int is;
    uint32_t tenures, waits, sleeps;
} crowd;
static int probing(void) { return !crowd.is || crowd.tenures % CROWD_ROUND < CROWD_PROBE; }
static void next_tenure(void) {
    uint32_t n = ++crowd.tenures % CROWD_ROUND;
    if (n == CROWD_PROBE) crowd.is = crowd.sleeps * 2 > crowd.waits;
    if (n == 0) crowd.waits = crowd.sleeps = 0;
}
static void was_wait(int slept) {
    if (!probing()) return;
    crowd.waits++;
    crowd.sleeps += (uint32_t)slept;
}

static uint64_t next_random(struct weft_thread *t) {
    uint64_t x = t->rng;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return t->rng = x;
}

/* Entries are looked at, claimed, or changed, four at a time, where they are alike: a page has 64, and a locked instruction for each took longer
 * than all else that a server does with a file that it maps for a request. */
#ifndef AT_ONCE
#define AT_ONCE 4
#endif
typedef uint64_t __attribute__((may_alias)) four;
static int four_are(uint32_t line, uint16_t entry) {
    return AT_ONCE == 4 && !(line & 3) && __atomic_load_n((four *)&TABLE[line], __ATOMIC_RELAXED) == entry * 0x0001000100010001ull;
}
/* From `from`, under its lock. */
static void four_become(uint32_t line, uint16_t entry) {
    __atomic_store_n((four *)&TABLE[line], entry * 0x0001000100010001ull, __ATOMIC_RELEASE);
}

/* ---- hand-over ------------------------------------------------------------------------------------------------- */

/* u is locked, and has the line, or reads it. Whether it has to be asked: it is IN, or was given the line in its sleep. */
static int to_ask(const struct weft_thread *u, uint32_t line) { return u->state == WEFT_IN || u->keeps == line + 1; }

/* t has lost the line of a weak lock, or it is another's: t is locked, or itself. The words of a thread that has none of its sides are left alone: it
 * may have ended, and its slot may be about to have another one. */
static void lose_sides(struct weft_thread *t, uint32_t line) {
    if (likely(line < WEAK_LINE(0))) return;
    uint64_t sides = 0xffull << (line - WEAK_LINE(0)) / PAGE_LINES * WEFT_WEAK_SIDES;
    if (!(t->sides & sides)) return;
    t->sides &= ~sides;
    t->tls->weak |= sides;
}

/* Whether u, which is locked, or runs this, has the line, and others may still read it. */
static int closes(const struct weft_thread *u, uint32_t line) {
    return unlikely(u->closing == line / PAGE_LINES + 1) && u->closing_lines & line_bit(line);
}
/* Whether it stays u's whatever else is taken from it. */
static int stays(const struct weft_thread *u, uint32_t line) { return closes(u, line) || line + 1 == u->keeps; }

/* u is locked, or runs this, and loses lines of this one's page. */
static void lost(struct weft_thread *u, uint32_t line) {
    uint32_t page = line / PAGE_LINES;
    if (u->nlost && u->nlost <= WEFT_LOST && u->lost[u->nlost - 1] == page) return;
    if (u->nlost < WEFT_LOST) u->lost[u->nlost] = page;
    u->nlost += u->nlost <= WEFT_LOST;
}

/* From u to t, both locked; the line, and with it what u has of the page while nobody quarrels over it. Who gave the page last
 * and wants it back at another line, once more, has a part of its own: then it gets what is behind that line, up to the other's. (lu, whose
 * blocks are half a page: each went to and fro whenever its thread came back to it. 4.1 s of processor time before, 3.3 with this.) Else it is the line
 * alone; but who has lines in front of it, as one who walks through memory does, gets as many behind it. */
static void give(struct weft_thread *u, struct weft_thread *t, uint32_t line) {
    uint16_t from = (uint16_t)u->slot, to = (uint16_t)t->slot;
    lost(u, line);
    lose_sides(u, line);
    __atomic_store_n(&TABLE[line], to, __ATOMIC_RELEASE);
    struct page_heat *p = heat_of_page(line);
    uint32_t now = (uint32_t)(moment() >> 10);
    /* Calm again: a buffer that is handed on from time to time goes as a whole, however often. (Without this, 73,000 edges
     * where zstd compresses 4 MB with 4 threads.) */
    if (now - p->when > QUICK) p->heat = 0;
    p->when = now;
    if (p->heat < PAGE_QUARREL) {
        p->heat++;
        uint32_t b = line & ~(PAGE_LINES - 1), e = b + PAGE_LINES, last = b + p->line;
        if (p->giver == to && last != line && b + p->before == line) {
            if (last > line) e = last;
            b = line;
        }
        p->before = p->line;
        p->line = (uint8_t)(line % PAGE_LINES);
        p->giver = from;
        int all = !u->keeps && !u->closing;
        for (uint32_t i = b; i < e; i++)
            if (all && i + 4 <= e && four_are(i, from)) {
                four_become(i, to);
                i += 3;
            } else if (__atomic_load_n(&TABLE[i], __ATOMIC_RELAXED) == from && !stays(u, i))
                __atomic_store_n(&TABLE[i], to, __ATOMIC_RELEASE);
    } else {
        uint32_t have = 0, e = (line | (PAGE_LINES - 1)) + 1;
        while (have < AHEAD && (line - have) % PAGE_LINES && __atomic_load_n(&TABLE[line - have - 1], __ATOMIC_RELAXED) == to) have++;
        for (uint32_t i = line + 1; i < line + have && i < e && __atomic_load_n(&TABLE[i], __ATOMIC_RELAXED) == from && !stays(u, i); i++)
            __atomic_store_n(&TABLE[i], to, __ATOMIC_RELEASE);
    }
}

/* ---- lines that several threads read ---------------------------------------------------------------------------- */

#ifndef SHARED_SETS
#define SHARED_SETS (1u << 13)
#endif
#ifndef READERS
#define READERS 13
#endif
#ifndef WAYS
#define WAYS 4
#endif
#ifndef READS_AT
#define READS_AT(line) ((line) / PAGE_LINES)
#endif
#define ANYBODY (READERS + 1)
struct shared {
    uint32_t page; /* + 1; 0: this place is free */
    uint16_t readers; /* ANYBODY: more than have a place here */
    uint16_t reader[READERS];
    uint64_t lines; /* of the page: those that are SHARED */
    struct weft_pos pos; /* what a new reader comes after */
};
static struct shared_set {
    int lock;
    struct shared way[WAYS];
} shared[SHARED_SETS] __attribute__((aligned(4096)));

static struct shared_set *shared_set(uint32_t line) { return &shared[(line / PAGE_LINES * 2654435761u >> 8) % SHARED_SETS]; }
static struct shared *shared_place(struct shared_set *s, uint32_t page_or_0) {
    for (int i = 0; i < WAYS; i++)
        if (s->way[i].page == page_or_0) return &s->way[i];
    return NULL;
}
static struct shared *shared_line(struct shared_set *s, uint32_t line) {
    return __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == WEFT_SHARED ? shared_place(s, line / PAGE_LINES + 1) : NULL;
}
static void add_reader(struct shared *d, const struct weft_thread *t) {
    uint32_t i = 0;
    while (i < d->readers && i < READERS && d->reader[i] != t->slot) i++;
    if (i < d->readers || i == ANYBODY) return;
    if (i < READERS) d->reader[i] = (uint16_t)t->slot;
    d->readers++;
}

static int reads(const struct weft_thread *t, uint32_t line) {
    return t->reads && t->reads[READS_AT(line)] & line_bit(line);
}
static void remember(struct weft_thread *t, uint32_t line, uint64_t lines) {
    if (t->reads) t->reads[READS_AT(line)] |= lines;
}
static void tell_reads(const struct weft_thread *t) { /* to its code */
    t->tls->saved[3] = t->reads ? (uint64_t)(uintptr_t)t->reads - WEFT_READS_ADDR : 0;
}
/* These, of the line's page. */
static void forget(struct weft_thread *t, uint32_t line, uint64_t lines) {
    lost(t, line);
    lose_sides(t, line);
    if (t->reads) t->reads[READS_AT(line)] &= ~lines;
}

/* The line, and some of those around it, belong to u, who stands `here`; from now on u and t both read them. Both are
 * locked. Either of them runs this, but what is logged is t's: it is at (clock, site), or waits there for u. u may be past
 * what others know to be done there (weft__rec_go, weft__thread_exit): an edge of its own might come after itself. 0: there
 * is no room for it. */
static int share(struct weft_thread *u, struct weft_thread *t, uint32_t line, uint64_t site, const struct weft_pos *here) {
    struct shared_set *s = shared_set(line);
    uint32_t page = line / PAGE_LINES + 1;
    weft__lock(&s->lock);
    struct shared *d = shared_place(s, page);
    if (d) {
        /* One position is enough, since it comes after the one before. */
        weft__rec_edge(t, site, &d->pos);
        weft__rec_edge(t, site, here);
        d->pos = standing(t, site);
    } else if ((d = shared_place(s, 0)))
        *d = (struct shared){.page = page, .pos = *here};
    if (d) {
        uint32_t n = share_lines(line), first = line & ~(n - 1), now = (uint32_t)(moment() >> 10);
        uint64_t lines = 0;
        for (uint32_t i = first; i < first + n; i++)
            if (__atomic_load_n(&TABLE[i], __ATOMIC_RELAXED) == u->slot && !stays(u, i) && (i == line || !line_heat(i)->caution)) {
                __atomic_store_n(&TABLE[i], WEFT_SHARED, __ATOMIC_RELEASE);
                line_heat(i)->since = now;
                lines |= line_bit(i);
            }
        d->lines |= lines;
        add_reader(d, u);
        add_reader(d, t);
        remember(u, line, lines);
        remember(t, line, lines);
        lost(u, line);
    }
    weft__unlock(&s->lock);
    return d != NULL;
}

/* t reads a SHARED line at (clock, site). 0: it is not SHARED any more. */
static int read_too(struct weft_thread *t, uint32_t line, uint64_t site) {
    struct shared_set *s = shared_set(line);
    weft__lock(&s->lock);
    struct shared *d = shared_line(s, line);
    if (d) {
        add_reader(d, t);
        remember(t, line, d->lines);
        weft__rec_edge(t, site, &d->pos);
    }
    weft__unlock(&s->lock);
    return d != NULL;
}

/* t is about to wake somebody, who may get t's core at once: meanwhile all may take what t has. It does not go outside: nothing
 * that stops it there, and no edge, may come before what it does. */
static void lend(struct weft_thread *t, const struct weft_pos *here) {
    weft__lock(&t->lock);
    t->here = *here;
    t->state = WEFT_WAITING;
    weft__unlock(&t->lock);
}
void weft__rec_back(struct weft_thread *t) {
    weft__lock(&t->lock);
    t->state = WEFT_IN;
    weft__unlock(&t->lock);
}
void weft__rec_lend(struct weft_thread *t, uint64_t site) {
    struct weft_pos here = standing(t, site);
    lend(t, &here);
}

/* Those who were answered in their sleep. */
static void wake(struct weft_thread *t, const struct weft_pos *here, struct weft_thread *list) {
    lend(t, here);
    while (list) {
        struct weft_thread *o = list;
        list = o->next;
        __atomic_store_n(&o->served, WEFT_WOKEN, __ATOMIC_RELEASE);
        weft__raw(SYS_futex, &o->served, FUTEX_WAKE_PRIVATE, 1);
    }
    weft__rec_back(t);
}

static int is_thread(uint16_t entry) { return entry != WEFT_NOBODY && entry < WEFT_COMMON; }

/* Some in *list, or still in t's own, want a line that n has by now: from here on they wait for n, if it will answer. Else all of a crowd would be woken
 * whenever the line changes hands, to ask the next one: a thousand threads that use one line did not come to an end. 0: it will not. */
static int hand_on(struct weft_thread *t, struct weft_thread *n, uint32_t line, struct weft_thread **list) {
    struct weft_thread *own = NULL, **from[2] = {&own, list};
    lock2(t, n);
    int may = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == n->slot && to_ask(n, line) && !closes(n, line);
    if (may) {
        /* Who has waited longest goes first, and is the last one of a thread's list. */
        for (struct weft_thread **p = &t->waiters, *o; (o = *p);)
            if (o->want == line && o->wish != WEFT_DROP) {
                *p = o->next;
                o->next = own;
                own = o;
            } else
                p = &o->next;
        for (int k = 0; k < 2; k++)
            for (struct weft_thread **p = from[k], *o; (o = *p);)
                if (o->want == line && o->wish != WEFT_DROP) {
                    *p = o->next;
                    o->next = n->waiters;
                    __atomic_store_n(&n->waiters, o, __ATOMIC_SEQ_CST);
                } else
                    p = &o->next;
        __atomic_store_n(&n->tls->limit, 0, __ATOMIC_SEQ_CST); /* pairs with rearm() */
    }
    unlock2(t, n);
    return may;
}

/* Those who have not been answered. */
static void hand_on_rest(struct weft_thread *t) {
    weft__lock(&t->lock);
    struct weft_thread *o = t->waiters, *none = NULL;
    uint16_t e = WEFT_NOBODY;
    for (; o; o = o->next)
        if (o->wish != WEFT_DROP && (e = __atomic_load_n(&TABLE[o->want], __ATOMIC_RELAXED)) != t->slot && is_thread(e)) break;
    uint32_t line = o ? (uint32_t)o->want : 0;
    weft__unlock(&t->lock);
    if (o) hand_on(t, weft__threads[e], line, &none);
}

/* t is IN and holds no stripe; its position is (clock, site). Answers those who asked it: all, or at the end of a tenure
 * those who spin, or if there are none, the one who has slept longest. */
static void serve(struct weft_thread *t, uint64_t site, int all) {
    struct weft_thread *list = NULL, **p, **oldest = NULL;
    weft__lock(&t->lock);
    for (p = &t->waiters; *p;) {
        struct weft_thread *o = *p;
        if (closes(t, (uint32_t)o->want))
            p = &o->next;
        else if (all || __atomic_load_n(&o->served, __ATOMIC_RELAXED) != WEFT_ASLEEP) {
            *p = o->next;
            o->next = list;
            list = o;
        } else {
            oldest = p;
            p = &o->next;
        }
    }
    if (!list && oldest) {
        list = *oldest;
        *oldest = list->next;
        list->next = NULL;
    }
    weft__unlock(&t->lock);
    struct weft_pos here = standing(t, site);
    struct weft_thread *asleep = NULL;
    while (list) {
        struct weft_thread *o = list, *u = t; /* who has what it wants */
        uint32_t line = (uint32_t)o->want;
        if (o->wish != WEFT_DROP) {
            uint16_t e = __atomic_load_n(&TABLE[line], __ATOMIC_ACQUIRE);
            if (e != t->slot && e != o->slot && is_thread(e)) u = weft__threads[e];
            if (u != t && hand_on(t, u, line, &list)) continue;
        }
        list = o->next;
        lock2(u, o);
        int has = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == u->slot && (u == t || (!to_ask(u, line) && !closes(u, line))), sleeps = 0;
        o->grant = u == t ? here : u->here;
        o->granted = 0;
        if (o->wish == WEFT_DROP) {
            forget(t, line, o->closing_lines);
            o->granted = 1;
        } else if (has) {
            o->granted = o->wish == WEFT_SHARE && share(u, o, line, o->here.site, &o->grant) ? 2 : 1;
            if (o->granted == 1) give(u, o, line);
            sleeps = u != t && o->granted == 1 && dozed(u);
        }
        if (o->granted) {
            weft__rec_edge(o, o->here.site, &o->grant);
            o->here = standing(o, o->here.site);
        }
        /* Who spins goes on at once. Pairs with the acquire load in wait_served(). */
        int spins = WEFT_ASKED;
        o->state = WEFT_IN;
        if (!__atomic_compare_exchange_n(&o->served, &spins, WEFT_ANSWERED, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            o->state = WEFT_WAITING;
            o->keeps = o->granted && o->wish != WEFT_DROP ? line + 1 : 0;
            o->next = asleep;
            asleep = o;
        }
        unlock2(u, o);
        if (unlikely(sleeps)) rouse(u);
    }
    if (unlikely(__atomic_load_n(&t->waiters, __ATOMIC_RELAXED) != NULL)) hand_on_rest(t);
    if (asleep) wake(t, &here, asleep);
    t->tenure = 0;
    t->stirred = moment();
}

static void wait_served(struct weft_thread *t) {
    /* Who does not quarrel goes by its own luck: where spins were in vain of late, they are short. */
    int hot = t->quarrels >= HOT, budget = !hot ? SPIN >> t->unlucky : probing() ? SPIN : SPIN >> CROWDED, answer = WEFT_ASKED;
    for (int i = 0; i < budget; i++) {
        if ((answer = __atomic_load_n(&t->served, __ATOMIC_ACQUIRE))) {
            if (hot)
                was_wait(0);
            else
                t->unlucky -= t->unlucky > 0;
            break;
        }
        weft__pause();
    }
    if (!answer) {
        if (hot)
            was_wait(1);
        else
            t->unlucky += t->unlucky < CROWDED;
        if (__atomic_compare_exchange_n(&t->served, &answer, WEFT_ASLEEP, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            while ((answer = __atomic_load_n(&t->served, __ATOMIC_ACQUIRE)) == WEFT_ASLEEP)
                weft__raw(SYS_futex, &t->served, FUTEX_WAIT_PRIVATE, WEFT_ASLEEP, 0);
    }
    if (answer != WEFT_WOKEN) return;
    weft__lock(&t->lock);
    t->keeps = 0;
    t->state = WEFT_IN;
    weft__unlock(&t->lock);
}

/* Somebody asked t. For how many ticks it keeps what it has, before it looks again: as many as may take the rest of the time. */
static uint64_t holds(struct weft_thread *t) {
    uint64_t now = moment(), clock = t->tls->clock;
    if (!t->tenure) {
        if (t->quarrels < HOT) return 0;
        next_tenure();
        t->tenure = now + ((TENURE + next_random(t) % (3 * TENURE)) << (probing() ? 0 : CROWDED));
        t->tenure_most = now + LONGEST;
        t->tenure_from = now;
        t->tenure_clock = clock;
    }
    int64_t left = (int64_t)(t->tenure - now);
    if (left <= 0) return 0;
    uint64_t n = clock - t->tenure_clock;
    if (n >= HOLD_TICKS) n = n * (uint64_t)left / (now - t->tenure_from + 1);
    return n < HOLD_TICKS ? HOLD_TICKS : n < HOLD_MOST ? n : HOLD_MOST;
}

/* Whether all threads but one are to be outside (weft__rec_stop); and where and how often that was so. */
static int stopped; /* futex word */
static uint32_t stop_age;
static struct weft_pos stop_pos;

/* It is to come at its next check, whatever it owns. */
static void poison(struct weft_thread *t) { t->tls->me = WEFT_POISON; }
static void unpoison(struct weft_thread *t) {
    if (unlikely(t->tls->me == WEFT_POISON) && !weft__steering) t->tls->me = (uint16_t)t->slot;
}

/* t, at a tick, is to answer. What lies between two ticks would never be seen by anybody else if it always did so at ticks: of a loop that reads two words and
 * compares them, 31 of 100 runs failed natively and 2 recorded. So mostly it is at one of the next checks, or else at the next tick. */
#ifndef LATE
#define LATE(t) puts_off(t)
static uint32_t puts_off(struct weft_thread *t) {
    uint64_t x = next_random(t);
    return (uint32_t)(x >> 8) & (x & 7 ? 3 : 15);
}
#endif
static int late(struct weft_thread *t) {
    if (t->late || weft__steering || t->tls->fast || !(t->late = LATE(t))) {
        t->late = 0;
        return 0;
    }
    poison(t);
    return 1;
}

static void rearm(struct weft_thread *t, uint64_t site) {
    uint64_t limit = t->tls->outside ? 0 : WEFT_NEVER;
    if (unlikely(weft__steering) && limit) limit = weft__steer_tick(t);
    for (;;) {
        __atomic_exchange_n(&t->tls->limit, limit, __ATOMIC_SEQ_CST);
        if (likely(!__atomic_load_n(&t->waiters, __ATOMIC_SEQ_CST))) break;
        uint64_t ticks = limit ? holds(t) : 0;
        if (ticks) {
            __atomic_store_n(&t->tls->limit, t->tls->clock + ticks, __ATOMIC_RELAXED);
            break;
        }
        if (limit && late(t)) {
            __atomic_store_n(&t->tls->limit, t->tls->clock + 1, __ATOMIC_RELAXED);
            break;
        }
        serve(t, site, t->quarrels < HOT);
    }
    if (unlikely(__atomic_load_n(&t->sig_pending, __ATOMIC_SEQ_CST) || __atomic_load_n(&stopped, __ATOMIC_SEQ_CST)))
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
}

static int claim_four(uint32_t line, uint16_t me) {
    uint64_t none = WEFT_NOBODY * 0x0001000100010001ull;
    return four_are(line, WEFT_NOBODY) &&
           __atomic_compare_exchange_n((four *)&TABLE[line], &none, me * 0x0001000100010001ull, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Takes what nobody has of the page. */
static int claim(struct weft_thread *t, uint32_t line, uint64_t site) {
    uint16_t me = (uint16_t)t->slot, z = WEFT_NOBODY;
    if (!__atomic_compare_exchange_n(&TABLE[line], &z, me, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 0;
    uint32_t b = line & ~(PAGE_LINES - 1), e = unlikely(weft__words) ? b : b + PAGE_LINES;
    for (uint32_t i = b; i < e; i++) {
        if (claim_four(i, me)) {
            i += 3;
            continue;
        }
        z = WEFT_NOBODY;
        if (__atomic_load_n(&TABLE[i], __ATOMIC_RELAXED) == WEFT_NOBODY)
            __atomic_compare_exchange_n(&TABLE[i], &z, me, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    stripe_lock(&maps.last); /* after the last of them was claimed */
    stripe_edge(t, site, &maps.last);
    stripe_unlock(&maps.last);
    return 1;
}

static void line_stripes(uint32_t line, uint32_t idx[8]) {
    for (uint32_t i = 0; i < 8; i++) idx[i] = ((line << 3) + i) & (STRIPES - 1);
}

/* t owns the line: from now on its words are ordered one by one. `soon`: it is asked for again and again. */
static void split(struct weft_thread *t, uint32_t line, uint64_t site, int soon) {
    uint32_t ix[8];
    line_stripes(line, ix); /* a line's stripes never wrap: their number is a multiple of 8 */
    for (int i = 0; i < 8; i++) stripe_lock(&stripes[ix[i]]);
    for (int i = 0; i < 8; i++) stripe_edge(t, site, &stripes[ix[i]]);
    struct weft_pos here = standing(t, site);
    for (int i = 0; i < 8; i++) {
        /* Only reached: t's own access at this site comes later, maybe after others' accesses of the opened words. */
        stripe_mark(t, site, &stripes[ix[i]], here.step);
    }
    weft__lock(&t->lock);
    __atomic_store_n(&TABLE[line], WEFT_SPLIT, __ATOMIC_RELEASE);
    weft__unlock(&t->lock);
    for (int i = 0; i < 8; i++) stripe_unlock(&stripes[ix[i]]);
    struct heat *h = line_heat(line);
    h->when = (uint32_t)(moment() >> 10);
    if (first_episodes < LONG_FIRST) {
        first_episodes++;
        soon = 1;
    } else if (soon && ++early >= 2 * EARLY_KNOWN) {
        early /= 2;
        early_apart /= 2;
    }
    h->episodes = (uint16_t)(h->episodes + (soon && h->episodes < EARLY));
    t->splits++;
    lost(t, line);
}

/* Take a SPLIT line whole. 0: it was not SPLIT any more. */
static int join(struct weft_thread *t, uint32_t line, uint64_t site) {
    uint32_t ix[8];
    line_stripes(line, ix);
    for (int i = 0; i < 8; i++) stripe_lock(&stripes[ix[i]]);
    int ok = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == WEFT_SPLIT;
    if (ok) {
        for (int i = 0; i < 8; i++) stripe_edge(t, site, &stripes[ix[i]]);
        __atomic_store_n(&TABLE[line], (uint16_t)t->slot, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < 8; i++) stripe_unlock(&stripes[ix[i]]);
    return ok;
}

/* t, at (clock, site), asks u and waits for its answer; both are locked, and unlocked here. */
static void ask(struct weft_thread *t, struct weft_thread *u, uint32_t line, int wish, uint64_t site) {
    t->want = line;
    t->wish = wish;
    t->granted = 0;
    __atomic_store_n(&t->served, WEFT_ASKED, __ATOMIC_RELAXED);
    t->here = standing(t, site);
    t->state = WEFT_WAITING;
    t->next = u->waiters;
    __atomic_store_n(&u->waiters, t, __ATOMIC_SEQ_CST);
    __atomic_store_n(&u->tls->limit, 0, __ATOMIC_SEQ_CST); /* pairs with rearm() */
    unlock2(t, u);
    t->asks++;
    wait_served(t);
}

/* t is to write lines that x may read (t->closing): from here on it does not. Returns 1 if t waited. */
static int stop_reading(struct weft_thread *t, struct weft_thread *x, uint32_t line, uint64_t site) {
    int answered = 0;
    for (;;) {
        lock2(t, x);
        int in = x->state == WEFT_IN || (x->keeps && closes(t, x->keeps - 1));
        if (in && t->waiters && !answered) {
            unlock2(t, x);
            serve(t, site, t->quarrels < HOT);
            answered = 1;
            continue;
        }
        if (in) {
            ask(t, x, line, WEFT_DROP, site);
            return 1;
        }
        struct weft_pos here = x->here;
        forget(x, line, t->closing_lines);
        int sleeps = dozed(x);
        unlock2(t, x);
        if (unlikely(sleeps)) rouse(x);
        weft__rec_edge(t, site, &here);
        return answered;
    }
}

/* t is to write a SHARED line: it becomes its own, and perhaps others around it, closed to others until every reader has stopped. 0: it was not
 * SHARED any more. */
static int close_shared(struct weft_thread *t, uint32_t line, uint64_t site, int *waited) {
    struct shared_set *s = shared_set(line);
    struct shared was;
    weft__lock(&t->lock);
    weft__lock(&s->lock);
    struct shared *d = shared_line(s, line);
    if (d) {
        was = *d;
        uint64_t lines = d->lines & close_lines(line);
        d->lines &= ~lines;
        if (!d->lines) d->page = 0;
        t->closing = line / PAGE_LINES + 1;
        t->closing_lines = lines;
        for (uint64_t rest = lines; rest; rest &= rest - 1)
            __atomic_store_n(&TABLE[(line & ~(PAGE_LINES - 1)) + (uint32_t)__builtin_ctzll(rest)], (uint16_t)t->slot, __ATOMIC_RELEASE);
    }
    weft__unlock(&s->lock);
    weft__unlock(&t->lock);
    if (!d) return 0;
    forget(t, line, t->closing_lines);
    uint32_t n = was.readers;
    shared_for(line, n);
    if (n == ANYBODY) {
        for (uint32_t k = 1; k < __atomic_load_n(&weft__slots, __ATOMIC_ACQUIRE); k++)
            if (k != t->slot && weft__threads[k]) *waited |= stop_reading(t, weft__threads[k], line, site);
    } else
        for (uint32_t i = 0; i < n; i++)
            if (was.reader[i] != t->slot) *waited |= stop_reading(t, weft__threads[was.reader[i]], line, site);
    weft__lock(&t->lock);
    t->closing = 0;
    weft__unlock(&t->lock);
    return 1;
}

/* Makes t the owner of the line, or for a read one of those who share it, unless it is SPLIT. Returns 1 if t may have lost
 * others meanwhile: it had to wait for an answer, or gave some. */
static int acquire(struct weft_thread *t, uint32_t line, uint64_t site, int write) {
    int waited = 0, answered = 0, odds = unlikely(weft__words) ? 1024 : unlikely(weft__delays) ? EARLY_SHARE : EPISODES, wish = -1;
    if (unlikely(t->common)) waited = weft__shm_drop(t);
    for (;;) {
        uint16_t o = __atomic_load_n(&TABLE[line], __ATOMIC_ACQUIRE);
        if (o == t->slot || o == WEFT_SPLIT || o == WEFT_COMMON) return waited;
        if (o == WEFT_NOBODY) {
            if (!claim(t, line, site)) continue;
            if (unlikely(weft__words) && line < WEAK_LINE(0) && !t->whole) split(t, line, site, 0);
            return waited;
        }
        /* What follows looks at all of these one after the other, and other threads changed them last. */
        if (is_thread(o)) weft__prefetch(weft__threads[o]);
        weft__prefetch(line_heat(line));
        weft__prefetch(heat_of_page(line));
        if (!write && unlikely(!t->reads)) {
            if (!t->no_reads) t->reads = weft__rt_may_map(WEFT_READS_SIZE);
            t->no_reads = !t->reads;
            if (t->reads)
                tell_reads(t);
            else
                write = 1; /* the address space is full: it gets for itself what others would read together */
        }
        if (o == WEFT_SHARED) {
            if (write ? close_shared(t, line, site, &waited) : reads(t, line) || read_too(t, line, site)) return waited;
            continue;
        }
        if (wish < 0) wish = wish_for(line, write);
        if (t->whole && !write && shared_place(shared_set(line), line / PAGE_LINES + 1)) wish = WEFT_SHARE; /* others read the page too; or have done so: no matter */
        struct weft_thread *u = weft__threads[o];
        lock2(t, u);
        if (__atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) != o) {
            unlock2(t, u);
            continue;
        }
        int in = to_ask(u, line), closing = !in && closes(u, line); /* then t's own list has to be empty (I5) */
        if ((closing || (in && !answered)) && t->waiters) { /* t is to wait: whoever can go on, should */
            unlock2(t, u);
            serve(t, site, closing || t->quarrels < HOT);
            waited = answered = 1;
            continue;
        }
        int got;
        if (!in && !closing) {
            struct weft_pos here = u->here;
            got = wish == WEFT_SHARE && share(u, t, line, site, &here) ? 2 : 1;
            if (got == 1) give(u, t, line);
            int sleeps = got == 1 && dozed(u);
            unlock2(t, u);
            if (unlikely(sleeps)) rouse(u);
            if (t->tenure && t->tenure < t->tenure_most) t->tenure += TAKE_SHARE;
            if (odds == EPISODES) odds = rare(line);
            weft__rec_edge(t, site, &here);
        } else {
            quarrel(t);
            ask(t, u, line, wish, site);
            waited = 1;
            got = t->granted;
            if (!got) continue;
            int again = asked_again(line);
            if (again && !weft__words) odds = again;
        }
        t->stirred = moment();
        if (got == 1 && unlikely((int)(next_random(t) & 1023) < odds) && !weft__given && line < WEAK_LINE(0) && !t->whole) split(t, line, site, odds >= EARLY_DULL);
        return waited;
    }
}

/* Whether t may access a line with this entry. */
static int has(const struct weft_thread *t, uint32_t line, uint16_t entry, int write) {
    return entry == t->slot || (entry == WEFT_SHARED && !write && reads(t, line));
}

/* The same of these lines of a page, as bits. */
static int has_of_page(const struct weft_thread *t, uint32_t page, uint64_t these, int write) {
    const uint16_t *e = &TABLE[page * PAGE_LINES];
    if (!write && t->reads) these &= ~t->reads[READS_AT(page * PAGE_LINES)]; /* what is in its list stays so (I8) */
    while (these) {
        uint32_t i = (uint32_t)__builtin_ctzll(these), n = these >> i & 15 && !(i & 3) && four_are(page * PAGE_LINES + i, (uint16_t)t->slot) ? 4 : 1;
        if (n == 1 && __atomic_load_n(&e[i], __ATOMIC_RELAXED) != t->slot) return 0;
        these &= ~((n == 4 ? 15ull : 1ull) << i);
    }
    return 1;
}
/* The same of all of these lines. */
int weft__rec_has(const struct weft_thread *t, uint32_t line, uint32_t lines, int write) {
    for (uint32_t n; lines; lines -= n, line += n) {
        line &= WEFT_TABLE_ENTRIES - 1;
        n = PAGE_LINES - line % PAGE_LINES;
        if (n > lines) n = lines;
        if (!has_of_page(t, line / PAGE_LINES, (~0ull >> (PAGE_LINES - n)) << (line % PAGE_LINES), write)) return 0;
    }
    return 1;
}

/* ---- the copy of a loop that does not check the ranges in tls.range (loops.c) ---- */

#define MANY (1u << 17) /* lines: of more it is not looked again */
#define WHOLE 16        /* so many of 1,024 loops are left to take line by line, as they come to them */

static uint64_t range_bytes(const struct weft_tls_range *r) { return r->size & WEFT_RANGE_SIZE; }
static uint64_t range_lines(const struct weft_tls_range *r) {
    return ((r->at + range_bytes(r) - 1) >> WEFT_LINE_SHIFT) - (r->at >> WEFT_LINE_SHIFT) + 1;
}
static int has_range(const struct weft_thread *t, const struct weft_tls_range *r) {
    return range_lines(r) <= MANY && weft__rec_has(t, LINE_OF(r->at), (uint32_t)range_lines(r), (r->size & WEFT_RANGE_WRITES) != 0);
}
/* The same of what of it lies in this page. */
static int has_in_page(const struct weft_thread *t, const struct weft_tls_range *r, uint32_t page) {
    uint32_t first = LINE_OF(r->at), at = (page * PAGE_LINES - first) & (WEFT_TABLE_ENTRIES - 1), n = PAGE_LINES;
    if (at > WEFT_TABLE_ENTRIES - PAGE_LINES) { /* the range begins within it */
        n -= (uint32_t)WEFT_TABLE_ENTRIES - at;
        at = 0;
    }
    if (at >= range_lines(r)) return 1;
    if (n > range_lines(r) - at) n = (uint32_t)range_lines(r) - at;
    return weft__rec_has(t, first + at, n, (r->size & WEFT_RANGE_WRITES) != 0);
}

/* Whether t still has all of them. */
int weft__rec_loop_has(struct weft_thread *t) {
    const struct weft_tls *s = t->tls;
    for (const struct weft_tls_range *r = s->range; t->nlost && r < s->range + s->fast; r++) {
        if (t->nlost > WEFT_LOST && !has_range(t, r)) return 0;
        for (uint32_t k = 0; t->nlost <= WEFT_LOST && k < t->nlost; k++)
            if (!has_in_page(t, r, t->lost[k])) return 0;
    }
    t->nlost = 0;
    return 1;
}

/* It takes them again, at (clock, site). */
void weft__rec_loop(struct weft_thread *t, uint64_t site) {
    const struct weft_tls *s = t->tls;
    for (int again = 1; again;) {
        again = 0;
        for (const struct weft_tls_range *r = s->range; r < s->range + s->fast; r++)
            again |= weft__rec_take(t, r->at, range_bytes(r), site, (r->size & WEFT_RANGE_WRITES) != 0);
    }
    t->nlost = 0;
    t->loop_lost = 1;
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED); /* the next tick leaves the copy */
}

/* t takes what it has not, of the lines of a page, for a loop that touches them all, unless they are ordered word by word, or were until shortly: then 0. */
static int take_of_page(struct weft_thread *t, uint32_t page, uint64_t these, uint64_t site, int write) {
    uint32_t now = (uint32_t)(moment() >> 10);
    for (; these; these &= these - 1) {
        uint32_t line = page * PAGE_LINES + (uint32_t)__builtin_ctzll(these);
        uint16_t o = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED);
        if (has(t, line, o, write)) continue;
        if (o == WEFT_COMMON || (o == WEFT_SPLIT && now - line_heat(line)->when <= QUICK)) return 0;
        acquire(t, line, site, write);
        if (__atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == WEFT_SPLIT) join(t, line, site);
    }
    return 1;
}
/* Whether t has the range, or gets it; `all` is 0 if it had to be got. */
static int get_range(struct weft_thread *t, const struct weft_tls_range *r, uint64_t site, int *all) {
    int write = (r->size & WEFT_RANGE_WRITES) != 0;
    uint32_t line = LINE_OF(r->at);
    for (uint64_t n, lines = range_lines(r); lines; lines -= n, line = (line + (uint32_t)n) & (WEFT_TABLE_ENTRIES - 1)) {
        n = PAGE_LINES - line % PAGE_LINES;
        if (n > lines) n = lines;
        uint64_t these = (~0ull >> (PAGE_LINES - n)) << (line % PAGE_LINES);
        if (has_of_page(t, line / PAGE_LINES, these, write)) continue;
        if (!(r->size & WEFT_RANGE_ALL) || weft__delays || weft__given || range_lines(r) > MANY) return 0;
        if (*all && (first_episodes < LONG_FIRST || next_random(t) % 1024 < WHOLE)) return 0;
        *all = 0;
        if (!take_of_page(t, line / PAGE_LINES, these, site, write)) return 0;
    }
    return 1;
}
/* The loop is about to begin, at (clock, site). Where it will touch each line of a range that it has not, they are taken; but now and then they are not, nor in
 * the beginning of a process, so that lines are split (heat). (radix, where each phase walks through what others have written: it went on with checks each time.) */
int weft__rec_loop_begin(struct weft_thread *t, uint64_t site) {
    const struct weft_tls_range *range = t->tls->range, *end = range + t->tls->fast;
    int all = 0, got = 1;
    weft__rec_release(t);
    for (int tries = 0; got && !all && tries < 3; tries++) { /* what was waited for may have cost what was there before */
        all = 1;
        t->whole = 1;
        for (const struct weft_tls_range *r = range; got && r < end; r++) got = get_range(t, r, site, &all);
        t->whole = 0;
    }
    if (!got || !all || t->tls->region & ~t->sides) return 0;
    t->nlost = 0;
    return 1;
}

/* ---- weak locks -------------------------------------------------------------------------------------------------
 *
 * A weak lock is a line without memory, of which all threads that are on one side of it are readers. Its side is changed by a thread that has the
 * line alone, which is how a writer gets it: so who is a reader, and has seen the side, keeps it until it stops reading. The edges
 * are those of a shared line: who comes to a side comes after the thread that chose it, and that one comes after all that were on
 * another one.
 *
 * A thread that has to wait, or that answers, loses what it has, weak locks like lines. Before it goes on in a region it
 * takes all again, so nobody waits for ever: who needs another side asks, gets the lock at the other's next tick, and has it until it answers in its turn. */

static uint8_t weak_side[WEFT_WEAK_LOCKS]; /* bit of the lock, + 1; changed by who has the line alone */

static void take_side(struct weft_thread *t, uint32_t bit, uint64_t site) {
    uint32_t w = bit / WEFT_WEAK_SIDES, line = WEAK_LINE(w);
    for (;;) {
        int join = __atomic_load_n(&weak_side[w], __ATOMIC_RELAXED) == bit + 1 && !weft__steering;
        acquire(t, line, site, !join);
        uint16_t o = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED);
        if (o == t->slot)
            __atomic_store_n(&weak_side[w], (uint8_t)(bit + 1), __ATOMIC_RELAXED);
        else if (o != WEFT_SHARED || !reads(t, line) || __atomic_load_n(&weak_side[w], __ATOMIC_RELAXED) != bit + 1)
            continue;
        lose_sides(t, line);
        t->sides |= 1ull << bit;
        if (!weft__steering) t->tls->weak &= ~(1ull << bit);
        return;
    }
}

int weft__rec_again(struct weft_thread *t, uint64_t site) {
    for (int lost = 0;; lost = 1) {
        uint64_t need = t->tls->region & ~t->sides;
        if (likely(!need) && (likely(!t->tls->fast) || weft__rec_loop_has(t))) return lost;
        weft__rec_release(t);
        if (need)
            take_side(t, (uint32_t)__builtin_ctzll(need), site);
        else
            weft__rec_loop(t, site);
    }
}

/* Whether another thread had one of the words in t->held last. */
static int crosses(const struct weft_thread *t, uint32_t k) {
    int crossed = 0;
    for (uint32_t i = 0; i < k; i++) crossed |= stripes[t->held[i]].slot != t->slot;
    return crossed;
}

/* Between two accesses of words that are fought over. A thread lets go of a word when it comes for the next one, and whoever waits
 * for the first gets it too late to see what was between them: two variables that belong together would be written and read
 * together. Short; if failures are wanted, now and then so long that another thread gets much done. */
static void delay(struct weft_thread *t) {
    uint64_t x = next_random(t);
    if (x & 3) return;
    uint32_t bits = !weft__delays || x & 0x3c ? 5 : 10;
    for (int i = (int)((x >> 8) & ((1u << bits) - 1)); i > 0; i--) weft__pause();
}

/* An access of n bytes at p is about to happen at (clock, site): on return every line of it is t's own, or its words are
 * locked until the next tick or miss; and it has all that its loop and its region need (weft__rec_again): what is taken for these may cost it the
 * line, and then all is looked at once more. */
static void own_small(struct weft_thread *t, uint64_t p, uint32_t n, uint64_t site, int write) {
    uint32_t first = LINE_OF(p), lines = (uint32_t)(((p + n - 1) >> WEFT_LINE_SHIFT) - (p >> WEFT_LINE_SHIFT)) + 1;
    uint16_t was[4];
    for (;;) {
        uint32_t k = 0;
        int ok = 1;
        for (uint32_t i = 0; i < lines; i++) acquire(t, (first + i) & (WEFT_TABLE_ENTRIES - 1), site, write);
        /* Waiting for a later line may have lost an earlier one: then once more. */
        for (uint32_t i = 0; i < lines; i++) {
            uint32_t line = (first + i) & (WEFT_TABLE_ENTRIES - 1);
            was[i] = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED);
            if (!has(t, line, was[i], write) && was[i] != WEFT_SPLIT) ok = 0;
            if (was[i] != WEFT_SPLIT) continue;
            /* The access's words in this line, kept in order of stripe number. */
            uint32_t w0 = i == 0 ? ((uint32_t)p >> 3) & 7 : 0;
            uint32_t w1 = i == lines - 1 ? ((uint32_t)(p + n - 1) >> 3) & 7 : 7;
            for (uint32_t w = w0; w <= w1; w++) {
                uint32_t s = ((line << 3) + w) & (STRIPES - 1), j = k++;
                while (j && t->held[j - 1] > s) {
                    t->held[j] = t->held[j - 1];
                    j--;
                }
                t->held[j] = s;
            }
        }
        if (!ok) {
            /* Perhaps it was mapped again meanwhile. */
            if (unlikely(weft__shm_any) && weft__shm_miss(t, p, n | WEFT_ACC_WRITE | WEFT_ACC_PARTIAL, site) && !weft__rec_again(t, site)) return;
            continue;
        }
        if (!k) {
            if (likely(!weft__rec_again(t, site))) return;
            continue;
        }
        if ((weft__delays || crosses(t, k)) && !weft__given) delay(t);
        for (uint32_t i = 0; i < k; i++) stripe_lock(&stripes[t->held[i]]);
        t->nheld = k;
        /* Ours stay ours (we did not wait); a SPLIT line may have been joined before we had its words. */
        for (uint32_t i = 0; i < lines; i++)
            if (__atomic_load_n(&TABLE[(first + i) & (WEFT_TABLE_ENTRIES - 1)], __ATOMIC_RELAXED) != was[i]) ok = 0;
        if (!ok) {
            weft__rec_release(t);
            continue;
        }
        if (lines == 1) {
            if (unlikely(episode(t, first, crosses(t, k)))) {
                weft__rec_release(t);
                join(t, first, site);
                continue;
            }
        }
        if (unlikely(weft__rec_again(t, site))) continue;
        for (uint32_t i = 0; i < k; i++) {
            stripe_edge(t, site, &stripes[t->held[i]]);
            stripe_mark(t, site, &stripes[t->held[i]], WEFT_DONE);
        }
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED); /* the next tick releases */
        return;
    }
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

void weft__rec_tick(struct weft_thread *t) {
    weft__rec_release(t);
    unpoison(t);
    if (unlikely(__atomic_load_n(&stopped, __ATOMIC_RELAXED))) {
        weft__rec_out(t);
        weft__rec_in(t);
        return;
    }
    rearm(t, 0);
}

/* It has no use for what it has: no tenure. */
void weft__rec_spins(struct weft_thread *t) {
    if (unlikely(weft__steering) && !t->tls->outside) {
        weft__rec_release(t);
        weft__steer_yield(t);
    }
    if (!__atomic_load_n(&t->waiters, __ATOMIC_RELAXED)) return;
    t->tenure = 1;
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
}

/* A loop that only waits looks at lines that are t's own, or that it shares, and nobody changes what is in them without taking them from
 * it first. So after some time it sleeps, outside, until somebody does that. Not for long: the loop may count, too, and what looks like one
 * that waits may be waited for. (redis, whose two threads wait for each other, on a machine of two cores that had much else to do: 106 us of
 * processor time for a request, and 9 with this. Natively 82.) But it comes too late to see what is written in the microseconds after it was woken: so at first it
 * stays awake, as natively. (Two readers of a structure that is written 20,000 times in some 60 us: seen torn in
 * 21 of 60 runs natively, 1 recorded without this, 17 with it.) */
static void doze(struct weft_thread *t) {
    static const struct timespec most = {0, DOZE_NS};
    weft__lock(&t->lock);
    if (t->waiters) { /* it is to answer first */
        weft__unlock(&t->lock);
        return;
    }
    t->here = standing(t, 0);
    t->state = WEFT_OUT;
    __atomic_store_n(&t->dozes, 1, __ATOMIC_RELAXED);
    weft__unlock(&t->lock);
    weft__raw(SYS_futex, &t->dozes, FUTEX_WAIT_PRIVATE, 1, &most);
    __atomic_store_n(&t->dozes, 0, __ATOMIC_RELAXED);
    weft__rec_in(t);
}

void weft__rec_doze(struct weft_thread *t) {
    uint64_t now = weft__tsc(), clock = t->tls->clock, before = t->spun_clock;
    int same = t->misses == t->spun_misses && clock - before <= 2 * WEFT_SPIN_MASK;
    t->spun_clock = clock;
    if (!same || weft__steering) {
        t->spins = now;
        t->spun_misses = t->misses;
        return;
    }
    if (now - t->spins < DOZE) return;
    if (t->awake < AWAKE) {
        t->awake++;
        t->spins = now;
        return;
    }
    weft__rec_release(t);
    doze(t);
    t->spins = weft__tsc();
}

/* At (clock, site) t needs what tls.region says. */
void weft__rec_weak(struct weft_thread *t, uint64_t site) {
    weft__rec_release(t);
    if (unlikely(weft__steering)) weft__steer_event(t, site);
    weft__rec_again(t, site);
}

/* At (clock, site): one of the checks before it answers. */
static void answer_late(struct weft_thread *t, uint64_t site) {
    if (--t->late)
        poison(t);
    else if (__atomic_load_n(&t->waiters, __ATOMIC_RELAXED))
        serve(t, site, t->quarrels < HOT);
}

void weft__rec_miss(struct weft_thread *t, uint64_t p, uint32_t acc, uint64_t site) {
    weft__rec_release(t);
    unpoison(t);
    if (unlikely(t->late)) answer_late(t, site);
    if (unlikely(weft__steering)) weft__steer_event(t, site);
    t->misses++;
    uint32_t n = acc & WEFT_ACC_SIZE;
    int write = (acc & WEFT_ACC_WRITE) != 0;
    while (unlikely(weft__shm_any) && weft__shm_miss(t, p, acc, site))
        if (likely(!weft__rec_again(t, site))) return;
    if (n <= 2 * WEFT_LINE)
        own_small(t, p, n ? n : 1, site, write);
    else
        do
            while (weft__rec_take(t, p, n, site, write)) {}
        while (weft__rec_again(t, site));
}

/* Take a whole range; SPLIT lines are joined. Returns 1 if the thread waited or answered on the way: what it held before
 * may be gone, and the caller asks again until a whole pass gives 0. */
int weft__rec_take(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write) {
    int waited = 0, common = 0;
    if (!n) return 0;
    uint64_t first = p >> WEFT_LINE_SHIFT, last = (p + n - 1) >> WEFT_LINE_SHIFT;
    for (uint64_t l = first; l <= last; l++) {
        uint32_t line = (uint32_t)(l & (WEFT_TABLE_ENTRIES - 1));
        if (l + 3 <= last && four_are(line, (uint16_t)t->slot)) {
            l += 3;
            continue;
        }
        uint16_t o;
        while (!has(t, line, o = __atomic_load_n(&TABLE[line], __ATOMIC_RELAXED), write)) {
            if (unlikely(o == WEFT_COMMON)) {
                common = 1;
                break;
            }
            waited |= acquire(t, line, site, write);
            if (__atomic_load_n(&TABLE[line], __ATOMIC_RELAXED) == WEFT_SPLIT) join(t, line, site);
        }
    }
    if (unlikely(common) && !waited) waited = weft__shm_take(t, p, n, site, write);
    return waited;
}

/* ---- memory is mapped and unmapped: t is at (clock, 0), and one does it at a time ------------------------------------ */

void weft__rec_maps_begin(void) { stripe_lock(&maps.last); }
void weft__rec_maps_end(struct weft_thread *t, int done) {
    if (done) {
        stripe_edge(t, 0, &maps.last);
        stripe_mark(t, 0, &maps.last, WEFT_DONE);
    }
    stripe_unlock(&maps.last);
}

static uint64_t last_line(uint64_t p, uint64_t n) {
    uint64_t most = (uint64_t)WEFT_TABLE_ENTRIES << WEFT_LINE_SHIFT;
    return (p + (n < most ? n : most) - 1) >> WEFT_LINE_SHIFT;
}

/* Between the two: whether t may map memory at p. 0: others have lines there, and t has to take them first. */
int weft__rec_maps_may(const struct weft_thread *t, uint64_t p, uint64_t n) {
    for (uint64_t l = p >> WEFT_LINE_SHIFT, last = last_line(p, n); n && l <= last; l++) {
        if (l + 3 <= last && four_are((uint32_t)(l & (WEFT_TABLE_ENTRIES - 1)), WEFT_NOBODY)) {
            l += 3;
            continue;
        }
        uint16_t o = __atomic_load_n(&TABLE[l & (WEFT_TABLE_ENTRIES - 1)], __ATOMIC_RELAXED);
        if (o != WEFT_NOBODY && o != t->slot && o != WEFT_COMMON) return 0;
    }
    return 1;
}
/* Takes what anybody has. Returns 1 if t had to wait. */
int weft__rec_maps_take(struct weft_thread *t, uint64_t p, uint64_t n) {
    int waited = 0;
    for (uint64_t l = p >> WEFT_LINE_SHIFT; n && l <= last_line(p, n); l++)
        if (__atomic_load_n(&TABLE[l & (WEFT_TABLE_ENTRIES - 1)], __ATOMIC_RELAXED) != WEFT_NOBODY)
            waited |= weft__rec_take(t, l << WEFT_LINE_SHIFT, 1, 0, 1);
    return waited;
}
/* Between the two: t has unmapped memory that it had taken. What is mapped there next belongs to nobody. (A file that each
 * request of a server maps, now in this thread and now in that, would go from one to the other line by line.) */
void weft__rec_maps_gone(struct weft_thread *t, uint64_t p, uint64_t n) {
    weft__lock(&t->lock);
    for (uint64_t l = p >> WEFT_LINE_SHIFT, last = last_line(p, n); n && l <= last; l++) {
        if (l + 3 <= last && four_are((uint32_t)(l & (WEFT_TABLE_ENTRIES - 1)), (uint16_t)t->slot)) {
            four_become((uint32_t)(l & (WEFT_TABLE_ENTRIES - 1)), WEFT_NOBODY);
            l += 3;
            continue;
        }
        uint16_t *e = &TABLE[l & (WEFT_TABLE_ENTRIES - 1)];
        if (__atomic_load_n(e, __ATOMIC_RELAXED) == t->slot) __atomic_store_n(e, WEFT_NOBODY, __ATOMIC_RELEASE);
    }
    weft__unlock(&t->lock);
}

/* The thread leaves instrumented code at (clock, 0). */
void weft__rec_out(struct weft_thread *t) {
    weft__rec_release(t);
    for (;;) {
        weft__lock(&t->lock);
        if (likely(!t->waiters)) break;
        weft__unlock(&t->lock);
        serve(t, 0, 1);
    }
    t->here = standing(t, 0);
    t->state = WEFT_OUT;
    weft__unlock(&t->lock);
    if (unlikely(weft__steering)) weft__steer_out(t);
    /* Whatever instrumented code runs now (a callback, a handler) must come inside at its first tick. */
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
}

/* For good: others take what it owned. It has no sides from here on (lose_sides). */
void weft__rec_end(struct weft_thread *t) {
    t->sides = 0;
    t->tls->weak = ~0ull;
    weft__rec_out(t);
}

/* t is IN from here on, unless the world stands still; its lock is held. */
static void come_in(struct weft_thread *t) {
    for (;;) {
        if (unlikely(weft__steering)) weft__steer_in(t);
        weft__lock(&t->lock);
        /* Pairs with weft__rec_stop: either it sees the thread IN, or the thread sees the world stopped. */
        if (likely(!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST))) break;
        weft__unlock(&t->lock);
        if (unlikely(weft__steering)) weft__steer_out(t);
        weft__raw(SYS_futex, &stopped, FUTEX_WAIT_PRIVATE, 1, 0);
    }
    t->state = WEFT_IN;
}

/* (clock, 0) comes after the last fork. */
void weft__rec_after_fork(struct weft_thread *t) {
    if (likely(t->stop_age == stop_age)) return;
    t->stop_age = stop_age;
    weft__rec_edge(t, 0, &stop_pos);
}

void weft__rec_in(struct weft_thread *t) {
    come_in(t);
    /* Nobody asked while it was OUT (I5), and who does from here on, or stops it, takes the lock first: so no 0 is overwritten but that of a signal, and
     * what unlocks is a full barrier. */
    __atomic_store_n(&t->tls->limit, t->tls->outside ? 0 : WEFT_NEVER, __ATOMIC_RELAXED);
    weft__unlock(&t->lock);
    weft__rec_after_fork(t);
    if (unlikely(weft__steering))
        rearm(t, 0);
    else if (unlikely(__atomic_load_n(&t->sig_pending, __ATOMIC_SEQ_CST)))
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
}

/* A new thread, before its first tick. */
void weft__rec_begin(struct weft_thread *t) {
    t->waiters = NULL;
    tell_reads(t);
    come_in(t);
    weft__unlock(&t->lock);
}

/* ---- the world stops: t, at (clock, 0), is the only thread inside, and its position comes after where all others stand.
 * They go on after it. A thread that is asked to stop does so at its next tick; whoever waits for its answer gets it
 * then, and stops at its own. */

static void world_goes_on(void) {
    __atomic_store_n(&stopped, 0, __ATOMIC_SEQ_CST);
    weft__raw(SYS_futex, &stopped, FUTEX_WAKE_PRIVATE, 1 << 30);
}

/* One at a time: the caller has a lock for that.
 *
 * Who is asked to stop may be waiting, in libc, for a lock of libc's that another thread has which stands already: it called malloc there. So nobody
 * stands still for the sake of one who does not come: after some 10 ms all go on, and it is tried again with more patience. */
void weft__rec_stop(struct weft_thread *t) {
    weft__rec_out(t);
    weft__rec_after_fork(t);
    uint64_t patience = 1ul << 25, since = weft__tsc();
    __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
    for (uint32_t s = 1; s < __atomic_load_n(&weft__slots, __ATOMIC_ACQUIRE); s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || o == t) continue;
        for (int i = 0;; i++) {
            weft__lock(&o->lock);
            int state = o->state;
            if (state == WEFT_IN && o->tls) __atomic_store_n(&o->tls->limit, 0, __ATOMIC_SEQ_CST);
            weft__unlock(&o->lock);
            if (state == WEFT_OUT) break;
            if (i < 1000) {
                weft__pause();
                continue;
            }
            weft__raw(SYS_sched_yield);
            if (weft__tsc() - since < patience) continue;
            world_goes_on();
            since = weft__tsc();
            while (weft__tsc() - since < patience && __atomic_load_n(&o->state, __ATOMIC_RELAXED) != WEFT_OUT) weft__raw(SYS_sched_yield);
            if (patience < 1ul << 32) patience *= 2;
            since = weft__tsc();
            __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
            s = 0; /* from the first one on */
            break;
        }
    }
    weft__lock(&t->lock);
    t->state = WEFT_IN;
    weft__unlock(&t->lock);
    /* Those that have ended too: perhaps nobody joined them. */
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s]) weft__rec_edge(t, 0, &weft__threads[s]->here);
}

void weft__rec_go(struct weft_thread *t) {
    stop_pos = (struct weft_pos){t->tls->clock, 0, t->slot, WEFT_DONE};
    t->stop_age = ++stop_age;
    world_goes_on();
    if (unlikely(weft__steering)) {
        weft__rec_out(t);
        come_in(t);
        weft__unlock(&t->lock);
    }
    rearm(t, 0);
}

/* In a forked process, of which t is all there is. */
void weft__rec_forked(struct weft_thread *t) {
    weft__raw(SYS_madvise, WEFT_TABLE_ADDR, WEFT_TABLE_SIZE, 4 /* MADV_DONTNEED */);
    weft__zero(weak_side, sizeof weak_side);
    t->tls->weak = ~0ull;
    weft__zero(stripes, sizeof stripes);
    weft__zero(objects, sizeof objects);
    weft__zero(&maps, sizeof maps);
    weft__raw(SYS_madvise, shared, sizeof shared, 4 /* MADV_DONTNEED */);
    for (uint32_t s = 1; s < weft__slots; s++) {
        if (!weft__threads[s]) continue;
        weft__threads[s]->sides = 0;
        if (weft__threads[s]->reads) weft__raw(SYS_madvise, weft__threads[s]->reads, WEFT_READS_SIZE, 4 /* MADV_DONTNEED */);
    }
    weft__zero(heat, sizeof heat);
    weft__zero(page_heat, sizeof page_heat);
    first_episodes = first_takes = early = early_apart = 0;
    weft__zero(&crowd, sizeof crowd);
    stopped = 0;
    t->stop_age = stop_age = 0;
    t->waiters = NULL;
    t->state = WEFT_IN;
    t->lock = 0;
    t->nheld = 0;
    t->at_tick = t->at_site = 0;
    t->at_step = 0;
    t->tenure = 0;
    t->quarrels = 0;
    weft__zero(t->seen, (WEFT_MAX_SLOT + 2) * sizeof *t->seen);
    t->common = 0;
    weft__steer_forked(t);
    weft__shm_forked();
    rearm(t, 0);
}

/* An operation on a lock, stream or the like: (clock, 0) comes after the last operation on it. */
static struct stripe *stripe_of(const void *object) { return &objects[((uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 50]; }
void weft__rec_order_soon(const void *object) { weft__prefetch(stripe_of(object)); }
static struct stripe *object_lock(struct weft_thread *t, const void *object) {
    struct stripe *s = stripe_of(object);
    stripe_lock(s);
    stripe_edge(t, 0, s);
    stripe_mark(t, 0, s, WEFT_DONE);
    return s;
}
void weft__rec_order(struct weft_thread *t, const void *object) { stripe_unlock(object_lock(t, object)); }
/* The same, and *word changes in that very moment; gives what it was. */
uint32_t weft__rec_order_add(struct weft_thread *t, const void *object, uint32_t *word, uint32_t add) {
    struct stripe *s = object_lock(t, object);
    uint32_t was = __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
    stripe_unlock(s);
    return was;
}
