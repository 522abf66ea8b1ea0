; Proves: the difference of two pointers is a number as long as no pointer is made of it, even if integers are made pointers.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare ptr @malloc(i64)
; EXPECT: main: store %e local
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
@len = internal global i64 0
@diff = internal global i64 0
@kept = internal global i64 0
@base = internal global ptr null
define internal ptr @run(ptr %arg) {
  %l = load i64, ptr @len
  %d = load i64, ptr @diff
  %b = load ptr, ptr @base
  %k = load i64, ptr @kept
  %p = inttoptr i64 %k to ptr
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main(i32 %argc) {
  %t = alloca i64
  %n = zext i32 %argc to i64
  %a = call ptr @malloc(i64 %n)
  %e = getelementptr inbounds i8, ptr %a, i64 %n
  %ai = ptrtoint ptr %a to i64
  %ei = ptrtoint ptr %e to i64
  %l = sub i64 %ei, %ai
  store i64 %l, ptr @len
  %m = call ptr @malloc(i64 8)
  %b = call ptr @malloc(i64 8)
  store ptr %b, ptr @base
  %mi = ptrtoint ptr %m to i64
  %bi = ptrtoint ptr %b to i64
  %d = sub i64 %mi, %bi
  store i64 %d, ptr @diff
  store i64 %mi, ptr @kept
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  store i64 1, ptr %e
  ret i32 0
}
