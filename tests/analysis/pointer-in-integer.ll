; Proves: a pointer stored as an integer and read back as a pointer is followed.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
@g = internal global i64 0
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %i = load i64, ptr @g
  %p = inttoptr i64 %i to ptr
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %i = ptrtoint ptr %m to i64
  store i64 %i, ptr @g
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
