; Proves: an argument struct made by main, freed by the thread: shared, since main made it in a loop of many.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %arg ordered
; EXPECT: main: store %m ordered
; EXPECT: run: load %b ordered
; EXPECT: run: store %own local
declare ptr @malloc(i64)
declare void @free(ptr)
define internal ptr @run(ptr %arg) {
  %b = load ptr, ptr %arg
  %v = load i64, ptr %b
  %own = call ptr @malloc(i64 8)
  store i64 %v, ptr %own
  call void @free(ptr %arg)
  ret ptr null
}
define i32 @main() {
entry:
  %t = alloca i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %m = call ptr @malloc(i64 16)
  %q = call ptr @malloc(i64 8)
  store ptr %q, ptr %m
  store i64 %i, ptr %q
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %m)
  %n = add i64 %i, 1
  %c = icmp ult i64 %n, 4
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}
