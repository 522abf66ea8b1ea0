/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft ls: the traces of the trace directory, oldest first. Only headers and ends are read. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct entry {
    char *name;
    uint64_t time;
    struct weft_strbuf line;
};

static int by_time(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return strverscmp(x->name, y->name);
}

static void describe(const char *dir, struct entry *e) {
    struct weft_err err;
    struct weft_trace *t;
    if (weft__trace_open(dir, &t, &err) < 0) {
        weft__strbuf_puts(&e->line, "unreadable");
        return;
    }
    char when[64] = "", bytes[WEFT_NUMBUF];
    time_t start = (time_t)t->header.start_time;
    struct tm tm;
    struct weft_strbuf status = {0};
    if (localtime_r(&start, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    if (t->recording)
        weft__strbuf_puts(&status, "recording");
    else if (!t->has_end)
        weft__strbuf_puts(&status, "incomplete");
    else
        weft__status_text(&status, t->end.kind, t->end.code);
    e->time = t->header.start_time;
    weft__strbuf_printf(&e->line, "%s  %10s  %-20s", when, weft__bytes(bytes, weft__trace_disk_bytes(dir)), status.s);
    for (char **a = t->argv; *a; a++) weft__strbuf_printf(&e->line, " %s", *a);
    weft__strbuf_fini(&status);
    weft__trace_close(t);
}

int weft__cmd_ls(int argc, char **argv) {
    struct weft_err err;
    struct entry *list = NULL;
    size_t n = 0, cap = 0;
    char *store;
    if (weft__asks_help(argc, argv)) return 0;
    if (argc > 1) return weft__usage("ls", "it takes no arguments");
    if (weft__store_dir(&store, &err) < 0) return weft__fail(&err);
    DIR *d = opendir(store);
    if (!d && errno != ENOENT) {
        weft__warn("%s: %s", store, strerror(errno));
        free(store);
        return WEFT_FAILED;
    }
    for (struct dirent *e; d && (e = readdir(d));) {
        struct weft_strbuf path = {0}, header = {0};
        if (e->d_name[0] == '.' || strcmp(e->d_name, "latest") == 0) continue;
        weft__strbuf_printf(&path, "%s/%s", store, e->d_name);
        weft__strbuf_printf(&header, "%s/header", path.s);
        FILE *f = fopen(header.s, "re");
        if (f) {
            fclose(f);
            list = weft__grow(list, &cap, n + 1, sizeof *list);
            list[n] = (struct entry){.name = weft__strdup(e->d_name)};
            describe(path.s, &list[n++]);
        }
        weft__strbuf_fini(&header);
        weft__strbuf_fini(&path);
    }
    if (d) closedir(d);
    if (n) qsort(list, n, sizeof *list, by_time);
    int width = 0;
    for (size_t i = 0; i < n; i++) width = (int)strlen(list[i].name) > width ? (int)strlen(list[i].name) : width;
    for (size_t i = 0; i < n; i++) {
        printf("%-*s  %s\n", width, list[i].name, list[i].line.s);
        free(list[i].name);
        weft__strbuf_fini(&list[i].line);
    }
    free(list);
    free(store);
    return weft__flush(0);
}
