; Proves: variables in walkable sections, or in llvm.used, can be reached without their name.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: store @a ordered
; EXPECT: main: store @b ordered
; EXPECT: main: store @c one-thread
@a = internal global i64 0, section "my_set"
@b = internal global i64 0
@c = internal global i64 0, section ".data.rel"
@llvm.used = appending global [1 x ptr] [ptr @b], section "llvm.metadata"
define i32 @main() {
  store i64 1, ptr @a
  store i64 1, ptr @b
  store i64 1, ptr @c
  ret i32 0
}
