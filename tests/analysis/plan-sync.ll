; Proves: plan SYNC checks no memory access; calls are still known.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; OPTIONS: sync
; EXPECT: main: store @g plan
; EXPECT: f: call f reenter
@g = internal global i64 0
define internal void @f() {
  call void @f()
  ret void
}
define i32 @main() {
  store i64 1, ptr @g
  call void @f()
  ret i32 0
}
