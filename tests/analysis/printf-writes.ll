; Proves: a format with %n makes printf write: what is only written so is not unwritten.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
; EXPECT: run: call printf arg 0 @fmt constant
; EXPECT: run: call printf arg 1 @count ordered
; EXPECT: main: load @count ordered
@fmt = internal constant [14 x i8] c"%d%% %1$hhn\0A\00\00"
@count = internal global i32 0
declare i32 @printf(ptr, ...)
define internal ptr @run(ptr %arg) {
  %n = call i32 (ptr, ...) @printf(ptr @fmt, ptr @count)
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %v = load i32, ptr @count
  ret i32 %v
}
