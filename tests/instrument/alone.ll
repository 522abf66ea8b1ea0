; Proves: naked functions are left alone, and what runs before the runtime has started: resolvers of ifuncs, functions in
; .preinit_array, and what these call.
; RUN: %weft-opt %s -o %t.ll
; RUN: %shape --alone naked --alone resolver --alone helper --alone before %t.ll
; RUN: FileCheck %s < %t.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
@g = global i32 0
@f = ifunc void (), ptr @resolver
@p = internal constant ptr @before, section ".preinit_array"
@llvm.used = appending global [1 x ptr] [ptr @p], section "llvm.metadata"
define void @naked() naked {
  call void asm sideeffect "ret", ""()
  unreachable
}
define internal i1 @helper() {
  %v = load i32, ptr @g
  %c = icmp eq i32 %v, 0
  ret i1 %c
}
define internal ptr @resolver() {
  %c = call i1 @helper()
  ret ptr @chosen
}
define internal void @before() {
  store i32 1, ptr @g
  ret void
}
; CHECK-LABEL: define internal void @chosen
; CHECK: __weft_miss
define internal void @chosen() {
  store i32 1, ptr @g
  ret void
}
define i32 @main() {
  call void @f()
  ret i32 0
}
