/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The runtime half of oracle.c: a state per byte of memory, and a report on stderr when an access breaks what the
 * analyses claim about it. One lock around everything: slow, simple, exact. At the end it prints how many accesses of
 * each class it saw. */
#define _GNU_SOURCE
#include "../../../src/pass/facts.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct state {
    uint16_t thread, late_thread; /* the first one, +1 */
    uint8_t many, late_many, late_write;
    uint8_t claims; /* 1 local or tls, 2 any other */
    uint32_t claimed_at, accessed_at;
};

static struct state **page_table[1 << 15]; /* bits 47..33, then 32..12 */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_int late, threads = 1, reports;
static atomic_ulong seen[WEFT_WHY_COUNT], calls;
static _Thread_local int me;
static _Thread_local volatile int inside;
static FILE *out; /* programs close stderr */

/* 0 in a signal handler that came while this thread held the lock: what it does is not looked at. */
static int take(void) {
    if (inside) return 0;
    inside = 1;
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
    return 1;
}
static void give(void) {
    atomic_flag_clear_explicit(&lock, memory_order_release);
    inside = 0;
}

static void *pages(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort();
    return p;
}

static struct state *state_of(uintptr_t a, int make) {
    struct state ***top = &page_table[(a >> 33) & 0x7fff];
    if (!*top) {
        if (!make) return NULL;
        *top = pages(sizeof **top << 21);
    }
    struct state **page = &(*top)[(a >> 12) & 0x1fffff];
    if (!*page) {
        if (!make) return NULL;
        *page = pages(sizeof **page << 12);
    }
    return &(*page)[a & 0xfff];
}

static void forget(uintptr_t a, size_t n) {
    for (uintptr_t end = a + n; a < end; a++) {
        struct state *s = state_of(a, 0);
        if (s)
            *s = (struct state){0};
        else
            a |= 0xfff;
    }
}

void __oracle_object(void *p, uint64_t n) {
    if (!take()) return;
    forget((uintptr_t)p, n);
    give();
}

void __oracle_fresh(void *p, uint64_t n) {
    if (p && p != MAP_FAILED) __oracle_object(p, n ? n : malloc_usable_size(p));
}

static void report(const char *what, uint32_t site, uint32_t other, uintptr_t a) {
    if (atomic_fetch_add(&reports, 1) < 40)
        fprintf(out, "oracle: %s: site %u, claimed at site %u, byte %#lx\n", what, site, other, (unsigned long)a);
}

/* flags: 1 write, 2 string, 4 by an external function, 8.. class */
void __oracle_access(void *p, uint64_t n, uint32_t flags, uint32_t site) {
    enum weft_why why = (enum weft_why)(flags >> 8);
    uintptr_t a = (uintptr_t)p;
    if (!p) return;
    if (flags & 2) n = strlen(p) + 1;
    if (!me) me = atomic_fetch_add(&threads, 1);
    atomic_fetch_add_explicit(&seen[why], 1, memory_order_relaxed);
    int after = atomic_load(&late), write = flags & 1;
    if (why == WEFT_WHY_UNREACHABLE) report("unreachable code was reached", site, site, a);
    if (!take()) return;
    for (uint64_t i = 0; i < n; i++, a++) {
        struct state *s = state_of(a, 1);
        if (!s->thread)
            s->thread = (uint16_t)me;
        else if (s->thread != me)
            s->many = 1;
        if (after) {
            if (!s->late_thread)
                s->late_thread = (uint16_t)me;
            else if (s->late_thread != me)
                s->late_many = 1;
            s->late_write |= write != 0;
        }
        /* The class of an access is the largest of the objects it may touch, so what it claims of this byte is: it
         * belongs to one thread, or (any larger class) nobody writes it while several use it. */
        if (why == WEFT_WHY_LOCAL || why == WEFT_WHY_TLS)
            s->claims |= 1, s->claimed_at = site;
        else if (why != WEFT_WHY_ORDERED)
            s->claims |= 2, s->claimed_at = site;
        int broken = ((s->claims & 1) && s->many) || (s->claims && s->late_many && s->late_write);
        if (broken) {
            report(write ? "write breaks a claim" : "read breaks a claim", site, s->claimed_at, a);
            s->claims = 0;
        }
        s->accessed_at = site;
    }
    give();
}

void __oracle_call(void *target, void **list, uint32_t complete, uint32_t site) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    for (; *list; list++)
        if (*list == target) return;
    if (complete) report("callee is not in the list", site, site, (uintptr_t)target);
}

struct start {
    void *(*fn)(void *);
    void *arg;
};

static void *run(void *p) {
    struct start s = *(struct start *)p;
    pthread_attr_t attr;
    void *stack;
    size_t size;
    free(p);
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        if (!pthread_attr_getstack(&attr, &stack, &size))
            __oracle_object(stack, size); /* stack and thread-local variables of a thread that is gone */
        pthread_attr_destroy(&attr);
    }
    return s.fn(s.arg);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *s = malloc(sizeof *s);
    if (!s) abort();
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    s->fn = fn, s->arg = arg;
    atomic_store(&late, 1);
    return real(t, attr, run, s);
}

__attribute__((constructor)) static void prepare(void) {
    int fd = dup(2);
    out = fd >= 0 ? fdopen(fd, "w") : stderr;
    setvbuf(out, NULL, _IOLBF, 256);
}

__attribute__((destructor)) static void summary(void) {
    static const char *const name[] = {
#define X(name, text) text,
        WEFT_WHYS(X)
#undef X
    };
    fprintf(out, "oracle: %d broken claims, %d threads, %lu indirect calls;", atomic_load(&reports),
            atomic_load(&threads) - 1, (unsigned long)calls);
    for (int i = 0; i < WEFT_WHY_COUNT; i++)
        if (seen[i]) fprintf(out, " %s %lu", name[i], (unsigned long)seen[i]);
    fputc('\n', out);
    fflush(out);
    if (atomic_load(&reports)) _Exit(99);
}
