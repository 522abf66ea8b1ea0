/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft record: runs the program once and ends as it did; or again and again until it fails (catch.c). */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SIZE_LEAST (64u << 10)

/* "64K", "10M", "2G" or bytes; 0: none of these, or too small for a trace. */
static uint64_t size_of(const char *s) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    uint64_t n = strtoull(s, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end == s || *s == '-' || errno || end[unit != NULL] || n > UINT64_MAX >> shift) return 0;
    return n << shift < MAX_SIZE_LEAST ? 0 : n << shift;
}

static int record_once(struct weft_run *r, const char *dir_option) {
    struct weft_err err;
    r->latest = !dir_option;
    if (weft__store_new(dir_option, r->program, &r->dir, &err) < 0 || weft__run_begin(r, &err) < 0) return weft__fail(&err);
    if (weft__run_go(r, &err) < 0) {
        weft__fail(&err);
        if (weft__store_remove(r->dir, true, &err) < 0) weft__fail(&err); /* nothing is in it */
        return WEFT_FAILED;
    }
    int e = weft__run_seal(r, dir_option ? dir_option : weft__basename(r->dir), &err);
    weft__run_say(&r->lines);
    weft__run_end(r);
    sigprocmask(SIG_SETMASK, &r->mask, NULL);
    if (e < 0) {
        weft__warn("the program ended, but its trace cannot be closed: %s", err.text);
        if (e == -EBADMSG) return WEFT_FAILED;
        return weft__status_repeat(r->kind, r->code); /* the disk is full; what there is can be replayed */
    }
    if (*r->message) return WEFT_FAILED;
    if (r->stuck) return WEFT_STUCK_STATUS;
    return weft__status_repeat(r->kind, r->code);
}

enum { O_MAX_SIZE = 256, O_BY_REFERENCE, O_TIMEOUT, O_IDLE, O_UNTIL_FAIL, O_FOR, O_JOBS, O_FAIL_IF, O_OK, O_KEEP_GOING, O_CHAOS, O_STRATEGY };

int weft__cmd_record(int argc, char **argv) {
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"max-size", required_argument, NULL, O_MAX_SIZE},
                                            {"by-reference", no_argument, NULL, O_BY_REFERENCE},
                                            {"timeout", required_argument, NULL, O_TIMEOUT},
                                            {"idle", required_argument, NULL, O_IDLE},
                                            {"until-fail", optional_argument, NULL, O_UNTIL_FAIL},
                                            {"for", required_argument, NULL, O_FOR},
                                            {"jobs", required_argument, NULL, O_JOBS},
                                            {"fail-if", required_argument, NULL, O_FAIL_IF},
                                            {"ok", required_argument, NULL, O_OK},
                                            {"keep-going", optional_argument, NULL, O_KEEP_GOING},
                                            {"chaos", optional_argument, NULL, O_CHAOS},
                                            {"strategy", required_argument, NULL, O_STRATEGY},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *dir = NULL, *strategy = NULL, *only = NULL; /* an option that is for --until-fail only */
    struct weft_run run = {.control = {.fd = -1}, .lock = -1};
    struct weft_catch catch = {.jobs = 1, .failures = 1};
    struct weft_err err;
    int status = WEFT_FAILED;

    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    run.watch.idle_us = UINT64_MAX; /* not said */
    for (int o, which; (o = getopt_long(argc, argv, "+:o:", options, &which)) != -1;) {
        if (o == O_FOR || o == O_JOBS || o == O_FAIL_IF || o == O_OK || o == O_KEEP_GOING) only = options[which].name;
        switch (o) {
        case 'o': dir = optarg; break;
        case O_MAX_SIZE:
            if (!(run.max_size = size_of(optarg)))
                return weft__usage("record", "--max-size wants a size from 64K on, as in 500M or 2G, not '%s'", optarg);
            break;
        case O_BY_REFERENCE: run.by_reference = true; break;
        case O_TIMEOUT:
            if (!(run.watch.all_us = weft__time_of(optarg)))
                return weft__usage("record", "--timeout wants a time, as in 0.5, 30 or 10m, not '%s'", optarg);
            break;
        case O_IDLE:
            run.watch.idle_us = weft__time_of(optarg);
            if (!run.watch.idle_us && strcmp(optarg, "0") != 0)
                return weft__usage("record", "--idle wants a time, as in 0.5, 30 or 10m, or 0, not '%s'", optarg);
            break;
        case O_UNTIL_FAIL:
            run.catching = true;
            if (optarg && !(catch.tries = weft__number_of(optarg, UINT64_MAX)))
                return weft__usage("record", "--until-fail wants a number of runs from 1 on, not '%s'", optarg);
            break;
        case O_FOR:
            if (!(catch.time_us = weft__time_of(optarg)))
                return weft__usage("record", "--for wants a time, as in 30, 10m or 2h, not '%s'", optarg);
            break;
        case O_JOBS:
            if (!(catch.jobs = weft__number_of(optarg, WEFT_JOBS_MAX)))
                return weft__usage("record", "--jobs wants a number from 1 to %d, not '%s'", WEFT_JOBS_MAX, optarg);
            break;
        case O_FAIL_IF: catch.fail_if = optarg; break;
        case O_OK:
            if (!(catch.ok = weft__number_of(optarg, 255))) return weft__usage("record", "--ok wants a status from 1 to 255, not '%s'", optarg);
            break;
        case O_KEEP_GOING:
            catch.failures = UINT64_MAX;
            if (optarg && !(catch.failures = weft__number_of(optarg, UINT64_MAX)))
                return weft__usage("record", "--keep-going wants a number of failures from 1 on, not '%s'", optarg);
            break;
        case O_CHAOS: {
            char *end = "";
            run.chaos.on = true;
            run.chaos.seeded = optarg != NULL;
            if (optarg) run.chaos.seed = strtoull(optarg, &end, 0);
            if (optarg && (!*optarg || *optarg == '-' || *end)) return weft__usage("record", "--chaos wants a number, not '%s'", optarg);
            break;
        }
        case O_STRATEGY:
            strategy = optarg;
            if (strcmp(optarg, "random") == 0)
                run.chaos.strategy = WEFT_CHAOS_RANDOM;
            else if (strcmp(optarg, "pct") == 0)
                run.chaos.strategy = WEFT_CHAOS_PCT;
            else if (strcmp(optarg, "mix") != 0)
                return weft__usage("record", "--strategy is random, pct or mix, not '%s'", optarg);
            break;
        case ':': return weft__usage("record", "%s needs a value", argv[optind - 1]);
        default: return weft__usage("record", "there is no option %s", argv[optind - 1]);
        }
    }
    if (optind == argc) return weft__usage("record", "no program to record");
    if (dir && !*dir) return weft__usage("record", "the folder's name is empty");
    if (only && !run.catching) return weft__usage("record", "--%s is for --until-fail", only);
    if (strategy && !run.chaos.on) return weft__usage("record", "--strategy is for --chaos");
    run.chaos.run = 1;
    if (run.chaos.on && !run.chaos.seeded) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        run.chaos.seed = ((uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 10) & 0xffffffff;
    }
    if (run.watch.idle_us == UINT64_MAX) run.watch.idle_us = run.catching ? WEFT_CATCH_IDLE_US : 0;

    if (weft__run_init(&run, argv + optind, &err) < 0)
        weft__fail(&err);
    else
        status = run.catching ? weft__catch(&catch, &run, dir) : record_once(&run, dir);
    weft__run_fini(&run);
    return status;
}
