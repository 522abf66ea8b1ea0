/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An order with few preemptions. Lanes of steps, each of which may have to wait until another lane has come to some step: whoever runs is never
 * in another's way, since what is satisfied once stays so. Therefore every lane may run at once, in any state, up to the last
 * operation that it can come to: a stop there is no preemption, and costs nothing. When none of these is left, some lane must go on to
 * an access at which it has to stop: that is a preemption, and which lane it is the only decision there is. So states are searched level by level, by the
 * number of preemptions; a level keeps the WIDTH states that have come farthest. For small traces this finds the least number, for larger ones
 * perhaps a greater one, or none.
 *
 * Then switches that are no preemptions are taken away again: a lane that ran too early goes on later, where nothing needs it before. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 64u
#define WORK 4000000u /* steps that are looked at */

struct state {
    uint32_t *at;    /* by lane: its next step */
    uint64_t far;    /* steps that are done */
    size_t parent;   /* in the list */
    uint32_t chosen; /* the lane that was stopped */
};
struct search {
    const struct weft_lane *lane;
    size_t lanes;
    uint64_t all;  /* steps */
    uint64_t work;
    struct state *list;
    size_t n, cap;
    struct weft_stretch *runs; /* NULL: nobody wants to know */
    size_t nruns, runs_cap;
};

static bool over(const struct search *s, size_t l, const uint32_t *at) { return at[l] == s->lane[l].n; }
static bool satisfied(const struct weft_lane_step *x, const uint32_t *at) { return !x->need || at[x->other] >= x->need; }

static void ran(struct search *s, size_t l, uint32_t to) {
    if (s->nruns && s->runs[s->nruns - 1].lane == l) s->nruns--;
    s->runs = weft__grow(s->runs, &s->runs_cap, s->nruns + 1, sizeof *s->runs);
    s->runs[s->nruns++] = (struct weft_stretch){(uint32_t)l, to};
}

/* How far the lane can go, and to where without a preemption. */
static uint32_t reach(struct search *s, size_t l, const uint32_t *at, uint32_t *without) {
    const struct weft_lane *x = &s->lane[l];
    uint32_t i = at[l];
    *without = i;
    while (i < x->n && satisfied(&x->list[i], at)) {
        i++;
        if (i == x->n || x->list[i].operation) *without = i;
    }
    s->work += i - at[l] + 1;
    return i;
}

/* All that needs no preemption. */
static void settle(struct search *s, uint32_t *at, bool note) {
    for (bool more = true; more;) {
        more = false;
        for (size_t l = 0; l < s->lanes; l++) {
            uint32_t to;
            if (over(s, l, at)) continue;
            reach(s, l, at, &to);
            if (to == at[l]) continue;
            at[l] = to;
            more = true;
            if (note) ran(s, l, to);
        }
    }
}

static uint64_t far(const struct search *s, const uint32_t *at) {
    uint64_t n = 0;
    for (size_t l = 0; l < s->lanes; l++) n += at[l];
    return n;
}

static int farther(const void *a, const void *b) {
    const struct state *x = a, *y = b;
    if (x->far != y->far) return x->far > y->far ? -1 : 1;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    return x->chosen < y->chosen ? -1 : x->chosen > y->chosen;
}

static bool had(const struct search *s, size_t from, const uint32_t *at) {
    for (size_t i = from; i < s->n; i++)
        if (memcmp(s->list[i].at, at, s->lanes * sizeof *at) == 0) return true;
    return false;
}

/* Appends the states after one more preemption; the number of one that is at the end, or SIZE_MAX. */
static size_t next_level(struct search *s, size_t from, size_t to) {
    size_t begin = s->n;
    for (size_t i = from; i < to && s->work < WORK; i++)
        for (size_t l = 0; l < s->lanes; l++) {
            uint32_t none, end = over(s, l, s->list[i].at) ? 0 : reach(s, l, s->list[i].at, &none);
            if (end <= s->list[i].at[l]) continue;
            struct state x = {.at = weft__alloc(s->lanes * sizeof *x.at), .parent = i, .chosen = (uint32_t)l};
            memcpy(x.at, s->list[i].at, s->lanes * sizeof *x.at);
            x.at[l] = end;
            settle(s, x.at, false);
            x.far = far(s, x.at);
            if (had(s, begin, x.at)) {
                free(x.at);
                continue;
            }
            s->list = weft__grow(s->list, &s->cap, s->n + 1, sizeof *s->list);
            s->list[s->n++] = x;
            if (x.far == s->all) return s->n - 1;
        }
    qsort(s->list + begin, s->n - begin, sizeof *s->list, farther);
    while (s->n > begin + WIDTH) free(s->list[--s->n].at);
    return SIZE_MAX;
}

/* The runs that lead to the state. */
static void note_runs(struct search *s, size_t end) {
    if (end == 0) {
        uint32_t *at = weft__alloc(s->lanes * sizeof *at);
        settle(s, at, true);
        free(at);
        return;
    }
    const struct state *x = &s->list[end], *was = &s->list[x->parent];
    note_runs(s, x->parent);
    uint32_t *at = weft__alloc(s->lanes * sizeof *at), none;
    memcpy(at, was->at, s->lanes * sizeof *at);
    at[x->chosen] = reach(s, x->chosen, at, &none);
    ran(s, x->chosen, at[x->chosen]);
    settle(s, at, true);
    free(at);
}

/* Whether all steps can be done in this order, without run number `without`. */
static bool possible(struct search *s, size_t without, uint32_t *at) {
    memset(at, 0, s->lanes * sizeof *at);
    for (size_t i = 0; i < s->nruns; i++) {
        const struct weft_stretch *r = &s->runs[i];
        if (i == without) continue;
        for (s->work++; at[r->lane] < r->to; s->work++, at[r->lane]++)
            if (!satisfied(&s->lane[r->lane].list[at[r->lane]], at)) return false;
    }
    return true;
}

/* Runs that may as well come later. One that ends with a preemption is there for a reason. */
static void put_off(struct search *s) {
    uint32_t *at = weft__alloc(s->lanes * sizeof *at);
    for (size_t i = s->nruns; i-- > 0 && s->work < 4 * WORK;) {
        const struct weft_stretch *r = &s->runs[i];
        const struct weft_lane *x = &s->lane[r->lane];
        if (r->to == x->n || !x->list[r->to].operation || !possible(s, i, at)) continue;
        memmove(&s->runs[i], &s->runs[i + 1], (s->nruns - i - 1) * sizeof *s->runs);
        s->nruns--;
        if (i && i < s->nruns && s->runs[i - 1].lane == s->runs[i].lane) { /* they are neighbours now */
            s->runs[i - 1] = s->runs[i];
            memmove(&s->runs[i], &s->runs[i + 1], (s->nruns - i - 1) * sizeof *s->runs);
            s->nruns--;
        }
    }
    free(at);
}

size_t weft__fewest(const struct weft_lane *lane, size_t lanes, uint64_t most, struct weft_stretch **out) {
    struct search s = {.lane = lane, .lanes = lanes};
    for (size_t l = 0; l < lanes; l++) s.all += lane[l].n;
    struct state first = {.at = weft__alloc((lanes + 1) * sizeof *first.at)};
    settle(&s, first.at, false);
    first.far = far(&s, first.at);
    s.list = weft__grow(NULL, &s.cap, 1, sizeof *s.list);
    s.list[s.n++] = first;
    size_t from = 0, end = first.far == s.all ? 0 : SIZE_MAX;
    for (uint64_t k = 0; k < most && end == SIZE_MAX && from < s.n && s.work < WORK; k++) {
        size_t to = s.n;
        end = next_level(&s, from, to);
        from = to;
    }
    if (end != SIZE_MAX) {
        note_runs(&s, end);
        put_off(&s);
    }
    for (size_t i = 0; i < s.n; i++) free(s.list[i].at);
    free(s.list);
    *out = s.runs;
    return s.nruns;
}
