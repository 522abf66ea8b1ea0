; Proves: qsort moves elements, so a pointer may end in any of them.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
%arr = type { ptr, ptr }
@g = internal global %arr zeroinitializer
declare ptr @malloc(i64)
declare void @qsort(ptr, i64, i64, ptr)
define internal i32 @cmp(ptr %a, ptr %b) {
  ret i32 0
}
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr getelementptr (i8, ptr @g, i64 8)
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr @g
  call void @qsort(ptr @g, i64 2, i64 8, ptr @cmp)
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
