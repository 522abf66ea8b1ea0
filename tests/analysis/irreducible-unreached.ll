; Proves: a pointer that nobody sets is not an excuse to leave out the check.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: load %p ordered
@g = internal global ptr null
define i32 @main() {
  %p = load ptr, ptr @g
  %v = load i64, ptr %p
  ret i32 0
}
