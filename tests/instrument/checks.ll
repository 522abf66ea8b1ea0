; Proves: every kind of access is checked, with its size, on every line that it may touch, right before it; allocas stay in
; the entry block.
; RUN: %weft-opt %s -o %t.ll
; RUN: %shape %t.ll
; RUN: FileCheck %s < %t.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; One line: one entry of the table is compared.
; CHECK-LABEL: define void @aligned
; CHECK-COUNT-1: inttoptr i64 {{.*}} to ptr
; CHECK-NOT: inttoptr
; A read looks, before it jumps, whether the thread reads the line together with others; both lines, if it may touch two.
; CHECK: asm sideeffect "movq %rcx, {{.*}}btq %rax, %rcx{{.*}}__weft_miss{{.*}}(ptr %p, i32 4)
; CHECK: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: load i32
define void @aligned(ptr %p) {
  %v = load i32, ptr %p, align 4
  ret void
}
; CHECK-LABEL: define void @unaligned
; CHECK-COUNT-2: movzwl
; CHECK-NOT: movzwl
; CHECK: __weft_miss{{.*}}(ptr %p, i32 16777224)
; CHECK: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: store i64 1
define void @unaligned(ptr %p) {
  store i64 1, ptr %p, align 4
  ret void
}
; CHECK-LABEL: define void @unaligned_read
; CHECK: btq {{.*}}addq $$7, {{.*}}btq {{.*}}__weft_miss{{.*}}(ptr %p, i32 8)
define void @unaligned_read(ptr %p) {
  %v = load i64, ptr %p, align 4
  ret void
}
; CHECK-LABEL: define void @byte
; CHECK-COUNT-1: inttoptr i64 {{.*}} to ptr
; CHECK-NOT: inttoptr
; CHECK: (ptr %p, i32 1)
define void @byte(ptr %p) {
  %v = load i8, ptr %p, align 1
  ret void
}
; CHECK-LABEL: define void @odd
; CHECK: (ptr %p, i32 3)
; CHECK: (ptr %p, i32 16777217)
; CHECK: (ptr %p, i32 10)
define void @odd(ptr %p) {
  %v = load i24, ptr %p, align 4
  store i1 true, ptr %p
  %f = load x86_fp80, ptr %p, align 16
  ret void
}
; CHECK-LABEL: define void @wide
; CHECK-COUNT-1: inttoptr i64 {{.*}} to ptr
; CHECK-NOT: inttoptr
; CHECK: (ptr %p, i32 64)
define void @wide(ptr %p) {
  %v = load <16 x i32>, ptr %p, align 64
  ret void
}
; 128 bytes touch up to three lines.
; CHECK-LABEL: define void @wider
; CHECK-COUNT-3: movzwl
; CHECK-NOT: movzwl
; CHECK: (ptr %p, i32 16777344)
define void @wider(ptr %p, <32 x i32> %v) {
  store <32 x i32> %v, ptr %p, align 4
  ret void
}
; CHECK-LABEL: define void @huge
; CHECK: call void @__weft_take_begin()
; CHECK-NEXT: call void @__weft_take_range(ptr %p, i64 4000, i32 0)
; CHECK-NEXT: call void @__weft_take_end()
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: load [1000 x i32]
define void @huge(ptr %p) {
  %v = load [1000 x i32], ptr %p
  ret void
}
; CHECK-LABEL: define void @kinds
; CHECK: (ptr %p, i32 4)
; CHECK: load volatile i32
; CHECK: (ptr %p, i32 134217736)
; CHECK: load atomic i64
; An atomic says which it is, and where it misses, what it works with: the value, and what is expected.
; CHECK: store i64 1, ptr getelementptr (i8, ptr @__weft_tls, i64 128)
; CHECK: (ptr %p, i32 50659332)
; CHECK: atomicrmw
; CHECK: store i64 1, ptr getelementptr (i8, ptr @__weft_tls, i64 128)
; CHECK: store i64 0, ptr getelementptr (i8, ptr @__weft_tls, i64 136)
; CHECK: store i64 0, ptr getelementptr (i8, ptr @__weft_tls, i64 144)
; CHECK: store i64 0, ptr getelementptr (i8, ptr @__weft_tls, i64 152)
; CHECK: (ptr %p, i32 50528272)
; CHECK: cmpxchg
; CHECK: fence seq_cst
define void @kinds(ptr %p) {
  %a = load volatile i32, ptr %p
  %b = load atomic i64, ptr %p seq_cst, align 8
  %c = atomicrmw add ptr %p, i32 1 monotonic
  %d = cmpxchg ptr %p, i128 0, i128 1 seq_cst seq_cst
  fence seq_cst
  ret void
}
; fs: and gs: belong to the thread.
; CHECK-LABEL: define void @segment
; CHECK-NOT: __weft_miss
; CHECK-NOT: __weft_mem
; CHECK: ret void
define void @segment(ptr addrspace(257) %p, ptr %q) {
  %v = load i64, ptr addrspace(257) %p
  call void @llvm.memcpy.p0.p257.i64(ptr %q, ptr addrspace(257) %p, i64 8, i1 false)
  ret void
}
; CHECK-LABEL: define void @copies
; CHECK: (ptr %q, i32 12)
; CHECK: load i96, ptr %q
; CHECK: (ptr %p, i32 16777228)
; CHECK: store i96 {{.*}}, ptr %p
; CHECK: call ptr @__weft_memcpy(ptr %p, ptr %q, i64 65)
; CHECK: call ptr @__weft_memmove(ptr %p, ptr %q, i64 %n)
; CHECK: (ptr %p, i32 16777228)
; CHECK: call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 12
; CHECK: call ptr @__weft_memset(ptr %p, i32 {{.*}}, i64 %n)
; CHECK: call ptr @__weft_memcpy(ptr %p, ptr %q, i64 %n)
; CHECK: call ptr @__weft_strcpy(ptr %p, ptr %q)
define void @copies(ptr %p, ptr %q, i64 %n, i8 %c) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 65, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr %p, i8 %c, i64 %n, i1 false)
  call ptr @memcpy(ptr %p, ptr %q, i64 %n)
  call ptr @strcpy(ptr %p, ptr %q)
  ret void
}
; CHECK-LABEL: define void @strings
; CHECK: call void @__weft_take_begin()
; CHECK-NEXT: %[[Q:.*]] = ptrtoint ptr %q to i64
; CHECK-NEXT: call void @__weft_take_until(ptr %p, i64 %n, i32 9, i64 %[[Q]], i64 0)
; CHECK-NEXT: call void @__weft_take_end()
; CHECK-NEXT: call i32 @strncmp
; CHECK: call void @__weft_take_strn(ptr %q, i64 %n)
; CHECK: call ptr @strncpy
define void @strings(ptr %p, ptr %q, i64 %n) {
  call i32 @strncmp(ptr %p, ptr %q, i64 %n)
  call ptr @strncpy(ptr %p, ptr %q, i64 %n)
  ret void
}
; CHECK-LABEL: define void @masked
; CHECK: (ptr %p, i32 32)
; CHECK: call <8 x i32> @llvm.masked.load
; CHECK: (ptr %p, i32 83886112)
; CHECK: call void @llvm.masked.store
; CHECK: call void @__weft_take_begin()
; CHECK-COUNT-2: call void @__weft_take_range(ptr {{.*}}, i64 {{.*}}, i32 0)
; CHECK: call void @__weft_take_end()
; CHECK: call <2 x i64> @llvm.masked.gather
define void @masked(ptr %p, <8 x i1> %m, <2 x ptr> %ps, <2 x i1> %m2) {
  %v = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %p, i32 4, <8 x i1> %m, <8 x i32> zeroinitializer)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v, ptr %p, i32 4, <8 x i1> %m)
  %w = call <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr> %ps, i32 8, <2 x i1> %m2, <2 x i64> zeroinitializer)
  ret void
}
; The call itself would read the structure.
; CHECK-LABEL: define void @by_value
; CHECK: %[[COPY:.*]] = alloca [3 x i64]
; CHECK: call ptr @__weft_memcpy(ptr %[[COPY]], ptr %p, i64 24)
; CHECK: call void @takes(ptr byval([3 x i64]) align 8 %[[COPY]])
define void @by_value(ptr %p) {
  tail call void @takes(ptr byval([3 x i64]) align 8 %p)
  ret void
}
define void @takes(ptr byval([3 x i64]) align 8 %p) {
  ret void
}
; CHECK-LABEL: define void @allocas
; CHECK-NEXT: %a = alloca i32
; CHECK-NEXT: %b = alloca i64
; CHECK: (ptr %p, i32 4)
define void @allocas(ptr %p) {
  %a = alloca i32
  %v = load i32, ptr %p
  %b = alloca i64
  store i64 1, ptr %b
  ret void
}
; CHECK-LABEL: define i32 @arguments
; CHECK: (ptr %p, i32 83886104)
; CHECK: va_arg
define i32 @arguments(ptr %p) {
  %v = va_arg ptr %p, i32
  ret i32 %v
}
; What was said of a function is not true of it any more.
; CHECK: define i32 @reads(ptr %p) section "weft_taken" {
define i32 @reads(ptr %p) memory(argmem: read) willreturn nosync {
  %v = load i32, ptr %p
  ret i32 %v
}
define i32 @main() {
  ret i32 0
}
declare void @llvm.memcpy.p0.p257.i64(ptr, ptr addrspace(257), i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, i32, <8 x i1>)
declare <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr>, i32, <2 x i1>, <2 x i64>)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @strcpy(ptr, ptr)
declare i32 @strncmp(ptr, ptr, i64)
declare ptr @strncpy(ptr, ptr, i64)
