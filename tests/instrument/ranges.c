// Proves: what a loop touches is looked at before it, where its bounds are known. If that is everything, there is a copy of it without checks, which is
// left at a tick that went to the runtime; if not, what is covered has one comparison, and behind it an ordinary check. Loops with
// calls, unknown ends and long steps keep a check at every access, as all do with -weft-granularity=access.
// RUN: %clang -O1 -fno-vectorize -fno-unroll-loops -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-opt %t.in.ll -o %t.ll
// RUN: FileCheck %s < %t.ll
// RUN: WEFT_GRANULARITY=access %weft-opt %t.in.ll -o %t.access.ll
// RUN: FileCheck --check-prefix=ACCESS %s < %t.access.ll
// ACCESS-NOT: __weft_range
// ACCESS: define {{.*}}@late
extern void other(void);
struct big {
    long a[100];
};

// Two ranges, one of them of three accesses.
// CHECK-LABEL: define {{.*}}@walk(
// CHECK: store volatile i8 2
// CHECK-COUNT-2: __weft_range
// CHECK: br i1 {{.*}}, label %weft.fast, label
// CHECK-COUNT-4: __weft_miss
// CHECK: {{^}}weft.fast:
// CHECK-NOT: __weft_miss
// CHECK: __weft_tick_cold
// CHECK-NOT: __weft_miss
// CHECK-LABEL: define {{.*}}@some(
// CHECK: store volatile i8 1
// CHECK-COUNT-1: __weft_range
// CHECK: {{^}}weft.fast:
// CHECK-COUNT-1: __weft_miss
// CHECK-NOT: __weft_miss
// CHECK-NOT: __weft_range
void walk(long *restrict to, const long *restrict from, int n) {
    for (int i = 1; i < n - 1; i++) to[i] = from[i - 1] + from[i] + from[i + 1];
}
// Not everything is known.
void some(long *p, const long *q, int n) {
    for (int i = 0; i < n; i++) p[i] += q[p[i]];
}
// Small copies are accesses like others.
// CHECK-LABEL: define {{.*}}@turn(
// CHECK-COUNT-2: __weft_range
// CHECK: {{^}}weft.fast:
// CHECK-NOT: __weft_miss
struct pair {
    double re, im;
};
void turn(struct pair *restrict to, const struct pair *restrict from, long n) {
    for (long i = 0; i < n; i++) to[i] = from[n - i];
}
// CHECK-LABEL: define {{.*}}@calls(
// CHECK-NOT: __weft_range
void calls(long *p, int n) {
    for (int i = 0; i < n; i++) {
        p[i]++;
        other();
    }
}
// CHECK-LABEL: define {{.*}}@chain(
// CHECK-NOT: __weft_range
long chain(long **p) {
    long s = 0;
    for (; p; p = (long **)*p) s += (long)p[1];
    return s;
}
// CHECK-LABEL: define {{.*}}@far(
// CHECK-NOT: __weft_range
long far(const struct big *p, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += p[i].a[0];
    return s;
}
// CHECK-LABEL: define {{.*}}@few(
// CHECK-NOT: __weft_range
long few(const long *p) {
    long s = 0;
    for (int i = 0; i < 6; i++) s = s * 3 + p[i];
    return s;
}
// Backwards, and it may end before.
// CHECK-LABEL: define {{.*}}@late(
// CHECK-COUNT-1: __weft_range
// CHECK-NOT: __weft_range
int late(const char *p, int n, char c) {
    while (n-- > 0)
        if (p[n] == c) return n;
    return -1;
}
// A place in a table that is only known to lie in it, and a loop that may be left for good: all of the table is looked at, if the loop is long enough.
// CHECK-LABEL: define {{.*}}@count(
// CHECK: icmp uge i64 {{.*}}, 66
// CHECK: {{^}}weft.look:
// CHECK: store volatile i8 2
// CHECK-COUNT-2: __weft_range
// CHECK: {{^}}weft.fast:
// CHECK-NOT: __weft_miss
void count(unsigned *restrict table, const unsigned *restrict keys, int n) {
    for (int i = 0; i < n; i++) table[keys[i] >> 5 & 1023]++;
}
// CHECK-LABEL: define {{.*}}@huge_table(
// CHECK: __weft_range
// CHECK: {{^}}weft.fast:
// CHECK: __weft_miss
void huge_table(unsigned *restrict table, const unsigned *restrict keys, int n) {
    for (int i = 0; i < n; i++) table[keys[i] >> 5 & 65535]++;
}
extern _Noreturn void wrong(int at);
// CHECK-LABEL: define {{.*}}@sorted(
// CHECK: icmp ule i64 {{.*}}, 262144
// CHECK-COUNT-1: __weft_range
void sorted(const int *p, int n) {
    for (int i = 1; i < n; i++)
        if (p[i - 1] > p[i]) wrong(i);
}
// The turns of the outer loop are a quotient: nothing is divided by 0, and the nest has a copy.
// CHECK-LABEL: define {{.*}}@stages(
// CHECK: call i64 @llvm.umax.i64(i64 {{.*}}, i64 1)
// CHECK: udiv i64
// CHECK: {{^}}weft.fast:
void stages(long *p, long n, long half) {
    for (long start = 0; start < n; start += 2 * half)
        for (long k = 0; k < half; k++) {
            long a = p[start + k], b = p[start + half + k];
            p[start + k] = a * 3 + b;
            p[start + half + k] = a - b;
        }
}
// Round a ring: what comes before its end, and what comes behind it.
// CHECK-LABEL: define {{.*}}@around(
// CHECK: store volatile i8 2
// CHECK-COUNT-2: __weft_range
// CHECK-NOT: __weft_range
// CHECK: {{^}}weft.fast:
// CHECK-NOT: __weft_miss
// CHECK-LABEL: define {{.*}}@around_down(
double around(const double *p, long from, long n) {
    double s = 0;
    for (long k = 1; k <= n / 2; k++) {
        long i = from + k < n ? from + k : from + k - n;
        s = s * 3 + p[3 * i] + p[3 * i + 1];
    }
    return s;
}
// What decides goes the other way: left alone.
// CHECK-NOT: __weft_range
double around_down(const double *p, long from, long n) {
    double s = 0;
    for (long k = 1; k <= n / 2; k++) {
        long i = from - k >= 0 ? from - k : from - k + n;
        s = s * 3 + p[3 * i] + p[3 * i + 1];
    }
    return s;
}
