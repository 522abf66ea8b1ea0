/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Futexes of the program's own, and those of libc's locks, which leave no trace. */
#include "sys_calls.h"
#include <errno.h>
#include <linux/futex.h>
#include <time.h>

/* What FUTEX_WAKE_OP does to its second word (futex(2)). */
static void futex_op(uint32_t *word, uint32_t code) {
    uint32_t op = code >> 28 & 7, arg = (uint32_t)((int32_t)(code << 8) >> 20);
    if (code >> 28 & FUTEX_OP_OPARG_SHIFT) arg = 1u << (arg & 31);
    switch (op) {
    case FUTEX_OP_SET: *word = arg; break;
    case FUTEX_OP_ADD: *word += arg; break;
    case FUTEX_OP_OR: *word |= arg; break;
    case FUTEX_OP_ANDN: *word &= ~arg; break;
    case FUTEX_OP_XOR: *word ^= arg; break;
    }
}

static long wait_begin(struct weft_thread *t, const uint32_t *word, uint32_t value) {
    weft__take_read(t, word, 4);
    if (*word != value) return -EAGAIN;
    weft__turns_wait_begin(t, WEFT_WAIT_FUTEX, word);
    return 0;
}

/* A steered run: nobody waits in the kernel. Those who were to wait elsewhere are woken: they look again. */
static long futex_steered(struct weft_thread *t, int op, const long a[6]) {
    uint32_t *word = (uint32_t *)a[0];
    const struct timespec *until = (const struct timespec *)a[3];
    struct timespec copy;
    long r = 0;
    int late;
    switch (op) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (until) {
            weft__take_read(t, until, sizeof *until);
            copy = *until;
            until = &copy;
        }
        /* At the next tick it may have to let others go on, who are to find it waiting; but not if it found another value in the trace. */
        late = weft__given_at(t, SYS_futex, weft__trace_clock(t) + 1) == -EAGAIN;
        if (!late) r = wait_begin(t, word, (uint32_t)a[2]);
        weft__tick(t);
        if (late) r = wait_begin(t, word, (uint32_t)a[2]);
        if (!r) {
            int e = weft__turns_wait(t, until);
            r = e == ETIMEDOUT ? -ETIMEDOUT : e == EINTR ? -EINTR : 0;
        }
        break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: r = weft__turns_wake(word, (int)a[2]); break;
    case FUTEX_WAKE_OP:
        weft__take(t, (void *)a[4], 4);
        futex_op((uint32_t *)a[4], (uint32_t)a[5]);
        r = weft__turns_wake(word, (int)a[2]) + weft__turns_wake((void *)a[4], (int)a[3]);
        break;
    case FUTEX_CMP_REQUEUE:
        weft__take_read(t, word, 4);
        if (*word != (uint32_t)a[5]) {
            r = -EAGAIN;
            break;
        } /* fallthrough */
    case FUTEX_REQUEUE: r = weft__turns_wake(word, 1 << 30); break;
    default: weft__refuse("this futex operation (%d) cannot be steered", op);
    }
    weft__log_input(t, SYS_futex, r, NULL, 0);
    return r;
}

/* A futex that the program uses itself: its result is an input. Those of libc's own locks run natively and leave no trace. */
long weft__sys_futex(struct weft_thread *t, const long a[6], int foreign) {
    if (foreign) {
        int out = t->tls->outside;
        int op = (int)a[1] & FUTEX_CMD_MASK, waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI;
        int record = weft__mode == WEFT_RECORD;
        if (!out && record) weft__outside(t);
        if (waits && !a[3] && !record) weft__gate_foreign_wait(t, 1);
        if (waits && weft__given) weft__turns_away(t, 1);
        long r = raw(SYS_futex, a);
        if (waits && weft__given) weft__turns_away(t, 0);
        if (waits && !a[3] && !record) weft__gate_foreign_wait(t, 0);
        if (!out && record) weft__inside(t);
        return r;
    }
    long r = 0, b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    int op = (int)a[1] & FUTEX_CMD_MASK, common = 0, common2 = 0;
    b[0] = (long)weft__shm_real((void *)a[0], &common);
    if (op == FUTEX_WAKE_OP || op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE) b[4] = (long)weft__shm_real((void *)a[4], &common2);
    if (weft__given) return futex_steered(t, op, a);
    switch (op) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
        weft__refuse("futex with priority inheritance, which puts thread ids into memory, cannot be recorded yet");
    case FUTEX_WAKE_OP:
        if (weft__nowhere(a[4])) break; /* EFAULT */
        /* The kernel writes the second word: with the thread inside, as an access of its own. */
        weft__take(t, (void *)a[4], 4);
        if (RECORD) r = raw(SYS_futex, b);
        r = weft__input(t, SYS_futex, r, NULL, 0);
        if (!RECORD && !failed(r) && !common2) futex_op((uint32_t *)a[4], (uint32_t)a[5]);
        return r;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: weft__tick(t); break; /* others come after its wait, and not before */
    default: break;
    }
    if (RECORD) {
        t->blocked_on = (void *)a[0];
        weft__outside(t);
        r = weft__raw_wait(t, SYS_futex, b);
        weft__inside(t);
        t->blocked_on = NULL;
    }
    return weft__input(t, SYS_futex, r, NULL, 0);
}
