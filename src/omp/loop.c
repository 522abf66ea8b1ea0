/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Worksharing loops: which iterations a thread gets; and ordered.
 *
 * clang has each of these functions four times, for the type of the loop's variable. Here a loop is a number of trips, the first value and the step; values
 * are computed modulo 2^64 and stored in their own width, so the sign does not matter any more once the trips are known.
 *
 * What is shared out as the program runs (dynamic, guided, and all ordered loops) has a place in the team, by the loop's number modulo OMP_LOOPS. The
 * first thread that comes to a loop fills it, the last one that is done frees it; who is so far ahead that its place is not free waits. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

enum omp_kind { STATIC = 1, CHUNKED, DYNAMIC, GUIDED };

/* clang's numbers: enum sched_type of LLVM's OpenMP runtime interface. */
#define SCHED_STATIC_CHUNKED 33
#define SCHED_STATIC 34
#define SCHED_DYNAMIC 35
#define SCHED_GUIDED 36
#define SCHED_RUNTIME 37
#define SCHED_AUTO 38
#define SCHED_BALANCED_CHUNKED 45
#define SCHED_GUIDED_SIMD 46
#define SCHED_RUNTIME_SIMD 47
#define ORDERED 32 /* more: an ordered loop */
#define DISTRIBUTE_CHUNKED 91
#define DISTRIBUTE 92
#define MODIFIERS (3 << 29)

static uint64_t trips_up(uint64_t lo, uint64_t up, uint64_t step) { return (up - lo) / step + 1; }
static uint64_t trips_s(int64_t lo, int64_t up, int64_t step) {
    if (step > 0) return lo > up ? 0 : trips_up((uint64_t)lo, (uint64_t)up, (uint64_t)step);
    return lo < up || !step ? 0 : trips_up((uint64_t)up, (uint64_t)lo, -(uint64_t)step);
}
static uint64_t trips_u(uint64_t lo, uint64_t up, int64_t step) {
    if (step > 0) return lo > up ? 0 : trips_up(lo, up, (uint64_t)step);
    return lo < up || !step ? 0 : trips_up(up, lo, -(uint64_t)step);
}

/* ---- static: each thread computes its own part -------------------------------------------------------------------- */

struct part {
    uint64_t first, trips, stride; /* iterations; the stride to the next chunk of this thread */
    int last;                      /* the very last iteration is in this part, or in a later chunk of this thread */
};

/* Parts that differ by one iteration at most, or with a chunk the first one of `num`'s. */
static struct part part_of(uint64_t trips, uint64_t chunk, uint64_t num, uint64_t threads) {
    struct part p = {.stride = trips};
    if (chunk) {
        p.first = num * chunk;
        p.trips = chunk;
        p.stride = chunk * threads;
        p.last = trips && (trips - 1) / chunk % threads == num;
        return p;
    }
    uint64_t each = trips / threads, more = trips % threads;
    p.first = num * each + (num < more ? num : more);
    p.trips = each + (num < more);
    p.last = p.trips && p.first + p.trips == trips;
    return p;
}

#define STATIC_INIT(suffix, type, signed_type, trips_of)                                                                          \
    OMP_API void __kmpc_for_static_init_##suffix(ident *loc, int32_t gtid, int32_t sched, int32_t *last, type *lower, type *upper, \
                                                 signed_type *stride, signed_type step, signed_type chunk) {                      \
        const struct omp_thread *t = weft__omp_self();                                                                            \
        uint64_t trips = trips_of(*lower, *upper, step), by = (uint64_t)(int64_t)step, lo = (uint64_t)*lower;                      \
        sched &= ~MODIFIERS;                                                                                                      \
        int league = sched == DISTRIBUTE || sched == DISTRIBUTE_CHUNKED;                                                          \
        int chunked = sched == SCHED_STATIC_CHUNKED || sched == SCHED_BALANCED_CHUNKED || sched == DISTRIBUTE_CHUNKED;             \
        uint64_t threads = league ? 1 : (uint64_t)t->team->threads, num = league ? 0 : (uint64_t)t->num;                           \
        struct part p = part_of(trips, chunked ? (chunk > 0 ? (uint64_t)chunk : 1) : 0, num, threads);                            \
        if (last) *last = p.last;                                                                                                 \
        *stride = (signed_type)(p.stride * by);                                                                                   \
        if (!trips) return; /* lower is behind upper, and stays so */                                                             \
        *lower = (type)(lo + p.first * by);                                                                                       \
        *upper = (type)(lo + (p.first + p.trips - 1) * by);                                                                       \
    }                                                                                                                             \
    OMP_API void __kmpc_dist_for_static_init_##suffix(ident *loc, int32_t gtid, int32_t sched, int32_t *last, type *lower,         \
                                                      type *upper, type *upper_of_team, signed_type *stride, signed_type step,    \
                                                      signed_type chunk) {                                                        \
        *upper_of_team = *upper;                                                                                                  \
        __kmpc_for_static_init_##suffix(loc, gtid, sched, last, lower, upper, stride, step, chunk);                               \
    }                                                                                                                             \
    OMP_API void __kmpc_team_static_init_##suffix(ident *loc, int32_t gtid, int32_t *last, type *lower, type *upper,               \
                                                  signed_type *stride, signed_type step, signed_type chunk) {                     \
        __kmpc_for_static_init_##suffix(loc, gtid, chunk ? DISTRIBUTE_CHUNKED : DISTRIBUTE, last, lower, upper, stride, step, chunk); \
    }
STATIC_INIT(4, int32_t, int32_t, trips_s)
STATIC_INIT(4u, uint32_t, int32_t, trips_u)
STATIC_INIT(8, int64_t, int64_t, trips_s)
STATIC_INIT(8u, uint64_t, int64_t, trips_u)
OMP_API void __kmpc_for_static_fini(ident *loc, int32_t gtid) {}

/* ---- given out as the program runs ---------------------------------------------------------------------------------- */

static void init(struct omp_thread *t, int32_t sched, uint64_t lower, int64_t step, uint64_t trips, int64_t chunk) {
    struct omp_team *team = t->team;
    sched &= ~MODIFIERS;
    if (sched >= 160) sched -= 160 - SCHED_STATIC_CHUNKED + 1; /* that nobody merges: the same for one team's threads */
    if (sched > 64) sched -= ORDERED;
    if (sched == SCHED_RUNTIME || sched == SCHED_RUNTIME_SIMD) {
        sched = t->sched;
        chunk = t->sched_chunk;
    }
    int kind = STATIC;
    if (sched == SCHED_DYNAMIC)
        kind = DYNAMIC;
    else if (sched == SCHED_GUIDED || sched == SCHED_GUIDED_SIMD)
        kind = GUIDED;
    else if (sched == SCHED_STATIC_CHUNKED || sched == SCHED_BALANCED_CHUNKED)
        kind = chunk > 0 ? CHUNKED : STATIC;
    uint64_t size = chunk > 0 ? (uint64_t)chunk : 1;
    t->place.lower = (int64_t)lower;
    t->place.step = step;
    t->place.trips = trips;
    t->place.kind = kind;
    t->place.chunk = size;
    t->place.at = 0;
    t->place.bumped = 0;
    uint32_t number = ++t->place.loops;
    if (!number) number = t->place.loops = 1;
    struct omp_loop *l = &team->loop[number % OMP_LOOPS];
    pthread_mutex_lock(&team->lock);
    while (l->number && l->number != number) pthread_cond_wait(&team->turn, &team->lock);
    if (!l->number) {
        *l = (struct omp_loop){.number = number, .kind = kind, .trips = trips, .chunk = size};
    }
    pthread_mutex_unlock(&team->lock);
    t->place.shared = l;
}

/* t gets no more of its loop. */
static void done(struct omp_thread *t) {
    struct omp_loop *l = t->place.shared;
    struct omp_team *team = t->team;
    pthread_mutex_lock(&team->lock);
    if (++l->left == team->threads) {
        l->number = 0;
        pthread_cond_broadcast(&team->turn);
    }
    pthread_mutex_unlock(&team->lock);
    t->place.shared = NULL;
}

/* The next iterations of t: from *first, *trips of them. 0: there are none. */
static int next(struct omp_thread *t, uint64_t *first, uint64_t *trips) {
    struct omp_loop *l = t->place.shared;
    uint64_t all = t->place.trips, threads = (uint64_t)t->team->threads;
    if (!l) return 0;
    switch (t->place.kind) {
    case STATIC: {
        struct part p = part_of(all, 0, (uint64_t)t->num, threads);
        if (t->place.at++ || !p.trips) return 0;
        *first = p.first;
        *trips = p.trips;
        return 1;
    }
    case CHUNKED:
        *first = ((uint64_t)t->num + t->place.at++ * threads) * t->place.chunk;
        *trips = t->place.chunk;
        break;
    case DYNAMIC:
        if (atomic_load_explicit(&l->next, memory_order_relaxed) >= all) return 0; /* so that it cannot overflow */
        *first = atomic_fetch_add_explicit(&l->next, t->place.chunk, memory_order_relaxed);
        *trips = t->place.chunk;
        break;
    default: { /* a part of what is left, smaller and smaller */
        uint64_t at = atomic_load_explicit(&l->next, memory_order_relaxed), n;
        do {
            if (at >= all) return 0;
            n = (all - at + 2 * threads - 1) / (2 * threads);
            if (n < t->place.chunk) n = t->place.chunk;
            if (n > all - at) n = all - at;
        } while (!atomic_compare_exchange_weak_explicit(&l->next, &at, at + n, memory_order_relaxed, memory_order_relaxed));
        *first = at;
        *trips = n;
        return 1;
    }
    }
    if (*first >= all) return 0;
    if (*trips > all - *first) *trips = all - *first;
    return 1;
}

#define DISPATCH(suffix, type, signed_type, trips_of)                                                                              \
    OMP_API void __kmpc_dispatch_init_##suffix(ident *loc, int32_t gtid, int32_t sched, type lower, type upper, signed_type step,   \
                                               signed_type chunk) {                                                                \
        init(weft__omp_self(), sched, (uint64_t)lower, step, trips_of(lower, upper, step), chunk);                                 \
    }                                                                                                                              \
    OMP_API void __kmpc_dist_dispatch_init_##suffix(ident *loc, int32_t gtid, int32_t sched, int32_t *last, type lower, type upper, \
                                                    signed_type step, signed_type chunk) {                                         \
        if (last) *last = 1;                                                                                                       \
        __kmpc_dispatch_init_##suffix(loc, gtid, sched, lower, upper, step, chunk);                                                \
    }                                                                                                                              \
    OMP_API int32_t __kmpc_dispatch_next_##suffix(ident *loc, int32_t gtid, int32_t *last, type *lower, type *upper,                \
                                                  signed_type *stride) {                                                           \
        struct omp_thread *t = weft__omp_self();                                                                                   \
        uint64_t first, trips, lo = (uint64_t)t->place.lower, by = (uint64_t)t->place.step;                                          \
        if (!next(t, &first, &trips)) {                                                                                            \
            if (t->place.shared) done(t);                                                                                           \
            return 0;                                                                                                              \
        }                                                                                                                          \
        t->place.first = first;                                                                                                     \
        if (last) *last = first + trips == t->place.trips;                                                                          \
        *lower = (type)(lo + first * by);                                                                                          \
        *upper = (type)(lo + (first + trips - 1) * by);                                                                            \
        if (stride) *stride = (signed_type)t->place.step;                                                                           \
        return 1;                                                                                                                  \
    }                                                                                                                              \
    OMP_API void __kmpc_dispatch_fini_##suffix(ident *loc, int32_t gtid) { iteration_over(weft__omp_self()); }

/* ---- ordered ------------------------------------------------------------------------------------------------------- */

/* The ordered part of an iteration comes after those of all before it. Within a chunk the thread is alone, so it is enough to know where the chunk begins. */
static void my_turn(struct omp_thread *t) {
    struct omp_loop *l = t->place.shared;
    while (l->ordered < t->place.first) pthread_cond_wait(&t->team->turn, &t->team->lock);
}
static void my_turn_is_over(struct omp_thread *t) {
    t->place.shared->ordered++;
    pthread_cond_broadcast(&t->team->turn);
}

OMP_API void __kmpc_ordered(ident *loc, int32_t gtid) {
    struct omp_thread *t = weft__omp_self();
    if (!t->place.shared) return;
    pthread_mutex_lock(&t->team->lock);
    my_turn(t);
    pthread_mutex_unlock(&t->team->lock);
}
OMP_API void __kmpc_end_ordered(ident *loc, int32_t gtid) {
    struct omp_thread *t = weft__omp_self();
    if (!t->place.shared) return;
    pthread_mutex_lock(&t->team->lock);
    my_turn_is_over(t);
    pthread_mutex_unlock(&t->team->lock);
    t->place.bumped = 1;
}

/* Of an ordered loop: whether or not the iteration had an ordered part. */
static void iteration_over(struct omp_thread *t) {
    if (!t->place.shared) return;
    if (!t->place.bumped) {
        pthread_mutex_lock(&t->team->lock);
        my_turn(t);
        my_turn_is_over(t);
        pthread_mutex_unlock(&t->team->lock);
    }
    t->place.bumped = 0;
}

/* ---- doacross: an iteration waits for others by their numbers ---------------------------------------------------------- */

struct dimension { /* clang's */
    int64_t lower, upper, step;
};
static uint64_t trips_of(const struct dimension *d) { return trips_s(d->lower, d->upper, d->step); }

OMP_API void __kmpc_doacross_init(ident *loc, int32_t gtid, int32_t n, const struct dimension *d) {
    struct omp_thread *t = weft__omp_self();
    struct omp_team *team = t->team;
    uint32_t number = ++t->place.crosses;
    if (!number) number = t->place.crosses = 1;
    struct omp_cross *c = &team->cross[number % OMP_LOOPS];
    pthread_mutex_lock(&team->lock);
    while (c->number && c->number != number) pthread_cond_wait(&team->turn, &team->lock);
    if (!c->number) {
        uint64_t all = 1;
        for (int32_t i = 0; i < n; i++) all *= trips_of(&d[i]);
        c->number = number;
        c->left = 0;
        c->dimensions = n;
        c->dimension = weft__omp_alloc((size_t)n * sizeof *d);
        memcpy(c->dimension, d, (size_t)n * sizeof *d);
        c->posted = weft__omp_alloc(all / 8 + 1);
    }
    pthread_mutex_unlock(&team->lock);
    t->place.cross = c;
}

/* The number of an iteration, or -1: it is none of the loop's, so nobody waits for it. */
static int64_t iteration(const struct omp_cross *c, const int64_t *at) {
    int64_t k = 0;
    for (int32_t i = 0; i < c->dimensions; i++) {
        const struct dimension *d = &c->dimension[i];
        if (d->step > 0 ? at[i] < d->lower || at[i] > d->upper : at[i] > d->lower || at[i] < d->upper) return -1;
        k = k * (int64_t)trips_of(d) + (at[i] - d->lower) / d->step;
    }
    return k;
}
OMP_API void __kmpc_doacross_wait(ident *loc, int32_t gtid, const int64_t *at) {
    struct omp_thread *t = weft__omp_self();
    int64_t k = iteration(t->place.cross, at);
    if (k < 0) return;
    pthread_mutex_lock(&t->team->lock);
    while (!(t->place.cross->posted[k / 8] >> k % 8 & 1)) pthread_cond_wait(&t->team->turn, &t->team->lock);
    pthread_mutex_unlock(&t->team->lock);
}
OMP_API void __kmpc_doacross_post(ident *loc, int32_t gtid, const int64_t *at) {
    struct omp_thread *t = weft__omp_self();
    int64_t k = iteration(t->place.cross, at);
    if (k < 0) return;
    pthread_mutex_lock(&t->team->lock);
    t->place.cross->posted[k / 8] |= (uint8_t)(1 << k % 8);
    pthread_cond_broadcast(&t->team->turn);
    pthread_mutex_unlock(&t->team->lock);
}
OMP_API void __kmpc_doacross_fini(ident *loc, int32_t gtid) {
    struct omp_thread *t = weft__omp_self();
    struct omp_cross *c = t->place.cross;
    pthread_mutex_lock(&t->team->lock);
    if (++c->left == t->team->threads) {
        free(c->posted);
        free(c->dimension);
        c->number = 0;
        pthread_cond_broadcast(&t->team->turn);
    }
    pthread_mutex_unlock(&t->team->lock);
    t->place.cross = NULL;
}

DISPATCH(4, int32_t, int32_t, trips_s)
DISPATCH(4u, uint32_t, int32_t, trips_u)
DISPATCH(8, int64_t, int64_t, trips_s)
DISPATCH(8u, uint64_t, int64_t, trips_u)
OMP_API void __kmpc_dispatch_deinit(ident *loc, int32_t gtid) {}
