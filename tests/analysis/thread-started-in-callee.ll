; Proves: the early part of main ends at a call that starts a thread deep inside.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store @g ordered
; EXPECT: main: store @h one-thread
@g = internal global i64 0
@h = internal global i64 0
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  %w = load i64, ptr @h
  ret ptr null
}
define internal void @inner() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret void
}
define internal void @outer() {
  call void @inner()
  ret void
}
define i32 @main() {
  store i64 1, ptr @h
  call void @outer()
  store i64 7, ptr @g
  ret i32 0
}
