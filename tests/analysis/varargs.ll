; Proves: pointers passed as variable arguments reach the callee.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: take: store %p ordered
; EXPECT: main: store %m ordered
; EXPECT: take: load %reg local
@g = internal global ptr null
declare ptr @malloc(i64)
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
define internal void @take(i32 %n, ...) {
  %ap = alloca [24 x i8], align 16
  call void @llvm.va_start.p0(ptr %ap)
  %o = getelementptr inbounds i8, ptr %ap, i64 16
  %save = load ptr, ptr %o
  %reg = getelementptr i8, ptr %save, i64 8
  %p = load ptr, ptr %reg
  store i64 1, ptr %p
  store ptr %p, ptr @g
  call void @llvm.va_end.p0(ptr %ap)
  ret void
}
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  call void (i32, ...) @take(i32 1, ptr %m)
  store i64 1, ptr %m
  ret i32 0
}
