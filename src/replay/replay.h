/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replay as the launcher sees it: what the program has to meet (the schedule), whether it is the program that was
 * recorded, and how it is started. What happens inside the program is the runtime's. */
#ifndef WEFT_REPLAY_H
#define WEFT_REPLAY_H

#include "base/base.h"
#include "trace/trace.h"

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

/* ---- schedule.c ---- */
struct weft_schedule {
    int fd;       /* memory file, close-on-exec */
    uint8_t *map; /* all of it, shared */
    uint64_t size;
    struct weft_control *control; /* at the start of map */
    struct weft_counts counts;
    struct weft_schedule *parts;
    size_t nparts;
    struct weft_trace *trace; /* of a part: open as long as this */
};
/* The memory file of a replay: control block and schedule; and those of the processes that were forked, as `parts`. */
int weft__replay_schedule(struct weft_trace *t, struct weft_schedule *out, struct weft_err *err) WEFT_MUST;
/* The memory file of a recording: the control block alone. */
int weft__record_control(const char *streams, uint64_t seed, struct weft_schedule *out, struct weft_err *err) WEFT_MUST;
void weft__schedule_reset(struct weft_schedule *s); /* before each run: as if no program had used it yet */
void weft__schedule_fini(struct weft_schedule *s);
static inline uint64_t weft__page_up(uint64_t n) { return (n + 4095) & ~4095ull; }
/* Grows the file at its end; the new bytes are zero. */
int weft__schedule_grow(struct weft_schedule *s, uint64_t size, struct weft_err *err) WEFT_MUST;

/* ---- accesses.c: what a replay tells beside the trace ---- */
/* Behind the schedule; the caller unmaps it (its size bytes). */
int weft__accesses_open(struct weft_schedule *s, struct weft_trace *t, uint64_t room, struct weft_accesses **out, struct weft_err *err) WEFT_MUST;

/* ---- order.c: which of two sites of a tick is passed first ---- */
struct weft_order;
struct weft_order *weft__order_new(const struct weft_accesses *l); /* of a replay that has ended */
void weft__order_free(struct weft_order *o);
int weft__order_of(const struct weft_order *o, uint64_t a, uint64_t b); /* -1: a, 1: b; 0: not known. o may be NULL */

/* ---- blocks.c: the partial order as one sequence with few switches ---- */
struct weft_block {
    uint32_t slot;
    bool over;      /* the thread's stream ends here */
    bool preempted; /* it stops before an access to memory that is to come after another thread's */
    uint64_t from_tick, from_site, to_tick, to_site; /* positions of its first and last event */
    uint64_t first, events;                          /* number of the first one in the sequence; how many */
};
struct weft_blocks {
    struct weft_block *list;
    size_t n, cap;
    uint64_t events;
    uint64_t switches, preemptive; /* between threads; how many of these are preemptive */
    uint64_t left;                 /* threads whose streams were not used up: the edges have a cycle, or lead nowhere */
};
typedef void weft_event_fn(void *ctx, const struct weft_item *item, size_t block);
/* event (may be NULL) gets the items in the sequence; those that came in parts without their bytes. */
int weft__blocks_make(struct weft_trace *t, const struct weft_order *order, struct weft_blocks *out, weft_event_fn *event, void *ctx,
                      struct weft_err *err) WEFT_MUST; /* order may be NULL */
void weft__blocks_fini(struct weft_blocks *b);

/* ---- fewest.c: of this, as few preemptions as can be found ---- */
struct weft_lane_step { /* of a lane */
    uint32_t other, need; /* it comes when this lane has done so many steps; 0: at any time */
    bool operation;       /* its lane may stop before it without being preempted */
};
struct weft_lane {
    struct weft_lane_step *list;
    uint32_t n;
};
struct weft_stretch {
    uint32_t lane, to; /* until so many of its steps are done */
};
/* How many runs there are in *out, which is new memory; 0: no order was found with at most so many preemptions. */
size_t weft__fewest(const struct weft_lane *lane, size_t lanes, uint64_t most, struct weft_stretch **out);

/* ---- tree.c: the threads of a trace, and the iterations of loops that they passed (of a steered run's) ---- */
struct weft_tree_thread {
    uint32_t slot;
    uint32_t parent;         /* number; of the main thread 0 */
    uint32_t level;          /* 0: the main thread */
    uint64_t made_tick;      /* of the parent, when it was created */
    bool removed;            /* it ends at once already */
    bool unborn;             /* it was created, and had not begun when all was over */
    uint64_t value;          /* what it gave to who joined it, as far as the trace tells */
    uint64_t from_tick, to_tick; /* of its first item; how far it is known to have come */
    uint64_t to_site;        /* in that tick, */
    bool to_done;            /* and whether what is there was done */
    bool ended;              /* it exited, or ended the process */
    uint64_t events;         /* items that a replay meets */
    struct weft_pass *pass;  /* new memory */
    size_t npasses;
    struct weft_removed_barrier *barrier; /* that it came to, or would have; new memory */
    size_t nbarriers;
};
struct weft_tree {
    struct weft_tree_thread *list; /* by number: the main thread is 0, parents come before their children */
    size_t n;
    struct weft_removed_barrier *gone; /* barriers of threads that were removed and are not even created any more; new memory */
    size_t ngone;
};
int weft__tree_make(struct weft_trace *t, const struct weft_order *order, struct weft_tree *out, struct weft_err *err) WEFT_MUST; /* order may be NULL */
void weft__tree_fini(struct weft_tree *t);
/* The thread that had the slot at this tick. */
uint32_t weft__tree_at(const struct weft_tree *t, uint32_t slot, uint64_t tick);

/* ---- turns.c: the order of a trace for a steered run ---- */
/* *out is new memory. Turns of threads that are removed may be left in: they are dropped. */
size_t weft__turns_of(const struct weft_blocks *b, const struct weft_tree *tree, struct weft_turn **out);
size_t weft__turns_join(struct weft_turn *turns, size_t n); /* consecutive ones of a thread become one; how many there are then */

/* ---- steered.c: a run that is recorded, with the inputs of a trace and an order of our own (weft_given in abi.h) ---- */
struct weft_steered {
    struct weft_trace *from;
    const struct weft_tree *tree;  /* of it; its threads' `removed` and passes' `skip` say what is left out */
    const struct weft_turn *turns;
    size_t nturns;
    enum weft_chaos how; /* TURNS or ALONE */
    enum weft_next next;
    uint64_t bound;      /* ticks of all threads; 0: none */
    const struct weft_range *watch; /* sites */
    size_t nwatch;
    uint64_t timeout_us; /* for what should never happen: it hangs */
    struct weft_turn *measured; /* nturns of them: gets the turns with where they ended by what the thread did before; NULL: no */
    bool plain;          /* iterations that are not left out are not in the trace: it is a smaller one, of which no more can be left out */
    uint64_t most;       /* iterations that are not left out; 0: no limit */
    bool counted;        /* `from` is such a trace, and the turns are of it */
};
#define WEFT_ENDING_FRAMES 16u
struct weft_ending {
    uint32_t outcome;  /* enum weft_outcome: ENDED, MISSING, BOUND, REFUSED; RUNNING: it hung, or died otherwise */
    uint32_t kind, code; /* ENDED: as in weft_trace_end; stuck: all threads wait */
    uint64_t ip, addr; /* of a crash; 0: it was sent */
    int32_t si_code;
    uint32_t slot;     /* who ended it */
    uint64_t last_site; /* its last event before: the place of an access, or where it called */
    uint64_t watched;
    uint64_t accesses; /* and operations that were checked */
    uint64_t iterations; /* that were not left out */
    uint64_t frame[WEFT_ENDING_FRAMES]; /* of the thread that ended it, innermost first; of its own modules only */
    size_t frames;
    char message[512]; /* if it is not ENDED */
};
/* Records into the folder `dir`, which it makes: a trace as any other, if it ENDED. What the program wrote to stdout and stderr is in
 * the files DIR.out and DIR.err. Several may run at the same time, in processes of their own. */
int weft__steered_run(const struct weft_steered *s, const char *dir, struct weft_ending *out, struct weft_err *err) WEFT_MUST;

/* ---- program.c: ELF files, as far as weft looks into them ---- */
struct weft_program {
    bool weft;            /* has weft's note */
    uint32_t abi;         /* its version */
    uint8_t build_id[32]; /* zero-padded; all zero: none */
};
/* Fails if the file is not a program that could run here; a script is -ENOEXEC. */
int weft__program_read(const char *path, struct weft_program *out, struct weft_err *err) WEFT_MUST;
/* Absolute path of what execvp would run; new memory. */
int weft__program_find(const char *name, char **out, struct weft_err *err) WEFT_MUST;
/* Can be recorded and replayed at all. */
int weft__program_usable(const char *path, struct weft_err *err) WEFT_MUST;
/* Are the program and its libraries (t->modules) still what they were? */
int weft__program_unchanged(struct weft_trace *t, struct weft_err *err) WEFT_MUST;

/* ---- place.c ---- */
/* The program stands at its first instruction, traced by us: puts it where it belongs, until its runtime starts. Fills in
 * `vdso` and `map_next`. -ESRCH: it has ended meanwhile, or is about to; that is left to be waited for. */
int weft__place(pid_t pid, const uint8_t at_random[16], struct weft_control *control, struct weft_err *err) WEFT_MUST;

/* ---- exec.c: programs that recorded processes execute ---- */
struct weft_launch;
/* The socket; name gets its name (64 bytes). */
int weft__exec_listen(char *name, struct weft_err *err) WEFT_MUST;
/* One request. alive: the pipe's other end, or -1; own: pid of the first process, which is waited for elsewhere. */
void weft__exec_serve(const struct weft_launch *l, int server, int alive, pid_t own);

/* ---- threads.c ---- */
struct weft_thread_view {
    uint32_t slot;
    pid_t tid;
    uint64_t clock;
    struct weft_wait wait;
};
/* The living threads of a process, which had better stand still; *out is new memory. */
size_t weft__threads_read(pid_t pid, const struct weft_threads *w, struct weft_thread_view **out);
/* One of the two lists of struct weft_threads; *out is new memory. */
size_t weft__holds_read(pid_t pid, uint64_t list, uint64_t count, struct weft_hold **out);
bool weft__threads_all(pid_t pid, const char *states); /* all threads of any process are in one of these, as in /proc */
void weft__threads_stop(pid_t pid); /* SIGSTOP, and until they stand */

/* ---- cycles.c: deadlocks ---- */
bool weft__hold_blocks(const struct weft_wait *w, const struct weft_hold *h); /* it keeps the thread from what it waits for */
bool weft__wait_first(const struct weft_wait *w, const struct weft_wait *o); /* nobody has what w waits for so that it could not get it; who waits as o may be in its way */
/* n threads, each of which waits for the next one, and the last for the first. */
typedef void weft_cycle_fn(void *ctx, const struct weft_thread_view *const *threads, size_t n);
/* How many there are. */
size_t weft__cycles(const struct weft_thread_view *threads, size_t nthreads, const struct weft_hold *holds, size_t nholds, weft_cycle_fn *found,
                    void *ctx);

/* ---- stack.c ---- */
struct weft_stacks;
struct weft_frame_view {
    uint64_t pc; /* in the call, not behind it */
    const char *module, *function; /* empty: not known; live as long as the stacks */
};
struct weft_stacks *weft__stacks_open(pid_t pid);
void weft__stacks_close(struct weft_stacks *s);
/* Innermost first; how many. */
size_t weft__stacks_read(struct weft_stacks *s, pid_t tid, struct weft_frame_view *frames, size_t most);

/* ---- below.c: the processes below weft ---- */
void weft__below_kill(void);
enum weft_stuck { WEFT_NOT_STUCK = 0, WEFT_STUCK_IN_ALL, WEFT_STUCK_IDLE };
struct weft_watch {
    uint64_t all_us;  /* so long a run may take; 0: for ever */
    uint64_t idle_us; /* and so long nothing may happen */
    uint64_t (*activity)(void *ctx); /* another number when something was logged; may be NULL. Gets the launch's ctx */
    void (*halt)(void *ctx, pid_t pid); /* it is stuck and about to be killed; pid: the first process, 0: it has ended; may be NULL */
    enum weft_stuck stuck; /* the answer */
    /* as of the last look */
    uint64_t begun, since, looked, who, log, ticks;
};
void weft__watch_begin(struct weft_watch *w);
/* Microseconds until the next look is due; 0: it is stuck; UINT64_MAX: none. */
uint64_t weft__watch_look(struct weft_watch *w, void *ctx);

/* ---- launch.c ---- */
#define WEFT_START_STACK (64ul << 20) /* below 128 MiB it makes no difference to the layout */
/* weft__place; then the program gets its stack limit and is no longer traced. */
int weft__place_and_go(pid_t pid, const uint8_t at_random[16], uint64_t stack_limit, struct weft_control *control,
                       struct weft_err *err) WEFT_MUST;
/* Until there is something at one of the descriptors (true), or a child or traced process has changed, or a signal came, or
 * the time is over (UINT64_MAX: never). */
bool weft__wait_child(struct pollfd *fds, nfds_t n, uint64_t us);
struct weft_launch {
    const char *program; /* absolute */
    const char *cwd;     /* NULL: stay here */
    char *const *argv, *const *env;
    const uint8_t *at_random;
    uint64_t stack_limit;
    bool quiet;         /* stdout and stderr to /dev/null */
    const char *output; /* stdout and stderr to the files OUTPUT.out and OUTPUT.err; NULL: no */
    bool no_stdin;      /* stdin from /dev/null */
    sigset_t *mask;     /* may be NULL; then SIGTERM and SIGHUP stay blocked, and the mask is this when all is done */
    bool may_interrupt; /* SIGINT and the like end the program and its processes at once, and weft with them; otherwise
                           they are the program's */
    bool wait_all;      /* until all processes have ended that the program forked or spawned */
    struct weft_watch *watch; /* who is stuck is killed, with all its processes; NULL: nobody is */
    struct weft_schedule *control;
    void (*started)(void *ctx); /* called when the program runs; may be NULL */
    void (*pass_on)(void *ctx, int sig); /* wait_all: a signal for the processes that are left */
    void (*stuck)(void *ctx, pid_t pid); /* replay: this process stands where it was stuck; may be NULL */
    void (*look)(void *ctx, pid_t pid, pid_t tid, unsigned which); /* replay: a thread stands at a stop; may be NULL */
    void *ctx;
    /* A debugger comes to the process with this control block: when that is ready, `debugger` executes it, in a child of
     * weft's. When it has ended (*debugger_status as from waitpid; -1: there was none), all processes of the program end. */
    struct weft_control *debug; /* NULL: no debugger */
    void (*debugger)(void *ctx, pid_t pid);
    int *debugger_status;
    char *message; /* record: weft_control's size: what went wrong with a program that was executed; empty: nothing */
};
/* Runs the program to its end; *status as from waitpid. */
int weft__launch(const struct weft_launch *l, int *status, struct weft_err *err) WEFT_MUST;

#endif
