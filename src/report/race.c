/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which accesses are to blame. A guess, and called one, but an informed one: the list has all accesses before the failure, in an order in
 * which conflicting ones happened, and all synchronisation.
 *
 * Two questions about each pair of conflicting accesses to the same bytes by different threads (at least one writes, none between
 * them):
 *   Does synchronisation order them? Vector clocks over locks, barriers, semaphores, atomics, starts and ends of threads (FastTrack,
 *     Flanagan and Freund, PLDI 2009; without its shortcuts). If not, it is a data race.
 *   Did one come between two accesses of the other thread, so that no order of whole threads gives what was read or left (AVIO, Lu et
 *     al., ASPLOS 2006: read-write-read, write-write-read, read-write-write, write-read-write)? What could not have been otherwise,
 *     since a thread had to start or to end, or to come to a barrier, does not count.
 *
 * For each place in memory the best answer is kept: both, and an update that was lost (read-write-write); both; the first alone; the
 * second alone; or the pair alone. Later ones are better than earlier ones. Then the failing thread's accesses are gone through, the
 * last one first: what it touched last made it fail, and what others did there afterwards did not. The first place with a race is the answer, or a lost update, if there is one among
 * the last NEAR accesses. Without a race, it is the first place that was come between, or one where the failing thread took part in that, if there is one among
 * these: what comes between two critical sections often does no harm. If it touched none of these (it had only the results
 * of other threads), the accesses of all threads are gone through in the same way; and if there is nothing, it is the failing thread's
 * last pair that could have been in another order; then a word that it read before anybody wrote it; then its last pair. If its last access
 * was at NULL, and the pointer was read where nobody has written, that comes first.
 *
 * Without a data race, two of its last reads may say more (MUVI, Lu et al., SOSP 2007): of two places that another thread writes in turn, it saw
 * one after a write and the other before the one that goes with it. So it is with memory that somebody has made and shown to others,
 * and not yet written. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN 2u         /* log2 of the bytes of a place */
#define WIDEST 4096u     /* bytes of one access that are looked at */
#define THREADS 6u       /* last accesses of so many threads are kept for each place */
#define NEAR 256u
#define JUST_BEFORE 3u   /* an access at NULL: the pointer was read there */
#define NOWHERE 65536u   /* below that nothing is mapped: an access that failed */
#define BACK 100000u     /* so many accesses of the failing thread are gone through */
#define READS 12u        /* its last ones, among which two that do not go together are looked for */
#define APART 4u         /* two reads are so many reads apart at most */
#define BESIDE 64u       /* bytes: places that belong together, though one was never written */

#define NONE UINT64_MAX

const char *weft__race_text(enum weft_race_kind kind) {
    switch (kind) {
    case WEFT_RACE_LAST: return "the last conflicting accesses before the failure; synchronisation orders them";
    case WEFT_RACE_BETWEEN: return "an access came between two of another thread's that were perhaps meant to be one step";
    case WEFT_RACE_HALVES: return "another thread writes both of these, and was between the two when they were read";
    case WEFT_RACE_UNFINISHED: return "another thread had shown this memory to others, and had not yet written what is read here";
    case WEFT_RACE_PAIR: return "no synchronisation orders these accesses: a data race";
    case WEFT_RACE_TORN: return "no synchronisation orders these accesses (a data race), and one came between two of another thread's";
    case WEFT_RACE_LOST: return "no synchronisation orders these accesses (a data race), and what the one in the middle wrote is lost";
    case WEFT_RACE_EARLY: return "nobody had written what is read here; perhaps another thread was to do so first";
    case WEFT_RACE_NONE: break;
    }
    return "none was found";
}

struct last {
    uint32_t slot;
    uint64_t index, write; /* of its last access; of its last write, NONE if it has none */
    uint64_t first;        /* of its first write since another thread was here; NONE */
};
struct guess {
    enum weft_race_kind kind;
    bool forced; /* of the last pair: it could not have been in another order */
    bool part;   /* the failing thread took part in it */
    uint32_t n;
    uint64_t found[WEFT_RACE_ACCESSES];
};
struct place {
    uint64_t key; /* address >> GRAIN, + 1 */
    struct last last[THREADS];
    uint32_t n;
    uint32_t recent; /* slot of who was here last */
    bool written;    /* in this life of the memory, by anybody */
    struct guess all, seen; /* the best one; the best one when the failing thread was here last */
};
struct object {
    uint64_t key;
    uint32_t *clock; /* and forced */
};

struct search {
    const struct weft_access *list;
    uint32_t *epoch; /* of the thread, at each access */
    uint32_t slots;
    uint32_t slot; /* of the failing thread */
    uint32_t *clocks; /* by slot: slots numbers */
    uint32_t *forced; /* the same, without locks and atomics */
    struct place *places;
    size_t nplaces, room;
    struct object *objects;
    size_t nobjects, objects_room;
};

static uint64_t spread(uint64_t key) { return key * 0x9e3779b97f4a7c15ull >> 20; }

static struct place *place_at(struct place *p, size_t room, uint64_t key) {
    size_t i = spread(key) & (room - 1);
    while (p[i].key && p[i].key != key) i = (i + 1) & (room - 1);
    return &p[i];
}
static struct place *place_of(struct search *s, uint64_t addr, bool make) {
    uint64_t key = (addr >> GRAIN) + 1;
    if (make && s->nplaces * 2 >= s->room) {
        size_t room = s->room ? s->room * 2 : 4096;
        struct place *n = weft__alloc(room * sizeof *n);
        for (size_t i = 0; i < s->room; i++)
            if (s->places[i].key) *place_at(n, room, s->places[i].key) = s->places[i];
        free(s->places);
        s->places = n;
        s->room = room;
    }
    if (!s->room) return NULL;
    struct place *p = place_at(s->places, s->room, key);
    if (!p->key && make) {
        p->key = key;
        s->nplaces++;
    }
    return p->key ? p : NULL;
}

static struct object *object_at(struct object *o, size_t room, uint64_t key) {
    size_t i = spread(key) & (room - 1);
    while (o[i].key && o[i].key != key) i = (i + 1) & (room - 1);
    return &o[i];
}
static uint32_t *object_clock(struct search *s, uint64_t key) {
    if (s->nobjects * 2 >= s->objects_room) {
        size_t room = s->objects_room ? s->objects_room * 2 : 256;
        struct object *n = weft__alloc(room * sizeof *n);
        for (size_t i = 0; i < s->objects_room; i++)
            if (s->objects[i].key) *object_at(n, room, s->objects[i].key) = s->objects[i];
        free(s->objects);
        s->objects = n;
        s->objects_room = room;
    }
    struct object *o = object_at(s->objects, s->objects_room, key);
    if (!o->key) {
        *o = (struct object){key, weft__alloc(2 * s->slots * sizeof *o->clock)};
        s->nobjects++;
    }
    return o->clock;
}

/* hard: not a lock or an atomic, which could have been had in another order as well. */
static void synchronise(struct search *s, uint32_t slot, uint64_t object, bool hard) {
    uint32_t *mine = s->clocks + (size_t)slot * s->slots, *its = object_clock(s, object);
    uint32_t *forced = s->forced + (size_t)slot * s->slots;
    for (uint32_t k = 0; k < s->slots; k++) mine[k] = its[k] = mine[k] > its[k] ? mine[k] : its[k];
    its += s->slots;
    for (uint32_t k = 0; k < s->slots && hard; k++) forced[k] = its[k] = forced[k] > its[k] ? forced[k] : its[k];
    if (hard && its[slot] < mine[slot]) its[slot] = mine[slot];
    mine[slot]++;
}

/* Access a came before its thread did something that b's thread had to wait for: a start, an end, a barrier, a semaphore. */
static bool is_forced(const struct search *s, uint64_t a, uint32_t slot) {
    return s->epoch[a] <= s->forced[(size_t)slot * s->slots + s->list[a].slot];
}

static uint32_t bytes(const struct weft_access *a) {
    uint32_t n = a->what & WEFT_ACC_SIZE;
    return n < WIDEST ? n : WIDEST;
}
static bool overlap(const struct weft_access *a, const struct weft_access *b) {
    return a->addr < b->addr + bytes(b) && b->addr < a->addr + bytes(a);
}
static bool writes(const struct weft_access *a) { return a->what & WEFT_ACC_WRITE; }

static void keep(const struct search *s, struct place *p, enum weft_race_kind kind, bool forced, uint32_t n, uint64_t a, uint64_t b, uint64_t c) {
    struct guess *g = &p->all;
    bool part = s->list[a].slot == s->slot || s->list[b].slot == s->slot;
    if (kind < g->kind || (kind == g->kind && forced && !g->forced)) return;
    if (kind == g->kind && kind == WEFT_RACE_BETWEEN && g->part && !part) return;
    *g = (struct guess){.kind = kind, .forced = forced, .part = part, .n = n, .found = {a, b, c}};
}

/* Access i after o, which conflicts, at one place; mine: the last access of i's thread there. */
static void conflict(const struct search *s, struct place *p, uint64_t mine, uint64_t o, uint64_t i) {
    const struct weft_access *a = &s->list[o], *b = &s->list[i];
    bool race = s->epoch[o] > s->clocks[(size_t)b->slot * s->slots + a->slot], between = false, lost = false;
    if (mine != NONE && mine < o && overlap(&s->list[mine], a)) {
        bool before = writes(&s->list[mine]), after = writes(b);
        between = writes(a) ? !before || !after : before && after;
        lost = !before && writes(a) && after && s->list[mine].addr == b->addr && bytes(&s->list[mine]) == bytes(b);
    }
    bool forced = is_forced(s, o, b->slot);
    if (between && !forced)
        keep(s, p, race && lost ? WEFT_RACE_LOST : race ? WEFT_RACE_TORN : WEFT_RACE_BETWEEN, false, 3, mine, o, i);
    else
        keep(s, p, race ? WEFT_RACE_PAIR : WEFT_RACE_LAST, !race && forced, 2, o, i, 0);
}

static void access_at(const struct search *s, struct place *p, uint64_t i) {
    const struct weft_access *b = &s->list[i];
    uint32_t at = 0;
    while (at < p->n && p->last[at].slot != b->slot) at++;
    uint64_t mine = at < p->n ? p->last[at].index : NONE;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct last *o = &p->last[k];
        if (k == at) continue;
        if (o->write != NONE && overlap(&s->list[o->write], b)) conflict(s, p, mine, o->write, i);
        /* What came between began here: a free, and not what was then made of the memory. */
        if (o->first != NONE && o->first != o->write && mine != NONE && o->first > mine && overlap(&s->list[o->first], b)) conflict(s, p, mine, o->first, i);
        if (writes(b) && o->index != o->write && overlap(&s->list[o->index], b)) conflict(s, p, mine, o->index, i);
    }
    if (at == p->n) {
        if (p->n < THREADS)
            p->n++;
        else { /* the oldest goes */
            at = 0;
            for (uint32_t k = 1; k < THREADS; k++)
                if (p->last[k].index < p->last[at].index) at = k;
        }
        p->last[at] = (struct last){.slot = b->slot, .write = NONE, .first = NONE};
    }
    struct last *l = &p->last[at];
    l->index = i;
    if (p->recent != b->slot) l->first = NONE;
    p->recent = b->slot;
    if (b->slot == s->slot) p->seen = p->all;
    if (!writes(b)) return;
    p->written = true;
    l->write = i;
    if (l->first == NONE) l->first = i;
}

/* Memory that begins a new life. */
static void forget(struct search *s, const struct weft_access *a) {
    uint64_t end = a->addr + bytes(a);
    for (uint64_t p = a->addr & ~((1ull << GRAIN) - 1); p < end; p += 1ull << GRAIN) {
        struct place *q = place_of(s, p, false);
        if (q) *q = (struct place){.key = q->key};
    }
}

static void walk(struct search *s, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const struct weft_access *a = &s->list[i];
        uint32_t *mine = s->clocks + (size_t)a->slot * s->slots;
        if (!mine[a->slot]) mine[a->slot] = 1;
        if (a->what & WEFT_ACCESS_SYNC) {
            synchronise(s, a->slot, a->addr << 1, !(a->what & (WEFT_ACCESS_LOCK | WEFT_ACCESS_UNLOCK)));
            continue;
        }
        if (a->what & WEFT_ACCESS_FRESH) {
            forget(s, a);
            continue;
        }
        s->epoch[i] = mine[a->slot]; /* before: whoever comes after an atomic comes after its access */
        if (a->what & (WEFT_ACC_ATOMIC | WEFT_ACC_ORDERED)) synchronise(s, a->slot, a->addr << 1 | 1, false);
        uint64_t end = a->addr + bytes(a);
        for (uint64_t p = a->addr & ~((1ull << GRAIN) - 1); p < end; p += 1ull << GRAIN) access_at(s, place_of(s, p, true), i);
    }
}

static void answer(const struct search *s, const struct guess *g, struct weft_race *out) {
    *out = (struct weft_race){.kind = g->kind, .n = g->n};
    uint64_t from = 0, to = UINT64_MAX;
    for (uint32_t k = 0; k < g->n; k++) {
        const struct weft_access *a = &s->list[g->found[k]];
        out->index[k] = g->found[k];
        if (a->addr > from) from = a->addr;
        if (a->addr + bytes(a) < to) to = a->addr + bytes(a);
    }
    out->addr = from;
    out->size = to > from ? (uint32_t)(to - from) : 0;
}

/* Goes back through the accesses of the thread (0: of all) to the first place that has at least that; forced: also a pair that could not
 * have been in another order. */
static bool look_back(struct search *s, uint64_t n, uint32_t slot, enum weft_race_kind least, bool forced, struct weft_race *out) {
    const struct guess *best = NULL;
    uint64_t seen = 0;
    for (uint64_t i = n; i-- > 0 && seen < (best ? NEAR : BACK);) {
        const struct weft_access *a = &s->list[i];
        if ((slot && a->slot != slot) || a->what & (WEFT_ACCESS_SYNC | WEFT_ACCESS_FRESH)) continue;
        seen++;
        uint64_t end = a->addr + bytes(a);
        for (uint64_t p = a->addr & ~((1ull << GRAIN) - 1); p < end; p += 1ull << GRAIN) {
            const struct place *q = place_of(s, p, false);
            const struct guess *g = !q ? NULL : slot ? &q->seen : &q->all;
            if (!g || g->kind < least || g->kind == WEFT_RACE_NONE || (g->forced && !forced)) continue;
            bool better = least == WEFT_RACE_BETWEEN ? g->part && !(best && best->part) : best && g->kind == WEFT_RACE_LOST && best->kind != WEFT_RACE_LOST;
            if (!best || better) best = g;
        }
    }
    if (best) answer(s, best, out);
    return best;
}

/* The thread's last read of a word that nobody has written: what was to come first may not have come at all, and so is in no pair. most: so
 * many accesses are looked at. */
static bool read_early(struct search *s, uint64_t n, uint32_t slot, uint64_t most, struct weft_race *out) {
    uint64_t seen = 0;
    for (uint64_t i = n; i-- > 0 && seen < most;) {
        const struct weft_access *a = &s->list[i];
        if (a->slot != slot || a->what & (WEFT_ACCESS_SYNC | WEFT_ACCESS_FRESH)) continue;
        seen++;
        const struct place *q = writes(a) || bytes(a) > 16 || a->addr < NOWHERE ? NULL : place_of(s, a->addr, false);
        if (!q || q->written) continue;
        *out = (struct weft_race){.kind = WEFT_RACE_EARLY, .n = 1, .index = {i}, .addr = a->addr, .size = bytes(a)};
        return true;
    }
    return false;
}

/* A read of the failing thread, and who had written there before. */
struct half {
    uint64_t index, write; /* NONE: nobody has written */
    uint32_t writer, maker; /* slots; maker: who got the memory from the allocator */
};

static bool is_access(const struct weft_access *a) { return !(a->what & (WEFT_ACCESS_SYNC | WEFT_ACCESS_FRESH)); }

/* How often the thread had written there when it was read. */
static uint64_t version(const struct search *s, const struct half *h, uint32_t slot) {
    const struct weft_access *at = &s->list[h->index];
    uint64_t n = 0;
    for (uint64_t i = 0; i < h->index; i++) {
        const struct weft_access *a = &s->list[i];
        if (a->what & WEFT_ACCESS_SYNC || !overlap(a, at)) continue;
        n = a->what & WEFT_ACCESS_FRESH ? 0 : n + (writes(a) && a->slot == slot);
    }
    return n;
}

/* Two of the thread's last reads that do not go together. early: nobody may have written one of them. */
static bool read_halves(const struct search *s, uint64_t n, uint32_t slot, bool early, bool at_null, struct weft_race *out) {
    struct half h[READS];
    uint32_t reads = 0;
    for (uint64_t i = n, seen = 0; i-- > 0 && reads < READS && seen < NEAR;) {
        const struct weft_access *a = &s->list[i];
        if (a->slot != slot || !is_access(a)) continue;
        seen++;
        if (!writes(a) && bytes(a) <= 16 && a->addr >= NOWHERE) h[reads++] = (struct half){i, NONE, 0, 0};
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct weft_access *a = &s->list[i];
        if (a->what & WEFT_ACCESS_SYNC || !(a->what & WEFT_ACCESS_FRESH || writes(a))) continue;
        for (uint32_t k = 0; k < reads; k++) {
            if (i >= h[k].index || !overlap(a, &s->list[h[k].index])) continue;
            if (a->what & WEFT_ACCESS_FRESH)
                h[k].write = NONE, h[k].writer = 0, h[k].maker = a->slot;
            else
                h[k].write = i, h[k].writer = a->slot;
        }
    }
    for (uint32_t p = 0; p < (at_null && reads ? 1 : reads); p++)
        for (uint32_t q = p + 1; q < reads && q <= p + APART; q++) {
            const struct weft_access *a = &s->list[h[p].index], *b = &s->list[h[q].index];
            uint32_t later = p; /* once more */
            while (later < q && !overlap(&s->list[h[later].index], b)) later++;
            if (later < q) continue;
            uint32_t u = h[q].writer ? h[q].writer : h[p].writer;
            if (!u || u == slot || is_forced(s, h[q].writer ? h[q].write : h[p].write, slot)) continue;
            if (at_null) {
                if (h[p].writer || !h[q].writer || h[p].maker != u) continue;
                *out = (struct weft_race){.kind = WEFT_RACE_UNFINISHED, .n = 3, .index = {h[q].write, h[q].index, h[p].index}};
            } else {
                uint64_t apart = a->addr < b->addr ? b->addr - a->addr : a->addr - b->addr;
                if (h[p].writer != h[q].writer && !(early && (!h[p].writer || !h[q].writer) && apart <= BESIDE)) continue;
                uint64_t vp = version(s, &h[p], u), vq = version(s, &h[q], u);
                if (vp == vq) return false; /* these do; what was read before belongs to an earlier round */
                if (vq == vp + 1)
                    *out = (struct weft_race){.kind = WEFT_RACE_HALVES, .n = 3, .index = {h[q].write, h[q].index, h[p].index}};
                else if (vp == vq + 1 && h[p].writer == u && h[p].write > h[q].index)
                    *out = (struct weft_race){.kind = WEFT_RACE_HALVES, .n = 3, .index = {h[q].index, h[p].write, h[p].index}};
                else
                    continue;
            }
            out->addr = a->addr;
            out->size = bytes(a);
            out->other = b->addr;
            out->other_size = bytes(b);
            return true;
        }
    return false;
}

/* Whether the thread's last access is one at NULL, or near it. */
static bool ends_at_null(const struct search *s, uint64_t n, uint32_t slot) {
    for (uint64_t i = n; i-- > 0;)
        if (s->list[i].slot == slot && !(s->list[i].what & (WEFT_ACCESS_SYNC | WEFT_ACCESS_FRESH))) return s->list[i].addr < NOWHERE;
    return false;
}

void weft__race_find(const struct weft_access *list, uint64_t n, uint32_t slot, bool early, struct weft_race *out) {
    struct search s = {.list = list, .slot = slot};
    *out = (struct weft_race){0};
    for (uint64_t i = 0; i < n; i++)
        if (list[i].slot >= s.slots) s.slots = list[i].slot + 1;
    if (!n) return;
    s.epoch = weft__alloc(n * sizeof *s.epoch);
    s.clocks = weft__alloc((size_t)s.slots * s.slots * sizeof *s.clocks);
    s.forced = weft__alloc((size_t)s.slots * s.slots * sizeof *s.forced);
    walk(&s, n);
    if (early && ends_at_null(&s, n, slot) && read_early(&s, n, slot, JUST_BEFORE, out)) {
        read_halves(&s, n, slot, early, true, out);
    } else if (!look_back(&s, n, slot, WEFT_RACE_PAIR, false, out) && !look_back(&s, n, slot, WEFT_RACE_BETWEEN, false, out)) {
        out->elsewhere = look_back(&s, n, 0, WEFT_RACE_PAIR, false, out) || look_back(&s, n, 0, WEFT_RACE_BETWEEN, false, out);
        if (!out->elsewhere && !look_back(&s, n, slot, WEFT_RACE_LAST, false, out) && !(early && read_early(&s, n, slot, NEAR, out)))
            look_back(&s, n, slot, WEFT_RACE_LAST, true, out);
    }
    if (out->kind <= WEFT_RACE_BETWEEN && out->kind != WEFT_RACE_NONE && !out->elsewhere && !ends_at_null(&s, n, slot)) read_halves(&s, n, slot, early, false, out);
    for (size_t i = 0; i < s.objects_room; i++) free(s.objects[i].clock);
    free(s.objects);
    free(s.places);
    free(s.clocks);
    free(s.forced);
    free(s.epoch);
}
