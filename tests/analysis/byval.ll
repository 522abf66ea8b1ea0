; Proves: a struct passed by value is copied by the call: the callee has its own, the call reads the original.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: call f arg 0 @g ordered
; EXPECT: f: store %s local
; EXPECT: f: load %p ordered
%s = type { ptr, i64, i64 }
@g = internal global %s zeroinitializer
@target = internal global i64 0
define internal void @f(ptr byval(%s) %s) {
  %p = load ptr, ptr %s
  %v = load i64, ptr %p
  store i64 0, ptr %s
  ret void
}
define internal ptr @run(ptr %arg) {
  call void @f(ptr byval(%s) @g)
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store ptr @target, ptr @g
  store i64 1, ptr @target
  ret i32 0
}
