#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a random C program for the oracle: threads, and pointers that travel in every way we could think of.

    generate.py SEED > program.c

There is one struct, S; every pointer is NULL or points to an S that lives until the end, so the program has no memory errors.
One mutex is held for each step of a thread: what matters is who gets to which memory, not when. Functions and start routines
have code of their own, so that some objects stay private to a thread and the analyses have something to claim."""
import random
import sys

seed = int(sys.argv[1])
r = random.Random(seed)
FUNCTIONS, ROUTINES, GLOBALS = r.randint(4, 9), r.randint(1, 4), r.randint(2, 5)
out = []


def emit(text):
    out.append(text)


HEAD = r"""#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct link { struct link *next; };
struct S {
    long n;
    struct S *p;
    struct S *q;
    uintptr_t plain, tagged, mixed;
    uint32_t low, high;
    ptrdiff_t away;
    union { struct S *s; uint64_t u; double d; } u;
    struct S *arr[3];
    struct link link;
    struct S *(*f)(struct S *, struct S *);
    int count;
    char bytes[8];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct S base;
static int pipes[2];
static pthread_key_t key;
static struct link *some_link;
static struct S **vec; static int vec_count, vec_room;
static unsigned seed_ = SEED;
static unsigned rnd(unsigned n) { seed_ = seed_ * 1103515245u + 12345u; return (seed_ >> 16) % n; }
__attribute__((noinline)) static void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
__attribute__((noinline)) static void *xzalloc(size_t n) { void *p = xmalloc(n); memset(p, 0, n); return p; }
__attribute__((noinline)) static struct S *pick(int n, ...) {
    va_list ap; struct S *s = 0; va_start(ap, n);
    for (int i = 0, k = rnd(n) + 1; i < k; i++) s = va_arg(ap, struct S *);
    va_end(ap); return s; }
static int cmp(const void *a, const void *b) {
    struct S *x = *(struct S *const *)a, *y = *(struct S *const *)b;
    long m = x ? x->n : 0, n = y ? y->n : 0; return m < n ? -1 : m > n; }
__attribute__((noinline)) static void bytes(void *d, const void *s, size_t n) {
    char *x = d; const char *y = s; while (n--) *x++ = *y++; }
"""


def statement(v, depth, where):
    """One statement over the pointer variables v."""
    a, b, c = r.choice(v), r.choice(v), r.choice(v)
    g = r.randrange(GLOBALS)
    f = r.randrange(FUNCTIONS)
    fields = ["p", "q", f"arr[{r.randrange(3)}]", "arr[rnd(3)]", "u.s"]
    kinds = [
        f"{a} = {r.choice(['calloc(1, sizeof(struct S))', 'xzalloc(sizeof(struct S))'])};",
        f"{a} = {r.choice(['calloc(1, sizeof(struct S))', 'xzalloc(sizeof(struct S))'])};",
        f"{a} = calloc(3, sizeof(struct S)); {a} += rnd(3);",
        f"{a} = &object{g};",
        f"{a} = &many{g}[rnd(4)];",
        f"{a} = global{g};",
        f"global{g} = {a};",
        f"{a} = own;",
        f"own = {a};",
        f"if ({a}) {a}->{r.choice(fields)} = {b};",
        f"if ({a}) {a}->{r.choice(fields)} = {b};",
        f"if ({a}) {b} = {a}->{r.choice(fields)};",
        f"if ({a}) {b} = {a}->{r.choice(fields)};",
        f"if ({a} && {b}) {a}->n += {b}->n + 1;",
        f"if ({a}) {a}->count++;",
        f"number{g}++;",
        f"if ({a}) {a}->plain = (uintptr_t){b};",
        f"if ({a}) {b} = (struct S *){a}->plain;",
        f"if ({a}) {a}->tagged = (uintptr_t){b} | 1;",
        f"if ({a}) {b} = (struct S *)({a}->tagged & ~(uintptr_t)1);",
        f"if ({a}) {a}->mixed = (uintptr_t){b} ^ 0x5555;",
        f"if ({a}) {b} = {a}->mixed ? (struct S *)({a}->mixed ^ 0x5555) : 0;",
        f"if ({a}) {{ {a}->low = (uint32_t)(uintptr_t){b}; {a}->high = (uint32_t)((uintptr_t){b} >> 32); }}",
        f"if ({a}) {b} = (struct S *)((uintptr_t){a}->high << 32 | {a}->low);",
        f"if ({a} && {b}) {a}->away = (uintptr_t){b} - (uintptr_t)&base;",
        f"if ({a} && {a}->away) {b} = (struct S *)((uintptr_t)&base + {a}->away);",
        f"if ({a}) {a}->u.u = (uintptr_t){b};",
        f"if ({a} && {b} && {a} != {b}) *{a} = *{b};",
        f"if ({a} && {b} && {a} != {b}) memcpy({a}, {b}, sizeof(struct S));",
        f"if ({a} && {b} && {a} != {b}) memcpy({a}, {b}, offsetof(struct S, count) + rnd(2) * 4);",
        f"if ({a} && {b} && {a} != {b}) bytes({a}, {b}, sizeof(struct S));",
        f"if ({a} && {b}) bytes(&{a}->p, &{b}->q, sizeof {a}->p);",
        f"if ({a}) some_link = &{a}->link;",
        f"if (some_link) {a} = (struct S *)((char *)some_link - offsetof(struct S, link));",
        f"if ({a} && {b}) {a}->link.next = &{b}->link;",
        f"if ({a} && {a}->link.next) {b} = (struct S *)((char *){a}->link.next - offsetof(struct S, link));",
        f"if ({a}) {a}->f = function{f};",
        f"if ({a} && {a}->f && nesting < 3) {{ nesting++; {b} = {a}->f({a}, {c}); nesting--; }}",
        f"if (nesting < 3) {{ nesting++; {b} = table[rnd(3)]({a}, {c}); nesting--; }}",
        f"{a} = pick(3, {a}, {b}, {c});",
        f"{{ struct S *t[3] = {{{a}, {b}, {c}}}; qsort(t, 3, sizeof *t, cmp); {a} = t[rnd(3)]; }}",
        f"pthread_setspecific(key, {a});",
        f"{a} = pthread_getspecific(key);",
        f"if (write(pipes[1], &{a}, sizeof {a}) == sizeof {a}) {{ struct S *t; if (read(pipes[0], &t, sizeof t) == sizeof t) {b} = t; }}",
        f"write(pipes[1], &{a}, sizeof {a});",
        f"{{ struct S *t; if (queued() && read(pipes[0], &t, sizeof t) == sizeof t) {a} = t; }}",
        f"if (vec_count == vec_room) vec = realloc(vec, (vec_room = vec_room * 2 + 4) * sizeof *vec); if (vec_count < 100) vec[vec_count++] = {a};",
        f"if (vec_count) {a} = vec[rnd(vec_count)];",
        f"{{ struct S t; memset(&t, 0, sizeof t); t.p = {a}; t.n = 5; if ({b}) t.q = {b}->p; {c} = rnd(2) ? t.p : t.q; }}",
        f"if (!{a}) {a} = __atomic_exchange_n(&global{g}, {b}, __ATOMIC_SEQ_CST);",
        f"{{ struct S *e = 0; __atomic_compare_exchange_n(&global{g}, &e, {a}, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }}",
    ]
    if where == "function" and f"function{f}" in declared:
        kinds.append(f"if (nesting < 3) {{ nesting++; {a} = function{f}({b}, {c}); nesting--; }}")
    s = r.choice(kinds)
    if depth and r.random() < 0.2:
        inner = " ".join(statement(v, depth - 1, where) for _ in range(r.randint(1, 4)))
        s = r.choice([f"if (rnd(2)) {{ {inner} }}", f"for (int i{depth} = 0; i{depth} < 3; i{depth}++) {{ {inner} }}"])
    return s


emit(HEAD.replace("SEED", str(seed)))
for i in range(GLOBALS):
    emit(f"static struct S object{i}, many{i}[4], *global{i}; static long number{i};")
emit("static _Thread_local struct S *own; static _Thread_local int nesting;")
emit("#include <sys/ioctl.h>\nstatic int queued(void) { int n = 0; ioctl(pipes[0], FIONREAD, &n); return n >= 8; }")
declared = []
for i in range(FUNCTIONS):
    emit(f"static struct S *function{i}(struct S *x, struct S *y);")
emit("static struct S *(*const table[3])(struct S *, struct S *) = {%s};" % ", ".join(f"function{r.randrange(FUNCTIONS)}" for _ in range(3)))
for i in range(FUNCTIONS):
    emit(f"{r.choice(['', '__attribute__((noinline)) '])}static struct S *function{i}(struct S *x, struct S *y) {{ struct S *z = 0, *w = x;")
    for _ in range(r.randint(2, 10)):
        emit("    " + statement(["x", "y", "z", "w"], 2, "function"))
    emit(f"    return {r.choice('xyzw')}; }}")
    declared.append(f"function{i}")
for i in range(ROUTINES):
    emit(f"static void *routine{i}(void *arg) {{ struct S *a = arg, *b = 0, *c = calloc(1, sizeof *c), *mine = calloc(2, sizeof *mine);")
    emit(f"    for (int step = 0; step < {r.randint(2, 12)}; step++) {{ pthread_mutex_lock(&lock);")
    for _ in range(r.randint(3, 12)):
        emit("        " + statement(["a", "b", "c"] + (["mine"] if r.random() < 0.3 else []), 2, "function"))
    emit("        if (mine) mine->n++; pthread_mutex_unlock(&lock); }")
    emit(f"    return {r.choice(['a', 'b', 'c', 'mine', '0'])}; }}")
emit("int main(void) { pthread_t t[8]; int started = 0; void *got; struct S local[2]; memset(local, 0, sizeof local);")
emit("    if (pipe(pipes) || pthread_key_create(&key, 0)) return 1;")
emit("    struct S *a = 0, *b = 0, *c = 0, *l = local;")
early = r.randint(0, 8)
late = r.randint(2, 14)
for k in range(early):
    emit("    " + statement(["a", "b", "c"] + (["l"] if r.random() < 0.3 else []), 2, "function"))
starts = r.randint(1, 3)
for k in range(starts):
    arg = r.choice(["a", "b", "c", "&local[1]", "0", "global0"])
    line = f"if (started < 8 && !pthread_create(&t[started], 0, routine{r.randrange(ROUTINES)}, {arg})) started++;"
    emit("    " + (f"for (int k = 0; k < 2; k++) {line}" if r.random() < 0.4 else line))
    for _ in range(r.randint(0, 6)):
        emit("    pthread_mutex_lock(&lock); " + statement(["a", "b", "c"], 2, "function") + " pthread_mutex_unlock(&lock);")
for k in range(late):
    emit("    pthread_mutex_lock(&lock); " + statement(["a", "b", "c"] + (["l"] if r.random() < 0.2 else []), 2, "function")
         + " pthread_mutex_unlock(&lock); usleep(rnd(50));")
emit("    while (started) { pthread_join(t[--started], &got); if (got) b = got; }")
for k in range(r.randint(1, 6)):
    emit("    " + statement(["a", "b", "c"], 1, "function"))
emit('    long sum = 0; struct S *all[] = {a, b, c}; for (int i = 0; i < 3; i++) if (all[i]) sum += all[i]->n; printf("%ld\\n", sum); return 0; }')
print("\n".join(out))
