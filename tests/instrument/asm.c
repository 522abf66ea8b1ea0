/* Proves: memory operands of inline assembly are checked, several as a group, with the widths of the instructions; statements that
 * may touch other memory are named once, also if they have memory operands, or no "memory" clobber; the time-stamp counter and random numbers are inputs.
 * One that waits in a loop of its own becomes a loop with ticks; what cannot is named, and what counts its turns stays as it is. */
// RUN: %clang -g -O1 -fno-discard-value-names -march=x86-64-v3 -mrdrnd -mrdpid -S -emit-llvm %s -o %t.in.ll
// RUN: %weft-opt %t.in.ll -o %t.ll 2> %t.err
// RUN: %shape %t.ll
// RUN: FileCheck %s < %t.ll
// RUN: FileCheck %s --check-prefix=SAID --implicit-check-not=warning < %t.err
#include <immintrin.h>
#include <stdint.h>
#include <x86intrin.h>

// CHECK-LABEL: @waits(
// CHECK: __weft_tick
// CHECK: asm sideeffect "\0A xchg $0, $1; test $1, $1; \0A\09setz $2", "=*m,=&r,=&q,1,
// CHECK: __weft_tick
// CHECK: asm sideeffect " pause; cmpl $$0, $0; \0A\09setnz $2", "=*m,=&r,=&q,1,
void waits(uint32_t *p) {
    uint32_t one = 1;
    __asm__ volatile("1:\n xchg %0, %1; test %1, %1; jz 3f; 2: pause; cmpl $0, %0; jnz 2b; jmp 1b; 3:" : "=m"(*p), "+r"(one) : : "memory", "cc");
}
// CHECK-LABEL: @retries(
// CHECK: __weft_tick
// CHECK: asm sideeffect "{{.*}}lock cmpxchgl $3, $1; \0A\09setne $2"
void retries(uint32_t *p, uint32_t was, uint32_t is) { __asm__ volatile("1: lock cmpxchgl %2, %1; jne 1b" : "+a"(was), "+m"(*p) : "r"(is) : "cc"); }
// CHECK-LABEL: @itself(
// CHECK: asm sideeffect "1: lock; btsl $$0, $0; setc %al;
// SAID: weft: warning: {{.*}}asm.c:[[#@LINE+1]]: inline assembly in 'itself' seems to wait for another thread in a loop: a recording may be stuck there
void itself(uint32_t *p) { __asm__ volatile("1: lock; btsl $0, %0; setc %%al; test %%al, %%al; jnz 1b" : "+m"(*p) : : "rax", "cc"); }
// CHECK-LABEL: @counts(
// CHECK: asm sideeffect "1: shl $0; dec $1; jnz 1b"
uint32_t counts(uint32_t x, uint32_t n) {
    __asm__ volatile("1: shl %0; dec %1; jnz 1b" : "+r"(x), "+r"(n) : : "cc");
    return x;
}

// CHECK-LABEL: @add(
// CHECK: __weft_miss{{.*}}(ptr %p, i32 50331652)
// CHECK: call void asm sideeffect "", "~{memory}"()
// CHECK-NEXT: asm sideeffect "lock; xaddl
uint32_t add(uint32_t *p, uint32_t x) {
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(x), "+m"(*p) : : "memory", "cc");
    return x;
}
// CHECK-LABEL: @two(
// CHECK: call void @__weft_take_begin()
// CHECK-NEXT: call void @__weft_take_range(ptr %p, i64 8, i32 1)
// CHECK-NEXT: call void @__weft_take_range(ptr %q, i64 4, i32 0)
// CHECK-NEXT: call void @__weft_take_end()
void two(uint64_t *p, uint32_t *q) { __asm__ volatile("movl %1, %%eax; movq %%rax, %0" : "=m"(*p) : "m"(*q) : "rax"); }

// CHECK-LABEL: @fences(
// CHECK-NOT: __weft_take
// CHECK: ret void
void fences(void) {
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("mfence; pause\n\tlfence" ::: "memory");
    __asm__ volatile("rep; nop" ::: "memory");
    __asm__ volatile("lock; addl $0, 0(%%rsp)" ::: "memory");
    uint64_t sp;
    __asm__ volatile("movq %%rsp, %0 # (not memory)" : "=r"(sp)::"memory");
}
// CHECK-LABEL: @hidden(
// CHECK: call void @__weft_take_object(ptr %p)
// SAID: weft: warning: {{.*}}asm.c:[[#@LINE+1]]: inline assembly in 'hidden' may touch memory
void hidden(int *p) { __asm__ volatile("incl (%0)" : : "r"(p) : "memory"); }

// CHECK-LABEL: @beside(
// CHECK: call void @__weft_take_object(ptr %p)
// SAID: weft: warning: {{.*}}asm.c:[[#@LINE+1]]: inline assembly in 'beside' may touch memory
void beside(int *p, long *q) { __asm__ volatile("movl (%1), %%eax; incq %0" : "+m"(*q) : "r"(p) : "memory", "eax"); }

// CHECK-LABEL: @careless(
// CHECK: call void @__weft_take_object(ptr %p)
// SAID: weft: warning: {{.*}}asm.c:[[#@LINE+3]]: inline assembly in 'careless' may touch memory
int careless(int *p) {
    int v;
    __asm__ volatile("movl (%1), %0" : "=r"(v) : "r"(p));
    return v;
}
// 16 bytes, by the name; 8, by the suffix; 4, by the register.
// CHECK-LABEL: @wide(
// CHECK: __weft_miss{{.*}}(ptr %p, i32 50331664)
// CHECK-LABEL: @suffix(
// CHECK: __weft_miss{{.*}}(ptr %p, i32 50331656)
// CHECK-LABEL: @by_register(
// CHECK: __weft_miss{{.*}}(ptr %p, i32 50331652)
void wide(long *p, long a, long d) { __asm__ volatile("lock; cmpxchg16b %0" : "+m"(*p), "+a"(a), "+d"(d) : "b"(1l), "c"(2l) : "cc"); }
void suffix(char *p) { __asm__ volatile("lock; incq %0" : "+m"(*p) : : "cc"); }
int by_register(char *p, int x) {
    __asm__ volatile("xchg %1, %0" : "+m"(*p), "+r"(x));
    return x;
}
// CHECK-LABEL: @bit(
// CHECK: [[W:%.*]] = ashr i64 %n, 6
// CHECK: [[B:%.*]] = mul i64 [[W]], 8
// CHECK: [[AT:%.*]] = getelementptr i8, ptr %p, i64 [[B]]
// CHECK: __weft_miss{{.*}}(ptr [[AT]], i32 50331656)
void bit(long *p, long n) { __asm__ volatile("lock; btsq %1, %0" : "+m"(*p) : "r"(n) : "cc"); }

// CHECK-LABEL: @jumping(
// CHECK: __weft_miss{{.*}}(ptr %p, i32 4)
// CHECK: callbr void asm
int jumping(int *p) {
    __asm__ goto("cmpl $0, %0; je %l1" : : "m"(*p) : "cc" : zero);
    return 1;
zero:
    return 0;
}
// CHECK-LABEL: @halves(
// CHECK: call { i64, i64 } @__weft_rdtsc()
// CHECK-NOT: asm sideeffect "rdtsc"
// CHECK: ret
uint64_t halves(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}
// CHECK-LABEL: @whole(
// CHECK: call { i64, i64 } @__weft_rdtsc()
uint64_t whole(void) {
    uint64_t v;
    __asm__ volatile("lfence; rdtsc; shlq $32, %%rdx; orq %%rdx, %%rax" : "=a"(v)::"rdx");
    return v;
}
// CHECK-LABEL: @processor(
// CHECK: call { i64, i64 } @__weft_rdtscp()
uint32_t processor(void) {
    uint32_t lo, hi, cpu;
    __asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(cpu));
    return lo + hi + cpu;
}
// CHECK-LABEL: @high_first(
// CHECK: [[P:%.*]] = call { i64, i64 } @__weft_rdtsc()
// CHECK: [[ALL:%.*]] = extractvalue { i64, i64 } [[P]], 0
// CHECK: [[HIGH:%.*]] = lshr i64 [[ALL]], 32
// CHECK: [[LOW:%.*]] = and i64 [[ALL]], 4294967295
// CHECK: ret
uint64_t high_first(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=d"(hi), "=a"(lo));
    return (uint64_t)hi << 32 | lo;
}
// CHECK-LABEL: @low_only(
// CHECK: call { i64, i64 } @__weft_rdtscp()
uint32_t low_only(void) {
    uint32_t lo;
    __asm__ volatile("rdtscp" : "=a"(lo)::"edx", "ecx");
    return lo;
}
// SAID: weft: warning: {{.*}}asm.c:[[#@LINE+3]]: inline assembly in 'random_by_hand' reads what differs
uint64_t random_by_hand(void) {
    uint64_t v;
    __asm__ volatile("rdrand %0" : "=r"(v)::"cc");
    return v;
}
// CHECK-LABEL: @intrinsics(
// CHECK: call { i64, i64 } @__weft_rdtsc()
// CHECK: call { i64, i64 } @__weft_rdtsc()
// CHECK: call { i64, i64 } @__weft_rdtscp()
// CHECK: call { i64, i64 } @__weft_rdrand64()
// CHECK: call { i64, i64 } @__weft_rdpid()
uint64_t intrinsics(void) {
    unsigned a;
    unsigned long long r = 0;
    uint64_t v = __rdtsc() + __builtin_readcyclecounter() + __rdtscp(&a);
    v += (uint64_t)_rdrand64_step(&r);
    return v + a + r + _rdpid_u32();
}
int main(void) { return 0; }
