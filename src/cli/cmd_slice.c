/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft slice: on what of a run its failure depends (src/slice): figures, and lines of the program. This is the reduction that dependences
 * alone give (ER in LEAN's table 5), of any trace. */
#include "cli/cli.h"
#include "slice/slice.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    char **list;
    size_t n, cap;
};

static int by_name(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b, *p = strrchr(x, ':'), *q = strrchr(y, ':');
    if (!p || !q || p - x != q - y || strncmp(x, y, (size_t)(p - x)) != 0) return strcmp(x, y);
    long l = strtol(p + 1, NULL, 10), m = strtol(q + 1, NULL, 10);
    return (l > m) - (l < m);
}

/* Each once, by file and line. */
static void lines_of(struct weft_trace *t, const struct weft_slice *s, struct lines *out) {
    struct weft_symbols *y = weft__symbols_new(t);
    size_t n = 0;
    for (size_t i = 0; i < s->npcs; i++) {
        const char *line = weft__symbols_line(y, s->pcs[i]);
        if (!strchr(line, ':')) continue; /* of a file without debug information */
        out->list = weft__grow(out->list, &out->cap, out->n + 1, sizeof *out->list);
        out->list[out->n++] = weft__strdup(line);
    }
    weft__symbols_free(y);
    if (out->n) qsort(out->list, out->n, sizeof *out->list, by_name);
    for (size_t i = 0; i < out->n; i++) {
        if (n && strcmp(out->list[n - 1], out->list[i]) == 0)
            free(out->list[i]);
        else
            out->list[n++] = out->list[i];
    }
    out->n = n;
}

static void row(const char *name, uint64_t all, uint64_t relevant) {
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF];
    printf("%-12s %14s %14s", name, weft__commas(a, all), weft__commas(b, relevant));
    if (relevant < all) printf("  -%.1f %%", 100.0 * (double)(all - relevant) / (double)all);
    putchar('\n');
}

static void print_text(const struct weft_slice *s, const struct weft_slice_size *all, const struct weft_slice_size *rel, const struct lines *l) {
    printf("%-12s %14s %14s\n", "", "all", "relevant");
    row("threads", all->threads, rel->threads);
    row("events", all->events, rel->events);
    row("switches", all->switches, rel->switches);
    row("  preemptive", all->preemptive, rel->preemptive);
    row("instructions", s->relevant.instructions, s->relevant.relevant);
    for (size_t i = 0; i < l->n; i++) printf("%s\n", l->list[i]);
}

static void print_size(const char *name, const struct weft_slice_size *z, uint64_t instructions) {
    printf("  \"%s\": {\"threads\": %" PRIu64 ", \"events\": %" PRIu64 ", \"switches\": %" PRIu64 ", \"preemptive\": %" PRIu64 ", \"instructions\": %" PRIu64 "},\n",
           name, z->threads, z->events, z->switches, z->preemptive, instructions);
}

static void print_json(const struct weft_slice *s, const struct weft_slice_size *all, const struct weft_slice_size *rel, const struct lines *l) {
    printf("{\n");
    print_size("all", all, s->relevant.instructions);
    print_size("relevant", rel, s->relevant.relevant);
    printf("  \"steps\": %" PRIu64 ",\n  \"seconds\": %.3f,\n  \"lines\": [", s->steps, (double)s->time_us / 1e6);
    for (size_t i = 0; i < l->n; i++) {
        struct weft_strbuf b = {0};
        weft__strbuf_json(&b, l->list[i]);
        printf("%s%s", i ? ", " : "", b.s);
        weft__strbuf_fini(&b);
    }
    printf("]\n}\n");
}

enum { O_JSON = 256, O_MOST, O_SINGLE };

int weft__cmd_slice(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, O_JSON}, {"most", required_argument, NULL, O_MOST}, {"single-step", no_argument, NULL, O_SINGLE}, {0}};
    struct weft_rerun run;
    struct weft_err err;
    struct weft_slice s = {0};
    struct weft_slice_size all, relevant;
    struct lines lines = {0};
    uint64_t most = WEFT_SLICE_MOST;
    bool json = false, single = false;
    int status;
    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        switch (o) {
        case O_JSON: json = true; break;
        case O_SINGLE: single = true; break;
        case O_MOST:
            if (!(most = weft__number_of(optarg, UINT32_MAX))) return weft__usage("slice", "--most wants a number of instructions, not '%s'", optarg);
            break;
        case ':': return weft__usage("slice", "%s needs a value", argv[optind - 1]);
        default: return weft__usage("slice", "there is no option %s", argv[optind - 1]);
        }
    }
    if (argc - optind > 1) return weft__usage("slice", "one trace at a time");
    if (!weft__rerun_open(argv[optind], &run, &status)) goto out;
    status = WEFT_FAILED;
    if (weft__slice_make(run.t, &run.schedule, &run.launch, most, single, &s, &err) < 0 || weft__slice_measure(run.t, &s.relevant, &all, &relevant, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    lines_of(run.t, &s, &lines);
    (json ? print_json : print_text)(&s, &all, &relevant, &lines);
    if (s.unknown) weft__warn("%llu instructions could not be decoded: what depends on them is not known", (unsigned long long)s.unknown);
    status = weft__flush(0);
out:
    for (size_t i = 0; i < lines.n; i++) free(lines.list[i]);
    free(lines.list);
    weft__slice_fini(&s);
    weft__rerun_close(&run);
    return status;
}
