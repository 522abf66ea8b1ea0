; Proves: what a thread-local pointer points to belongs to its thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %m local
; EXPECT: run: load %q local
@v = internal thread_local global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr @v
  store i64 1, ptr %m
  %q = load ptr, ptr @v
  %x = load i64, ptr %q
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
