/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a trace and a replay of it tell about a failing run, for people: which two accesses raced (race.c), and the report itself, as
 * text, JSON and one HTML page. `weft report` collects it. */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "base/base.h"
#include "replay/replay.h"
#include "trace/trace.h"

/* ---- race.c ---- */
enum weft_race_kind {
    WEFT_RACE_NONE = 0,
    WEFT_RACE_EARLY,  /* a read of what nobody has written yet */
    WEFT_RACE_LAST,   /* the last accesses of two threads that conflict; they are ordered */
    WEFT_RACE_BETWEEN, /* ordered, but one came between two of another thread's that it does not go with */
    WEFT_RACE_HALVES, /* two places that another thread writes in turn: one was read after that, and the other before */
    WEFT_RACE_UNFINISHED, /* what nobody has written yet, in memory that another thread has made and shown */
    WEFT_RACE_PAIR,   /* two that nothing orders: a data race */
    WEFT_RACE_TORN,   /* both of these */
    WEFT_RACE_LOST,   /* of these, read, write by another thread, write: an update was lost */
};
const char *weft__race_text(enum weft_race_kind kind);
#define WEFT_RACE_ACCESSES 3u
struct weft_race {
    enum weft_race_kind kind;
    bool elsewhere;                   /* the failing thread did not touch it */
    size_t n;                         /* accesses: 2 or 3 */
    uint64_t index[WEFT_RACE_ACCESSES]; /* in the list, in their order */
    uint64_t addr;                    /* the bytes that they have in common; of two places: of the last access */
    uint32_t size;
    uint64_t other;                   /* of two places: the other one; 0: there is one */
    uint32_t other_size;
};
/* list: as of struct weft_accesses, in order. slot: of the thread that failed. */
void weft__race_find(const struct weft_access *list, uint64_t n, uint32_t slot, bool early, struct weft_race *out);

/* ---- the report ---- */
struct weft_place {
    char *function, *place; /* "?" , "file.c:12" */
    char *code;             /* the line itself; NULL: not known */
};
struct weft_stack {
    struct weft_place *frame; /* innermost first; of the program's own code */
    size_t n;
};
struct weft_seen { /* an access of the race */
    struct weft_access a;
    struct weft_stack stack;
    bool looked;      /* the replay came by */
    uint64_t value;   /* before it */
    uint32_t bytes;   /* of the value; 0: not known */
};
struct weft_report {
    struct weft_trace *t;
    struct weft_symbols *symbols;
    struct weft_counts counts;
    struct weft_blocks blocks;
    /* these, without those of threads that weft simplify removed: they were made, and ended at once */
    struct weft_blocks order;
    uint64_t *order_relevant; /* events on which the failure depends, by block */
    uint64_t threads;
    /* failure */
    char *status;             /* "signal 11 (SIGSEGV)", ... */
    bool failed;
    uint32_t slot;            /* of the thread that ended the process; 0: not known */
    bool crashed;
    struct weft_crash_item crash;
    struct weft_stack stack;
    struct weft_place last;   /* last access of that thread; place NULL: not known */
    char *stuck;              /* lines; NULL: none */
    /* race */
    struct weft_race race;
    struct weft_seen seen[WEFT_RACE_ACCESSES];
    char *variable;           /* "accounts[2].balance", "heap 0x..." */
    uint64_t accesses, looked_at; /* there were; in the list */
    struct weft_strbuf notes; /* lines */
    /* what its failure depends on, if that is known */
    bool sliced;
    struct weft_relevant relevant;
    uint64_t relevant_events, relevant_of; /* of those that may be */
    uint64_t *relevant_in;    /* how many, by block */
    size_t relevant_cap;
    /* of a trace that weft simplify made; NULL: it did not */
    char *simplified;         /* JSON */
    char *removed;            /* lines */
};
int weft__report_order(struct weft_report *r, struct weft_err *err) WEFT_MUST; /* from blocks; sliced: and relevant_in */
void weft__report_fini(struct weft_report *r);
void weft__report_forget_race(struct weft_report *r);
void weft__stack_add(struct weft_report *r, struct weft_stack *s, uint64_t pc, const char *function);
void weft__place_of(struct weft_report *r, uint64_t pc, struct weft_place *out);
/* What the access does: "reads", "writes (atomic)". */
const char *weft__access_verb(const struct weft_access *a);
const char *weft__event_name(const struct weft_item *i, char *buf, size_t n);

void weft__report_text(struct weft_report *r, FILE *out);
void weft__report_json(struct weft_report *r, FILE *out);
int weft__report_html(struct weft_report *r, FILE *out, struct weft_err *err) WEFT_MUST;
int weft__report_perfetto(struct weft_trace *t, FILE *out, struct weft_err *err) WEFT_MUST;

#endif
