/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Letting go of a C++ exception. Threads share one through std::exception_ptr (futures do, when a task throws), and libstdc++
 * counts the references in front of the object; whoever lets go last runs the destructor and frees the memory. Who that
 * is must be the same in replay, so the functions that count down are here, and the count is ordered as any other memory of
 * the program.
 *
 * Counting up needs no order: only who holds a reference does it, so it never decides who is last. For the same reason the
 * last holder may set the count to 1 again and leave the rest to the library, which counts to 0, destroys and frees.
 *
 * The layout is that of the Itanium C++ ABI with libstdc++'s count in front; both are fixed for ever, since exceptions cross
 * libraries. Exceptions of other languages and libraries are left to their own clean-up, without an order. */
#include "inst.h"
#include <stdint.h>
#include <unwind.h>

struct exception { /* __cxa_exception, __cxa_dependent_exception; the object follows */
    void *primary; /* dependent: the object of the exception that this one throws again; else its type */
    void (*destructor)(void *);
    void (*unexpected)(void), (*terminate)(void);
    struct exception *next; /* caught before, not yet done with */
    int handlers;           /* that have it; negative: thrown again */
    int found[9];           /* by the personality function */
    struct _Unwind_Exception unwind;
};
struct counted {
    int references;
    _Alignas(16) struct exception e;
};
_Static_assert(sizeof(struct exception) == 112 && sizeof(struct counted) == 128, "libstdc++'s layout");

struct globals { /* __cxa_eh_globals */
    struct exception *caught;
    unsigned uncaught;
};
extern struct globals *__cxa_get_globals(void);
extern void __cxa_free_dependent_exception(void *);
extern _Noreturn void _ZSt9terminatev(void);

#define CXX 0x432b2bull       /* "C++", in any vendor's class; one byte follows */
#define GNU 0x474e5543432b2bull /* "GNUCC++" */

/* A function of the runtime that counts down and tells no more than whether that was the last reference: its operand is taken before the call, so the
 * access is ordered; the count itself, which counting up makes differ, is not hashed by a verify build, and no register or stack slot keeps it. */
extern int __atomic_fetch_last_4(volatile int *count);

/* Counts down, unless this is the last reference. */
static int is_last(void *object) {
    int *count = &((struct counted *)object - 1)->references;
    if (!__atomic_fetch_last_4(count)) return 0;
    *count = 1;
    return 1;
}

static void let_go(struct exception *e) {
    uint64_t class = e->unwind.exception_class;
    int dependent = class & 1;
    if (class >> 8 == GNU && !is_last(dependent ? e->primary : e + 1)) {
        if (dependent) __cxa_free_dependent_exception(e);
    } else
        _Unwind_DeleteException(&e->unwind);
}

/* The end of a catch block. */
WEFT_INST void __cxa_end_catch(void) {
    struct globals *g = __cxa_get_globals();
    struct exception *e = g->caught;
    if (!e) return; /* a foreign exception that was thrown again */
    if ((e->unwind.exception_class >> 8 & 0xffffff) != CXX) {
        g->caught = NULL;
        _Unwind_DeleteException(&e->unwind);
        return;
    }
    int thrown_again = e->handlers < 0;
    if (e->handlers == 0) _ZSt9terminatev();
    e->handlers += thrown_again ? 1 : -1;
    if (e->handlers) return;
    g->caught = e->next;
    if (!thrown_again) let_go(e);
}

/* std::exception_ptr::_M_release() */
WEFT_INST void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void **pointer) {
    void *object = *pointer;
    if (!object || !is_last(object)) return;
    *pointer = NULL;
    _Unwind_DeleteException(&((struct exception *)object - 1)->unwind);
}

/* Objects of libstdc++ with a virtual destructor and one member, an exception_ptr: ~_Result_base(), of futures, and
 * ~nested_exception(). */
struct holder {
    const void *virtuals;
    void *object;
};
WEFT_INST void _ZNSt13__future_base12_Result_baseD2Ev(struct holder *h) {
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(&h->object);
}
WEFT_INST void _ZNSt16nested_exceptionD2Ev(struct holder *h) { _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(&h->object); }
WEFT_INST void _ZNSt16nested_exceptionD1Ev(struct holder *h) { _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(&h->object); }
