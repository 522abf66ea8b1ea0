/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libweft-omp.so: OpenMP for programs that clang compiles (its __kmpc_ calls and the omp_ functions), built with weft-cc like any library.
 *
 * LLVM's and GNU's libraries cannot be recorded: threads wait for one another inside them and share out the work there, by atomics and
 * futexes that weft does not see. Here all of that is done with pthreads and C11 atomics in instrumented code, so who gets which iteration, who
 * comes first into a critical section and who runs a task is ordered, replayed and steered like everything else that threads do.
 *
 *   team.c    threads, teams, parallel regions, barriers      loop.c   worksharing loops and sections, ordered
 *   task.c    tasks, dependences, groups, reductions          sync.c   critical, single, masked, reductions, locks
 *   api.c     what <omp.h> declares, settings, environment    omp.h    that header, for who has none
 *
 * One lock for each team, for everything that its threads wait for: barriers, tasks, loops that are shared out, ordered. A thread that
 * waits sleeps, which costs nothing where the cores have other work; but while there are cores for all, those that wait for the next region spin for
 * some microseconds first, and who starts a region waits that long for the others to begin: a short region would be over before
 * they are awake, and would never show that its threads race.
 *
 * What there is not is not defined, so a program that needs it does not link, and the linker names it: offloading, and
 * threadprivate without thread-local storage. Cancellation is never active (omp_get_cancellation() is 0), affinity is not set. A league has one team. */
#ifndef WEFT_OMP_TEAM_H
#define WEFT_OMP_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define OMP_API __attribute__((visibility("default")))

typedef struct ident ident; /* where in the source; not looked at */

/* One of the loops that a team shares out: threads that are ahead may be in the next ones already. */
#define OMP_LOOPS 8
struct omp_loop {
    uint32_t number; /* which of the team's loops has this place; 0: it is free */
    int kind;        /* enum omp_kind */
    uint64_t trips, chunk;
    int left;                /* threads that are done with it */
    uint64_t ordered;        /* iterations whose ordered part is over */
    _Atomic uint64_t next;   /* iteration that has not been given out */
};

/* And one whose iterations wait for one another. */
struct omp_cross {
    uint32_t number;
    int left;
    int32_t dimensions;
    struct dimension *dimension;
    uint8_t *posted; /* a bit for each iteration */
};

struct omp_task;
struct omp_thread;

struct omp_team {
    struct omp_team *parent; /* or next in the list of those that are not used */
    struct omp_thread *master;
    int master_num; /* in the parent */
    struct omp_task *master_task;
    int threads, level, active; /* levels of regions around, and of those with several threads */
    void (*region)(void);
    int argc;
    void **argv;
    pthread_mutex_t lock; /* for what follows, but for `singles` */
    pthread_cond_t work;  /* a task, the end of tasks, or of the barrier */
    pthread_cond_t turn;  /* something else */
    _Atomic int begun;    /* threads besides the master that are in the region */
    int arrived, sleeping, picky; /* at the barrier; on `work` there; on `work` for some tasks only */
    uint32_t round;        /* barriers that are over, of all that ever used this team: it is never freed, since who is late looks here */
    _Atomic uint32_t singles;
    void *copied; /* copyprivate */
    struct omp_loop loop[OMP_LOOPS];
    struct omp_cross cross[OMP_LOOPS];
    struct omp_task *first, **last; /* tasks that can run */
    uint64_t pending;               /* tasks that are not over, those that wait for others included */
    struct omp_reductions *reductions[2]; /* of reduction(task, ...): of the region; of a loop */
};

struct omp_thread {
    int gtid, num; /* in the process; in the team */
    struct omp_team *team;
    struct omp_task *task; /* that it runs */
    /* settings, which a region hands on to its threads */
    int wanted;            /* threads of the next region; 0: not set */
    int levels;            /* of active regions, at most */
    int sched, sched_chunk; /* of schedule(runtime) */
    int dynamic;
    int clause; /* num_threads of the region that comes; 0: none */
    struct omp_place {         /* where it is in the team's constructs */
        uint32_t singles, loops, crosses;
        struct omp_cross *cross;
        struct omp_loop *shared; /* the loop that it gets iterations of; NULL: there is none */
        int64_t lower, step;     /* of that; bounds are computed in 64 bits, without regard to their sign */
        uint64_t trips, chunk, at, first; /* at: its next iteration or chunk; first: of its chunk, for ordered */
        int kind, bumped;
    } place;
    /* it waits for a team */
    pthread_mutex_t lock;
    pthread_cond_t go;
    struct omp_team *_Atomic next;
    /* those that work for its regions, by number */
    struct omp_thread **worker, *idle; /* idle: next in the list of those that nobody has */
    int workers, busy; /* busy: for regions that have not ended */
};

/* ---- team.c */
struct omp_thread *weft__omp_self(void);
void weft__omp_barrier(struct omp_thread *t);
void weft__omp_alone(struct omp_thread *t);    /* a region of one thread begins */
void weft__omp_together(struct omp_thread *t); /* and ends */
int weft__omp_wanted(const struct omp_thread *t);
void *weft__omp_alloc(size_t size); /* zeroed; ends the program if there is none */

/* ---- task.c: the team's lock is held where `locked` is in the name */
struct omp_task *weft__omp_implicit(void);
void weft__omp_implicit_end(struct omp_task *task);
int weft__omp_run_one_locked(struct omp_thread *t, struct omp_task *of); /* of NULL: any; 0: there is none */
int weft__omp_in_final(const struct omp_thread *t);

/* ---- api.c */
struct omp_settings {
    int threads[8], levels_given; /* OMP_NUM_THREADS, by level */
    int most;                     /* threads in the process */
    int levels;
    int sched, chunk;
    size_t stack;
    int dynamic;
    int processors;
};
extern struct omp_settings weft__omp_settings;
void weft__omp_read_settings(void);

#endif
