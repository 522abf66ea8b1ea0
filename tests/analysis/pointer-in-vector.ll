; Proves: two pointers moved as a vector, and one as a double.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: run: load %q ordered
; EXPECT: main: store %m ordered
; EXPECT: main: store %n ordered
@g = internal global [2 x ptr] zeroinitializer
@h = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  %q = load ptr, ptr @h
  %w = load i64, ptr %q
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = alloca [2 x ptr]
  %m = call ptr @malloc(i64 8)
  %n = call ptr @malloc(i64 8)
  store ptr %m, ptr %x
  %y = alloca ptr
  store ptr %n, ptr %y
  %vec = load <2 x i64>, ptr %x
  store <2 x i64> %vec, ptr @g
  %d = load double, ptr %y
  store double %d, ptr @h
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  store i64 1, ptr %n
  ret i32 0
}
