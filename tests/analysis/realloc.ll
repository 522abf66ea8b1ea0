; Proves: what was stored before realloc is there afterwards.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
; EXPECT: main: store %r2 local
@g = internal global ptr null
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
define internal ptr @run(ptr %arg) {
  %b = load ptr, ptr @g
  %p = load ptr, ptr %b
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %b = call ptr @malloc(i64 16)
  store ptr %m, ptr %b
  %r = call ptr @realloc(ptr %b, i64 64)
  store ptr %r, ptr @g
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  %q = call ptr @malloc(i64 16)
  %r2 = call ptr @realloc(ptr %q, i64 64)
  store i64 1, ptr %r2
  ret i32 0
}
