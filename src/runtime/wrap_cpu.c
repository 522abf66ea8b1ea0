/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Instructions whose result comes from outside. The pass puts calls of these in their place. Each is an input: the real
 * instruction in record, the trace in replay. cpuid is not among them where it only asks what the processor can do: that is
 * part of the machine, and a trace is replayed on one like it. */
#include "real.h"
#include "runtime.h"
#include "sys.h"

struct result {
    uint64_t value;
    uint32_t more;
};

static uint64_t rdtsc(uint32_t *aux) {
    uint32_t lo, hi;
    if (aux)
        __asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*aux));
    else
        __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

enum what { TSC, TSCP, PID, RAND16, RAND32, RAND64, SEED16, SEED32, SEED64 };

static struct result real(enum what what) {
    struct result r = {0, 0};
    unsigned char ok = 0;
    uint64_t v = 0;
    switch (what) {
    case TSC: r.value = rdtsc(NULL); return r;
    case TSCP: r.value = rdtsc(&r.more); return r;
    case PID: __asm__ volatile("rdpid %0" : "=r"(r.value)); return r;
    case RAND16: __asm__ volatile("rdrandw %w0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); v &= 0xffff; break;
    case RAND32: __asm__ volatile("rdrandl %k0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); break;
    case RAND64: __asm__ volatile("rdrandq %q0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); break;
    case SEED16: __asm__ volatile("rdseedw %w0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); v &= 0xffff; break;
    case SEED32: __asm__ volatile("rdseedl %k0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); break;
    case SEED64: __asm__ volatile("rdseedq %q0; setc %1" : "=r"(v), "=qm"(ok)::"cc"); break;
    }
    r.value = v;
    r.more = ok;
    return r;
}

/* Runs on the runtime's stack; the result is in rax and rdx there, as a structure of two words is returned. */
struct pair {
    uint64_t value, more;
};
static struct pair input(enum what what) {
    struct result r = {0, 0};
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t || WEFT_LIVE) r = real(what);
    if (t) {
        r.value = (uint64_t)weft__input(t, WEFT_OP_CPU, (int64_t)r.value, &r.more, sizeof r.more);
        weft__leave(t, was);
    }
    return (struct pair){r.value, r.more};
}

#define CPU(name, what)                                                                                                \
    WEFT_HIDDEN struct pair weft__w_##name(void) { return input(what); }                                               \
    WEFT_WRAP(__weft_##name, weft__w_##name)
CPU(rdtsc, TSC);
CPU(rdtscp, TSCP);
CPU(rdpid, PID);
CPU(rdrand16, RAND16);
CPU(rdrand32, RAND32);
CPU(rdrand64, RAND64);
CPU(rdseed16, SEED16);
CPU(rdseed32, SEED32);
CPU(rdseed64, SEED64);
