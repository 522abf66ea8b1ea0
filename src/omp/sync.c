/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one thread at a time does: single, masked, critical, the end of reductions; and locks. */
#include "team.h"

#include <stdlib.h>

/* ---- one thread of the team ------------------------------------------------------------------------------------ */

OMP_API int32_t __kmpc_master(ident *loc, int32_t gtid) { return weft__omp_self()->num == 0; }
OMP_API void __kmpc_end_master(ident *loc, int32_t gtid) {}
OMP_API int32_t __kmpc_masked(ident *loc, int32_t gtid, int32_t num) { return weft__omp_self()->num == num; }
OMP_API void __kmpc_end_masked(ident *loc, int32_t gtid) {}

/* Who comes first to the team's n-th one. */
OMP_API int32_t __kmpc_single(ident *loc, int32_t gtid) {
    struct omp_thread *t = weft__omp_self();
    uint32_t before = t->place.singles++;
    return atomic_compare_exchange_strong(&t->team->singles, &before, before + 1);
}
OMP_API void __kmpc_end_single(ident *loc, int32_t gtid) {}

OMP_API void __kmpc_copyprivate(ident *loc, int32_t gtid, size_t size, void *data, void (*copy)(void *, void *), int32_t mine) {
    struct omp_thread *t = weft__omp_self();
    if (mine) t->team->copied = data;
    weft__omp_barrier(t);
    if (!mine) copy(data, t->team->copied);
    weft__omp_barrier(t);
}

OMP_API void __kmpc_scope(ident *loc, int32_t gtid, void *unused) {}
OMP_API void __kmpc_end_scope(ident *loc, int32_t gtid, void *unused) {}
OMP_API void __kmpc_flush(ident *loc) { atomic_thread_fence(memory_order_seq_cst); }

/* ---- critical: the program has 32 zeroed bytes for each name ------------------------------------------------------- */

static pthread_mutex_t *made(_Atomic(pthread_mutex_t *) *place) {
    pthread_mutex_t *m = atomic_load_explicit(place, memory_order_acquire), *none = NULL;
    if (m) return m;
    m = weft__omp_alloc(sizeof *m);
    pthread_mutex_init(m, NULL);
    if (atomic_compare_exchange_strong(place, &none, m)) return m;
    pthread_mutex_destroy(m);
    free(m);
    return none;
}

OMP_API void __kmpc_critical(ident *loc, int32_t gtid, void *name) { pthread_mutex_lock(made(name)); }
OMP_API void __kmpc_critical_with_hint(ident *loc, int32_t gtid, void *name, uint32_t hint) { pthread_mutex_lock(made(name)); }
OMP_API void __kmpc_end_critical(ident *loc, int32_t gtid, void *name) { pthread_mutex_unlock(made(name)); }

/* Reductions: each thread adds its own part to the result by itself, in the program's code (1). */
OMP_API int32_t __kmpc_reduce_nowait(ident *loc, int32_t gtid, int32_t n, size_t size, void *data, void (*add)(void *, void *), void *name) {
    pthread_mutex_lock(made(name));
    return 1;
}
OMP_API void __kmpc_end_reduce_nowait(ident *loc, int32_t gtid, void *name) { pthread_mutex_unlock(made(name)); }
OMP_API int32_t __kmpc_reduce(ident *loc, int32_t gtid, int32_t n, size_t size, void *data, void (*add)(void *, void *), void *name) {
    pthread_mutex_lock(made(name));
    return 1;
}
OMP_API void __kmpc_end_reduce(ident *loc, int32_t gtid, void *name) {
    pthread_mutex_unlock(made(name));
    weft__omp_barrier(weft__omp_self());
}

/* Atomics that clang leaves to the library: those of types that have no instruction. */
static _Atomic(pthread_mutex_t *) atomics;
OMP_API void __kmpc_atomic_start(void) { pthread_mutex_lock(made(&atomics)); }
OMP_API void __kmpc_atomic_end(void) { pthread_mutex_unlock(made(&atomics)); }

/* ---- locks: omp_lock_t and omp_nest_lock_t are a pointer ------------------------------------------------------------ */

struct lock {
    pthread_mutex_t mutex; /* first */
};
struct nest {
    pthread_mutex_t mutex, own;
    const struct omp_task *holder;
    int times;
};

OMP_API void omp_init_lock(void **l) {
    *l = weft__omp_alloc(sizeof(struct lock));
    pthread_mutex_init(*l, NULL);
}
OMP_API void omp_init_lock_with_hint(void **l, unsigned long hint) { omp_init_lock(l); }
OMP_API void omp_destroy_lock(void **l) {
    pthread_mutex_destroy(*l);
    free(*l);
    *l = NULL;
}
OMP_API void omp_set_lock(void **l) { pthread_mutex_lock(*l); }
OMP_API void omp_unset_lock(void **l) { pthread_mutex_unlock(*l); }
OMP_API int omp_test_lock(void **l) { return pthread_mutex_trylock(*l) == 0; }

OMP_API void omp_init_nest_lock(void **l) {
    struct nest *n = *l = weft__omp_alloc(sizeof *n);
    pthread_mutex_init(&n->mutex, NULL);
    pthread_mutex_init(&n->own, NULL);
}
OMP_API void omp_init_nest_lock_with_hint(void **l, unsigned long hint) { omp_init_nest_lock(l); }
OMP_API void omp_destroy_nest_lock(void **l) {
    struct nest *n = *l;
    pthread_mutex_destroy(&n->mutex);
    pthread_mutex_destroy(&n->own);
    free(n);
    *l = NULL;
}
/* The task's that runs. How often it has it by now; 0: another one has it. */
static int again(struct nest *n, const struct omp_task *task) {
    pthread_mutex_lock(&n->own);
    int times = n->holder == task ? ++n->times : 0;
    pthread_mutex_unlock(&n->own);
    return times;
}
static int first(struct nest *n, const struct omp_task *task) {
    pthread_mutex_lock(&n->own);
    n->holder = task;
    n->times = 1;
    pthread_mutex_unlock(&n->own);
    return 1;
}
OMP_API void omp_set_nest_lock(void **l) {
    const struct omp_task *task = weft__omp_self()->task;
    if (again(*l, task)) return;
    pthread_mutex_lock(*l);
    first(*l, task);
}
OMP_API int omp_test_nest_lock(void **l) {
    const struct omp_task *task = weft__omp_self()->task;
    int times = again(*l, task);
    return times || pthread_mutex_trylock(*l) ? times : first(*l, task);
}
OMP_API void omp_unset_nest_lock(void **l) {
    struct nest *n = *l;
    pthread_mutex_lock(&n->own);
    int left = --n->times;
    if (!left) n->holder = NULL;
    pthread_mutex_unlock(&n->own);
    if (!left) pthread_mutex_unlock(&n->mutex);
}
