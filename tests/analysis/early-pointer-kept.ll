; Proves: main puts an object into a global early, keeps the pointer, and a thread gets it from the global.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store %m ordered
; EXPECT: run: load %p ordered
@g = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr @g
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
