; Proves: the optimiser splits a[i + 3] into &a[i] and + 3; i alone may be before the array.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
%s = type { i64, [8 x ptr], i64 }
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr %arg
  %e = getelementptr inbounds %s, ptr %arg, i64 0, i32 1, i64 %v
  %f = getelementptr inbounds i8, ptr %e, i64 24
  %p = load ptr, ptr %f
  %w = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %o = call ptr @malloc(i64 80)
  %m = call ptr @malloc(i64 8)
  %first = getelementptr inbounds i8, ptr %o, i64 8
  store ptr %m, ptr %first
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  store i64 1, ptr %m
  ret i32 0
}
