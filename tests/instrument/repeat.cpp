// Proves: the same in C++: ranges, iterators, bodies with destructors, and exceptions; what the condition declares is not skipped.
// RUN: %clang++ -std=c++17 -g -O2 -Xclang -disable-llvm-passes -fno-discard-value-names -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-early %t.in.ll -o %t.ll
// RUN: FileCheck %s < %t.ll
// RUN: opt -passes='default<O3>,verify' %t.ll -o /dev/null
#include <map>
#include <memory>
#include <string>
#include <vector>
void f(int);
bool g(int);
extern "C" {
// CHECK-LABEL: define {{.*}}@array(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
void array() {
    int a[] = {1, 2, 3};
    for (int x : a) f(x);
}
// CHECK-LABEL: define {{.*}}@vector(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
void vector(std::vector<std::string> &v) {
    for (std::string s : v) f((int)s.size());
}
// CHECK-LABEL: define {{.*}}@size(
// CHECK: call i32 @__weft_repeat(i32 2)
void size(std::vector<int> &v) {
    for (size_t i = 0; i < v.size(); i++) f(v[i]);
}
// The step of a map's iterator is a call into a library.
// CHECK-LABEL: define {{.*}}@map(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
void map(std::map<int, int> &m) {
    for (auto &x : m) f(x.second);
}
// CHECK-LABEL: define {{.*}}@destructors(
// CHECK: call i32 @__weft_repeat(i32 2)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
// CHECK: for.body:
// CHECK-NEXT: llvm.lifetime.start{{.*}}%s)
// CHECK: for.inc:
// CHECK-NEXT: load i32, ptr %i
void destructors(int n) {
    for (int i = 0; i < n; i++) {
        std::string s("x");
        if (g(i)) continue;
        f((int)s.size());
    }
}
// CHECK-LABEL: define {{.*}}@catches(
// CHECK: call i32 @__weft_repeat(i32 2)
void catches(int n) {
    for (int i = 0; i < n; i++) {
        try {
            f(i);
        } catch (int) {
            f(-1);
        }
    }
}
// The step may throw: it is a row of blocks.
// CHECK-LABEL: define {{.*}}@step_throws(
// CHECK: call i32 @__weft_repeat(i32 0)
// CHECK-NEXT: icmp
// CHECK-NEXT: br i1 %{{.*}}, label %for.inc, label %for.body
void step_throws(int n) {
    try {
        for (int i = 0; i < n; i += g(i)) f(i);
    } catch (int) {
    }
}
// CHECK-LABEL: define {{.*}}@condition_declares(
// CHECK-NOT: call i32 @__weft_repeat
// CHECK: ret void
std::unique_ptr<int> next();
void condition_declares() {
    while (std::unique_ptr<int> p = next()) f(*p);
}
}
