; Proves: if a thread may call exit, handlers run there, while main is running.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: bye: store @g ordered
; EXPECT: main: store @g ordered
@g = internal global i64 0
declare i32 @atexit(ptr)
declare void @exit(i32) noreturn
define internal void @bye() {
  store i64 1, ptr @g
  ret void
}
define internal ptr @run(ptr %arg) {
  call void @exit(i32 1)
  unreachable
}
define i32 @main() {
  %t = alloca i64
  %h = call i32 @atexit(ptr @bye)
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 2, ptr @g
  ret i32 0
}
