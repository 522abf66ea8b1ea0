/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft replay: runs the recorded program along its trace and says whether it was the same run. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct replaying {
    struct weft_trace *t;
    struct weft_schedule *schedule;
    bool quiet;
};

static void on_stuck(void *ctx, pid_t pid) {
    struct replaying *r = ctx;
    struct weft_schedule *s = weft__rerun_part(r->schedule, pid);
    if (!r->quiet) weft__stuck_tell(s ? s->trace : r->t, s ? s->control : r->schedule->control, pid);
}

/* A new or an empty folder; out (4096 bytes) gets its absolute path. */
static int prepare_folder(const char *dir, char *out, struct weft_err *err) {
    if (mkdir(dir, 0777) < 0 && errno != EEXIST) return weft__err(err, errno, "%s: %s", dir, strerror(errno));
    char *path = realpath(dir, NULL);
    DIR *d = path ? opendir(path) : NULL;
    int r = d ? 0 : weft__err(err, errno, "%s: %s", dir, strerror(errno));
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = weft__err(err, EEXIST, "%s: is not empty: files are written to a new or empty folder", dir);
    if (r == 0 && strlen(path) >= sizeof((struct weft_control *)0)->write_files) r = weft__err(err, ENAMETOOLONG, "%s: the path is too long", dir);
    if (r == 0) strcpy(out, path);
    if (d) closedir(d);
    free(path);
    return r;
}

int weft__cmd_replay(int argc, char **argv) {
    static const struct option options[] = {
        {"times", required_argument, NULL, 'n'}, {"write-files", required_argument, NULL, 'w'}, {0}};
    const char *write_files = NULL;
    unsigned long times = 1, identical = 0;
    bool say = false;
    struct weft_err err;
    struct weft_rerun run;
    int status;

    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        char *end;
        if (o == ':') return weft__usage("replay", "%s needs a value", argv[optind - 1]);
        if (o == 'w') {
            write_files = optarg;
            continue;
        }
        if (o != 'n') return weft__usage("replay", "there is no option %s", argv[optind - 1]);
        times = strtoul(optarg, &end, 10);
        if (*end || end == optarg || *optarg == '-' || times == 0 || times > 1000000000)
            return weft__usage("replay", "--times wants a number from 1 on, not '%s'", optarg);
        say = true;
    }
    if (argc - optind > 1) return weft__usage("replay", "one trace at a time");

    if (!weft__rerun_open(argv[optind], &run, &status)) goto out;
    struct weft_trace *t = run.t;
    struct weft_schedule *schedule = &run.schedule;
    struct replaying replaying = {.t = t, .schedule = schedule};
    run.launch.stuck = on_stuck;
    run.launch.ctx = &replaying;
    if (write_files && prepare_folder(write_files, schedule->control->write_files, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    char *first = NULL;
    for (unsigned long i = 0; i < times; i++) {
        int wait_status;
        weft__schedule_reset(schedule);
        if (i > 0) schedule->control->write_files[0] = 0;
        run.launch.quiet = replaying.quiet = i > 0;
        if (weft__launch(&run.launch, &wait_status, &err) < 0) {
            weft__fail(&err);
            free(first);
            goto out;
        }
        char *why = weft__rerun_judge(&run, wait_status);
        identical += !why;
        if (!why || first)
            free(why);
        else
            first = why;
    }
    if (first) {
        weft__warn("%s", first);
        free(first);
    }
    if (say) fprintf(stderr, "%lu of %lu identical\n", identical, times);
    if (identical < times) goto out;
    if (schedule->counts.lost)
        weft__warn("%s: %s: it was replayed up to there", t->dir, weft__lost_text(schedule->counts.lost_by));
    char *refused = weft__store_simplified(t->dir, "refused");
    if (refused) weft__warn("%s: it was recorded up to here: %s", t->dir, refused);
    free(refused);
    if (!t->has_end) {
        weft__warn("%s: the recording was cut short; it was replayed up to its last event", t->dir);
        status = 0;
    } else if (weft__rerun_stuck(&run)) {
        status = WEFT_STUCK_STATUS;
    } else {
        status = weft__status_repeat(t->end.kind, t->end.code);
    }
out:
    weft__rerun_close(&run);
    return status;
}
