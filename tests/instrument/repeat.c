/* Proves: when a file is compiled, loops whose bodies could matter to other threads get a body that can be left out, as by
 * `continue` in front of its first statement; those that count are told from others (2 and 0), and loops that other threads cannot
 * notice, or that have no condition of their own, are left alone. */
// RUN: %clang -I%root/include -g -O2 -Xclang -disable-llvm-passes -fno-discard-value-names -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-early %t.in.ll -o %t.ll
// RUN: FileCheck %s < %t.ll
// RUN: FileCheck --check-prefix NAKED %s < %t.ll
// Without locations, loops that count are found, and nothing is found wrongly.
// RUN: %clang -I%root/include -g0 -O2 -Xclang -disable-llvm-passes -fno-discard-value-names -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-early %t.in.ll -o %t.g0.ll
// RUN: FileCheck --check-prefix G0 %s < %t.g0.ll
// It survives optimisation: once for each loop, in no copy.
// RUN: %clang -I%root/include -g -O3 -S -emit-llvm -fpass-plugin=%build/lib/weft/weft-pass.so %s -o %t.o3.ll
// RUN: FileCheck --check-prefix O3 %s < %t.o3.ll
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <weft/repeat.h>
void f(int);
int g(void);

// CHECK-LABEL: define dso_local void @counts(
// CHECK: for.cond:
// CHECK: br i1 %cmp, label %[[C:[0-9]+]], label %for.cond.cleanup
// CHECK: [[C]]:
// CHECK-NEXT: call i32 @__weft_repeat(i32 2), !dbg ![[LINE:[0-9]+]]
// CHECK: br i1 %{{.*}}, label %for.inc, label %for.body
// CHECK: br label %for.cond, {{.*}}!llvm.loop ![[L:[0-9]+]]
// G0-LABEL: @counts(
// G0: call i32 @__weft_repeat(i32 2)
// O3-LABEL: @counts(
// O3: call i32 @__weft_repeat(i32 2)
// O3-NOT: call i32 @__weft_repeat
// O3-LABEL: @downwards(
void counts(void) {
    for (int i = 0; i < 4; i++) { // LINE
        f(i);
        f(-i);
    }
}

// CHECK-LABEL: @downwards(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %while.cond, label %while.body
// CHECK: ret void
// G0-LABEL: @downwards(
// G0: call i32 @__weft_repeat(i32 2)
void downwards(int n) {
    while (n--) f(n);
}

// A way out in the middle, and `continue`.
// CHECK-LABEL: @leaves(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
// CHECK: ret void
void leaves(int n) {
    for (int i = 0; i < n; i++) {
        if (g()) continue;
        if (g()) break;
        f(i);
    }
}
// CHECK-LABEL: @returns(
// CHECK: call i32 @__weft_repeat(i32 0)
int returns(int n) {
    for (int i = 0; i < n; i++)
        if (g()) return i;
    return -1;
}
// The variable is stepped twice, or by others.
// CHECK-LABEL: @twice(
// CHECK: call i32 @__weft_repeat(i32 0)
void twice(int n) {
    for (int i = 0; i < n; i++)
        if (g()) i++;
}
void set(int *);
// CHECK-LABEL: @elsewhere(
// CHECK: call i32 @__weft_repeat(i32 0)
void elsewhere(int n) {
    for (int i = 0; i < n; i++) set(&i);
}
// CHECK-LABEL: @list(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
struct node {
    struct node *next;
    int v;
};
void list(struct node *n) {
    for (; n; n = n->next) f(n->v);
}
// The step of a while is in its body: `continue` goes to the condition.
// CHECK-LABEL: @body_steps(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %while.cond, label %while.body
// G0-LABEL: @body_steps(
// G0-NOT: __weft_repeat
// G0: ret void
void body_steps(int n) {
    int i = 0;
    while (i < n) {
        f(i);
        i++;
        f(i);
    }
}
// CHECK-LABEL: @both(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %while.cond, label %while.body
void both(int n) {
    while (n > 0 && g()) f(n);
}
// CHECK-LABEL: @do_while(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %do.cond, label %do.body
// CHECK: br i1 %{{.*}}, label %[[#]], label %do.end
void do_while(int n) {
    do {
        f(n);
        if (g()) continue;
        f(1);
    } while (--n);
}
// A condition of several blocks, of which the last one is not where bodies end.
// CHECK-LABEL: @swaps(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @nested(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK: ret void
void swaps(_Atomic int *p) {
    int old;
    do {
        old = 0;
        f(old);
    } while (!atomic_compare_exchange_strong(p, &old, 1));
}
void nested(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            do f(j);
            while (g());
}
// CHECK-LABEL: @atomics(
// CHECK: call i32 @__weft_repeat(i32 2)
void atomics(_Atomic int *p, int n) {
    for (int i = 0; i < n; i++) (*p)++;
}
static int shared;
static void racy(int v) { shared += v; }
// CHECK-LABEL: @writes(
// CHECK: call i32 @__weft_repeat(i32 2)
void writes(int n) {
    for (int i = 0; i < n; i++) racy(i);
}
// CHECK-LABEL: @writes_on(
// CHECK-NOT: __weft_repeat
// CHECK: ret void
void writes_on(int n) {
    do racy(n);
    while (--n);
}

// The source says so: it is not asked twice, and the loop is not unrolled.
// CHECK-LABEL: @written(
// CHECK: call i32 @__weft_repeat(i32 {{.*}}4)
// CHECK-NOT: __weft_repeat
// CHECK: ret void
// O3-LABEL: @written(
// O3: call i32 @__weft_repeat(i32 {{.*}}4)
// O3-NOT: call i32 @__weft_repeat
// O3-LABEL: @quiet(
void written(void) {
    for (int i = 0; i < 3; i++) {
        WEFT_REPEAT;
        f(i);
    }
}

// CHECK-LABEL: @quiet(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @finds(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @endless(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @into(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @labels(
// CHECK-NOT: __weft_repeat
// CHECK-LABEL: @last(
struct vector {
    double x[3];
};
static void add(struct vector *a, const struct vector *b) {
    for (int i = 0; i < 3; i++) a->x[i] += b->x[i];
}
static double length(const struct vector *a) { return sqrt(a->x[0] * a->x[0] + a->x[1] * a->x[1]); }
double quiet(const struct vector *v, char *to, const char *from, int n) {
    struct vector sum = {{0}};
    double all = 0;
    for (int i = 0; i < n; i++) {
        add(&sum, &v[i]);
        all += length(&v[i]) + (double)strlen(from);
        memcpy(to, from, 16);
        to[i] = 1;
    }
    return all + sum.x[0];
}
int finds(const char *s, int n) { /* calls only where it ends */
    for (int i = 0; i < n; i++) {
        int c = s[i], d = c - 'a';
        if (d == 25) {
            f(c);
            return i;
        }
    }
    return -1;
}
void endless(void) {
    for (;;) {
        f(1);
        if (g()) break;
        f(2);
    }
    while (1) {
        f(3);
        if (g()) return;
    }
}
void into(int n) { /* entered in the middle */
    if (n & 1) goto in;
    while (n > 0) {
        f(1);
    in:
        f(2);
        n--;
    }
}
void labels(int n) {
    static void *const to[] = {&&a, &&b};
    for (int i = 0; i < n; i++) {
        goto *to[g()];
    a:
        f(1);
    b:
        f(2);
    }
}
void last(void) {}
// Without them the program would have other locks than it ever has.
// CHECK-LABEL: define dso_local void @locks_all(
// CHECK-NOT: call i32 @__weft_repeat
// CHECK: ret void
// CHECK-LABEL: define dso_local void @locks_each(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK: ret void
void locks_all(pthread_mutex_t *m, int n) {
    for (int i = 0; i < n; i++) pthread_mutex_lock(&m[i]);
    f(1);
    for (int i = n; i-- > 0;) pthread_mutex_unlock(&m[i]);
}
void locks_each(pthread_mutex_t *m, int n) {
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&m[i]);
        f(i);
        pthread_mutex_unlock(&m[i]);
    }
}
// The only way back is a `continue` out of the life of a local, which has no location.
// CHECK-LABEL: define dso_local void @goes_on(
// CHECK: call i32 @__weft_repeat(i32 0){{.*}}!dbg
// CHECK: ret void
_Noreturn void is_wrong(int);
void goes_on(_Atomic int *p, int n) {
    while (p[0] < n) {
        int v = p[1];
        if (v >= n) continue;
        is_wrong(v);
    }
}
// CHECK-LABEL: define dso_local void @end(
void end(void) {}

// NAKED: define linkonce_odr hidden i32 @__weft_repeat(i32 {{.*}}) #[[A:[0-9]+]] comdat
// NAKED-NEXT: xorl %eax, %eax
// NAKED: attributes #[[A]] = {{.*}}naked{{.*}}noinline
// NAKED: !"llvm.loop.unroll.disable"
