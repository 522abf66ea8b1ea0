; Proves: a global that only main uses needs no check, although there are threads.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store @g one-thread
; EXPECT: helper: load @g one-thread
@g = internal global i64 0
define internal ptr @run(ptr %arg) {
  ret ptr null
}
define internal i64 @helper() {
  %v = load i64, ptr @g
  ret i64 %v
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 5, ptr @g
  %v = call i64 @helper()
  ret i32 0
}
