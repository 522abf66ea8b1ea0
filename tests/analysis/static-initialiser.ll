; Proves: a global written by a static initialiser only is not written after the start.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: init: store @g unwritten
; EXPECT: run: load @g unwritten
; EXPECT: function init taken
@g = internal global i64 0
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
define internal void @init() {
  store i64 7, ptr @g
  ret void
}
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %v = load i64, ptr @g
  ret i32 0
}
