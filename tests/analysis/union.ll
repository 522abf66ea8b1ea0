; Proves: a union written as an integer pair and read as a pointer.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
@g = internal global { i32, i32 } zeroinitializer
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %i = ptrtoint ptr %m to i64
  %lo = trunc i64 %i to i32
  %s = lshr i64 %i, 32
  %hi = trunc i64 %s to i32
  store i32 %lo, ptr @g
  store i32 %hi, ptr getelementptr (i8, ptr @g, i64 4)
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
