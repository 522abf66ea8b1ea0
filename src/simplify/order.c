/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order itself is made simpler, by changes of turns:
 *
 *   pieces    turns are left out, so that a thread goes on later with what it would have done
 *   ends      delta debugging over where turns end: elsewhere threads go on until they wait
 *   changes   a turn is left out, moved to the thread's turn before, or goes on until the thread waits. Until no single change of these
 *             makes the switches fewer
 *   time      turns in which a thread goes round and round are made shorter
 *   pairs     an order that is made anew, of two threads: one up to where a turn of it ended, or until it has come to that place so many
 *             times, then the other. It may need fewer threads than any that comes of leaving out
 *   places    such an order with one, two or three stops, wherever in the program an access of one thread met one of another in the first
 *             recording: the order that fails with the fewest stops may have none of those that this one has */
#include "simplify/simplify.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST 8u /* turns */
#define WAITING 32u /* iterations: fewer are no time, and are left out one by one */
#define LONG 64u   /* times shorter than the longest one */
#define MEETINGS 2000u /* that are looked at, */
#define WITH 8u        /* of so many threads with one */
#define PAIRS 48u      /* that are tried, in all ways */
#define DOUBTED 16u    /* that are asked about, whether they can be alone */
#define PLACES 8u      /* where a thread is stopped later */
#define STOPS 3u       /* in orders by places */

enum change { LEAVE_OUT, GO_ON_NOW, GO_ON_UNTIL_IT_WAITS };
struct turns {
    struct change_at {
        enum change what;
        size_t at, n; /* turns */
    } *list;
    size_t count, cap, begin; /* the list starts there, and goes on at its front */
};

static void until_it_waits(struct weft_turn *t) { *t = (struct weft_turn){.thread = t->thread, .done = 1, .tick = UINT64_MAX}; }

/* Who goes round and round when the process ends has no need to do so for longer. */
static void as_far_as_it_came(struct weft_turn *t) {
    until_it_waits(t);
    t->done = 2;
}

static void make_change(void *ctx, size_t k, struct weft_candidate *c) {
    struct turns *u = ctx;
    const struct change_at *g = &u->list[(u->begin + k) % u->count];
    size_t drop = g->at, n = g->n;
    struct weft_turn *t = &c->turns[g->at];
    if (g->what == GO_ON_UNTIL_IT_WAITS) {
        as_far_as_it_came(t);
        n = 0;
    } else if (g->what == GO_ON_NOW) {
        for (drop = g->at + 1; c->turns[drop].thread != t->thread;) drop++;
        *t = c->turns[drop];
    }
    memmove(&c->turns[drop], &c->turns[drop + n], (c->nturns - drop - n) * sizeof *c->turns);
    c->nturns -= n;
    weft__candidate_close(c);
}

static void change(struct turns *u, enum change what, size_t at, size_t n) {
    u->list = weft__grow(u->list, &u->cap, u->count + 1, sizeof *u->list);
    u->list[u->count++] = (struct change_at){what, at, n};
}

/* By turn: its thread has another one behind it. New memory. */
static bool *come_again(const struct weft_state *s) {
    bool *again = weft__alloc(s->nturns + 1), *seen = weft__alloc(s->tree.n + 1);
    for (size_t i = s->nturns; i-- > 0;) {
        again[i] = seen[s->turns[i].thread];
        seen[s->turns[i].thread] = true;
    }
    free(seen);
    return again;
}

/* *at: where to begin; becomes where something was changed. SIZE_MAX: nothing helps. */
static int improve(struct weft_search *s, struct turns *u, size_t *at, struct weft_err *err) {
    struct weft_state *found = NULL;
    size_t which = 0;
    int r = 0;
    u->begin = 0;
    while (u->begin < u->count && u->list[u->begin].at < *at) u->begin++;
    if (u->begin == u->count) u->begin = 0;
    if (u->count) r = weft__ask(s, &(struct weft_question){.from = s->now, .n = u->count, .make = make_change, .ctx = u, .wanted = WEFT_FEWER}, &which, &found, err);
    *at = r == 0 && found ? u->list[(u->begin + which) % u->count].at : SIZE_MAX;
    if (r == 0) weft__adopt(s, found);
    free(u->list);
    return r;
}

/* One of the pieces of so many turns is left out. *at as of improve. */
static int one_piece(struct weft_search *s, size_t size, size_t *at, struct weft_err *err) {
    struct turns u = {0};
    *at = 0;
    for (size_t i = 0; i < s->now->nturns; i += size) change(&u, LEAVE_OUT, i, s->now->nturns - i < size ? s->now->nturns - i : size);
    return improve(s, &u, at, err);
}

/* Pieces of the turns are left out, down to one of `parts`. */
static int in_pieces(struct weft_search *s, size_t parts, struct weft_err *err) {
    int r = 0;
    for (size_t size = s->now->nturns / 2; r == 0 && size > 1 && size >= s->now->nturns / parts;) {
        size_t at;
        r = one_piece(s, size, &at, err);
        if (at == SIZE_MAX) size /= 2;
        if (size > s->now->nturns / 2) size = s->now->nturns / 2;
    }
    return r;
}

struct ends { /* of turns, before their thread has to wait */
    struct weft_search *s;
    size_t *at, n;
    const struct weft_ddmin *d;
    bool *in;
    struct weft_state *best;
};

static void make_with_ends(void *ctx, size_t k, struct weft_candidate *c) {
    struct ends *e = ctx;
    weft__ddmin_set(e->d, k, e->in, e->n);
    for (size_t i = 0; i < e->n; i++)
        if (!e->in[i]) as_far_as_it_came(&c->turns[e->at[i]]);
    weft__candidate_close(c);
}

static int first_with_ends(void *ctx, const struct weft_ddmin *d, size_t n, size_t *which, struct weft_err *err) {
    struct ends *e = ctx;
    struct weft_state *found = NULL;
    e->d = d;
    int r = weft__ask(e->s, &(struct weft_question){.from = e->s->now, .n = n, .make = make_with_ends, .ctx = e, .wanted = WEFT_NEAR}, which, &found, err);
    if (r < 0 || *which == n) return r;
    bool fewer = weft__size_fewer(&found->size, e->best ? &e->best->size : &e->s->now->size);
    weft__state_free(fewer ? e->best : found);
    if (fewer) e->best = found;
    return r;
}

/* Of all ends of turns as few as it takes stay: elsewhere threads go on until they wait. With fewer ends there may be as many
 * preemptions for a while: a thread that is not stopped in one place any more is in the way in another. */
static int by_ends(struct weft_search *s, size_t parts, struct weft_err *err) {
    struct ends e = {.s = s, .at = weft__alloc((s->now->nturns + 1) * sizeof *e.at), .in = weft__alloc(s->now->nturns + 1)};
    bool *again = come_again(s->now);
    for (size_t i = 0; i < s->now->nturns; i++)
        if (again[i]) e.at[e.n++] = i;
    int r = weft__ddmin(again, e.n, parts, first_with_ends, &e, err);
    weft__adopt(s, e.best);
    free(again);
    free(e.in);
    free(e.at);
    return r;
}

/* What is cheap and takes most away: an order with fewer switches depends less on each thread and iteration. */
int weft__by_order(struct weft_search *s, struct weft_err *err) {
    s->technique = WEFT_BY_SWITCHES;
    weft__tell(s);
    int r = in_pieces(s, WEFT_COARSE, err);
    return r < 0 ? r : by_ends(s, WEFT_COARSE, err);
}

int weft__by_switches(struct weft_search *s, struct weft_err *err) {
    s->technique = WEFT_BY_SWITCHES;
    weft__tell(s);
    int r = by_ends(s, SIZE_MAX, err);
    if (r == 0) r = in_pieces(s, SIZE_MAX, err);
    for (size_t at = 0; r == 0 && at != SIZE_MAX;) {
        struct turns u = {0};
        bool *again = come_again(s->now);
        for (size_t i = 0; i < s->now->nturns; i++) {
            change(&u, LEAVE_OUT, i, 1);
            if (again[i]) change(&u, GO_ON_NOW, i, 1);
            if (again[i]) change(&u, GO_ON_UNTIL_IT_WAITS, i, 1);
        }
        free(again);
        r = improve(s, &u, &at, err);
    }
    return r;
}

/* ---- time ---- */

/* A thread that waits in a loop goes round as often as it has time for. So a turn over many iterations is made shorter: it ends as many
 * iterations earlier as are taken from it. So do all later ones of its thread; but if iterations are not only counted, the thread comes to
 * those of the trace again when a loop around goes on, and both are tried. */
struct times {
    struct time {
        size_t turn; /* SIZE_MAX: all, of */
        uint32_t least; /* so many iterations: a thread that does its work goes round as well, but less often than one that waits */
        uint32_t part; /* so much of its iterations stays, but the first and the last; 0: these only */
        bool only; /* later ones end where they did */
    } list[8 * (2 + LONGEST)];
    size_t n;
};

static void make_shorter(void *ctx, size_t k, struct weft_candidate *c) {
    const struct time *x = &((struct times *)ctx)->list[k];
    struct {
        uint32_t at, less;
    } *thread = weft__alloc((c->tree.n + 1) * sizeof *thread);
    for (size_t i = 0; i < c->nturns; i++) {
        struct weft_turn *t = &c->turns[i];
        if (!t->known) continue;
        uint32_t n = t->pass > thread[t->thread].at ? t->pass - thread[t->thread].at : 0, keep = x->part ? 1 + n / x->part : 1;
        thread[t->thread].at = t->pass;
        if (x->only) thread[t->thread].less = 0;
        if ((x->turn == SIZE_MAX ? n >= x->least : x->turn == i) && keep < n) thread[t->thread].less += n - keep;
        t->pass -= thread[t->thread].less;
    }
    free(thread);
    weft__candidate_close(c);
}

static void shorter(const struct weft_state *s, struct times *x, size_t turn, uint32_t least, uint32_t part) {
    x->list[x->n++] = (struct time){turn, least, part, false};
    if (!s->plain) x->list[x->n++] = (struct time){turn, least, part, true};
}

/* By turn, its iterations; new memory. */
static uint32_t *lengths_of(const struct weft_state *s) {
    uint32_t *at = weft__alloc((s->tree.n + 1) * sizeof *at), *length = weft__alloc((s->nturns + 1) * sizeof *length);
    for (size_t i = 0; i < s->nturns; i++) {
        const struct weft_turn *t = &s->turns[i];
        if (!t->known) continue;
        length[i] = t->pass > at[t->thread] ? t->pass - at[t->thread] : 0;
        at[t->thread] = t->pass;
    }
    free(at);
    return length;
}

static size_t longest_of(const struct weft_state *s, const uint32_t *length) {
    size_t most = 0;
    for (size_t i = 0; i < s->nturns; i++)
        if (length[i] > length[most]) most = i;
    return most;
}

static bool is_time(const struct weft_state *s, uint32_t length) { return s->nturns && length >= (s->plain ? 2 : WAITING); }

/* All long turns, and all. */
static void add_all(const struct weft_state *s, struct times *x, uint32_t longest, const uint32_t *part, size_t parts) {
    for (size_t i = 0; i < parts; i++) shorter(s, x, SIZE_MAX, longest / LONG, part[i]);
    for (size_t i = 0; i < parts && longest >= LONG; i++) shorter(s, x, SIZE_MAX, 0, part[i]);
}

/* All of these, and the longest ones one by one. */
static void add_longest(const struct weft_state *s, struct times *x, const uint32_t *part, size_t parts) {
    uint32_t *length = lengths_of(s);
    for (size_t k = 0; k < LONGEST; k++) {
        size_t most = longest_of(s, length);
        if (!is_time(s, length[most])) break;
        if (!k) add_all(s, x, length[most], part, parts);
        if (length[most] < s->size.iterations / WEFT_COARSE) break; /* hardly worth it */
        for (size_t i = 0; i < parts; i++) shorter(s, x, most, 0, part[i]);
        length[most] = 0;
    }
    free(length);
}

static int ask_times(struct weft_search *s, struct times *x, bool *more, struct weft_err *err) {
    struct weft_state *found = NULL;
    size_t which;
    int r = 0;
    s->technique = WEFT_BY_ITERATIONS;
    if (x->n) r = weft__ask(s, &(struct weft_question){.from = s->now, .n = x->n, .make = make_shorter, .ctx = x}, &which, &found, err);
    *more = found != NULL;
    weft__adopt(s, found);
    return r;
}

int weft__by_time(struct weft_search *s, struct weft_err *err) {
    static const uint32_t part[] = {0, 64, 8, 2};
    int r = 0;
    for (bool more = true; more && r == 0;) {
        struct times x = {.n = 0};
        add_longest(s->now, &x, part, 4);
        r = ask_times(s, &x, &more, err);
    }
    return r;
}

/* Turns without their time, all at once. Where that is too much, half of the turns goes, or a quarter, and it is tried again: a run
 * with many switches takes long, however little happens between them. */
int weft__by_halves(struct weft_search *s, struct weft_err *err) {
    static const uint32_t part[] = {0};
    bool more = true;
    int r = 0;
    for (size_t size = s->now->nturns / 2; r == 0; size = s->now->nturns / 2) {
        struct times x = {.n = 0};
        uint32_t *length = lengths_of(s->now), longest = length[longest_of(s->now, length)];
        free(length);
        if (more && is_time(s->now, longest)) add_all(s->now, &x, longest, part, 1);
        r = ask_times(s, &x, &more, err);
        if (more) continue;
        s->technique = WEFT_BY_SWITCHES;
        for (size_t at = SIZE_MAX; r == 0 && at == SIZE_MAX && size > 1 && size >= s->now->nturns / 4; size /= 2) r = one_piece(s, size, &at, err), more = at != SIZE_MAX;
        if (!more) break;
    }
    return r;
}

/* ---- pairs ---- */

struct pair {
    uint32_t a, b;
    size_t at;      /* the turn of a that ends there */
    size_t resumed; /* b's last one before a goes on */
    size_t rank;    /* so many with the same two places come before it */
    unsigned how;
    uint32_t times; /* SOONER: that a comes to its place */
};
struct pairs {
    struct pair *list;
    size_t n, cap;
    bool alone; /* the other threads are removed */
};
#define B_FIRST 1u /* b goes first, until it waits: they meet at a barrier */
#define B_STOPS 2u /* and in the end only up to where it was when a went on */
#define SOONER 4u  /* both go only until they come to these places in the program for the first time, or a for the n-th */
#define OTHERS 8u  /* all others go first, until they wait; otherwise, who makes the two */
#define MAKERS_STOP 16u /* these go only to where they were when both had begun: the trace does not have who they make later */

/* x made it, or who made it, and so on; or is it. */
static bool above(const struct weft_tree *tree, uint32_t x, uint32_t of) {
    while (of && of != x) of = tree->list[of].parent;
    return of == x;
}

/* The thread's first turn. */
static size_t first_of(const struct weft_state *s, uint32_t thread) {
    size_t k = 0;
    while (k < s->nturns && s->turns[k].thread != thread) k++;
    return k;
}

static size_t both_began(const struct weft_state *s, const struct pair *p) {
    size_t a = first_of(s, p->a), b = first_of(s, p->b);
    return a > b ? a : b;
}

/* Who goes first: until it waits, or, if it is one of them and makes the other, to where it was when that began. */
static void makers(const struct weft_state *s, const struct pair *p, struct weft_turn *out, size_t *n) {
    for (uint32_t i = 0; i < s->tree.n; i++) {
        bool makes = above(&s->tree, i, p->a) || above(&s->tree, i, p->b);
        if (!makes && !(p->how & OTHERS)) continue;
        if (i == p->a || (i == p->b && !above(&s->tree, i, p->a))) continue; /* they come later */
        struct weft_turn t = {.thread = i};
        until_it_waits(&t);
        size_t begun = i == p->b ? first_of(s, p->a) : p->how & MAKERS_STOP ? both_began(s, p) : 0;
        for (size_t k = 0; k < begun; k++)
            if (s->turns[k].thread == i) t = s->turns[k];
        out[(*n)++] = t;
    }
}

static void sooner(struct weft_turn *t, uint32_t times) {
    t->known = 2;
    t->nth = times;
}

static void make_pair(void *ctx, size_t k, struct weft_candidate *c) {
    const struct pairs *x = ctx;
    const struct pair *p = &x->list[k];
    const struct weft_state *s = c->from;
    struct weft_turn *turns = weft__alloc((s->tree.n + 6) * sizeof *turns), a = {.thread = p->a}, b = {.thread = p->b};
    size_t n = 0;
    until_it_waits(&a);
    until_it_waits(&b);
    makers(s, p, turns, &n);
    if (p->how & B_FIRST) turns[n++] = b;
    turns[n++] = s->turns[p->at];
    turns[n++] = p->how & B_STOPS ? s->turns[p->resumed] : b;
    if (p->how & SOONER) sooner(&turns[n - 2], p->times);
    if (p->how & SOONER && p->how & B_STOPS) sooner(&turns[n - 1], 1);
    turns[n++] = a;
    for (uint32_t i = 1; i < c->tree.n && x->alone; i++)
        if (!above(&c->tree, i, p->a) && !above(&c->tree, i, p->b)) c->tree.list[i].removed = true;
    free(c->turns);
    c->turns = turns;
    c->nturns = n;
    weft__candidate_close(c);
}

static bool same_place(const struct weft_turn *a, const struct weft_turn *b) {
    return a->site == b->site && (a->site || (a->where == b->where && (a->where || a->op == b->op)));
}

static bool same_places(const struct weft_state *s, const struct pair *a, const struct pair *b, bool both) {
    return same_place(&s->turns[a->at], &s->turns[b->at]) && (!both || same_place(&s->turns[a->resumed], &s->turns[b->resumed]));
}

static void add_pair(struct pairs *x, struct pair p) {
    x->list = weft__grow(x->list, &x->cap, x->n + 1, sizeof *x->list);
    x->list[x->n++] = p;
}

/* From the end, where it fails: who was there before a went on, each with its last turn. */
static void meetings(const struct weft_state *s, struct pairs *x) {
    for (size_t i = s->nturns; i-- > 0 && x->n < MEETINGS;) {
        size_t next = i + 1, others = 0;
        while (next < s->nturns && s->turns[next].thread != s->turns[i].thread) next++;
        if (next == s->nturns) continue;
        for (size_t k = next; --k > i && others < WITH;) {
            struct pair p = {.a = s->turns[i].thread, .b = s->turns[k].thread, .at = i, .resumed = k, .times = 1};
            bool had = false;
            for (size_t j = x->n - others; j < x->n; j++) had |= x->list[j].b == p.b;
            if (had) continue;
            for (size_t j = 0; j < x->n; j++) p.rank += same_places(s, &x->list[j], &p, true);
            add_pair(x, p);
            others++;
        }
    }
}

static bool useful(const struct weft_state *s, const struct pairs *x, const struct pair *p) {
    if (!(p->how & SOONER)) return true;
    if (!s->turns[p->at].known || (p->how & B_STOPS && !s->turns[p->resumed].known)) return false;
    for (size_t i = 0; i < x->n; i++) {
        const struct pair *o = &x->list[i];
        if (o->a == p->a && o->b == p->b && o->how == p->how && o->times == p->times && same_places(s, o, p, p->how & B_STOPS)) return false;
    }
    return true;
}

/* Those first whose two places nobody has had yet. Then, of each place once, those where the thread is stopped there later, or who makes
 * it is stopped. */
static void find_pairs(const struct weft_state *s, struct pairs *x) {
    static const uint32_t later[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48};
    static const unsigned how[] = {SOONER | B_FIRST, SOONER, SOONER | MAKERS_STOP, SOONER | B_STOPS | MAKERS_STOP};
    struct pairs m = {0};
    size_t taken = 0, most = x->alone ? PAIRS : PAIRS / 2; /* there are twice as many ways */
    meetings(s, &m);
    for (size_t rank = 0, more = 1; more && taken < most; rank++) {
        more = 0;
        for (size_t i = 0; i < m.n && taken < most; i++) {
            more |= m.list[i].rank > rank;
            if (m.list[i].rank != rank) continue;
            taken++;
            for (unsigned how = 0; how < (x->alone ? OTHERS : 2 * OTHERS); how++) {
                struct pair p = m.list[i];
                p.how = how ^ B_FIRST;
                if (useful(s, x, &p)) add_pair(x, p);
            }
        }
    }
    for (size_t i = 0, places = 0; i < m.n && x->alone && places < PLACES; i++) {
        bool had = !s->turns[m.list[i].at].known;
        for (size_t j = 0; j < i && !had; j++) had = same_places(s, &m.list[i], &m.list[j], false);
        if (had) continue;
        places++;
        for (size_t k = 0; k < 4 * sizeof later / sizeof *later; k++) {
            struct pair p = m.list[i];
            p.how = how[k % 4];
            p.times = later[k / 4];
            if (useful(s, x, &p)) add_pair(x, p);
        }
    }
    free(m.list);
}

static void make_first_of_two(void *ctx, size_t k, struct weft_candidate *c) {
    const struct pairs *x = ctx;
    make_pair(&(struct pairs){.list = &x->list[k], .n = 1, .alone = true}, 0, c);
}

/* Most often all pairs can be alone, or none: a program that counts its threads fails without the others in any order. */
static int drop_unsound(struct weft_search *s, struct pairs *x, struct weft_err *err) {
    struct pairs two = {0};
    size_t which = 0, n = 0;
    for (size_t i = 0; i < x->n; i++) {
        bool had = false;
        for (size_t k = 0; k < two.n && !had; k++) had = two.list[k].a == x->list[i].a && two.list[k].b == x->list[i].b;
        if (!had && two.n < DOUBTED) add_pair(&two, x->list[i]);
    }
    int r = weft__ask(s, &(struct weft_question){.from = s->now, .n = two.n, .make = make_first_of_two, .ctx = &two, .wanted = WEFT_SOUND}, &which, NULL, err);
    for (size_t i = 0; i < x->n && r == 0; i++) {
        bool drop = which == two.n;
        for (size_t k = 0; k < which && !drop; k++) drop = two.list[k].a == x->list[i].a && two.list[k].b == x->list[i].b;
        if (!drop) x->list[n++] = x->list[i];
    }
    x->n = n;
    free(two.list);
    return r;
}

int weft__by_pairs(struct weft_search *s, bool alone, bool *gone, struct weft_err *err) {
    struct pairs x = {.alone = alone};
    struct weft_state *found = NULL;
    size_t which;
    int r = 0;
    s->technique = alone ? WEFT_BY_THREADS : WEFT_BY_SWITCHES;
    if (alone ? s->now->size.threads <= 2 : s->now->size.preemptive <= 1) return 0;
    find_pairs(s->now, &x);
    if (alone && x.n) r = drop_unsound(s, &x, err);
    if (x.n && r == 0) r = weft__ask(s, &(struct weft_question){.from = s->now, .n = x.n, .make = make_pair, .ctx = &x, .wanted = alone ? WEFT_LESS_THREADS : WEFT_FEWER}, &which, &found, err);
    *gone |= found != NULL;
    weft__adopt(s, found);
    free(x.list);
    return r;
}

/* ---- places ---- */

struct met {
    uint64_t site, times;
};

static int more_often(const void *a, const void *b) {
    const struct met *x = a, *y = b;
    if (x->times != y->times) return x->times > y->times ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* Where accesses met others, most often first; new memory. */
static size_t meeting_places(const struct weft_state *s, uint64_t **out) {
    struct met *list = NULL;
    size_t n = 0, cap = 0, last = 0;
    struct weft_cursor c;
    struct weft_item i;
    struct weft_err err;
    *out = NULL;
    if (!s->t) return 0; /* in tests */
    weft__cursor_open(&c, s->t, 0);
    c.skim = true;
    while (weft__cursor_next(&c, &i, &err) > 0) {
        uint64_t both[] = {i.site, i.other_site};
        for (int k = 0; k < 2 && weft__item_is_edge(i.kind); k++) {
            if (!both[k]) continue;
            if (last >= n || list[last].site != both[k])
                for (last = 0; last < n && list[last].site != both[k];) last++;
            if (last == n) {
                list = weft__grow(list, &cap, n + 1, sizeof *list);
                list[n++] = (struct met){.site = both[k]};
            }
            list[last].times++;
        }
    }
    weft__cursor_close(&c);
    if (n) qsort(list, n, sizeof *list, more_often);
    *out = weft__alloc((n + 1) * sizeof **out);
    for (size_t k = 0; k < n; k++) (*out)[k] = list[k].site;
    free(list);
    return n;
}

void weft__places_find(struct weft_search *s) {
    if (s->now->t) s->nplaces = meeting_places(s->now, &s->places);
}

struct stops { /* a goes to the first place, b to the second, a to the third; then all go until they wait */
    const struct pair *pair;
    size_t n;
    uint64_t site[STOPS];
    uint32_t times[STOPS];
    unsigned how;
};
struct orders {
    struct stops *list;
    size_t n, cap;
    bool alone;
};

static void make_stops(void *ctx, size_t k, struct weft_candidate *c) {
    const struct orders *x = ctx;
    const struct stops *o = &x->list[k];
    struct pair p = *o->pair;
    struct weft_turn *turns = weft__alloc((c->tree.n + STOPS + 3) * sizeof *turns), both[2] = {{.thread = p.a}, {.thread = p.b}};
    size_t n = 0;
    p.how = o->how;
    until_it_waits(&both[0]);
    until_it_waits(&both[1]);
    makers(c->from, &p, turns, &n);
    if (o->how & B_FIRST) turns[n++] = both[1];
    for (size_t i = 0; i < o->n; i++)
        turns[n++] = (struct weft_turn){.thread = both[i % 2].thread, .tick = c->tree.list[both[i % 2].thread].to_tick, .known = 2, .site = o->site[i], .nth = o->times[i]};
    turns[n++] = both[o->n % 2];
    turns[n++] = both[(o->n + 1) % 2];
    for (uint32_t i = 1; i < c->tree.n && x->alone; i++)
        if (!above(&c->tree, i, p.a) && !above(&c->tree, i, p.b)) c->tree.list[i].removed = true;
    free(c->turns);
    c->turns = turns;
    c->nturns = n;
    weft__candidate_close(c);
}

/* By how many stops: places that are taken, how often each, and pairs. */
static const struct {
    size_t places, times, pairs;
} enough[STOPS + 1] = {{0, 0, 0}, {24, 2, 4}, {10, 1, 4}, {6, 1, 2}};

/* Those of this recording first, then those of the first one. */
static size_t take_places(const struct weft_search *s, size_t most, uint64_t *out) {
    uint64_t *own;
    size_t n = 0, of_now = meeting_places(s->now, &own);
    for (size_t i = 0; i < of_now + s->nplaces && n < most; i++) {
        uint64_t site = i < of_now ? own[i] : s->places[i - of_now];
        bool had = false;
        for (size_t k = 0; k < n && !had; k++) had = out[k] == site;
        if (!had) out[n++] = site;
    }
    free(own);
    return n;
}

static void all_stops(const struct weft_search *s, const struct pairs *pairs, size_t stops, struct orders *x) {
    static const unsigned ways_to_begin[] = {B_FIRST | MAKERS_STOP, MAKERS_STOP, B_FIRST, 0};
    uint64_t site[24];
    size_t places = take_places(s, enough[stops].places, site), ways = 1;
    for (size_t i = 0; i < stops; i++) ways *= places * enough[stops].times;
    for (size_t w = 0; w < ways; w++)
        for (size_t p = 0; p < pairs->n && p < enough[stops].pairs; p++)
            for (unsigned how = 0; how < (x->alone || s->now->size.threads <= 3 ? 4 : 8); how++) {
                struct stops o = {.pair = &pairs->list[p], .n = stops, .how = ways_to_begin[how % 4] | (how < 4 ? 0 : OTHERS)};
                size_t left = w;
                for (size_t i = 0; i < stops; i++, left /= places) o.site[i] = site[left % places];
                for (size_t i = 0; i < stops; i++, left /= enough[stops].times) o.times[i] = 1 + (uint32_t)(left % enough[stops].times);
                x->list = weft__grow(x->list, &x->cap, x->n + 1, sizeof *x->list);
                x->list[x->n++] = o;
            }
}

/* Those that met in this order, each way round. */
static void pairs_that_met(const struct weft_state *s, struct pairs *x) {
    struct pairs m = {0};
    meetings(s, &m);
    for (size_t i = 0; i < 2 * m.n; i++) {
        struct pair p = m.list[i / 2];
        bool had = false;
        if (i % 2) p = (struct pair){.a = p.b, .b = p.a, .at = p.at, .resumed = p.resumed};
        for (size_t k = 0; k < x->n && !had; k++) had = x->list[k].a == p.a && x->list[k].b == p.b;
        if (!had) add_pair(x, p);
    }
    free(m.list);
}

int weft__by_places(struct weft_search *s, bool *gone, struct weft_err *err) {
    int r = 0;
    for (int alone = 1; alone >= 0 && r == 0; alone--) {
        struct pairs pairs = {.alone = alone};
        bool found_one = false;
        s->technique = alone ? WEFT_BY_THREADS : WEFT_BY_SWITCHES;
        if (alone && s->now->size.threads <= 3) continue;
        pairs_that_met(s->now, &pairs);
        if (alone && pairs.n) r = drop_unsound(s, &pairs, err);
        for (size_t stops = 1; stops <= STOPS && r == 0 && !found_one && pairs.n; stops++) {
            struct orders x = {.alone = alone};
            struct weft_state *found = NULL;
            size_t which;
            /* Three preemptions are few enough: only what takes little time is tried then. */
            if (alone ? stops == STOPS : s->now->size.preemptive <= (stops == 1 ? 1 : STOPS)) break;
            all_stops(s, &pairs, stops, &x);
            if (x.n) r = weft__ask(s, &(struct weft_question){.from = s->now, .n = x.n, .make = make_stops, .ctx = &x, .wanted = alone ? WEFT_LESS_THREADS : WEFT_FEWER}, &which, &found, err);
            found_one = found != NULL;
            *gone |= found_one;
            weft__adopt(s, found);
            free(x.list);
        }
        free(pairs.list);
    }
    return r;
}
