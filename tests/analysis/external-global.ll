; Proves: variables that other modules define, or that are visible to them, are shared.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: load @theirs ordered
; EXPECT: main: store @ours ordered
; EXPECT: main: load %p ordered
; EXPECT: main: store %m ordered
@theirs = external global ptr
@ours = global ptr null
declare ptr @malloc(i64)
define i32 @main() {
  %p = load ptr, ptr @theirs
  %v = load i64, ptr %p
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr @ours
  store i64 1, ptr %m
  ret i32 0
}
