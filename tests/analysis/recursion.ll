; Proves: calls that may come back: direct and mutual recursion, and recursion through a pointer.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: f: call f reenter
; EXPECT: g: call h reenter
; EXPECT: h: call g reenter
; EXPECT: k: call ? reenter -> k
; EXPECT: main: call f
; EXPECT: main: call leaf
; EXPECT: function f recursive
@fp = internal global ptr null
define internal void @leaf() {
  ret void
}
define internal void @f(i32 %n) {
  call void @f(i32 %n)
  ret void
}
define internal void @g() {
  call void @h()
  ret void
}
define internal void @h() {
  call void @g()
  ret void
}
define internal void @k() {
  %f = load ptr, ptr @fp
  call void %f()
  ret void
}
define i32 @main() {
  store ptr @k, ptr @fp
  call void @f(i32 3)
  call void @g()
  call void @k()
  call void @leaf()
  ret i32 0
}
