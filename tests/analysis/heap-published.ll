; Proves: a heap object becomes shared by being stored in a shared global; another from the same thread does not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %m ordered
; EXPECT: run: store %n local
; EXPECT: main: load %p ordered
@g = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %m = call ptr @malloc(i64 8)
  store i64 1, ptr %m
  %n = call ptr @malloc(i64 8)
  store i64 1, ptr %n
  store ptr %m, ptr @g
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret i32 0
}
