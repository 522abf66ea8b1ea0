; Proves: a store textually before pthread_create, in the same loop, comes after it as well.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store @g ordered
; EXPECT: run: load @g ordered
@g = internal global i64 0
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @g
  ret ptr null
}
define i32 @main() {
entry:
  %t = alloca i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  store i64 %i, ptr @g
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, 4
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}
