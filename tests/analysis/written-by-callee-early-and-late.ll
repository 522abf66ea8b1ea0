; Proves: a helper called before and after pthread_create writes late.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: set: store @g ordered
; EXPECT: early: store @h one-thread
@g = internal global i64 0
@h = internal global i64 0
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  %w = load i64, ptr @h
  ret ptr null
}
define internal void @set() {
  store i64 7, ptr @g
  ret void
}
define internal void @early() {
  store i64 7, ptr @h
  ret void
}
define i32 @main() {
  %t = alloca i64
  call void @set()
  call void @early()
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  call void @set()
  ret i32 0
}
