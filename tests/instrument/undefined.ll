; Proves: values that nobody gave become zero, inside constants too; lanes that a shuffle does not ask for stay.
; RUN: %weft-opt %s -o - | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @use(i32, ptr, double)

; CHECK-LABEL: @calls(
; CHECK: call void @use(i32 0, ptr null, double 0.000000e+00)
define void @calls() {
  call void @use(i32 undef, ptr poison, double undef)
  ret void
}

; CHECK-LABEL: @half(
; CHECK: ret { i64, i64 } { i64 7, i64 0 }
define { i64, i64 } @half() {
  ret { i64, i64 } { i64 7, i64 undef }
}

; CHECK-LABEL: @other(
; CHECK: insertvalue { i64, i64 } zeroinitializer, i64 %x, 0
define { i64, i64 } @other(i64 %x) {
  %r = insertvalue { i64, i64 } poison, i64 %x, 0
  ret { i64, i64 } %r
}

; CHECK-LABEL: @either(
; CHECK: br i1 false
; CHECK: phi i32 [ 0, %{{.*}} ], [ %x, %{{.*}} ]
define i32 @either(i32 %x) {
entry:
  br i1 undef, label %a, label %b
a:
  br label %b
b:
  %r = phi i32 [ undef, %entry ], [ %x, %a ]
  ret i32 %r
}

; CHECK-LABEL: @splat(
; CHECK: insertelement <4 x i32> zeroinitializer, i32 %x, i64 0
; CHECK: shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
define <4 x i32> @splat(i32 %x) {
  %one = insertelement <4 x i32> poison, i32 %x, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  ret <4 x i32> %all
}
