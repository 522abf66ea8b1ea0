; Proves: pthread_create in a loop makes many threads.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store @g ordered
@g = internal global i64 0
define internal ptr @run(ptr %arg) {
  store i64 1, ptr @g
  ret ptr null
}
define i32 @main() {
entry:
  %t = alloca i64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %n, %loop ]
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %n = add i32 %i, 1
  %c = icmp ult i32 %n, 4
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}
