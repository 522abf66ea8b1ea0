; Proves: a pointer that printf writes as text comes back from scanf on another thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
@text = internal global [32 x i8] zeroinitializer
@format = internal constant [3 x i8] c"%p\00"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
declare ptr @malloc(i64)
declare i32 @sprintf(ptr, ptr, ...)
declare i32 @sscanf(ptr, ptr, ...)
define internal ptr @run(ptr %arg) {
  %b = alloca ptr
  %r = call i32 (ptr, ptr, ...) @sscanf(ptr @text, ptr @format, ptr %b)
  %p = load ptr, ptr %b
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %w = call i32 (ptr, ptr, ...) @sprintf(ptr @text, ptr @format, ptr %m)
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
