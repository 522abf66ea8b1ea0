; Proves: memcpy of a struct copies its pointers, each to its field.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %p ordered
; EXPECT: main: store %m ordered
; EXPECT: main: store %n one-thread
; EXPECT: run: call llvm.memcpy.p0.p0.i64 arg 1 @g ordered
%s = type { ptr, ptr, i64 }
@g = internal global %s zeroinitializer
declare ptr @malloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal ptr @run(ptr %arg) {
  %l = alloca %s
  call void @llvm.memcpy.p0.p0.i64(ptr %l, ptr @g, i64 24, i1 false)
  %p = load ptr, ptr %l
  %v = load i64, ptr %p
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = alloca %s
  %m = call ptr @malloc(i64 8)
  %n = call ptr @malloc(i64 8)
  store ptr %m, ptr %x
  %f = getelementptr inbounds %s, ptr %x, i64 0, i32 1
  store ptr %n, ptr %f
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  call void @llvm.memcpy.p0.p0.i64(ptr @g, ptr %x, i64 24, i1 false)
  store i64 1, ptr %m
  store i64 1, ptr %n
  ret i32 0
}
