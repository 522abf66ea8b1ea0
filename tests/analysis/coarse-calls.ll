; Proves: without points-to, an indirect call may reach whatever has its address taken.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; OPTIONS: coarse
; EXPECT: main: call ? out starts -> ?
; EXPECT: a: call ? out reenter starts -> ?
; EXPECT: function a taken recursive
; EXPECT: function b
@tab = internal constant [1 x ptr] [ptr @a]
define internal void @a(ptr %f) {
  call void %f()
  ret void
}
define internal void @b() {
  ret void
}
define i32 @main(i32 %argc, ptr %f) {
  call void %f()
  call void @b()
  ret i32 0
}
