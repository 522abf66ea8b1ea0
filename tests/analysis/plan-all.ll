; Proves: plan ALL leaves out only locals at constant offsets inside them.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; OPTIONS: all
; EXPECT: main: store %x local
; EXPECT: main: store %p ordered
; EXPECT: main: store %big ordered
; EXPECT: main: load @c ordered
; EXPECT: main: store %far ordered
; EXPECT: main: store %f local
@c = internal constant i64 1
define i32 @main(i32 %argc) {
  %x = alloca i64
  %arr = alloca [4 x i64]
  %big = alloca [4 x i64]
  %s = alloca { i64, i64 }
  store i64 1, ptr %x
  %n = zext i32 %argc to i64
  %p = getelementptr inbounds [4 x i64], ptr %arr, i64 0, i64 %n
  store i64 1, ptr %p
  store i64 1, ptr %big
  %far = getelementptr inbounds i8, ptr %big, i64 32
  store i64 1, ptr %far
  %f = getelementptr inbounds { i64, i64 }, ptr %s, i64 0, i32 1
  store i64 1, ptr %f
  %v = load i64, ptr @c
  ret i32 0
}
