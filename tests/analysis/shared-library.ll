; Proves: in a shared library, exported functions run on any thread and what they get is not ours.
; OPTIONS: shared-library
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: api: load %p ordered
; EXPECT: api: load @state ordered
; EXPECT: api: store %x local
; EXPECT: function api taken recursive
; EXPECT: function helper
; EXPECT: helper: load @state ordered
; EXPECT: api: call helper
; EXPECT: api: call other out reenter starts
@state = internal global i64 0
define internal void @helper() {
  %v = load i64, ptr @state
  store i64 %v, ptr @state
  ret void
}
define void @other() {
  ret void
}
define void @api(ptr %p) {
  %x = alloca i64
  %v = load i64, ptr %p
  store i64 %v, ptr %x
  %w = load i64, ptr @state
  call void @helper()
  call void @other()
  ret void
}
