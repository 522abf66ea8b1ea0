; Proves: a static initialiser that starts a thread ends the early part for everybody.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store @g ordered
; EXPECT: init: store @h ordered
@g = internal global i64 0
@h = internal global i64 0
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]
define internal void @init() {
  %t = alloca i64
  store i64 7, ptr @h
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret void
}
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  %w = load i64, ptr @h
  ret ptr null
}
define i32 @main() {
  store i64 1, ptr @g
  ret i32 0
}
