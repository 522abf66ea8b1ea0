/* Proves: a check computes what it needs of an address for itself, in 32 bits; the access, and what tells a miss where it is, have the address as
 * their addressing mode. So no register keeps it from the check to the access. */
// RUN: %clang -g -O2 -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-opt %t.in.ll -o %t.ll
// RUN: llc -O2 %t.ll -o - | FileCheck %s

// CHECK-LABEL: element:
// CHECK: leal (%rdi,%rsi,4), %eax
// CHECK: movl %edx, (%rdi,%rsi,4)
// CHECK: leaq (%rdi,%rsi,4), %rax
// CHECK-NEXT: movq %rax, %fs:96
// CHECK-NEXT: movl $16777220, %fs:104
void element(int *a, long i, int v) { a[i] = v; }

struct item {
    int a, b, c, d;
};
// CHECK-LABEL: field:
// CHECK-NOT: leaq {{.*}}(%rdi)
// CHECK: leal 8(%rdi), %eax
// CHECK: movl 8(%rdi), %eax
// CHECK: leaq 8(%rdi), %rax
// CHECK-NEXT: movq %rax, %fs:96
// CHECK-NEXT: movl $4, %fs:104
int field(const struct item *p) { return p->c; }
