; Proves: a struct with a pointer copied byte by byte.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
@g = internal global [8 x i8] zeroinitializer
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
entry:
  %t = alloca i64
  %x = alloca ptr
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr %x
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %s = getelementptr i8, ptr %x, i64 %i
  %d = getelementptr i8, ptr @g, i64 %i
  %b = load i8, ptr %s
  store i8 %b, ptr %d
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, 8
  br i1 %c, label %loop, label %done
done:
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
