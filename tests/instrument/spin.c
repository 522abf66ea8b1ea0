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

// CHECK-LABEL: @inner(
// CHECK: __weft_tick_spin
// CHECK: __weft_spins
// CHECK-LABEL: @several(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @slots_left(
// CHECK: __weft_tick_spin
// CHECK-LABEL: @left_out(
// CHECK: __weft_tick_spin
void inner(volatile int *n) { /* in a loop that does more */
    for (;;) {
        for (int i = 0; i < 1000000; i++)
            if (flag) break;
        ++*n;
    }
}
extern int number;
void several(volatile int *a) { /* an array, again and again */
    for (;;) {
        int left = 0;
        for (int i = 0; i < number; i++) left += a[i];
        if (!left) break;
    }
}
extern _Atomic int slots[];
void slots_left(void) { /* how many is read anew, and goes into the next turn in a register */
    for (;;) {
        int left = 0;
        for (int i = 1; i < number; i++) left += slots[i];
        if (!left) break;
    }
}
int __weft_repeat(int flags);
void left_out(void) {
    while (!flag)
        if (__weft_repeat(0)) continue;
}

// CHECK-LABEL: @search(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @list(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @counts(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @calls(
// CHECK-NOT: __weft_tick_spin
// CHECK-LABEL: @sums(
// CHECK-NOT: __weft_tick_spin
// CHECK: ret i32
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
int sums(volatile int *a, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += a[i];
    return sum;
}
