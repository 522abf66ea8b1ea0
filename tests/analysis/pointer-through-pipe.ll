; Proves: a pointer written to a pipe comes back from a read on another thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
declare ptr @malloc(i64)
declare i64 @read(i32, ptr, i64)
declare i64 @write(i32, ptr, i64)
define internal ptr @run(ptr %arg) {
  %b = alloca ptr
  %r = call i64 @read(i32 3, ptr %b, i64 8)
  %p = load ptr, ptr %b
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %b = alloca ptr
  %m = call ptr @malloc(i64 8)
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store ptr %m, ptr %b
  %w = call i64 @write(i32 4, ptr %b, i64 8)
  store i64 1, ptr %m
  ret i32 0
}
