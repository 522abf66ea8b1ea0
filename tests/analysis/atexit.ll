; Proves: handlers given to atexit run on main's thread if nobody else calls exit.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: bye: store @g one-thread
; EXPECT: function bye taken
@g = internal global i64 0
declare i32 @atexit(ptr)
define internal void @bye() {
  store i64 1, ptr @g
  ret void
}
define internal ptr @run(ptr %arg) {
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %h = call i32 @atexit(ptr @bye)
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 2, ptr @g
  ret i32 0
}
