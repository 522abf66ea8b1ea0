/* Proves: the tick of a loop that only waits for others (looks at the same places, stores nothing, calls nothing but pause)
 * is one that gives at once; other loops have ordinary ticks. */
// RUN: %clang -g -O2 -fno-discard-value-names -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-opt %t.in.ll -o %t.ll
// RUN: %shape %t.ll
// RUN: FileCheck %s < %t.ll
#include <stdatomic.h>

extern volatile int flag;
extern _Atomic int lock;

// CHECK-LABEL: @bare(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @pausing(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @bounded(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @swap(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @either(
// CHECK: __weft_tick_spin
void bare(void) {
    while (!flag) {}
}
void pausing(void) {
    while (!flag) __builtin_ia32_pause();
}
int bounded(void) {
    for (int i = 0; i < 1000; i++)
        if (flag) return i;
    return -1;
}
void swap(void) {
    while (atomic_exchange(&lock, 1)) {}
}
void either(volatile int *a, volatile int *b) {
    while (!*a && !*b) {}
}

// CHECK-LABEL: @search(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @list(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @counts(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @calls(
// CHECK-NOT: __weft_tick_spin
// CHECK: ret void
int search(volatile int *a, int x) {
    int i = 0;
    while (a[i] != x) i++;
    return i;
}
struct node {
    struct node *next;
};
struct node *list(struct node *n) {
    while (n->next) n = n->next;
    return n;
}
void counts(volatile int *n) {
    while (!flag) ++*n;
}
void other(void);
void calls(void) {
    while (!flag) other();
}
