; Proves: a function called by main and by a thread makes what it touches shared.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: helper: load @g ordered
; EXPECT: helper: store @g ordered
@g = internal global i64 0
define internal void @helper() {
  %v = load i64, ptr @g
  store i64 %v, ptr @g
  ret void
}
define internal ptr @run(ptr %arg) {
  call void @helper()
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  call void @helper()
  ret i32 0
}
