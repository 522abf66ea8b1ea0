/* Proves: a lock that is waited for by a loop within a statement of inline assembly is ordered, turn for turn, and given to who unlocks it. */
/* As one step, a statement of which the thread has the line would never let go of it: every recording was stuck. */
// RUN: %rr %s %t
#include "common.h"

static _Alignas(64) volatile uint32_t kernel = 1;
static _Alignas(64) volatile uint32_t kit;
static _Alignas(64) volatile uint32_t bit;
static _Alignas(64) volatile uint64_t sum;
static uint64_t behind[8];

/* Linux's of long ago: what is negative is waited for. */
static void lock_kernel(void) {
    __asm__ volatile("\n1:\t"
                     "lock ; decl %0\n\t"
                     "jns 2f\n"
                     "3:\n"
                     "rep;nop\n\t"
                     "cmpl $0,%0\n\t"
                     "jle 3b\n\t"
                     "jmp 1b\n"
                     "2:\t" : "=m"(kernel) : : "memory");
}
static void unlock_kernel(void) { __asm__ volatile("movl $1,%0" : "=m"(kernel) : : "memory"); }

/* With an operand in a register, which is kept from turn to turn, and names. */
static uint32_t lock_kit(uint32_t value) {
    uint32_t turns = 0;
    __asm__ volatile("1:\n"
                     "incl %[turns]\n"
                     "xchg %[locked], %[value]\n" /* 0: it was free */
                     "test %[value], %[value]\n"
                     "jz 3f\n"
                     "2:\n"
                     "pause # until it looks free\n"
                     "cmpl %[none], %[locked]\n"
                     "jnz 2b\n"
                     "jmp 1b\n"
                     "3:\n"
                     : [locked] "=m"(kit), [value] "+&r"(value), [turns] "+&r"(turns)
                     : [none] "i"(0), "m"(kit)
                     : "memory", "cc");
    return turns + value;
}
static void unlock_kit(void) { __atomic_store_n(&kit, 0, __ATOMIC_RELEASE); }

/* By an address in a register. */
static void lock_bit(volatile uint32_t *p) {
    __asm__ volatile("1: lock; btsl $0, (%0); jnc 2f; 3: pause; testl $1, (%0); jne 3b; jmp 1b; 2:" : : "r"(p) : "memory", "cc");
}

/* An exchange that is tried until it is done, with the old value where the instruction wants it. */
static uint64_t add(volatile uint64_t *p, uint64_t n) {
    uint64_t was = *p, is;
    __asm__ volatile("1: lea (%0,%3), %1; lock cmpxchgq %1, %2; jne 1b" : "+&a"(was), "=&r"(is), "+m"(*p) : "r"(n) : "memory", "cc");
    return is;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        lock_kernel();
        h = mix(h, behind[r % 8]++);
        unlock_kernel();
        h = mix(h, lock_kit(1 + r % 5));
        h = mix(h, behind[(r >> 3) % 8] += r);
        unlock_kit();
        lock_bit(&bit);
        h = mix(h, behind[(r >> 6) % 8] ^= h);
        __atomic_and_fetch(&bit, ~1u, __ATOMIC_RELEASE);
        h = mix(h, add(&sum, r));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    uint64_t h = together(cook);
    for (int i = 0; i < 8; i++) h = mix(h, behind[i]);
    return finish(mix(h, sum));
}
