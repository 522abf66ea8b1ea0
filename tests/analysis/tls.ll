; Proves: thread-local variables, accessed directly.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %a tls
; EXPECT: run: load @raw tls
@v = internal thread_local global i64 0
@raw = internal thread_local global i64 0
declare ptr @llvm.threadlocal.address.p0(ptr)
define internal ptr @run(ptr %arg) {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @v)
  store i64 1, ptr %a
  %x = load i64, ptr @raw
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
