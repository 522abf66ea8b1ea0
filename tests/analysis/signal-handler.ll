; Proves: a signal handler may run on any thread at any time.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: handler: store @g ordered
; EXPECT: main: load @g ordered
; EXPECT: function handler taken
@g = internal global i64 0
declare ptr @signal(i32, ptr)
define internal void @handler(i32 %n) {
  store i64 1, ptr @g
  ret void
}
define i32 @main() {
  %h = call ptr @signal(i32 15, ptr @handler)
  %v = load i64, ptr @g
  ret i32 0
}
