; Proves: an unknown function gets hold of its arguments, of all that they reach, and may call back.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; UNKNOWN: mystery
; EXPECT: main: store %x ordered
; EXPECT: main: store %m ordered
; EXPECT: main: store %y local
; EXPECT: main: call mystery out starts
; EXPECT: cb: call mystery out reenter starts
; EXPECT: function cb taken recursive
; EXPECT: cb: load %p ordered
; EXPECT: main: call mystery arg 0 %x ordered
declare ptr @malloc(i64)
declare void @mystery(ptr, ptr)
define internal void @cb(ptr %p) {
  %v = load i64, ptr %p
  call void @mystery(ptr null, ptr null)
  ret void
}
define i32 @main() {
  %x = alloca ptr
  %y = alloca i64
  %m = call ptr @malloc(i64 8)
  store ptr %m, ptr %x
  call void @mystery(ptr %x, ptr @cb)
  store i64 1, ptr %m
  store i64 1, ptr %y
  ret i32 0
}
