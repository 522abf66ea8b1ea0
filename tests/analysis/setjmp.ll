; Proves: setjmp and longjmp write and read their buffer and nothing else.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: call _setjmp arg 0 @env one-thread
; EXPECT: main: store %x local
@env = internal global [25 x i64] zeroinitializer
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
define internal void @back() {
  call void @longjmp(ptr @env, i32 1)
  unreachable
}
define i32 @main() {
  %x = alloca i64
  %j = call i32 @_setjmp(ptr @env) returns_twice
  store i64 1, ptr %x
  call void @back()
  unreachable
}
