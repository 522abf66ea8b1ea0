/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How the runtime ends a process, and its printf. Messages go to the launcher through the control block, which prints
 * them; `@0x...` tokens are positions that it turns into file:line. Without a launcher they go to stderr. */
#include "runtime.h"
#include "sys.h"
#include <stdarg.h>

static size_t vformat(char *buf, size_t n, const char *f, va_list ap) {
    size_t k = 0;
#define PUT(c)                                                                                                         \
    do {                                                                                                               \
        if (k + 1 < n) buf[k++] = (c);                                                                                 \
    } while (0)
    for (; *f; f++) {
        if (*f != '%') {
            PUT(*f);
            continue;
        }
        int lng = 0;
        f++;
        if (*f == 'l') lng = 1, f++;
        if (*f == 's') {
            const char *s = va_arg(ap, const char *);
            for (s = s ? s : "(null)"; *s; s++) PUT(*s);
        } else if (*f == 'd' || *f == 'u' || *f == 'x') {
            uint64_t v;
            int neg = 0;
            if (*f == 'd') {
                int64_t x = lng ? va_arg(ap, long) : va_arg(ap, int);
                neg = x < 0;
                v = neg ? 0 - (uint64_t)x : (uint64_t)x;
            } else
                v = lng ? va_arg(ap, unsigned long) : va_arg(ap, unsigned);
            char d[24];
            int m = 0;
            unsigned base = *f == 'x' ? 16 : 10;
            do d[m++] = "0123456789abcdef"[v % base];
            while (v /= base);
            if (neg) PUT('-');
            while (m) PUT(d[--m]);
        } else
            PUT(*f);
    }
    if (n) buf[k] = 0;
#undef PUT
    return k;
}

size_t weft__format(char *buf, size_t n, const char *f, ...) {
    va_list ap;
    va_start(ap, f);
    size_t k = vformat(buf, n, f, ap);
    va_end(ap);
    return k;
}

__attribute__((noreturn)) static void end(int outcome, const char *f, va_list ap) {
    static int once;
    char local[1024];
    if (__atomic_exchange_n(&once, 1, __ATOMIC_ACQ_REL)) /* another thread is at it: it ends the process */
        for (;;) weft__raw(SYS_pause);
    if (outcome == WEFT_OUT_DIVERGED && weft__given) outcome = WEFT_OUT_MISSING; /* it went another way than the trace */
    if (weft__control) {
        vformat(weft__control->message, sizeof weft__control->message, f, ap);
        __atomic_store_n(&weft__control->outcome, outcome, __ATOMIC_RELEASE);
        if (weft__mode == WEFT_REPLAY) weft__console_free();
        __weft_debug_hook(WEFT_DEBUG_FAILED, 0, 0, 0);
    } else {
        size_t n = vformat(local, sizeof local - 1, f, ap);
        local[n++] = '\n';
        weft__raw(SYS_write, 2, "weft: ", 6);
        weft__raw(SYS_write, 2, local, n);
    }
    weft__raw(SYS_exit_group, WEFT_EXIT_DIVERGED);
    for (;;) {}
}

#define END(name, outcome)                                                                                             \
    void name(const char *f, ...) {                                                                                    \
        va_list ap;                                                                                                    \
        va_start(ap, f);                                                                                               \
        end(outcome, f, ap);                                                                                           \
    }
END(weft__refuse, WEFT_OUT_REFUSED)
END(weft__diverged, WEFT_OUT_DIVERGED)
END(weft__stuck, WEFT_OUT_STUCK)
END(weft__missing, WEFT_OUT_MISSING)
END(weft__bound, WEFT_OUT_BOUND)

void weft__rt_panic(const char *what) { weft__refuse("internal error in the runtime: %s", what); }
