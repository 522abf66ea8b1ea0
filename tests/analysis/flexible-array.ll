; Proves: an array that ends an object may be longer than declared.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
%s = type { i64, [2 x ptr] }
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr %arg
  %e = getelementptr inbounds %s, ptr %arg, i64 0, i32 1, i64 %v
  %p = load ptr, ptr %e
  %w = load i64, ptr %p
  ret ptr null
}
define i32 @main(i32 %argc) {
  %t = alloca i64
  %n = zext i32 %argc to i64
  %z = add i64 %n, 24
  %o = call ptr @malloc(i64 %z)
  %m = call ptr @malloc(i64 8)
  %far = getelementptr inbounds i8, ptr %o, i64 800
  store ptr %m, ptr %far
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  store i64 1, ptr %m
  ret i32 0
}
