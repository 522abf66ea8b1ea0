; Proves: what a thread returns reaches whoever joins it.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %m ordered
; EXPECT: main: store %p ordered
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %m = call ptr @malloc(i64 8)
  store i64 1, ptr %m
  ret ptr %m
}
define i32 @main() {
  %t = alloca i64
  %r = alloca ptr
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %id = load i64, ptr %t
  %j = call i32 @pthread_join(i64 %id, ptr %r)
  %p = load ptr, ptr %r
  store i64 2, ptr %p
  ret i32 0
}
