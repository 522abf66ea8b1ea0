; Proves: a local whose address goes nowhere is local, in a function that many threads run.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %x local
; EXPECT: run: load %x local
; EXPECT: function run taken
define internal ptr @run(ptr %arg) {
  %x = alloca i64
  store i64 1, ptr %x
  %v = load i64, ptr %x
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
