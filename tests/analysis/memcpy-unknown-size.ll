; Proves: memcpy of unknown size copies all fields.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %n ordered
@g = internal global ptr null
declare ptr @malloc(i64)
declare ptr @memcpy(ptr, ptr, i64)
define internal ptr @run(ptr %arg) {
  %b = load ptr, ptr @g
  %f = getelementptr inbounds i8, ptr %b, i64 8
  %p = load ptr, ptr %f
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main(i32 %argc) {
  %t = alloca i64
  %z = zext i32 %argc to i64
  %x = alloca [3 x i64]
  %n = call ptr @malloc(i64 8)
  %f = getelementptr inbounds i8, ptr %x, i64 8
  store ptr %n, ptr %f
  %d = call ptr @malloc(i64 %z)
  %c = call ptr @memcpy(ptr %d, ptr %x, i64 %z)
  store ptr %c, ptr @g
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %n
  ret i32 0
}
