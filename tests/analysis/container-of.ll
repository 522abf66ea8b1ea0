; Proves: a thread gets a pointer to a member and goes back to the struct.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %s ordered
; EXPECT: main: store %m ordered
; EXPECT: run: load %p ordered
@g = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @g
  %n = load ptr, ptr %p
  %s = getelementptr inbounds i8, ptr %p, i64 -16
  %v = load i64, ptr %s
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 32)
  %l = getelementptr inbounds i8, ptr %m, i64 16
  store ptr %l, ptr %l
  store ptr %l, ptr @g
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  store ptr null, ptr %l
  ret i32 0
}
