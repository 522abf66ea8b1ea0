; Proves: a stack object whose address is passed to a thread is shared.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store %x ordered
; EXPECT: run: load %arg ordered
; EXPECT: main: load %y local
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr %arg
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = alloca i64
  %y = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %x)
  store i64 1, ptr %x
  %v = load i64, ptr %y
  ret i32 0
}
