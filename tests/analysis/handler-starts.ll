; Proves: a handler that starts a thread may have done so any time after it was installed.
; EXPECT: run: load @x ordered
; EXPECT: main: call signal starts
; EXPECT: main: store @y unwritten
; EXPECT: main: store @x ordered
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare ptr @signal(i32, ptr)
declare i32 @raise(i32)
@x = internal global i32 0
@y = internal global i32 0
define internal ptr @run(ptr %arg) {
  %v = load i32, ptr @x
  %w = load i32, ptr @y
  ret ptr null
}
define internal void @handler(i32 %n) {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret void
}
define i32 @main() {
  store i32 1, ptr @y
  %s = call ptr @signal(i32 10, ptr @handler)
  %r = call i32 @raise(i32 10)
  store i32 1, ptr @x
  ret i32 0
}
