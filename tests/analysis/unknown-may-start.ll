; Proves: an unknown function may start threads, so what main writes after it is late; printf may not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store @g one-thread
; EXPECT: main: store @h ordered
; UNKNOWN: mystery
@g = internal global i64 0
@h = internal global i64 0
@s = internal constant [2 x i8] c"a\00"
declare void @mystery()
declare i32 @printf(ptr, ...)
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  %w = load i64, ptr @h
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %p = call i32 (ptr, ...) @printf(ptr @s)
  store i64 7, ptr @g
  call void @mystery()
  store i64 7, ptr @h
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
