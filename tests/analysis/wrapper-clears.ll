; Proves: what a function that allocates writes to the memory counts for each of its callers.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare ptr @malloc(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
; EXPECT: main: load %p ordered
; EXPECT: xzalloc: call llvm.memset.p0.i64 arg 0 %p ordered
@g = internal global ptr null
define internal ptr @xzalloc(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret ptr %p
}
define internal ptr @again(i64 %n) {
  %p = call ptr @xzalloc(i64 %n)
  ret ptr %p
}
define internal ptr @run(ptr %arg) {
  %a = call ptr @again(i64 8)
  store ptr %a, ptr @g
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret i32 0
}
