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
    X(info, "[--json] [TRACE]", "tell what a trace is about")                                                          \
    X(dump, "[--vectors] [TRACE]", "print threads, edges and inputs of a trace")                                       \
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
int weft__fail(const struct weft_err *err); /* prints it; WEFT_FAILED */
int weft__flush(int status);                /* stdout, with its errors; status if it worked */

/* ---- store.c: where traces are ---- */
/* $WEFT_TRACE_DIR, $XDG_DATA_HOME/weft or ~/.local/share/weft; new memory. */
int weft__store_dir(char **out, struct weft_err *err) WEFT_MUST;
/* Makes the folder for a new trace: `dir` if the user names one, else PROGRAM-N in the store. Absolute; new memory. */
int weft__store_new(const char *dir, const char *program, char **out, struct weft_err *err) WEFT_MUST;
void weft__store_set_latest(const char *trace); /* quietly does nothing if it cannot */
/* The folder that the user means; NULL: the latest. New memory. */
int weft__store_find(const char *name, char **out, struct weft_err *err) WEFT_MUST;
/* Removes a trace and nothing else; one that is being recorded only if it is our own. */
int weft__store_remove(const char *dir, bool own, struct weft_err *err) WEFT_MUST;
const char *weft__basename(const char *path);
/* Code that weft does not order and people may not expect: not built with weft, and none of the C and C++ libraries
 * whose functions the runtime knows. */
bool weft__is_foreign(const struct weft_module *m);

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
