/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads, teams, parallel regions and barriers.
 *
 * Any thread that comes here is known from then on (weft__omp_self) and has a team of its own, of which it is all. A region makes a team of its
 * master and of threads that work for it, which it keeps for its next region, in the same order, as threadprivate data demands. Who has nothing
 * to do waits on a condition variable of its own.
 *
 * The end of a region is a barrier like any other. Its threads may still be on their way out of it when the master begins the next region with the same team:
 * all that they look at then is `round`, so a team is never freed and never anything else. */
#include "team.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static __thread struct omp_thread *self;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* of threads that have ended */
static struct {
    pthread_mutex_t lock;
    struct omp_thread *idle; /* workers that nobody has */
    struct omp_team *spare;
    _Atomic int threads; /* all that there are */
    int numbers; /* all that there ever were */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *weft__omp_alloc(size_t size) {
    void *p = calloc(1, size);
    if (!p) {
        fprintf(stderr, "weft: OpenMP: out of memory\n");
        abort();
    }
    return p;
}

static struct omp_team *team_new(struct omp_thread *master, int threads) {
    pthread_mutex_lock(&all.lock);
    struct omp_team *team = all.spare;
    if (team) all.spare = team->parent;
    pthread_mutex_unlock(&all.lock);
    if (!team) {
        team = weft__omp_alloc(sizeof *team);
        pthread_mutex_init(&team->lock, NULL);
        pthread_cond_init(&team->work, NULL);
        pthread_cond_init(&team->turn, NULL);
        team->last = &team->first;
    }
    struct omp_team *parent = master->team;
    team->parent = parent;
    team->master = master;
    team->master_num = master->num;
    team->master_task = master->task;
    team->threads = threads;
    team->level = parent ? parent->level + 1 : 0;
    team->active = parent ? parent->active + (threads > 1) : 0;
    atomic_store_explicit(&team->singles, 0, memory_order_relaxed);
    atomic_store_explicit(&team->begun, 0, memory_order_relaxed);
    for (int i = 0; i < OMP_LOOPS; i++) team->loop[i].number = team->cross[i].number = 0;
    team->reductions[0] = team->reductions[1] = NULL;
    return team;
}

static void team_free(struct omp_team *team) {
    pthread_mutex_lock(&all.lock);
    team->parent = all.spare;
    all.spare = team;
    pthread_mutex_unlock(&all.lock);
}

/* t begins as number `num` of the team. */
static void enter(struct omp_thread *t, struct omp_team *team, int num) {
    t->team = team;
    t->num = num;
    t->place = (struct omp_place){0};
    t->clause = 0;
    t->task = weft__omp_implicit();
}

static void leave(struct omp_thread *t) {
    weft__omp_implicit_end(t->task);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static struct omp_thread *thread_new(void) {
    struct omp_thread *t = weft__omp_alloc(sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->go, NULL);
    return t;
}

/* A thread of the program's own ends: others may have those that worked for it. */
static void thread_ends(void *arg) {
    struct omp_thread *t = arg;
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < t->workers; i++) {
        t->worker[i]->idle = all.idle;
        all.idle = t->worker[i];
    }
    all.threads--;
    pthread_mutex_unlock(&all.lock);
    leave(t);
    team_free(t->team);
    free(t->worker);
    free(t);
}

/* A forked process has one thread. Others may have had the lock of a team that they were about to leave. */
static void forked(void) {
    pthread_mutex_init(&all.lock, NULL);
    all.idle = NULL;
    all.spare = NULL;
    all.threads = 1;
    if (self) self->workers = self->busy = 0;
}

static void begin(void) {
    weft__omp_read_settings();
    pthread_key_create(&key, thread_ends);
    pthread_atfork(NULL, NULL, forked);
}

static struct omp_thread *new_self(void) {
    pthread_once(&once, begin);
    struct omp_thread *t = thread_new();
    pthread_mutex_lock(&all.lock);
    t->gtid = all.numbers++;
    all.threads++;
    pthread_mutex_unlock(&all.lock);
    t->levels = weft__omp_settings.levels;
    t->sched = weft__omp_settings.sched;
    t->sched_chunk = weft__omp_settings.chunk;
    t->dynamic = weft__omp_settings.dynamic;
    struct omp_team *team = team_new(t, 1);
    enter(t, team, 0);
    pthread_setspecific(key, t);
    return self = t;
}

struct omp_thread *weft__omp_self(void) {
    return self ? self : new_self();
}

OMP_API int32_t __kmpc_global_thread_num(ident *loc) {
    return weft__omp_self()->gtid;
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

/* The region is called with its number in the process and in the team, and then with its arguments, in registers and on the stack. More than it takes do no harm
 * to the x86-64 way of calling. The optimiser is not to see that a function is called with others than it has. */
#define A4(a, i) (a)[i], (a)[i + 1], (a)[i + 2], (a)[i + 3]
#define A16(a, i) A4(a, i), A4(a, i + 4), A4(a, i + 8), A4(a, i + 12)
#define A64(a, i) A16(a, i), A16(a, i + 16), A16(a, i + 32), A16(a, i + 48)
#define ARGUMENTS 256
typedef void (*region_of)(int32_t *, int32_t *, ...);
static void call(struct omp_thread *t, void (*region)(void), int argc, void **argv) {
    int32_t gtid = t->gtid, num = t->num;
    region_of r = (region_of)region;
    __asm__("" : "+r"(r));
    if (argc <= 4) {
        void *a[4] = {0};
        for (int i = 0; i < argc; i++) a[i] = argv[i];
        ((void (*)(int32_t *, int32_t *, void *, void *, void *, void *))r)(&gtid, &num, A4(a, 0));
        return;
    }
    void *a[ARGUMENTS] = {0};
    for (int i = 0; i < argc; i++) a[i] = argv[i];
    if (argc <= 16)
        r(&gtid, &num, A16(a, 0));
    else if (argc <= 64)
        r(&gtid, &num, A64(a, 0));
    else
        r(&gtid, &num, A64(a, 0), A64(a, 64), A64(a, 128), A64(a, 192));
}

/* How many threads a region would have that began now, without a clause. */
int weft__omp_wanted(const struct omp_thread *t) {
    const struct omp_settings *s = &weft__omp_settings;
    if (t->wanted) return t->wanted;
    int level = t->team->active;
    return s->threads[level < s->levels_given ? level : s->levels_given - 1];
}

static void work_for(struct omp_thread *t, struct omp_team *team, int num) {
    const struct omp_thread *m = team->master;
    pthread_mutex_lock(&t->lock);
    t->wanted = m->wanted;
    t->levels = m->levels;
    t->sched = m->sched;
    t->sched_chunk = m->sched_chunk;
    t->dynamic = m->dynamic;
    t->num = num;
    t->next = team;
    pthread_cond_signal(&t->go);
    pthread_mutex_unlock(&t->lock);
}

#define SPINS 500        /* some 20 us, while there are cores for all */
#define FRESH_SPINS 5000 /* for threads that are new */

static void *works(void *arg) {
    struct omp_thread *t = self = arg;
    pthread_setspecific(key, NULL);
    for (;;) {
        int spins = all.threads <= weft__omp_settings.processors ? SPINS : 0;
        for (int i = 0; i < spins && !atomic_load_explicit(&t->next, memory_order_acquire); i++) __builtin_ia32_pause();
        pthread_mutex_lock(&t->lock);
        while (!t->next) pthread_cond_wait(&t->go, &t->lock);
        struct omp_team *team = t->next;
        t->next = NULL;
        pthread_mutex_unlock(&t->lock);
        enter(t, team, t->num);
        atomic_fetch_add_explicit(&team->begun, 1, memory_order_release);
        call(t, team->region, team->argc, team->argv);
        weft__omp_barrier(t);
        leave(t);
    }
    return NULL;
}

static struct omp_thread *worker_new(void) {
    pthread_mutex_lock(&all.lock);
    struct omp_thread *w = all.idle;
    if (w) all.idle = w->idle;
    int may = w || all.threads < weft__omp_settings.most, number = 0;
    if (!w && may) {
        all.threads++;
        number = all.numbers++;
    }
    pthread_mutex_unlock(&all.lock);
    if (w || !may) return w;
    w = thread_new();
    w->gtid = number;
    pthread_attr_t attr;
    pthread_t id;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (weft__omp_settings.stack) pthread_attr_setstacksize(&attr, weft__omp_settings.stack);
    int error = pthread_create(&id, &attr, works, w);
    pthread_attr_destroy(&attr);
    if (!error) return w;
    pthread_mutex_lock(&all.lock);
    all.threads--;
    pthread_mutex_unlock(&all.lock);
    free(w);
    return NULL;
}

/* As many as there can be, behind those that work for the regions around. */
static int have_workers(struct omp_thread *t, int n) {
    int all_of = t->busy + n;
    struct omp_thread **more = all_of > t->workers ? realloc(t->worker, (size_t)all_of * sizeof *more) : NULL;
    if (more) {
        t->worker = more;
        while (t->workers < all_of && (t->worker[t->workers] = worker_new())) t->workers++;
    }
    return all_of <= t->workers ? n : t->workers - t->busy;
}

/* What the thread was before the region, it is again. */
struct before {
    struct omp_place place;
    int wanted, levels, sched, sched_chunk, dynamic;
};
static struct before keep(const struct omp_thread *t) {
    return (struct before){t->place, t->wanted, t->levels, t->sched, t->sched_chunk, t->dynamic};
}
static void pop(struct omp_thread *t, const struct before *b) {
    struct omp_team *team = t->team;
    leave(t);
    t->team = team->parent;
    t->num = team->master_num;
    t->task = team->master_task;
    t->place = b->place;
    t->wanted = b->wanted;
    t->levels = b->levels;
    t->sched = b->sched;
    t->sched_chunk = b->sched_chunk;
    t->dynamic = b->dynamic;
    team_free(team);
}

/* As many as there are cores for have begun; or it has taken too long. */
static void meet(struct omp_team *team, int fresh) {
    int n = weft__omp_settings.processors, spins = fresh ? FRESH_SPINS : all.threads <= n ? SPINS : 0;
    if (n > team->threads) n = team->threads;
    for (int i = 0; i < spins && atomic_load_explicit(&team->begun, memory_order_acquire) < n - 1; i++) __builtin_ia32_pause();
}

static void region(struct omp_thread *t, void (*fn)(void), int argc, void **argv, int n) {
    struct before before = keep(t);
    if (argc > ARGUMENTS) {
        fprintf(stderr, "weft: OpenMP: a parallel region uses %d variables of its function; at most %d are possible\n", argc, ARGUMENTS);
        abort();
    }
    if (t->team->active >= t->levels) n = 1;
    int had = t->workers;
    if (n > 1) n = have_workers(t, n - 1) + 1;
    struct omp_team *team = team_new(t, n);
    team->region = fn;
    team->argc = argc;
    team->argv = argv;
    for (int i = 1; i < n; i++) work_for(t->worker[t->busy + i - 1], team, i);
    t->busy += n - 1;
    meet(team, t->workers > had);
    enter(t, team, 0);
    call(t, fn, argc, argv);
    weft__omp_barrier(t);
    t->busy -= n - 1;
    pop(t, &before);
}

OMP_API void __kmpc_push_num_threads(ident *loc, int32_t gtid, int32_t n) { weft__omp_self()->clause = n > 0 ? n : 0; }
OMP_API void __kmpc_push_proc_bind(ident *loc, int32_t gtid, int32_t how) {}
OMP_API void __kmpc_push_num_teams(ident *loc, int32_t gtid, int32_t teams, int32_t threads) {
    if (threads > 0) weft__omp_self()->clause = threads;
}
OMP_API void __kmpc_push_num_teams_51(ident *loc, int32_t gtid, int32_t least, int32_t most, int32_t threads) { __kmpc_push_num_teams(loc, gtid, most, threads); }
OMP_API void __kmpc_set_thread_limit(ident *loc, int32_t gtid, int32_t most) {}

static int take_clause(struct omp_thread *t) {
    int n = t->clause ? t->clause : weft__omp_wanted(t);
    t->clause = 0;
    return n;
}

/* What a region gets, in memory of the function that starts it. */
#define ARGV(argv, argc, last)                                          \
    void *argv[argc + 1];                                               \
    va_list ap;                                                         \
    va_start(ap, last);                                                 \
    for (int i = 0; i < argc; i++) argv[i] = va_arg(ap, void *);        \
    va_end(ap)

OMP_API void __kmpc_fork_call(ident *loc, int32_t argc, void (*fn)(void), ...) {
    struct omp_thread *t = weft__omp_self();
    ARGV(argv, argc, fn);
    region(t, fn, argc, argv, take_clause(t));
}
OMP_API void __kmpc_fork_call_if(ident *loc, int32_t argc, void (*fn)(void), int32_t yes, void *args) {
    struct omp_thread *t = weft__omp_self();
    int n = take_clause(t);
    region(t, fn, 1, &args, yes ? n : 1);
}
OMP_API void __kmpc_fork_teams(ident *loc, int32_t argc, void (*fn)(void), ...) {
    struct omp_thread *t = weft__omp_self();
    ARGV(argv, argc, fn);
    int clause = t->clause;
    if (clause) t->wanted = clause;
    t->clause = 0;
    call(t, fn, argc, argv);
}

/* A region of one thread, which the program calls by itself. What was before is kept in memory, since it ends in another call. */
struct serial {
    struct serial *around;
    struct before before;
};
static __thread struct serial *serials;
void weft__omp_alone(struct omp_thread *t) {
    struct serial *s = weft__omp_alloc(sizeof *s);
    s->before = keep(t);
    s->around = serials;
    serials = s;
    t->clause = 0;
    enter(t, team_new(t, 1), 0);
}
void weft__omp_together(struct omp_thread *t) {
    struct serial *s = serials;
    weft__omp_barrier(t);
    serials = s->around;
    pop(t, &s->before);
    free(s);
}
OMP_API void __kmpc_serialized_parallel(ident *loc, int32_t gtid) { weft__omp_alone(weft__omp_self()); }
OMP_API void __kmpc_end_serialized_parallel(ident *loc, int32_t gtid) { weft__omp_together(weft__omp_self()); }

/* ---- barriers -------------------------------------------------------------------------------------------------- */

/* All threads of the team are there, and all its tasks are over. Who waits runs tasks. */
void weft__omp_barrier(struct omp_thread *t) {
    struct omp_team *team = t->team;
    pthread_mutex_lock(&team->lock);
    uint32_t round = team->round;
    team->arrived++;
    while (team->round == round) {
        if (weft__omp_run_one_locked(t, NULL)) continue;
        if (team->arrived == team->threads && !team->pending) {
            team->arrived = 0;
            team->round++;
            if (team->threads > 1) pthread_cond_broadcast(&team->work);
            break;
        }
        team->sleeping++;
        pthread_cond_wait(&team->work, &team->lock);
        team->sleeping--;
    }
    pthread_mutex_unlock(&team->lock);
}

OMP_API void __kmpc_barrier(ident *loc, int32_t gtid) { weft__omp_barrier(weft__omp_self()); }
OMP_API int32_t __kmpc_cancel_barrier(ident *loc, int32_t gtid) {
    weft__omp_barrier(weft__omp_self());
    return 0;
}
OMP_API int32_t __kmpc_cancel(ident *loc, int32_t gtid, int32_t kind) { return 0; }
OMP_API int32_t __kmpc_cancellationpoint(ident *loc, int32_t gtid, int32_t kind) { return 0; }
