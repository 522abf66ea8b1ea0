/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks: a queue for each team, under the team's lock. They are run by who waits at a barrier, for children or for a group.
 *
 * A thread that waits inside a task runs only tasks that descend from it, as OpenMP has it for tied tasks: another one might want a lock that the thread
 * holds. A task is freed when it is over and all that it has made is. Tasks with dependences wait for those before them, made by the same task, that
 * named the same address; which these are is kept in a table of the task that makes them.
 *
 * Untied tasks are tied, mergeable ones are not merged, priorities do not count; an inoutset and a mutexinoutset are orders like inout. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

/* As clang lays it out. What is private to the task follows, and then what it shares. */
struct routine {
    void *shared;
    int32_t (*run)(int32_t gtid, struct routine *r);
    int32_t part;
    union {
        int32_t priority;
        int32_t (*destroy)(int32_t gtid, struct routine *r);
    } data1, data2;
};
enum { FINAL = 2, DESTROYS = 8, DETACHABLE = 0x40 }; /* flags that clang gives; */
#define AT_ONCE (1 << 30)                            /* and one of ours */

struct successor {
    struct successor *next;
    struct omp_task *task;
};
struct omp_task {
    struct omp_task *parent, *next; /* next: in the queue */
    struct omp_group *group;        /* the innermost one, of tasks that it makes as well */
    struct omp_team *team;
    int32_t flags;
    int over, ran, event;            /* ran: the routine has; event: it was fulfilled */
    int again;                       /* an untied task: the routine returns to be called again, for its next part */
    int waits_for;                   /* tasks before it, and 1 while it is made */
    uint64_t children, kept;         /* that are not over; that are not freed */
    struct successor *successors;
    struct addresses *addresses;     /* that its children named */
    size_t size;                     /* of all that was asked for */
    struct routine routine[];
};
struct omp_group {
    struct omp_group *around;
    uint64_t left; /* tasks */
    struct omp_reductions *reductions;
    char **result; /* where each of them goes in the end; of a region's, each thread has its own */
};

static struct omp_task *task_of(struct routine *r) { return (struct omp_task *)((char *)r - offsetof(struct omp_task, routine)); }

/* ---- dependences ------------------------------------------------------------------------------------------------ */

struct depend { /* clang's */
    intptr_t base;
    size_t size;
    uint8_t flags; /* 1: in; others write */
};
struct reader {
    struct reader *next;
    struct omp_task *task;
};
struct address {
    struct address *next;
    intptr_t base;
    struct omp_task *writer; /* the last one, and who has read since */
    struct reader *readers;
};
#define TABLE 64
struct addresses {
    struct address *first[TABLE];
};

static void release(struct omp_task *task) {
    while (task && !--task->kept) {
        struct omp_task *parent = task->parent;
        free(task);
        task = parent;
    }
}

/* Tasks stay while the table names them. */
static void forget(struct addresses *a) {
    for (int i = 0; a && i < TABLE; i++)
        for (struct address *e = a->first[i], *next; e; e = next) {
            next = e->next;
            release(e->writer);
            for (struct reader *r = e->readers, *after; r; r = after) {
                after = r->next;
                release(r->task);
                free(r);
            }
            free(e);
        }
    free(a);
}

static void comes_after(struct omp_task *task, struct omp_task *before) {
    if (!before || before->over || before == task) return;
    struct successor *s = weft__omp_alloc(sizeof *s);
    s->task = task;
    s->next = before->successors;
    before->successors = s;
    task->waits_for++;
}

static void depends_on(struct omp_task *maker, struct omp_task *task, const struct depend *d) {
    if (!maker->addresses) maker->addresses = weft__omp_alloc(sizeof *maker->addresses);
    struct address **at = &maker->addresses->first[((uint64_t)d->base >> 3) * 0x9e3779b97f4a7c15ull >> 58], *e = *at;
    while (e && e->base != d->base) e = e->next;
    if (!e) {
        e = weft__omp_alloc(sizeof *e);
        e->base = d->base;
        e->next = *at;
        *at = e;
    }
    comes_after(task, e->writer);
    if (d->flags == 1) {
        struct reader *r = weft__omp_alloc(sizeof *r);
        r->task = task;
        r->next = e->readers;
        e->readers = r;
    } else {
        for (struct reader *r = e->readers, *next; r; r = next) {
            next = r->next;
            comes_after(task, r->task);
            release(r->task);
            free(r);
        }
        e->readers = NULL;
        release(e->writer);
        e->writer = task;
    }
    task->kept++;
}

/* ---- the life of a task ------------------------------------------------------------------------------------------ */

struct omp_task *weft__omp_implicit(void) {
    struct omp_task *task = weft__omp_alloc(sizeof *task);
    task->kept = 1;
    return task;
}
void weft__omp_implicit_end(struct omp_task *task) {
    forget(task->addresses);
    task->addresses = NULL;
    release(task);
}

static void sleep_locked(struct omp_team *team) {
    team->picky++;
    pthread_cond_wait(&team->work, &team->lock);
    team->picky--;
}

static void ready_locked(struct omp_team *team, struct omp_task *task) {
    task->next = NULL;
    *team->last = task;
    team->last = &task->next;
    if (team->picky)
        pthread_cond_broadcast(&team->work);
    else if (team->sleeping)
        pthread_cond_signal(&team->work);
}

static void over_locked(struct omp_task *task) {
    struct omp_team *team = task->team;
    task->over = 1;
    for (struct successor *s = task->successors, *next; s; s = next) {
        next = s->next;
        if (!--s->task->waits_for) ready_locked(team, s->task);
        free(s);
    }
    task->successors = NULL;
    struct addresses *named = task->addresses;
    task->addresses = NULL;
    forget(named);
    if (task->group) task->group->left--;
    task->parent->children--;
    team->pending--;
    if (team->picky || !team->pending) pthread_cond_broadcast(&team->work);
    release(task);
}

/* t runs the task; the lock is held before and after. */
static void run_locked(struct omp_thread *t, struct omp_task *task) {
    struct omp_team *team = t->team;
    struct omp_task *before = t->task;
    pthread_mutex_unlock(&team->lock);
    t->task = task;
    do {
        task->again = 0;
        task->routine->run(t->gtid, task->routine);
    } while (task->again);
    if (task->flags & DESTROYS) task->routine->data1.destroy(t->gtid, task->routine);
    t->task = before;
    pthread_mutex_lock(&team->lock);
    task->ran = 1;
    if (!(task->flags & DETACHABLE) || task->event) over_locked(task);
}

static int descends(const struct omp_task *task, const struct omp_task *from) {
    while (task && task != from) task = task->parent;
    return task != NULL;
}

int weft__omp_run_one_locked(struct omp_thread *t, struct omp_task *of) {
    struct omp_team *team = t->team;
    for (struct omp_task **p = &team->first; *p; p = &(*p)->next) {
        struct omp_task *task = *p;
        if (of && !descends(task, of)) continue;
        *p = task->next;
        if (!*p) team->last = p;
        run_locked(t, task);
        return 1;
    }
    return 0;
}

int weft__omp_in_final(const struct omp_thread *t) { return (t->task->flags & FINAL) != 0; }

static struct omp_task *make(struct omp_thread *t, int32_t flags, size_t size) {
    struct omp_task *task = weft__omp_alloc(sizeof *task + size);
    task->flags = flags | (t->task->flags & FINAL);
    task->team = t->team;
    task->parent = t->task;
    task->group = t->task->group;
    task->kept = 1;
    task->waits_for = 1;
    task->size = size;
    return task;
}

/* So many tasks wait at most; beyond that, who makes one runs it. */
#define MANY 256

/* t has made the task. It runs at once if it is final, if t is alone, or if there are very many. */
static void hand_in(struct omp_thread *t, struct omp_task *task, const struct depend *d, int n) {
    struct omp_team *team = t->team;
    pthread_mutex_lock(&team->lock);
    t->task->children++;
    t->task->kept++;
    team->pending++;
    if (task->group) task->group->left++;
    for (int i = 0; i < n; i++) depends_on(t->task, task, &d[i]);
    if (!--task->waits_for) {
        if (team->threads == 1 || (task->flags & (FINAL | AT_ONCE)) || team->pending > MANY * (uint64_t)team->threads)
            run_locked(t, task);
        else
            ready_locked(team, task);
    }
    pthread_mutex_unlock(&team->lock);
}

/* Until *left is 0. */
static void wait_for(struct omp_thread *t, const uint64_t *left) {
    struct omp_team *team = t->team;
    pthread_mutex_lock(&team->lock);
    while (*left) {
        if (weft__omp_run_one_locked(t, t->task)) continue;
        sleep_locked(team);
    }
    pthread_mutex_unlock(&team->lock);
}

/* ---- what clang calls --------------------------------------------------------------------------------------------- */

static size_t up8(size_t n) { return (n + 7) & ~(size_t)7; }

OMP_API struct routine *__kmpc_omp_task_alloc(ident *loc, int32_t gtid, int32_t flags, size_t size, size_t shared, int32_t (*run)(int32_t, struct routine *)) {
    struct omp_task *task = make(weft__omp_self(), flags, up8(size) + up8(shared));
    task->routine->run = run;
    if (shared) task->routine->shared = (char *)task->routine + up8(size);
    return task->routine;
}
OMP_API struct routine *__kmpc_omp_target_task_alloc(ident *loc, int32_t gtid, int32_t flags, size_t size, size_t shared,
                                                     int32_t (*run)(int32_t, struct routine *), int64_t device) {
    return __kmpc_omp_task_alloc(loc, gtid, flags, size, shared, run);
}
OMP_API int32_t __kmpc_omp_task(ident *loc, int32_t gtid, struct routine *r) {
    struct omp_thread *t = weft__omp_self();
    if (t->task == task_of(r))
        t->task->again = 1;
    else
        hand_in(t, task_of(r), NULL, 0);
    return 0;
}
OMP_API int32_t __kmpc_omp_task_parts(ident *loc, int32_t gtid, struct routine *r) { return __kmpc_omp_task(loc, gtid, r); }
OMP_API int32_t __kmpc_omp_reg_task_with_affinity(ident *loc, int32_t gtid, struct routine *r, int32_t n, void *list) { return 0; }

/* omp_all_memory: after all that this task has made, and before all that it will make, which is easy if it runs here and now. */
static int names_all(const struct depend *d, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (d[i].flags & 0x80) return 1;
    return 0;
}
OMP_API int32_t __kmpc_omp_task_with_deps(ident *loc, int32_t gtid, struct routine *r, int32_t n, struct depend *d, int32_t more, struct depend *unaliased) {
    struct omp_thread *t = weft__omp_self();
    struct omp_task *task = task_of(r);
    if (!names_all(d, n)) {
        hand_in(t, task, d, n);
        return 0;
    }
    wait_for(t, &t->task->children);
    task->flags |= AT_ONCE;
    hand_in(t, task, NULL, 0);
    wait_for(t, &t->task->children); /* it may be detached */
    return 0;
}

/* Until all are over that a task with these dependences would wait for. */
OMP_API void __kmpc_omp_taskwait_deps_51(ident *loc, int32_t gtid, int32_t n, struct depend *d, int32_t more, struct depend *unaliased, int32_t nowait) {
    struct omp_thread *t = weft__omp_self();
    struct omp_team *team = t->team;
    if (names_all(d, n)) {
        wait_for(t, &t->task->children);
        return;
    }
    struct omp_task *task = make(t, 0, 0);
    pthread_mutex_lock(&team->lock);
    t->task->kept++;
    for (int32_t i = 0; i < n; i++) depends_on(t->task, task, &d[i]);
    while (task->waits_for > 1) {
        if (weft__omp_run_one_locked(t, t->task)) continue;
        sleep_locked(team);
    }
    task->over = 1;
    release(task);
    pthread_mutex_unlock(&team->lock);
}
OMP_API void __kmpc_omp_wait_deps(ident *loc, int32_t gtid, int32_t n, struct depend *d, int32_t more, struct depend *unaliased) {
    __kmpc_omp_taskwait_deps_51(loc, gtid, n, d, more, unaliased, 0);
}

/* if(0): the program itself calls the routine, between these two. */
OMP_API void __kmpc_omp_task_begin_if0(ident *loc, int32_t gtid, struct routine *r) {
    struct omp_thread *t = weft__omp_self();
    struct omp_task *task = task_of(r);
    pthread_mutex_lock(&t->team->lock);
    t->task->children++;
    t->task->kept++;
    t->team->pending++;
    if (task->group) task->group->left++;
    pthread_mutex_unlock(&t->team->lock);
    t->task = task;
}
OMP_API void __kmpc_omp_task_complete_if0(ident *loc, int32_t gtid, struct routine *r) {
    struct omp_thread *t = weft__omp_self();
    struct omp_task *task = task_of(r);
    t->task = task->parent;
    pthread_mutex_lock(&t->team->lock);
    over_locked(task);
    pthread_mutex_unlock(&t->team->lock);
}

OMP_API int32_t __kmpc_omp_taskwait(ident *loc, int32_t gtid) {
    struct omp_thread *t = weft__omp_self();
    wait_for(t, &t->task->children);
    return 0;
}
OMP_API void __kmpc_omp_taskwait_51(ident *loc, int32_t gtid, int32_t nowait) { __kmpc_omp_taskwait(loc, gtid); }
OMP_API int32_t __kmpc_omp_taskyield(ident *loc, int32_t gtid, int32_t part) {
    struct omp_thread *t = weft__omp_self();
    pthread_mutex_lock(&t->team->lock);
    weft__omp_run_one_locked(t, t->task);
    pthread_mutex_unlock(&t->team->lock);
    return 0;
}

/* detach(event): the task is over when its routine has run and the event was fulfilled. */
OMP_API void *__kmpc_task_allow_completion_event(ident *loc, int32_t gtid, struct routine *r) { return task_of(r); }
OMP_API void omp_fulfill_event(uintptr_t event) {
    struct omp_task *task = (struct omp_task *)event;
    struct omp_team *team = task->team;
    pthread_mutex_lock(&team->lock);
    task->event = 1;
    if (task->ran) over_locked(task);
    pthread_mutex_unlock(&team->lock);
}

/* ---- groups, and reductions of tasks ------------------------------------------------------------------------------ */

struct reduced { /* clang's */
    void *shared, *original;
    size_t size;
    void *init, *fini, *add;
    uint32_t flags;
};
struct omp_reductions {
    int n, threads, users; /* threads of a region's that have not left its group */
    struct one {
        char *copies;
        size_t step;
        void *fini, *add;
    } one[];
};

static struct omp_reductions *reductions_new(struct omp_thread *t, int n, const struct reduced *r) {
    struct omp_reductions *all = weft__omp_alloc(sizeof *all + (size_t)n * sizeof *all->one);
    all->n = n;
    all->threads = all->users = t->team->threads;
    for (int i = 0; i < n; i++) {
        struct one *o = &all->one[i];
        o->step = (r[i].size + 63) & ~(size_t)63;
        o->copies = weft__omp_alloc((size_t)all->threads * o->step);
        o->fini = r[i].fini;
        o->add = r[i].add;
        for (int k = 0; r[i].init && k < all->threads; k++)
            ((void (*)(void *, void *))r[i].init)(o->copies + (size_t)k * o->step, r[i].original ? r[i].original : r[i].shared);
    }
    return all;
}
static void results(struct omp_group *g, const struct reduced *r) {
    g->result = weft__omp_alloc((size_t)g->reductions->n * sizeof *g->result);
    for (int i = 0; i < g->reductions->n; i++) g->result[i] = r[i].shared;
}
static void reductions_end(struct omp_reductions *all, char **result) {
    for (int i = 0; i < all->n; i++) {
        struct one *o = &all->one[i];
        for (int k = 0; k < all->threads; k++) {
            char *copy = o->copies + (size_t)k * o->step;
            ((void (*)(void *, void *))o->add)(result[i], copy);
            if (o->fini) ((void (*)(void *))o->fini)(copy);
        }
        free(o->copies);
    }
    free(all);
}

OMP_API void __kmpc_taskgroup(ident *loc, int32_t gtid) {
    struct omp_task *task = weft__omp_self()->task;
    struct omp_group *g = weft__omp_alloc(sizeof *g);
    g->around = task->group;
    task->group = g;
}
static struct omp_group *group_end(struct omp_thread *t) {
    struct omp_group *g = t->task->group;
    wait_for(t, &g->left);
    t->task->group = g->around;
    return g;
}
static void group_free(struct omp_group *g) {
    free(g->result);
    free(g);
}
OMP_API void __kmpc_end_taskgroup(ident *loc, int32_t gtid) {
    struct omp_group *g = group_end(weft__omp_self());
    if (g->reductions) reductions_end(g->reductions, g->result);
    group_free(g);
}

OMP_API void *__kmpc_taskred_init(int32_t gtid, int32_t n, void *data) {
    struct omp_thread *t = weft__omp_self();
    struct omp_group *g = t->task->group;
    g->reductions = reductions_new(t, n, data);
    results(g, data);
    return g;
}
/* The copy of this thread. Asked for by the name of the original, or of any copy. */
OMP_API void *__kmpc_task_reduction_get_th_data(int32_t gtid, void *group, void *data) {
    struct omp_thread *t = weft__omp_self();
    for (struct omp_group *g = group ? group : t->task->group; g; g = g->around)
        for (int i = 0; g->reductions && i < g->reductions->n; i++) {
            const struct one *o = &g->reductions->one[i];
            uint64_t at = (uint64_t)((char *)data - o->copies);
            if (data == g->result[i] || at < (uint64_t)g->reductions->threads * o->step) return o->copies + (size_t)t->num * o->step;
        }
    return data;
}
/* reduction(task, ...) of a region or of a loop: the copies are the team's. */
OMP_API void *__kmpc_taskred_modifier_init(ident *loc, int32_t gtid, int32_t of_loop, int32_t n, void *data) {
    struct omp_thread *t = weft__omp_self();
    struct omp_reductions **place = &t->team->reductions[of_loop != 0];
    __kmpc_taskgroup(loc, gtid);
    pthread_mutex_lock(&t->team->lock);
    if (!*place) *place = reductions_new(t, n, data);
    t->task->group->reductions = *place;
    pthread_mutex_unlock(&t->team->lock);
    results(t->task->group, data);
    return t->task->group;
}
OMP_API void __kmpc_task_reduction_modifier_fini(ident *loc, int32_t gtid, int32_t of_loop) {
    struct omp_thread *t = weft__omp_self();
    struct omp_group *g = group_end(t);
    struct omp_reductions *r = g->reductions;
    pthread_mutex_lock(&t->team->lock);
    int last = !--r->users;
    if (last) t->team->reductions[of_loop != 0] = NULL;
    pthread_mutex_unlock(&t->team->lock);
    if (last) reductions_end(r, g->result);
    group_free(g);
}

/* ---- taskloop: a task for each part of the iterations --------------------------------------------------------------- */

OMP_API void __kmpc_taskloop_5(ident *loc, int32_t gtid, struct routine *r, int32_t yes, uint64_t *lower, uint64_t *upper, int64_t step, int32_t nogroup,
                               int32_t how, uint64_t amount, int32_t strict, void *copy) {
    struct omp_thread *t = weft__omp_self();
    struct omp_task *pattern = task_of(r);
    size_t lower_at = (size_t)((char *)lower - (char *)r), upper_at = (size_t)((char *)upper - (char *)r);
    uint64_t lo = *lower, up = *upper; /* the program looks before whether there are any */
    uint64_t trips = step < 0 ? (lo - up) / -(uint64_t)step + 1 : (up - lo) / (uint64_t)step + 1;
    uint64_t parts = how == 2 ? amount : how == 1 ? trips / (amount ? amount : 1) : 10 * (uint64_t)t->team->threads;
    if (how == 1 && strict && amount) parts = (trips + amount - 1) / amount;
    if (parts > trips) parts = trips;
    if (!parts) parts = 1;
    if (!nogroup) __kmpc_taskgroup(loc, gtid);
    for (uint64_t i = 0, at = 0; i < parts; i++) {
        uint64_t n = trips / parts + (i < trips % parts);
        if (how == 1 && strict && amount) n = trips - at < amount ? trips - at : amount;
        struct omp_task *task = make(t, pattern->flags | (yes ? 0 : AT_ONCE), pattern->size);
        memcpy(task->routine, r, pattern->size);
        if (r->shared) task->routine->shared = (char *)task->routine + ((char *)r->shared - (char *)r);
        if (copy) ((void (*)(void *, void *, int32_t))copy)(task->routine, r, i == parts - 1);
        *(uint64_t *)((char *)task->routine + lower_at) = lo + at * (uint64_t)step;
        *(uint64_t *)((char *)task->routine + upper_at) = lo + (at + n - 1) * (uint64_t)step;
        at += n;
        hand_in(t, task, NULL, 0);
    }
    if (!nogroup) __kmpc_end_taskgroup(loc, gtid);
    if (pattern->flags & DESTROYS) r->data1.destroy(gtid, r);
    free(pattern);
}
OMP_API void __kmpc_taskloop(ident *loc, int32_t gtid, struct routine *r, int32_t yes, uint64_t *lower, uint64_t *upper, int64_t step, int32_t nogroup,
                             int32_t how, uint64_t amount, void *copy) {
    __kmpc_taskloop_5(loc, gtid, r, yes, lower, upper, step, nogroup, how, amount, 0, copy);
}
