; Proves: every cycle of control flow has a tick: loops with two entries, computed goto, switch loops, asm goto, loops in
; code that is never reached, landing pads; recursion ticks on the way back, but not behind a tail call.
; RUN: %weft-opt %s -o %t.ll
; RUN: %shape %t.ll
; RUN: FileCheck %s < %t.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
@g = global i32 0
declare i32 @__gxx_personality_v0(...)
declare void @unknown()
declare i32 @_setjmp(ptr) returns_twice

; CHECK-LABEL: define void @two_doors
define void @two_doors(i1 %c, i1 %d) {
  br i1 %c, label %a, label %b
a:
  store i32 1, ptr @g
  br label %b
b:
  %v = load i32, ptr @g
  br i1 %d, label %a, label %out
out:
  ret void
}

; CHECK-LABEL: define void @computed
define void @computed(ptr %p) {
  br label %next
next:
  %t = load ptr, ptr %p
  indirectbr ptr %t, [label %x, label %y, label %out]
x:
  store i32 1, ptr @g
  %t2 = load ptr, ptr %p
  indirectbr ptr %t2, [label %x, label %y, label %out]
y:
  store i32 2, ptr @g
  br label %next
out:
  ret void
}
@targets = global [2 x ptr] [ptr blockaddress(@computed, %x), ptr blockaddress(@computed, %y)]

; CHECK-LABEL: define void @switched
define void @switched(i32 %n) {
  br label %top
top:
  %s = phi i32 [ %n, %0 ], [ 1, %one ], [ 2, %two ]
  switch i32 %s, label %out [
    i32 0, label %one
    i32 1, label %two
    i32 7, label %top2
  ]
top2:
  br label %one
one:
  store i32 1, ptr @g
  br label %top
two:
  store i32 2, ptr @g
  br label %top
out:
  ret void
}

; CHECK-LABEL: define void @asm_goto
define void @asm_goto(ptr %p) {
top:
  callbr void asm sideeffect "lock btsl $$0, $0; jc ${1:l}", "=*m,!i,~{memory}"(ptr elementtype(i32) %p)
      to label %next [label %top2]
next:
  store i32 1, ptr @g
  br label %top2
top2:
  %v = load i32, ptr @g
  %c = icmp eq i32 %v, 0
  br i1 %c, label %again, label %out
again:
  callbr void asm sideeffect "jmp ${0:l}", "!i"() to label %out [label %top2]
out:
  ret void
}

; CHECK-LABEL: define void @dead_loop
define void @dead_loop() {
  store i32 1, ptr @g
  ret void
dead:
  store i32 2, ptr @g
  br label %dead
}

; CHECK-LABEL: define void @one_block
define void @one_block() {
  br label %l
l:
  br label %l
}

; The normal way out of the invoke is the head of the loop, and so is the landing pad.
; CHECK-LABEL: define void @thrown
; CHECK: landingpad
; CHECK: load i8, ptr {{.*}}@__weft_tls
; CHECK: __weft_come_in
define void @thrown(i1 %c) personality ptr @__gxx_personality_v0 {
  br label %top
top:
  store i32 1, ptr @g
  invoke void @unknown() to label %top unwind label %pad
pad:
  %e = landingpad { ptr, i32 } cleanup catch ptr null
  br i1 %c, label %top, label %up
up:
  resume { ptr, i32 } %e
}

; CHECK-LABEL: define i32 @jumped
; CHECK: call i32 @_setjmp
; CHECK: store i64 {{.*}}, ptr @__weft_tls
define i32 @jumped(ptr %p) {
  %r = call i32 @_setjmp(ptr %p) returns_twice
  store i32 %r, ptr @g
  ret i32 %r
}

; CHECK-LABEL: define internal i32 @post_order
; CHECK: call i32 @post_order
; CHECK: store i64 {{.*}}, ptr @__weft_tls
; CHECK: store i32 %r, ptr @g
define internal i32 @post_order(i32 %n) {
  %m = sub i32 %n, 1
  %z = icmp eq i32 %m, 0
  br i1 %z, label %out, label %down
down:
  %r = call i32 @post_order(i32 %m)
  store i32 %r, ptr @g
  ret i32 %r
out:
  ret i32 0
}

; CHECK-LABEL: define internal i32 @tail_position
; CHECK: %r = tail call i32 @tail_position2(i32 %m)
; CHECK-NEXT: ret i32 %r
define internal i32 @tail_position(i32 %m) {
  store i32 %m, ptr @g
  %r = tail call i32 @tail_position2(i32 %m)
  ret i32 %r
}
; CHECK-LABEL: define internal i32 @tail_position2
; CHECK: %r = musttail call i32 @tail_position(i32 %m)
; CHECK-NEXT: ret i32 %r
define internal i32 @tail_position2(i32 %m) {
  store i32 %m, ptr @g
  %r = musttail call i32 @tail_position(i32 %m)
  ret i32 %r
}

define i32 @main() {
  call i32 @post_order(i32 3)
  call i32 @tail_position(i32 3)
  ret i32 0
}
