; Proves: at the link, __weft_repeat becomes a comparison of the thread's id and a jump that pushes nothing; where its result decides
; the branch behind it, the way without is straight. The definition for other links is gone.
; RUN: %weft-opt %s -o %t.ll
; RUN: %shape %t.ll
; RUN: FileCheck %s < %t.ll
; RUN: export WEFT_LINK=shared && %weft-opt %s -o %t.so.ll
; RUN: FileCheck --check-prefix SHARED %s < %t.so.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
$__weft_repeat = comdat any
declare void @f(i32)

; CHECK-LABEL: define void @loop
; CHECK: [[A:%.*]] = call { i32, i32 } asm sideeffect "xorl %eax, %eax\0A\09cmpw $$-4, %fs:__weft_tls@tpoff+16", "={ax},={@cce},
; CHECK: br i1 %{{.*}}, label %[[COLD:.*]], label %[[ON:.*]], !prof
; CHECK: [[COLD]]:
; CHECK-NEXT: [[R:%.*]] = call i32 asm sideeffect "{{.*}}jmpq *__weft_repeat_cold@GOTPCREL(%rip){{.*}}"{{.*}}(i32 2)
; CHECK-NEXT: [[C:%.*]] = icmp ne i32 [[R]], 0
; CHECK-NEXT: br i1 [[C]], label %next, label %[[ON]]
; CHECK: [[ON]]:
; CHECK-NEXT: br label %body
; CHECK: next:
; CHECK-NEXT: phi i32 [ 0, %[[COLD]] ], [ 1, %
; SHARED-LABEL: define void @loop
; SHARED: asm sideeffect "xorl %eax, %eax\0A\09cmpw $$-4, $2", "={ax},={@cce},*m,{{.*}}(ptr elementtype(i16)
define void @loop(i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %r = call i32 @__weft_repeat(i32 2)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %body, label %next
body:
  call void @f(i32 %i)
  br label %next
next:
  %v = phi i32 [ 0, %head ], [ 1, %body ]
  %j = add i32 %i, 1
  %d = icmp slt i32 %j, %n
  br i1 %d, label %head, label %out
out:
  ret void
}
; CHECK-LABEL: define i32 @value
; CHECK: phi i32
define i32 @value() {
  %r = call i32 @__weft_repeat(i32 4)
  ret i32 %r
}
; CHECK-NOT: retq
define linkonce_odr hidden i32 @__weft_repeat(i32 %0) naked noinline comdat {
  call void asm sideeffect "xorl %eax, %eax\0A\09retq", ""()
  unreachable
}
