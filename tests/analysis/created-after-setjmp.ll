; Proves: a setjmp may be returned to, so pthread_create after it may run twice.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store @g ordered
@g = internal global i64 0
@env = internal global [25 x i64] zeroinitializer
declare i32 @_setjmp(ptr) returns_twice
define internal ptr @run(ptr %arg) {
  store i64 1, ptr @g
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %j = call i32 @_setjmp(ptr @env) returns_twice
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
