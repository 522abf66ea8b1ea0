/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Raw system calls and small machine facts. The runtime's text is the range that Syscall User Dispatch lets through. */
#ifndef WEFT_ARCH_SYS_H
#define WEFT_ARCH_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

static inline long weft__raw6(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
#define weft__raw(...) WEFT_RAW_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)
#define WEFT_RAW_PICK(n, a, b, c, d, e, f, N, ...) WEFT_RAW_CAT(WEFT_RAW, N)
#define WEFT_RAW_CAT(a, b) WEFT_RAW_CAT2(a, b)
#define WEFT_RAW_CAT2(a, b) a##b
#define WEFT_RAW0(n) weft__raw6(n, 0, 0, 0, 0, 0, 0)
#define WEFT_RAW1(n, a) weft__raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define WEFT_RAW2(n, a, b) weft__raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define WEFT_RAW3(n, a, b, c) weft__raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define WEFT_RAW4(n, a, b, c, d) weft__raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define WEFT_RAW5(n, a, b, c, d, e) weft__raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define WEFT_RAW6(n, a, b, c, d, e, f) weft__raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* fn(a, b) on the runtime's stack, without so much as a return address on the program's: for calls that only one of record
 * and replay makes. */
static inline void weft__cold(void *fn, const void *a, const void *b) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\tjmp weft__cold_call\n1:" : : "D"(a), "S"(b), "d"(fn) : "rax", "r11", "memory", "cc");
}

static inline void weft__pause(void) { __asm__ volatile("pause"); }
/* The cache line is about to be written: whoever has it, it comes meanwhile. Any address will do. */
static inline void weft__prefetch(const volatile void *p) { __asm__ volatile("prefetchw (%0)" : : "r"(p)); }
static inline uint64_t weft__tsc(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}
static inline void weft__copy(void *d, const void *s, unsigned long n) {
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}
static inline void weft__zero(void *d, unsigned long n) {
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0) : "memory");
}

#endif
