; Proves: constants and tables of constants.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load @c constant
; EXPECT: run: load %p constant
@c = internal constant i64 5
@tab = internal constant [4 x i64] [i64 1, i64 2, i64 3, i64 4]
define internal ptr @run(ptr %arg) {
  %v = load i64, ptr @c
  %p = getelementptr inbounds [4 x i64], ptr @tab, i64 0, i64 %v
  %w = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
