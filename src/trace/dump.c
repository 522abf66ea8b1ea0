/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A trace in words: thread by thread, one item a line, positions as tick and source line. */
#include "trace/trace.h"
#include "trace/syscall_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *weft__op_text(uint64_t op, char *buf, size_t n) {
    switch (op) {
#define X(name, code)                                                                                                  \
    case code: return #name;
        WEFT_SYSCALLS(X)
#undef X
    default: break;
    }
    const char *name = weft__op_name(op);
    if (!name) {
        snprintf(buf, n, "operation %" PRIu64, op);
        return buf;
    }
    size_t i = 0;
    for (; name[i] && i + 1 < n; i++) buf[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
    buf[i] = 0;
    return buf;
}

#define PREVIEW 32
static void print_data(FILE *out, const uint8_t *p, size_t n) {
    if (!n) return;
    size_t shown = n < PREVIEW ? n : PREVIEW, printable = 0;
    for (size_t i = 0; i < shown; i++)
        printable += isprint(p[i]) || p[i] == '\n' || p[i] == '\t' || (p[i] == 0 && i + 1 == n);
    fprintf(out, ", %zu byte%s: ", n, n == 1 ? "" : "s");
    if (printable == shown) {
        fputc('"', out);
        for (size_t i = 0; i < shown; i++) {
            if (p[i] == '\n')
                fputs("\\n", out);
            else if (p[i] == '\t')
                fputs("\\t", out);
            else if (p[i] == 0)
                fputs("\\0", out);
            else if (p[i] == '"' || p[i] == '\\')
                fprintf(out, "\\%c", p[i]);
            else
                fputc(p[i], out);
        }
        fputc('"', out);
    } else {
        for (size_t i = 0; i < shown; i++) fprintf(out, "%s%02x", i && i % 8 == 0 ? " " : "", p[i]);
    }
    if (shown < n) fputs("...", out);
}

static void print_result(FILE *out, int64_t v) {
    const char *name = v < 0 && v >= -4095 ? strerrorname_np((int)-v) : NULL;
    if (name)
        fprintf(out, "-%s", name);
    else if (v > 0xffffff || v < -0xffffff)
        fprintf(out, "0x%" PRIx64, (uint64_t)v);
    else
        fprintf(out, "%" PRId64, v);
}

/* A site; the tick itself (a call into the runtime) has none. */
static const char *at(struct weft_symbols *s, uint64_t site) {
    static char hex[2][20]; /* two of a line */
    static unsigned which;
    if (!site) return "-";
    if (s) return weft__symbols_line(s, site);
    snprintf(hex[++which % 2], sizeof hex[0], "0x%" PRIx64, site);
    return hex[which % 2];
}

static uint64_t word(const struct weft_item *i) {
    uint64_t v;
    memcpy(&v, i->data, 8);
    return v;
}

static void print_item(FILE *out, const struct weft_item *i, struct weft_symbols *s) {
    char buf[64];
    fprintf(out, "  %-10" PRIu64 " ", i->tick);
    switch (i->kind) {
    case WEFT_ITEM_EDGE:
    case WEFT_ITEM_EDGE_STEP:
    case WEFT_ITEM_EDGE_DONE:
        fprintf(out, "%-7s %s after thread %u tick %" PRIu64 " %s%s", "edge", at(s, i->site), i->other_slot,
                i->other_tick, at(s, i->other_site), i->kind == WEFT_ITEM_EDGE_DONE ? " done" : "");
        if (i->kind == WEFT_ITEM_EDGE_STEP) fprintf(out, " step %" PRIu64, i->op);
        break;
    case WEFT_ITEM_INPUT:
        fprintf(out, "%-7s %s", "input", weft__op_text(i->op, buf, sizeof buf));
        if (i->size >= 8) {
            fputs(" = ", out);
            print_result(out, (int64_t)word(i));
            print_data(out, i->data + 8, i->size - 8);
        }
        break;
    case WEFT_ITEM_MEMORY:
        fprintf(out, "%-7s %s", "memory", at(s, i->op));
        if (i->size > 8) {
            fprintf(out, " finds 0x%" PRIx64, word(i));
            print_data(out, i->data + 8, i->size - 8);
        }
        break;
    case WEFT_ITEM_START:
        if (i->op)
            fprintf(out, "%-7s by thread %" PRIu64, "start", i->op);
        else
            fprintf(out, "%-7s main thread", "start");
        break;
    case WEFT_ITEM_EXIT: fputs("exit", out); break;
    case WEFT_ITEM_MODULE: {
        struct weft_module m;
        if (weft__module_decode(i, &m)) {
            fprintf(out, "%-7s %s at 0x%" PRIx64 "%s", "module", m.path, m.base, m.weft ? "" : ", not built with weft");
            free(m.path);
        } else {
            fprintf(out, "%-7s damaged", "module");
        }
        break;
    }
    case WEFT_ITEM_CRASH: {
        struct weft_crash_item c;
        const char *name = i->op <= 64 ? sigabbrev_np((int)i->op) : NULL;
        fprintf(out, "%-7s signal %" PRIu64 "%s%s", "crash", i->op, name ? " SIG" : "", name ? name : "");
        if (i->size >= sizeof c) {
            memcpy(&c, i->data, sizeof c);
            fprintf(out, " at %s, address 0x%" PRIx64, at(s, c.ip), c.addr);
        }
        break;
    }
    case WEFT_ITEM_VERIFY:
        fprintf(out, "%-7s %" PRIu64 " accesses", "verify", i->op);
        if (i->size >= 8) fprintf(out, ", hash %016" PRIx64, word(i));
        break;
    case WEFT_ITEM_REACHED:
        fprintf(out, "%-7s thread %" PRIu64, "reached", i->op);
        if (i->size >= 8) fprintf(out, " tick %" PRIu64, word(i));
        break;
    case WEFT_ITEM_SIGNAL: {
        const char *name = i->op <= 64 ? sigabbrev_np((int)i->op) : NULL;
        fprintf(out, "%-7s %" PRIu64 "%s%s", "signal", i->op, name ? " SIG" : "", name ? name : "");
        break;
    }
    case WEFT_ITEM_REPEAT:
        fprintf(out, "%-7s %s", "repeat", i->size >= 8 ? at(s, word(i)) : "-");
        if (i->op & WEFT_REPEAT_COUNTS) fputs(", counts", out);
        if (i->op & WEFT_REPEAT_WRITTEN) fputs(", written", out);
        if (i->op & WEFT_REPEAT_LEFT_OUT) fputs(", left out", out);
        if (i->size == 16) {
            uint64_t n;
            memcpy(&n, i->data + 8, 8);
            fprintf(out, " %" PRIu64 " times", n);
        }
        break;
    case WEFT_ITEM_LOOP: fprintf(out, "%-7s %s", "loop", i->op == WEFT_LOOP_LEFT ? "goes on with checks" : "begins with checks"); break;
    case WEFT_ITEM_NOTE:
        fprintf(out, "%-7s", "note");
        print_data(out, i->data, i->size);
        break;
    case WEFT_ITEM_LOST: fprintf(out, "%-7s nothing is known from here on: the disk was full", "lost"); break;
    default:
        fprintf(out, "%-7s kind %u, op %" PRIu64, "unknown", i->kind, i->op);
        print_data(out, i->data, i->size);
        break;
    }
    fputc('\n', out);
}

static int dump(struct weft_trace *t, FILE *out, bool lines, struct weft_err *err) {
    struct weft_symbols *s = NULL;
    int r = weft__modules_read(t, err);
    if (r == 0) r = weft__trace_index(t, err);
    if (r < 0) goto out;
    if (lines) s = weft__symbols_new(t);
    fprintf(out, "program %s\n", t->program);
    for (char **a = t->argv; *a; a++) fprintf(out, "%s%s%s", a == t->argv ? "command " : " ", *a, a[1] ? "" : "\n");
    for (uint32_t slot = 1; slot <= t->index_top && r >= 0; slot++) {
        struct weft_cursor c;
        struct weft_item item;
        if (t->index_slot[slot] == t->index_slot[slot + 1]) continue;
        fprintf(out, "thread %u\n", slot);
        weft__cursor_open(&c, t, slot);
        while ((r = weft__cursor_next(&c, &item, err)) > 0) print_item(out, &item, s);
        weft__cursor_close(&c);
    }
    if (r == 0 && t->has_end)
        fprintf(out, "end %s %u\n", t->end.kind == WEFT_END_SIGNAL ? "signal" : t->end.kind == WEFT_END_STUCK ? "stuck" : "exit", t->end.code);
    else if (r == 0)
        fprintf(out, "end unknown: the recording was cut short\n");
out:
    weft__symbols_free(s);
    return r;
}

int weft__trace_dump(struct weft_trace *t, FILE *out, struct weft_err *err) { return dump(t, out, true, err); }
int weft__trace_dump_sites(struct weft_trace *t, FILE *out, struct weft_err *err) { return dump(t, out, false, err); }
