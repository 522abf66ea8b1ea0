// Proves: in a loop in which nothing else ticks the clock stays in a register: a tick stores it and does not load it again, but for what comes back
// from the runtime. In loops with calls, and in those that only wait for others, each tick loads it.
// RUN: %clang -O1 -fno-vectorize -fno-unroll-loops -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-opt %t.in.ll -o %t.ll
// RUN: FileCheck %s < %t.ll
extern void other(void);

// CHECK-LABEL: define {{.*}}@chain(
// CHECK: load i64, ptr @__weft_tls
// CHECK: %[[CLOCK:clock[0-9]*]] = phi i64
// CHECK-NOT: load i64, ptr @__weft_tls
// CHECK: %[[NEXT:.*]] = add i64 %[[CLOCK]], 1
// CHECK-NEXT: store i64 %[[NEXT]], ptr @__weft_tls
// CHECK: __weft_tick_cold
// CHECK-NEXT: load i64, ptr @__weft_tls
long chain(long **p) {
    long s = 0;
    for (; p; p = (long **)*p) s += (long)p[1];
    return s;
}
// CHECK-LABEL: define {{.*}}@calls(
// CHECK-NOT: %clock
void calls(long *p, int n) {
    for (int i = 0; i < n; i++) {
        p[i]++;
        other();
    }
}
// CHECK-LABEL: define {{.*}}@wait(
// CHECK-NOT: %clock
void wait(const volatile int *p) {
    while (!*p) continue;
}
