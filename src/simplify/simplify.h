/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft simplify: from a failing recording to a smaller one that fails in the same way (LEAN, OOPSLA 2012). A candidate is a
 * steered run (replay.h) with threads, iterations of loops or turns left out; a judge says whether it still fails. Who searches knows
 * only the judge's answers, so it can be tested without running programs:
 *
 *   failure.c   which failures are the same
 *   state.c     a recording, and what can be left out of it; candidates
 *   ddmin.c     delta debugging over numbers
 *   search.c    threads, iterations, switches, in rounds
 *   order.c     of these, the switches: changes of turns
 *   pool.c      judges candidates side by side; the journal
 *   judge.c     one candidate: the steered runs of it, and the criterion
 *   result.c    the folder that comes out, and what was removed, for people and as JSON */
#ifndef WEFT_SIMPLIFY_H
#define WEFT_SIMPLIFY_H

#include "base/base.h"
#include "replay/replay.h"
#include "trace/trace.h"

/* ---- failure.c ---- */
enum weft_address { /* where an address lies */
    WEFT_ADDRESS_NULL = 0, /* the first 64 KiB */
    WEFT_ADDRESS_HEAP,
    WEFT_ADDRESS_STACK,
    WEFT_ADDRESS_CODE,     /* the program, libraries and what is mapped */
    WEFT_ADDRESS_WILD,
};
enum weft_address weft__address_class(uint64_t addr);
#define WEFT_FAILURE_FRAMES 4u /* that count */
#define WEFT_FAILURE_PLACES 64u /* of a line */
#define WEFT_NO_CODE 1u
struct weft_failure {
    uint32_t kind, code; /* as in weft_trace_end */
    bool crash;          /* an instruction of the program raised the signal: */
    uint64_t ip;         /* here and in the frames: where the code of its source line begins; WEFT_NO_CODE: it is not code */
    enum weft_address address;
    struct weft_range last_site[WEFT_FAILURE_PLACES]; /* the failing place: its line */
    size_t last_sites;   /* 0: only runs that fail come there */
    uint64_t frame[WEFT_FAILURE_FRAMES];
    size_t frames;
    char line[512];      /* the last one on stderr, without its numbers; stuck: where who waits for whom */
    unsigned signalled;  /* stuck: of these, bits: what is waited for there had been signalled */
};
/* errors: what it wrote to stderr (n bytes). */
void weft__failure_of(const struct weft_ending *e, const char *errors, size_t n, struct weft_symbols *symbols, struct weft_failure *out); /* symbols may be NULL */
uint64_t weft__failure_place(struct weft_symbols *symbols, uint64_t ip); /* of a crash */
bool weft__failure_same(const struct weft_failure *a, const struct weft_failure *b);
/* Why not: for people. */
void weft__failure_text(const struct weft_failure *f, struct weft_strbuf *out);

/* ---- state.c ---- */
struct weft_size {
    uint64_t threads;    /* that are not removed, the main thread included */
    uint64_t iterations; /* that are not left out, */
    uint64_t most_iterations; /* and of one loop in one thread other than the main thread */
    uint64_t events, switches, preemptive;
    uint64_t accesses;   /* and operations that were checked: LEAN's events. Known of steered runs */
    uint64_t bytes;      /* of items */
    uint64_t ticks;      /* of all threads */
};
struct weft_state {
    uint64_t id;          /* hash of all that led here */
    char *dir;            /* of the recording; NULL in tests */
    struct weft_trace *t; /* of it; NULL in tests */
    struct weft_tree tree;
    struct weft_turn *turns;
    size_t nturns;
    bool plain;           /* its iterations are counted only: none can be left out */
    struct weft_size size;
};
/* Takes over the trace, even if it fails. */
int weft__state_new(struct weft_trace *t, const struct weft_order *order, uint64_t id, struct weft_state **out, struct weft_err *err) WEFT_MUST;
void weft__state_free(struct weft_state *s);

enum weft_wanted {
    WEFT_SMALLER = 0, /* fewer threads or iterations than before */
    WEFT_LESS_THREADS, /* fewer threads */
    WEFT_FEWER,       /* fewer preemptive switches, or as many and fewer in all */
    WEFT_NEAR,        /* not much more: nobody goes round and round for want of an end of his turn */
    WEFT_ANY,         /* any that fails will do */
    WEFT_SOUND,       /* nothing: whether it passes in the orders without preemptions; there is no recording of it */
};
struct weft_candidate {
    const struct weft_state *from;
    struct weft_tree tree; /* a copy, in which more is left out */
    struct weft_turn *turns;
    size_t nturns;
    bool plain;            /* its iterations are only to be counted; as in `from` */
    enum weft_wanted wanted; /* what else is of no use, though it may fail */
    bool sound_first;      /* most of those before were not: that is asked first, and holds for other turns as well */
};
void weft__candidate_init(struct weft_candidate *c, const struct weft_state *from); /* leaves out nothing more */
void weft__candidate_close(struct weft_candidate *c); /* all is said: descendants go along, turns of removed threads too */
void weft__candidate_fini(struct weft_candidate *c);
uint64_t weft__candidate_hash(const struct weft_candidate *c);
uint64_t weft__candidate_program(const struct weft_candidate *c); /* hash of what is left out, without the turns; never 0 */
bool weft__candidate_whole(const struct weft_candidate *c); /* no more threads or iterations are left out than in `from` */

/* ---- ddmin.c ---- */
struct weft_ddmin {
    size_t *item; /* what is left, of 0 .. n - 1 */
    size_t n;
    size_t parts; /* granularity */
    bool others;  /* sets are all but a part; else a part */
    size_t some;  /* not 0: so many of the parts only, evenly spread; */
    size_t from;  /* else all, from this one on: those before the last one that went away have been asked about */
};
/* Set k of the batch that is asked about: whether each of all items (bool[]) is in it. */
void weft__ddmin_set(const struct weft_ddmin *d, size_t k, bool *in, size_t all);
/* Which of the n sets is the first to fail; n: none. 0 or -errno. */
typedef int weft_first_fn(void *ctx, const struct weft_ddmin *d, size_t n, size_t *which, struct weft_err *err);
/* keep: bool[n]: all true before, a 1-minimal set of items afterwards (of many: as far as a sample tells), as far as it came. parts: no more than these, then it is enough. */
int weft__ddmin(bool *keep, size_t n, size_t parts, weft_first_fn *first, void *ctx, struct weft_err *err) WEFT_MUST;

/* ---- search.c ---- */
typedef void weft_make_fn(void *ctx, size_t i, struct weft_candidate *out); /* out: initialised */
struct weft_question {
    const struct weft_state *from;
    size_t n; /* candidates */
    weft_make_fn *make;
    void *ctx;
    enum weft_wanted wanted;
};
/* a: of the new one. Every step makes threads, iterations or switches fewer, and none of those before it more: so the search ends. */
bool weft__size_wanted(enum weft_wanted wanted, const struct weft_size *a, const struct weft_size *b);
bool weft__size_fewer(const struct weft_size *a, const struct weft_size *b);
struct weft_answers {
    uint64_t failed, passed, unresolved;
};
struct weft_judge {
    /* The first candidate that will do, as *out, and its number; n: none. Which one does not depend on time. -EINTR: stopped by the
     * user; -ETIME: there is no time left. Adds the answers, up to the one that was taken, to `answers`. */
    int (*first)(struct weft_judge *j, const struct weft_question *q, struct weft_answers *answers, size_t *which, struct weft_state **out,
                 struct weft_err *err);
};

enum weft_technique { WEFT_BY_THREADS = 0, WEFT_BY_ITERATIONS, WEFT_BY_SWITCHES, WEFT_BY_SLICE, WEFT_TECHNIQUES };
extern const char *const weft__technique_name[WEFT_TECHNIQUES];
struct weft_effort {
    struct weft_answers answers;
    uint64_t rounds;  /* batches of candidates: LEAN's rounds */
    uint64_t time_us;
};
struct weft_search {
    struct weft_judge *judge;
    struct weft_state *now;
    bool (*repeats)(void *ctx, const struct weft_pass *p); /* is this a loop whose iterations may be left out? */
    /* Which turns of the recording have anything that its failure depends on (bool[nturns]); 1: that is not known. May be NULL. */
    int (*relevant)(void *ctx, const struct weft_state *s, bool *turns, struct weft_err *err);
    void *ctx;
    uint64_t (*clock)(void);
    void (*progress)(struct weft_search *s); /* something else begins, or `now` is another; may be NULL */
    void *user;
    /* what is going on */
    uint64_t round; /* from 1 */
    enum weft_technique technique;
    struct weft_effort effort[WEFT_TECHNIQUES];
    uint64_t *places; /* where threads met in the first recording */
    size_t nplaces;
};
/* Until nothing can be left out any more; s->now is always what was found so far. */
int weft__search(struct weft_search *s, struct weft_err *err) WEFT_MUST;

/* What it is made of. */
#define WEFT_COARSE 16u /* parts, before anything is known */
void weft__tell(struct weft_search *s);
void weft__adopt(struct weft_search *s, struct weft_state *with); /* NULL: what there is stays */
int weft__ask(struct weft_search *s, const struct weft_question *q, size_t *which, struct weft_state **out, struct weft_err *err) WEFT_MUST;

/* ---- order.c ---- */
int weft__by_halves(struct weft_search *s, struct weft_err *err) WEFT_MUST; /* what takes most away */
int weft__by_order(struct weft_search *s, struct weft_err *err) WEFT_MUST; /* what is cheap */
int weft__by_switches(struct weft_search *s, struct weft_err *err) WEFT_MUST;
int weft__by_time(struct weft_search *s, struct weft_err *err) WEFT_MUST;
int weft__by_pairs(struct weft_search *s, bool alone, bool *gone, struct weft_err *err) WEFT_MUST; /* alone: without the other threads */
void weft__places_find(struct weft_search *s); /* of the recording that it begins with */
int weft__by_places(struct weft_search *s, bool *gone, struct weft_err *err) WEFT_MUST;

/* ---- pool.c ---- */
enum weft_verdict { WEFT_PASSES = 1, WEFT_FAILS, WEFT_UNRESOLVED }; /* PASSES: or fails, but is not what is wanted */
struct weft_judged {
    uint64_t key;
    uint32_t verdict; /* enum weft_verdict */
    uint16_t forget;  /* 1: it hung; not for the journal */
    uint16_t plain;   /* of the state */
    uint64_t unsound; /* weft__candidate_program, if it does not pass in orders that have nothing to do with turns; else 0 */
    struct weft_size size; /* if it failed */
};
struct weft_pool {
    struct weft_judge judge; /* first */
    /* Called in a process of its own; the recording is to be in the folder `dir`, which is new, if it FAILS. Other files may have names
     * that begin with it and a dot. */
    int (*one)(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err);
    /* The recording, of a key. */
    int (*open)(void *ctx, const char *dir, const struct weft_judged *j, struct weft_state **out, struct weft_err *err);
    void (*tick)(void *ctx); /* from time to time; may be NULL */
    void *ctx;
    const char *work; /* folder */
    unsigned jobs;
    uint64_t until_us; /* monotonic; 0: for ever */
    int stopped;       /* by this signal */
    /* its own */
    int journal;
    struct weft_judged *known; /* hash table by key; verdict 0: free */
    size_t nknown, room;
    int doubt; /* more than 0: of the last programs more were unsound than not */
    uint64_t runs; /* that were made, not known */
    sigset_t mask; /* ours, before */
};
/* work: a folder that is made, or that of a search with the same `what` that was stopped; one of another is removed. Signals that end
 * weft are blocked from here on: they stop the search. */
int weft__pool_open(struct weft_pool *p, uint64_t what, struct weft_err *err) WEFT_MUST;
/* Calls run in a process of its own, which ends if a signal comes or the time is over: -EINTR, -ETIME. The first n bytes of what ctx
 * points to, which it may have changed, come back. */
int weft__pool_aside(struct weft_pool *p, int (*run)(void *ctx, struct weft_err *err), void *ctx, size_t n, struct weft_err *err) WEFT_MUST;
bool weft__pool_stopping(const struct weft_pool *p); /* a signal that stops it has come, and will be seen */
void weft__pool_close(struct weft_pool *p, bool remove); /* the folder as well */
uint64_t weft__now_us(void);

/* ---- judge.c ---- */
struct weft_trial {
    struct weft_failure failure;
    uint64_t loose[WEFT_NEXT_TURNS + 1]; /* by order: threads that nobody joins */
    char why[256];   /* an order did not pass */
    uint64_t ticks;  /* of the longest one that does */
    unsigned orders; /* bits, by enum weft_next: in these it passes. 0: it passes in none of those without preemptions that were tried */
    bool (*fails)(void *ctx, const char *out, const char *errors); /* --fail-if: asks about these files; may be NULL */
    void *ctx;
    uint32_t ok;     /* a status that is no failure, beside 0 */
    uint64_t timeout_us;
    const struct weft_order *order; /* of the trace's sites */
    struct weft_symbols *symbols;
};
/* weft_pool's one and open, for a struct weft_trial. */
int weft__trial_one(void *trial, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) WEFT_MUST;
int weft__trial_open(void *trial, const char *dir, const struct weft_judged *j, struct weft_state **out, struct weft_err *err) WEFT_MUST;
/* The trace itself, steered, into the folder `dir`: fills in the trial; out is for weft__trial_open. 0; 1: it does not fail as it did (why:
 * new memory). */
int weft__trial_first(struct weft_trial *trial, const struct weft_state *trace, const char *dir, struct weft_judged *out, char **why,
                      struct weft_err *err) WEFT_MUST;
/* Makes the order that passes again, as turns of its own tree; NULL: there is none. */
struct weft_state *weft__trial_order(const struct weft_trial *trial, const struct weft_state *s, const char *dir);

/* ---- result.c ---- */
struct weft_relevance { /* what of the result its failure depends on */
    bool known;
    uint64_t threads, events, switches, preemptive, instructions;
    uint64_t of_events, of_instructions; /* all */
};
struct weft_result {
    const char *origin;             /* trace */
    const struct weft_size *before; /* of it */
    const struct weft_state *first; /* steered, and nothing left out */
    const struct weft_search *search; /* search->now: the result */
    const struct weft_state *order; /* that passes; NULL: none, or not known */
    struct weft_relevance relevant;
    bool any_order;
    bool whole;                     /* nothing more can be left out: it was not stopped */
    uint64_t runs, time_us;
};
void weft__result_json(const struct weft_result *r, struct weft_strbuf *out);
void weft__result_text(const struct weft_result *r, struct weft_strbuf *out);
/* Puts the recording of s into the folder dir, in place of what was there, with these as the files `simplified` and `simplified.txt`. */
int weft__result_publish(const char *dir, const struct weft_state *s, const struct weft_strbuf *json, const struct weft_strbuf *text,
                         struct weft_err *err) WEFT_MUST;
void weft__folder_remove(const char *dir); /* with all in it */

#endif
