; Proves: the address of a thread-local variable is passed to another thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %arg ordered
; EXPECT: main: store %a ordered
@v = internal thread_local global i64 0
declare ptr @llvm.threadlocal.address.p0(ptr)
define internal ptr @run(ptr %arg) {
  store i64 1, ptr %arg
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call ptr @llvm.threadlocal.address.p0(ptr @v)
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %a)
  store i64 2, ptr %a
  ret i32 0
}
