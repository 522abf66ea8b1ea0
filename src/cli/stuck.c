/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What people want to know of a process that is stuck: which threads wait for each other (weft__cycles), what each of them waits for,
 * who has it and since where, and its stack. */
#include "cli/cli.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 64

struct view {
    struct weft_trace *t;
    struct weft_symbols *symbols;
    struct weft_stacks *stacks;
    struct weft_thread_view *threads;
    struct weft_hold *holds, *signals;
    size_t nthreads, nholds, nsignals;
    struct weft_strbuf *out;
};

static void say(const struct view *v, const char *fmt, ...) WEFT_PRINTF(2, 3);
static void say(const struct view *v, const char *fmt, ...) {
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    weft__strbuf_printf(v->out, "%s\n", line);
}

static const char *const kinds[] = {
    [WEFT_WAIT_NONE] = "",
    [WEFT_WAIT_MUTEX] = "mutex",
    [WEFT_WAIT_RDLOCK] = "read-write lock",
    [WEFT_WAIT_WRLOCK] = "read-write lock",
    [WEFT_WAIT_SPIN] = "spinlock",
    [WEFT_WAIT_COND] = "condition variable",
    [WEFT_WAIT_BARRIER] = "barrier",
    [WEFT_WAIT_SEM] = "semaphore",
    [WEFT_WAIT_JOIN] = "",
    [WEFT_WAIT_ONCE] = "pthread_once",
    [WEFT_WAIT_FUTEX] = "futex",
};

#define INLINED 16

/* The program's own line: what std::mutex does in a header tells nobody anything. */
static void put_place(const struct view *v, struct weft_strbuf *b, uint64_t addr) {
    struct weft_source s[INLINED];
    size_t n = weft__symbols_sources(v->symbols, addr, s, INLINED), i = 0;
    while (i < n && s[i].system) i++;
    weft__strbuf_printf(b, " at %s", s[i < n ? i : 0].place);
}

static const size_t sizes[] = {
    [WEFT_WAIT_MUTEX] = sizeof(pthread_mutex_t),    [WEFT_WAIT_RDLOCK] = sizeof(pthread_rwlock_t), [WEFT_WAIT_WRLOCK] = sizeof(pthread_rwlock_t),
    [WEFT_WAIT_SPIN] = sizeof(pthread_spinlock_t),  [WEFT_WAIT_COND] = sizeof(pthread_cond_t),     [WEFT_WAIT_BARRIER] = sizeof(pthread_barrier_t),
    [WEFT_WAIT_SEM] = sizeof(sem_t),                [WEFT_WAIT_ONCE] = sizeof(pthread_once_t),
    [WEFT_WAIT_FUTEX] = 4,
};

static void put_object(const struct view *v, struct weft_strbuf *b, uint32_t kind, uint64_t object) {
    char *name = weft__symbols_variable(v->symbols, object, kind < sizeof sizes / sizeof *sizes ? sizes[kind] : 0);
    weft__strbuf_printf(b, "%s ", kinds[kind]);
    if (name)
        weft__strbuf_puts(b, name);
    else
        weft__strbuf_printf(b, "0x%llx", (unsigned long long)object);
    free(name);
}

/* ---- cycles ---- */

static bool has(const struct view *v, const struct weft_wait *w, uint32_t slot) {
    for (size_t i = 0; i < v->nholds; i++)
        if (v->holds[i].slot == slot && weft__hold_blocks(w, &v->holds[i])) return true;
    return w->kind == WEFT_WAIT_ONCE;
}

/* It begins with the lowest number, however it was found. */
static void name_cycle(void *ctx, const struct weft_thread_view *const *at, size_t n) {
    const struct view *v = ctx;
    struct weft_strbuf b = {0};
    size_t first = 0;
    for (size_t i = 1; i < n; i++)
        if (at[i]->slot < at[first]->slot) first = i;
    weft__strbuf_printf(&b, "deadlock: thread %u", at[first]->slot);
    for (size_t i = 0; i < n; i++) {
        const struct weft_thread_view *next = at[(first + i + 1) % n];
        const struct weft_wait *w = &at[(first + i) % n]->wait;
        weft__strbuf_puts(&b, " waits for ");
        if (w->kind == WEFT_WAIT_JOIN)
            weft__strbuf_puts(&b, "the end of ");
        else {
            put_object(v, &b, w->kind, w->object);
            weft__strbuf_puts(&b, w->kind == WEFT_WAIT_ONCE ? ", run by " : has(v, w, next->slot) ? ", locked by " : ", after ");
        }
        weft__strbuf_printf(&b, "thread %u%s", next->slot, i + 1 < n ? ", which" : "");
    }
    say(v, "%s", b.s);
    weft__strbuf_fini(&b);
}

/* ---- each thread ---- */

/* Who has it: ", which thread 3 has locked at a.c:12". */
static void put_holders(const struct view *v, struct weft_strbuf *b, const struct weft_wait *w) {
    size_t n = 0;
    for (size_t i = 0; i < v->nholds; i++) {
        const struct weft_hold *h = &v->holds[i];
        if (!weft__hold_blocks(w, h)) continue;
        weft__strbuf_printf(b, "%s thread %u", n++ ? ", and" : w->kind == WEFT_WAIT_ONCE ? ", run by" : ", locked by", h->slot);
        if (h->holder == WEFT_HOLDER_ENDED) weft__strbuf_puts(b, ", which has ended,");
        if (h->holder == WEFT_HOLDER_PARENT) weft__strbuf_puts(b, " of the process that this one was forked from,");
        if (h->kind != WEFT_WAIT_ONCE) /* that was called by the runtime; its stack tells more */
            put_place(v, b, h->site - 1);
    }
    for (size_t i = 0; i < v->nthreads && n == 0; i++) {
        if (!weft__wait_first(w, &v->threads[i].wait)) continue;
        weft__strbuf_printf(b, ", which thread %u is to get first, to write", v->threads[i].slot);
        return;
    }
    if (n == 0 && w->kind != WEFT_WAIT_ONCE && weft__hold_blocks(w, &(struct weft_hold){.object = w->object, .kind = w->kind == WEFT_WAIT_RDLOCK ? WEFT_WAIT_WRLOCK : w->kind}))
        weft__strbuf_puts(b, ", which is free");
}

static int by_slot(const void *a, const void *b) {
    const struct weft_hold *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* Who has signalled it, whenever that was: a wake-up that was lost is among these. */
#define SIGNALLED 3
static void put_signals(const struct view *v, struct weft_strbuf *b, const struct weft_wait *w) {
    const char *verb = w->kind == WEFT_WAIT_SEM ? "posted" : w->kind == WEFT_WAIT_FUTEX ? "woken" : "signalled";
    size_t n = 0;
    for (size_t i = 0; i < v->nsignals; i++) {
        const struct weft_hold *h = &v->signals[i];
        if (h->object != w->object || h->kind != w->kind || n++ >= SIGNALLED) continue;
        weft__strbuf_printf(b, "%s thread %u", n == 1 ? ", which" : " and", h->slot);
        if (n == 1) weft__strbuf_printf(b, " has %s", verb);
        put_place(v, b, h->site - 1);
    }
    if (n > SIGNALLED) weft__strbuf_puts(b, " and others");
    if (!n) weft__strbuf_printf(b, ", which nobody has %s", verb);
}

/* And the library for OpenMP. */
static bool is_runtime(const struct weft_frame_view *f) { return strncmp(f->module, "libweft-", 8) == 0; }

static bool is_system(const struct weft_frame_view *f) {
    return strncmp(f->module, "libc.so", 7) == 0 || strncmp(f->module, "libstdc++.so", 12) == 0 || strcmp(f->function, "_start") == 0;
}

/* With what was inlined into it, but for headers of the system's: those are many. */
static void put_frame(const struct view *v, struct weft_strbuf *b, const struct weft_frame_view *f) {
    struct weft_source s[INLINED];
    size_t n = weft__symbols_sources(v->symbols, f->pc, s, INLINED);
    for (size_t i = 0; i < n; i++) {
        const char *name = *s[i].function ? s[i].function : *f->function ? f->function : "?";
        if (!s[i].system || i + 1 == n) weft__strbuf_printf(b, "\n    %s at %s", name, s[i].place);
    }
}

/* What a thread does that waits for nothing of the runtime's: a system call, by the wrapper that the program called or the
 * function of libc that it is in; or it runs. */
static void put_activity(struct weft_strbuf *b, const struct weft_frame_view *f, size_t n, size_t first) {
    static const char wrapper[] = "weft__w_";
    for (size_t i = 0; i < first; i++)
        if (strncmp(f[i].function, wrapper, sizeof wrapper - 1) == 0) {
            weft__strbuf_printf(b, "is in %s", f[i].function + sizeof wrapper - 1);
            return;
        }
    if (first < n && strncmp(f[first].module, "libc.so", 7) == 0 && *f[first].function)
        weft__strbuf_printf(b, "is in %s", f[first].function);
    else
        weft__strbuf_puts(b, "runs");
}

/* What it waits for, and its stack, a line each. */
static void put_thread(const struct view *v, struct weft_strbuf *b, const struct weft_thread_view *x) {
    struct weft_frame_view f[FRAMES];
    const struct weft_wait *w = &x->wait;
    size_t n = weft__stacks_read(v->stacks, x->tid, f, FRAMES), first = 0;
    while (first < n && is_runtime(&f[first])) first++;
    switch (w->kind) {
    case WEFT_WAIT_NONE: put_activity(b, f, n, first); break;
    case WEFT_WAIT_JOIN:
        weft__strbuf_printf(b, "waits for the end of thread %llu", (unsigned long long)w->object);
        break;
    case WEFT_WAIT_COND:
        weft__strbuf_puts(b, "waits for a signal of ");
        put_object(v, b, w->kind, w->object);
        put_signals(v, b, w);
        weft__strbuf_puts(b, " (");
        put_object(v, b, WEFT_WAIT_MUTEX, w->with);
        put_holders(v, b, &(struct weft_wait){.kind = WEFT_WAIT_MUTEX, .object = w->with});
        weft__strbuf_puts(b, ")");
        break;
    default:
        weft__strbuf_puts(b, "waits for ");
        put_object(v, b, w->kind, w->object);
        put_holders(v, b, w);
        if (w->kind == WEFT_WAIT_SEM || w->kind == WEFT_WAIT_FUTEX) put_signals(v, b, w);
    }
    if (first == n && w->kind) {
        weft__strbuf_puts(b, "\n   ");
        put_place(v, b, w->site - 1);
    }
    /* What libc and the runtime do to start a thread or main is of no interest. */
    while (n > first && (is_runtime(&f[n - 1]) || is_system(&f[n - 1]))) n--;
    for (size_t i = first; i < n; i++)
        if (!is_runtime(&f[i])) put_frame(v, b, &f[i]);
}

#define NAMED 8 /* of the threads that are all the same */

/* Threads of which the same is to be said are told together. */
static void tell_threads(const struct view *v) {
    struct weft_strbuf *text = weft__alloc((v->nthreads + 1) * sizeof *text);
    for (size_t i = 0; i < v->nthreads; i++) put_thread(v, &text[i], &v->threads[i]);
    for (size_t i = 0; i < v->nthreads; i++) {
        struct weft_strbuf same = {0};
        size_t n = 0;
        if (!text[i].s) continue;
        for (size_t k = i + 1; k < v->nthreads; k++) {
            if (!text[k].s || strcmp(text[k].s, text[i].s) != 0) continue;
            if (n++ < NAMED) weft__strbuf_printf(&same, "%s %u", n > 1 ? "," : "", v->threads[k].slot);
            weft__strbuf_fini(&text[k]);
        }
        char *save, *line = strtok_r(text[i].s, "\n", &save);
        say(v, "thread %u %s", v->threads[i].slot, line);
        while ((line = strtok_r(NULL, "\n", &save))) say(v, "%s", line);
        if (n > NAMED) weft__strbuf_printf(&same, " ... (%zu in all)", n + 1);
        if (n) say(v, "    and so %s thread%s%s", n == 1 ? "does" : "do", n == 1 ? "" : "s", same.s);
        weft__strbuf_fini(&same);
        weft__strbuf_fini(&text[i]);
    }
    free(text);
}

void weft__stuck_text(struct weft_trace *t, const struct weft_control *c, pid_t pid, struct weft_strbuf *out) {
    struct weft_err err;
    struct view v = {.t = t, .out = out};
    if (weft__modules_read(t, &err) < 0) return;
    v.symbols = weft__symbols_new(t);
    v.stacks = weft__stacks_open(pid);
    v.nthreads = weft__threads_read(pid, &c->threads, &v.threads);
    v.nholds = weft__holds_read(pid, c->threads.holds, c->threads.nholds, &v.holds);
    v.nsignals = weft__holds_read(pid, c->threads.signals, c->threads.nsignals, &v.signals);
    if (v.nsignals) qsort(v.signals, v.nsignals, sizeof *v.signals, by_slot);
    weft__cycles(v.threads, v.nthreads, v.holds, v.nholds, name_cycle, &v);
    tell_threads(&v);
    free(v.threads);
    free(v.holds);
    free(v.signals);
    weft__stacks_close(v.stacks);
    weft__symbols_free(v.symbols);
}

void weft__stuck_tell(struct weft_trace *t, const struct weft_control *c, pid_t pid) {
    struct weft_strbuf text = {0};
    char *save;
    weft__stuck_text(t, c, pid, &text);
    if (!text.s) return;
    weft__warn("%s: this is where it was stuck:", t->dir);
    for (char *line = strtok_r(text.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) weft__warn("%s", line);
    weft__strbuf_fini(&text);
}
