; Proves: a function that foreign code may call comes inside at its entry and goes out again on every return, and when an
; exception leaves it; one that only this module calls does neither. Functions whose address is taken have a section of their
; own, and a call by address goes out if it does not lead there.
; RUN: env WEFT_PLAN=shared bash -c '%weft-opt %s -o %t.ll'
; RUN: %shape %t.ll
; RUN: FileCheck %s < %t.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
@g = global i32 0
declare i32 @__gxx_personality_v0(...)
declare void @library(ptr)

; CHECK-LABEL: define internal i32 @called_back({{.*}} section "weft_taken"
; CHECK: %[[OUT:.*]] = load i8, ptr getelementptr (i8, ptr @__weft_tls, i64 18)
; CHECK-NEXT: %[[WAS:.*]] = icmp ne i8 %[[OUT]], 0
; CHECK: __weft_come_in
; CHECK: store i64 {{.*}}, ptr @__weft_tls
; CHECK: __weft_go_out
; CHECK: ret i32 1
; CHECK: __weft_go_out
; CHECK: ret i32 2
; CHECK: landingpad
; CHECK: br i1 %[[WAS]],
; CHECK: __weft_go_out
; CHECK: resume
define internal i32 @called_back(i1 %c) personality ptr @__gxx_personality_v0 {
  br i1 %c, label %a, label %b
a:
  ret i32 1
b:
  invoke void @throws() to label %ok unwind label %pad
ok:
  ret i32 2
pad:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}
; CHECK-LABEL: define internal void @throws
; CHECK-NOT: __weft_come_in
; CHECK-NOT: __weft_go_out
; CHECK: ret void
define internal void @throws() {
  store i32 1, ptr @g
  ret void
}
; CHECK-LABEL: define i32 @main
; CHECK: __weft_go_out
; CHECK: call void @library
; CHECK: __weft_come_in
; CHECK: store i64 {{.*}}, ptr @__weft_tls
define i32 @main() {
  call void @library(ptr @called_back)
  ret i32 0
}
; CHECK-LABEL: define i32 @by_address
; CHECK: %[[AT:.*]] = sub i64 %{{.*}}, ptrtoint (ptr @__start_weft_taken to i64)
; CHECK: %[[FOREIGN:.*]] = icmp uge i64 %[[AT]], {{.*}}__stop_weft_taken
; CHECK: br i1 %[[FOREIGN]],
; CHECK: __weft_go_out
; CHECK: call i32 %f(i1 true)
; CHECK: load i8, ptr getelementptr (i8, ptr @__weft_tls, i64 18)
; CHECK: __weft_come_in
define i32 @by_address(ptr %f) {
  %r = call i32 %f(i1 true)
  ret i32 %r
}
