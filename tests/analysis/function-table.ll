; Proves: calls through a table of function pointers reach its entries and no others.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: call ? -> a b
; EXPECT: function c unreachable
; EXPECT: c: store @g unreachable
; EXPECT: a: store @g one-thread
; EXPECT: function a
@g = internal global i64 0
@tab = internal constant [2 x ptr] [ptr @a, ptr @b]
@dead = internal constant [1 x ptr] [ptr @c]
define internal void @a() {
  store i64 1, ptr @g
  ret void
}
define internal void @b() {
  ret void
}
define internal void @c() {
  store i64 1, ptr @g
  ret void
}
define i32 @main(i32 %argc) {
  %n = zext i32 %argc to i64
  %p = getelementptr inbounds [2 x ptr], ptr @tab, i64 0, i64 %n
  %f = load ptr, ptr %p
  call void %f()
  ret i32 0
}
