/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command line: options, messages, exit codes, nothing else. One cmd_*.c per subcommand; each returns the exit
 * status. What goes wrong in weft itself, wrong usage included, is status 125, as with env, nohup and timeout, so that
 * it is not taken for the program's. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include "base/base.h"
#include "replay/replay.h"
#include "trace/trace.h"

#define WEFT_FAILED 125

/*    X(name, arguments, what it does)    */
#define WEFT_COMMANDS(X)                                                                                               \
    X(record, "[OPTION...] [--] PROGRAM [ARG...]", "run a program and record what it does")                            \
    X(replay, "[OPTION...] [TRACE]", "run it again, exactly as it was recorded")                                       \
    X(simplify, "[OPTION...] [TRACE]", "make a smaller run that fails in the same way")                                 \
    X(slice, "[OPTION...] [TRACE]", "tell on which events and lines a failure depends")                                 \
    X(debug, "[OPTION...] [TRACE] [-- GDB-ARG...]", "look at the recorded run with gdb")                                  \
    X(info, "[--json] [TRACE]", "tell what a trace is about")                                                          \
    X(dump, "[--sites | --vectors | --perfetto] [TRACE]", "print threads, edges and inputs of a trace")                \
    X(report, "[OPTION...] [TRACE]", "tell why a run failed, and which accesses raced")                                \
    X(races, "[--all | --json | --sarif] PROGRAM", "tell which accesses of a program may race")                        \
    X(profile, "[OPTION...] [--] PROGRAM [ARG...]", "gather which parts of a program run beside each other")          \
    X(ls, "", "list the traces")                                                                                       \
    X(rm, "TRACE...", "remove traces")                                                                                 \
    X(check, "TRACE", "is every byte of a trace valid?")                                                               \
    X(help, "[COMMAND]", "print this, or how a command is used")

#define WEFT_X(name, args, text) int weft__cmd_##name(int argc, char **argv);
WEFT_COMMANDS(WEFT_X)
#undef WEFT_X

/* ---- main.c ---- */
/* Says how the command of argv[0] is used, after what is wrong; WEFT_FAILED. */
int weft__usage(const char *command, const char *fmt, ...) WEFT_PRINTF(2, 3);
/* True if the only argument asks for help; then it was given. */
bool weft__asks_help(int argc, char **argv);
/* "30", "0.5", "90s", "10m", "2h", in microseconds; 0: none of these. */
uint64_t weft__time_of(const char *s);
/* From 1 to most; 0: it is not. */
uint64_t weft__number_of(const char *s, uint64_t most);
int weft__fail(const struct weft_err *err); /* prints it; WEFT_FAILED */
int weft__flush(int status);                /* stdout, with its errors; status if it worked */

/* ---- store.c: where traces are ---- */
/* $WEFT_TRACE_DIR, $XDG_DATA_HOME/weft or ~/.local/share/weft; new memory. */
int weft__store_dir(char **out, struct weft_err *err) WEFT_MUST;
/* Makes the folder for a new trace: `dir` if the user names one, else PROGRAM-N in the store. Absolute; new memory. */
int weft__store_new(const char *dir, const char *program, char **out, struct weft_err *err) WEFT_MUST;
void weft__store_set_latest(const char *trace); /* quietly does nothing if it cannot */
/* The same, but a folder that exists is left alone: then it is DIR-2 and so on. */
int weft__store_new_of(const char *dir, const char *program, char **out, struct weft_err *err) WEFT_MUST;
/* Path for a trace that is probably thrown away, by process `owner`: beside the others. New memory. */
int weft__store_draft(const char *dir, int owner, char **out, struct weft_err *err) WEFT_MUST;
void weft__store_tidy(void); /* removes those of processes that were killed */
/* The folder that the user means; NULL: the latest. New memory. */
int weft__store_find(const char *name, char **out, struct weft_err *err) WEFT_MUST;
/* A file of weft simplify's in the trace's folder, or the one of --fail-if (`failed`: its command); NULL: it has none. New memory. */
char *weft__store_simplified(const char *dir, const char *name);
int weft__store_failed_by(const char *dir, const char *command, struct weft_err *err) WEFT_MUST;
/* Removes a trace and nothing else; one that is being recorded only if it is our own. */
int weft__store_remove(const char *dir, bool own, struct weft_err *err) WEFT_MUST;
const char *weft__basename(const char *path);
/* Code that weft does not order and people may not expect: not built with weft, and none of the C and C++ libraries
 * whose functions the runtime knows. */
bool weft__is_foreign(const struct weft_module *m);
void weft__foreign_text(struct weft_strbuf *b, const struct weft_trace *t, const char *lead); /* their names, if there are any */

/* ---- run.c: one recording ---- */
/* --chaos: weft chooses who runs. Each run of a loop has another seed, which follows from the first. */
struct weft_chaos_plan {
    bool on, seeded;
    uint64_t seed;
    enum weft_chaos strategy; /* WEFT_CHAOS_NONE: they take turns */
    uint64_t run;             /* number of the run, from 1 */
    uint64_t events;          /* that an earlier run had; 0: not known */
};
/* Of its number's run. */
uint64_t weft__chaos_seed(const struct weft_chaos_plan *p);
enum weft_chaos weft__chaos_strategy(const struct weft_chaos_plan *p);
const char *weft__chaos_name(enum weft_chaos c);

struct weft_run {
    /* what is asked for */
    struct weft_trace_start start;
    uint64_t max_size;
    bool by_reference;
    bool latest;            /* is to point to it, as soon as it runs */
    bool catching;          /* it is probably thrown away; signals that end weft end the program */
    struct weft_watch watch;
    struct weft_chaos_plan chaos;
    char *dir;              /* of the trace: exists, empty */
    /* what came of it */
    uint32_t kind, code;    /* enum weft_end_kind */
    bool stuck;             /* it was ended for that; then kind may be that of a process that had ended before */
    uint64_t took_us;
    char message[sizeof((struct weft_control *)0)->message]; /* why it cannot be recorded; empty: it can */
    struct weft_strbuf lines; /* for people, each ends in a newline */
    /* its own */
    char *program, *cwd, **env;
    struct weft_schedule control;
    struct weft_follow *follow;
    int lock;
    sigset_t mask; /* of one that is recorded once: to be set again when its trace is closed */
};
int weft__run_init(struct weft_run *r, char *const *argv, struct weft_err *err) WEFT_MUST; /* what all runs have in common */
int weft__run_begin(struct weft_run *r, struct weft_err *err) WEFT_MUST;                   /* the trace, with nothing in it */
int weft__run_go(struct weft_run *r, struct weft_err *err) WEFT_MUST;                      /* the program */
int weft__run_seal(struct weft_run *r, const char *name, struct weft_err *err) WEFT_MUST;  /* name: for the lines */
void weft__run_end(struct weft_run *r);
void weft__run_say(const struct weft_strbuf *lines);
void weft__run_fini(struct weft_run *r);

/* ---- catch.c: again and again ---- */
#define WEFT_JOBS_MAX 1024
#define WEFT_CATCH_IDLE_US 10000000ull
struct weft_catch {
    uint64_t tries;    /* runs at most; 0: any number */
    uint64_t time_us;  /* and so long; 0: for ever */
    uint64_t failures; /* it ends with so many */
    uint64_t jobs;     /* runs at a time */
    const char *fail_if; /* command of the shell; may be NULL */
    uint64_t ok;         /* a status that is no failure, besides 0; 0: none */
};
/* Runs r's program, which was initialised. dir: of the first trace that is kept; NULL: in the store. The exit status. */
int weft__catch(const struct weft_catch *c, struct weft_run *r, const char *dir);

/* What the command of the shell says about the output, which is its standard input: its status; 0: that the run failed. -1: it cannot
 * be run, or was killed. */
int weft__fail_if(const char *command, int out, int err);

/* ---- stuck.c ---- */
/* Prints what the threads of the process, which replays t, wait for; it stands where it was stuck. */
void weft__stuck_tell(struct weft_trace *t, const struct weft_control *c, pid_t pid);
void weft__stuck_text(struct weft_trace *t, const struct weft_control *c, pid_t pid, struct weft_strbuf *out); /* the same, as lines */

/* ---- rerun.c: a trace that is run again ---- */
struct weft_rerun {
    char *dir;
    struct weft_trace *t;
    struct weft_schedule schedule;
    struct weft_launch launch;
};
/* The trace that the user means; all is checked and ready to be launched. If not: says why, and *status is to be weft's. To be
 * closed in any case. */
bool weft__rerun_open(const char *name, struct weft_rerun *r, int *status);
/* The same for a trace that is open, r->t: the rest is filled in. -ENODATA: there is nothing in it to replay. */
int weft__rerun_prepare(struct weft_rerun *r, struct weft_err *err) WEFT_MUST;
/* The part that this process runs again; NULL: it is the first process. */
struct weft_schedule *weft__rerun_part(struct weft_schedule *s, pid_t pid);
/* A process that was forked was stuck: so was the recording, even if its first process had ended. */
bool weft__rerun_stuck(const struct weft_rerun *r);
/* NULL: this run was the recorded one. Otherwise what was different; new memory. */
char *weft__rerun_judge(const struct weft_rerun *r, int wait_status);
/* The same of a run that need not have come to its end. */
char *weft__rerun_complaint(const struct weft_rerun *r);
void weft__rerun_close(struct weft_rerun *r);

/* ---- status.c: how programs end ---- */
/* A message of the runtime, its sites (@0xADDR) as file:line; new memory. */
char *weft__message_lines(struct weft_trace *t, const char *message);
void weft__status_text(struct weft_strbuf *b, uint32_t kind, uint32_t code); /* "exit 0", "signal 11 (SIGSEGV)" */
/* Why the log ended before the program did; error as in a LOST item. */
const char *weft__lost_text(uint64_t error);
void weft__status_of(int wait_status, uint32_t *kind, uint32_t *code);
/* Ends weft the same way; does not return for a signal. */
int weft__status_repeat(uint32_t kind, uint32_t code);

#endif
