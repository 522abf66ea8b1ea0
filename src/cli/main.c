/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft: picks the subcommand. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command {
    const char *name, *args, *text;
    int (*run)(int argc, char **argv);
} commands[] = {
#define WEFT_X(name, args, text) {#name, args, text, weft__cmd_##name},
    WEFT_COMMANDS(WEFT_X)
#undef WEFT_X
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const struct {
    const char *command, *text;
} options[] = {
    {"record",
     "\n"
     "  -o DIR           the folder to make for the trace\n"
     "  --max-size SIZE  the most that the trace may take on disk (500M, 2G): then the recording ends, and the program\n"
     "                   goes on, unrecorded; a full disk does the same\n"
     "  --by-reference   keep hashes, not bytes, of what is read from files of 1 MiB or more: the replay needs the files\n"
     "  --timeout TIME   end the program after so long (30, 0.5, 10m); the trace replays to where it was: status 124\n"
     "  --idle TIME      the same if nothing happens for so long\n"
     "\n"
     "  --until-fail[=N] run it again and again, at most N times, until it fails: a status other than 0, a signal, or\n"
     "                   stuck (--timeout; --idle, which is 10 s here); only traces of failing runs are kept\n"
     "  --for TIME       ... for so long at most\n"
     "  --jobs N         ... N runs at a time\n"
     "  --fail-if CMD    ... a run fails also if CMD, which gets its output on standard input, ends with status 0\n"
     "  --ok STATUS      ... a run that ends with this status has not failed\n"
     "  --keep-going[=N] ... until N runs have failed, or to the end of what was asked for; not only until the first\n"
     "\n"
     "  --chaos[=SEED]   run one thread at a time and choose at each access who goes on: shows races that hardly ever happen\n"
     "  --strategy S     ... random: at random; pct: by priorities that change at a few random places; mix: in turn\n"},
    {"replay",
     "\n"
     "  --times N            replay it N times, and say how many were identical\n"
     "  --write-files DIR    write the files that the program wrote, below DIR; otherwise they are compared only\n"},
    {"simplify",
     "\n"
     "  -o DIR             the folder to make for the smaller trace; TRACE-simple otherwise\n"
     "  --budget TIME      stop after so long (30, 10m, 2h) with what there is: 10 minutes otherwise\n"
     "  --jobs N           N candidates at a time: one per processor otherwise; the result is the same\n"
     "  --fail-if CMD      it failed if CMD, which gets its output on standard input, ends with status 0\n"
     "  --ok STATUS        a run that ends with this status has not failed\n"
     "  --repeat FILE:LINE iterations of the loop there may be left out as well; may be given more than once\n"
     "  --no-slice         do not look for what the failure depends on: it takes a while for long runs\n"},
    {"slice",
     "\n"
     "  --json          one JSON object; weft-slice(1) tells its fields\n"
     "  --most N        follow N instructions at most: 20 million otherwise\n"
     "  --single-step   stop at every instruction: slower, and the same result\n"},
    {"debug",
     "\n"
     "  --at-failure   run to where the recorded run failed, and stop there\n"
     "  --process N    another process of the trace than the first one (1, 2, ...; its own are 1/1, 1/2, ...)\n"
     "\n"
     "Commands in gdb: weft-where, weft-edges [N], weft-run-to THREAD:TICK[:SITE]\n"},
    {"report",
     "\n"
     "  --text         one screen for a terminal: the default\n"
     "  --json         one JSON object; weft-report(1) tells its fields\n"
     "  -o FILE.html   a page with a lane for each thread\n"
     "  --no-replay    only what the trace tells: no stacks, values and races\n"},
    {"races",
     "\n"
     "  --all          all pairs of lines, not only the 50 that are most likely\n"
     "  --json         one JSON object; weft-races(1) tells its fields\n"
     "  --sarif        SARIF 2.1.0, for editors and code review\n"},
    {"profile",
     "\n"
     "  -o FILE        the profile that the run is added to: PROGRAM.weft-profile otherwise\n"
     "  --merge A B... make one profile, -o FILE, of several\n"
     "  --show FILE    print a profile, and what its last runs added\n"},
    {"dump",
     "\n"
     "  --sites        positions as addresses, not as source lines\n"
     "  --vectors      LEAP's access vectors\n"
     "  --perfetto     for the Perfetto viewer: tracks, slices and arrows, as JSON\n"},
};

static void print_options(const struct command *c) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].command, c->name) == 0) fputs(options[i].text, stdout);
}

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static void print_usage(FILE *f, const struct command *c) {
    fprintf(f, "usage: weft %s%s%s\n", c->name, *c->args ? " " : "", c->args);
}

static void print_help(FILE *f) {
    fprintf(f, "usage: weft COMMAND [ARGUMENT...]\n\n"
               "weft records a multithreaded program while it runs, and replays that run exactly.\n\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", commands[i].name, *commands[i].args ? " " : "", commands[i].args);
        fprintf(f, "  weft %-38s %s\n", left, commands[i].text);
    }
    fprintf(f, "  weft %-38s %s\n\n", "--version", "print the version");
    fprintf(
        f,
        "Programs are built with weft-cc or weft-c++ in place of cc and c++. A TRACE is a folder, or the name of one\n"
        "in the trace directory ($WEFT_TRACE_DIR, else $XDG_DATA_HOME/weft, else ~/.local/share/weft); without one,\n"
        "the latest is meant. weft's own failures end in status 125.\n");
}

int weft__usage(const char *command, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const struct command *c = find(command);
    weft__warn("%s: %s (usage: weft %s %s)", command, text, command, c ? c->args : "");
    return WEFT_FAILED;
}

bool weft__asks_help(int argc, char **argv) {
    if (argc != 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)) return false;
    const struct command *c = find(argv[0]);
    print_usage(stdout, c);
    printf("%s\n", c->text);
    print_options(c);
    return true;
}

uint64_t weft__time_of(const char *s) {
    char *end;
    double n = strtod(s, &end);
    double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    if (*end == 's' || *end == 'm' || *end == 'h') end++;
    if (end == s || *end || *s == '-' || !(n * unit >= 0.001) || n * unit > 1e9) return 0;
    return (uint64_t)(n * unit * 1e6);
}

uint64_t weft__number_of(const char *s, uint64_t most) {
    char *end;
    errno = 0;
    uint64_t n = strtoull(s, &end, 10);
    return end == s || *end || *s == '-' || errno || n > most ? 0 : n;
}

int weft__fail(const struct weft_err *err) {
    weft__warn("%s", err->text);
    return WEFT_FAILED;
}

int weft__flush(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    weft__warn("cannot write to standard output: %s", strerror(errno));
    return WEFT_FAILED;
}

int weft__cmd_help(int argc, char **argv) {
    if (argc > 2) return weft__usage("help", "one command at a time");
    if (argc == 2) {
        const struct command *c = find(argv[1]);
        if (!c) return weft__usage("help", "there is no command '%s'", argv[1]);
        print_usage(stdout, c);
        printf("%s; see weft-%s(1)\n", c->text, c->name);
        print_options(c);
    } else {
        print_help(stdout);
    }
    return weft__flush(0);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return WEFT_FAILED;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("weft %s\n", WEFT_VERSION);
        return weft__flush(0);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return weft__flush(0);
    }
    const struct command *c = find(argv[1]);
    if (!c) {
        weft__warn("there is no command '%s' (weft help lists them)", argv[1]);
        return WEFT_FAILED;
    }
    return c->run(argc - 1, argv + 1);
}
