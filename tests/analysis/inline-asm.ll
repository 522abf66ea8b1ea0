; Proves: operands of inline assembly are out of our hands.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: store %x ordered
; EXPECT: main: call asm arg 0 %x ordered
; EXPECT: main: store %y local
define i32 @main() {
  %x = alloca i64
  %y = alloca i64
  store i64 1, ptr %x
  store i64 1, ptr %y
  call void asm sideeffect "incq $0", "=*m,~{memory}"(ptr elementtype(i64) %x)
  ret i32 0
}
