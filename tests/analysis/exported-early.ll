; Proves: what main does first is not before all that a function does that a library may find by name: that may have a thread already.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
@conf = internal global i32 0
@own = internal global i32 0
; EXPECT: hook: load @conf ordered
; EXPECT: main: store @conf ordered
; EXPECT: main: store @own one-thread
define void @hook() {
  %v = load i32, ptr @conf
  ret void
}
define i32 @main() {
  store i32 1, ptr @conf
  store i32 1, ptr @own
  ret i32 0
}
