/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft info: what a trace is about, for people or as JSON. */
#include "cli/cli.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void status_text(struct weft_trace *t, struct weft_strbuf *b) {
    if (t->recording)
        weft__strbuf_puts(b, "recording");
    else if (!t->has_end)
        weft__strbuf_puts(b, "incomplete");
    else
        weft__status_text(b, t->end.kind, t->end.code);
}

/* As a shell would take it. */
static void quoted(struct weft_strbuf *b, const char *s) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
    if (*s && !s[strspn(s, plain)]) {
        weft__strbuf_puts(b, s);
        return;
    }
    weft__strbuf_puts(b, "'");
    for (; *s; s++) weft__strbuf_add(b, *s == '\'' ? "'\\''" : s, *s == '\'' ? 4 : 1);
    weft__strbuf_puts(b, "'");
}

/* The text of a note of the recorder; of a file that the trace refers to, its path. NULL: the item is neither. */
static const uint8_t *text_of(const struct weft_item *i, bool files, size_t *len) {
    struct weft_file_item f;
    if (!files) {
        *len = i->size;
        return i->kind == WEFT_ITEM_NOTE ? i->data : NULL;
    }
    if (i->kind != WEFT_ITEM_INPUT || i->op != WEFT_OP_FILE || i->size < 8 + sizeof f) return NULL;
    memcpy(&f, i->data + 8, sizeof f);
    *len = i->size - 8 - sizeof f;
    return f.what == WEFT_FILE_OPENED && (f.a & O_ACCMODE) == O_RDONLY ? i->data + 8 + sizeof f : NULL;
}

/* All of these, each once, as a list in JSON or as lines. */
static void texts(struct weft_trace *t, bool files, struct weft_strbuf *b, bool json) {
    struct weft_cursor c;
    struct weft_item i;
    struct weft_err err;
    char **seen = NULL;
    size_t n = 0, cap = 0, len;
    weft__cursor_open(&c, t, 0);
    while (weft__cursor_next(&c, &i, &err) > 0) {
        const uint8_t *p = text_of(&i, files, &len);
        if (!p) continue;
        struct weft_strbuf text = {0};
        weft__strbuf_add(&text, p, len);
        weft__strbuf_add(&text, "", 1);
        bool again = false;
        for (size_t k = 0; k < n && !again; k++) again = strcmp(seen[k], text.s) == 0;
        if (again) {
            weft__strbuf_fini(&text);
            continue;
        }
        seen = weft__grow(seen, &cap, n + 1, sizeof *seen);
        seen[n++] = text.s;
        weft__strbuf_puts(b, !json ? files ? "refers to " : "note      " : n == 1 ? "" : ", ");
        if (json)
            weft__strbuf_json(b, text.s);
        else
            weft__strbuf_printf(b, "%s\n", text.s);
    }
    weft__cursor_close(&c);
    for (size_t k = 0; k < n; k++) free(seen[k]);
    free(seen);
}

static void print_json(struct weft_trace *t, const struct weft_counts *n, const struct weft_parts *parts, const char *status) {
    struct weft_strbuf b = {0};
    weft__strbuf_puts(&b, "{\n  \"trace\": ");
    weft__strbuf_json(&b, t->dir);
    weft__strbuf_puts(&b, ",\n  \"program\": ");
    weft__strbuf_json(&b, t->program);
    weft__strbuf_puts(&b, ",\n  \"argv\": [");
    for (char **a = t->argv; *a; a++) {
        if (a != t->argv) weft__strbuf_puts(&b, ", ");
        weft__strbuf_json(&b, *a);
    }
    weft__strbuf_puts(&b, "],\n  \"cwd\": ");
    weft__strbuf_json(&b, t->cwd);
    weft__strbuf_printf(&b, ",\n  \"time\": %" PRIu64 ",\n  \"status\": ", t->header.start_time);
    weft__strbuf_json(&b, status);
    if (t->has_end)
        weft__strbuf_printf(&b, ",\n  \"%s\": %u", t->end.kind == WEFT_END_SIGNAL ? "signal" : t->end.kind == WEFT_END_STUCK ? "stuck" : "exit", t->end.code);
    weft__strbuf_printf(&b,
                        ",\n  \"complete\": %s,\n  \"lost\": %s,\n  \"processes\": %" PRIu64 ",\n  \"programs\": %" PRIu64 ",\n  \"threads\": %" PRIu64 ",\n  \"edges\": %" PRIu64
                        ",\n  \"inputs\": %" PRIu64 ",\n  \"stream_bytes\": %" PRIu64 ",\n  \"edge_bytes\": %" PRIu64 ",\n  \"bytes\": %" PRIu64
                        ",\n  \"modules\": [",
                        t->has_end ? "true" : "false", n->lost ? "true" : "false", 1 + parts->forked, 1 + parts->executed, n->threads, n->edges, n->inputs,
                        n->stream_bytes, n->edge_bytes, weft__trace_disk_bytes(t->dir));
    for (size_t i = 0; i < t->nmodules; i++) {
        weft__strbuf_puts(&b, i ? ", {\"path\": " : "{\"path\": ");
        weft__strbuf_json(&b, t->modules[i].path);
        weft__strbuf_printf(&b, ", \"weft\": %s}", t->modules[i].weft ? "true" : "false");
    }
    weft__strbuf_puts(&b, "],\n  \"refers_to\": [");
    texts(t, true, &b, true);
    weft__strbuf_puts(&b, "],\n  \"notes\": [");
    texts(t, false, &b, true);
    weft__strbuf_puts(&b, "]");
    char *simple = weft__store_simplified(t->dir, "simplified");
    if (simple) weft__strbuf_printf(&b, ",\n  \"simplified\": %s", simple);
    free(simple);
    weft__strbuf_puts(&b, "\n}\n");
    fputs(b.s, stdout);
    weft__strbuf_fini(&b);
}

static void print_text(struct weft_trace *t, const struct weft_counts *n, const struct weft_parts *parts, const char *status) {
    struct weft_strbuf command = {0};
    char buf[WEFT_NUMBUF], when[64] = "";
    time_t start = (time_t)t->header.start_time;
    struct tm tm;
    if (localtime_r(&start, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    for (char **a = t->argv; *a; a++) {
        if (a != t->argv) weft__strbuf_puts(&command, " ");
        quoted(&command, *a);
    }
    printf("trace     %s\n", t->dir);
    printf("program   %s\n", t->program);
    printf("command   %s\n", command.s);
    printf("in        %s\n", t->cwd);
    printf("recorded  %s\n", when);
    printf("status    %s\n", status);
    char *refused = weft__store_simplified(t->dir, "refused");
    if (refused) printf("refused   %s\n", refused);
    free(refused);
    if (parts->forked)
        printf("forked    %s process%s: weft info %s/1, and so on\n", weft__commas(buf, parts->forked),
               parts->forked == 1 ? "" : "es", t->dir);
    if (parts->executed)
        printf("executed  %s program%s: weft info %s/1, and so on\n", weft__commas(buf, parts->executed),
               parts->executed == 1 ? "" : "s", t->dir);
    printf("threads   %s\n", weft__commas(buf, n->threads));
    printf("edges     %s\n", weft__commas(buf, n->edges));
    printf("inputs    %s\n", weft__commas(buf, n->inputs));
    printf("bytes     %s", weft__commas(buf, weft__trace_disk_bytes(t->dir)));
    printf(" (%s of events", weft__commas(buf, n->stream_bytes));
    printf(", %s of these of edges)\n", weft__commas(buf, n->edge_bytes));
    for (size_t i = 0; i < t->nmodules; i++)
        printf("module    %s%s\n", t->modules[i].path,
               weft__is_foreign(&t->modules[i]) ? " (not built with weft)" : "");
    struct weft_strbuf said = {0};
    texts(t, true, &said, false);
    texts(t, false, &said, false);
    if (said.len) fputs(said.s, stdout);
    weft__strbuf_fini(&said);
    char *simple = weft__store_simplified(t->dir, "simplified.txt");
    if (simple) printf("simplified\n%s", simple);
    free(simple);
    if (n->lost) printf("lost      %s: what came after that is not known\n", weft__lost_text(n->lost_by));
    weft__strbuf_fini(&command);
}

int weft__cmd_info(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
    bool json = false;
    struct weft_err err;
    struct weft_trace *t = NULL;
    struct weft_strbuf status = {0};
    char *dir = NULL;
    int ret = WEFT_FAILED;
    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o != 'j') return weft__usage("info", "there is no option %s", argv[optind - 1]);
        json = true;
    }
    if (argc - optind > 1) return weft__usage("info", "one trace at a time");
    struct weft_counts counts;
    struct weft_parts parts = {0};
    if (weft__store_find(argv[optind], &dir, &err) < 0 || weft__trace_open(dir, &t, &err) < 0 ||
        weft__trace_check(t, &counts, &err) < 0 || weft__trace_check_parts(t, &parts, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    status_text(t, &status);
    (json ? print_json : print_text)(t, &counts, &parts, status.s);
    ret = weft__flush(0);
out:
    weft__strbuf_fini(&status);
    weft__trace_close(t);
    free(dir);
    return ret;
}
