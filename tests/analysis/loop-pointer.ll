; Proves: a pointer moved along in a loop covers its object, at any offset.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %q ordered
; EXPECT: main: store %m ordered
%s = type { i64, ptr, i64, ptr }
@g = internal global %s zeroinitializer
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
entry:
  br label %loop
loop:
  %p = phi ptr [ @g, %entry ], [ %n, %loop ]
  %n = getelementptr inbounds i8, ptr %p, i64 8
  %q = load ptr, ptr %n
  %v = load i64, ptr %q
  %c = icmp eq i64 %v, 0
  br i1 %c, label %loop, label %done
done:
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr getelementptr (i8, ptr @g, i64 24)
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
