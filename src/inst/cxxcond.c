/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* std::condition_variable: what libstdc++ has of it in its shared library, which is to hand on to libc. Done here the pass sees what is
 * called: it need not go outside, and a condition variable is one to the detector and the report, and no memory of 48 bytes
 * that threads write at will. Making and destroying one stay accesses. */
#include "inst.h"
#include <pthread.h>

/* std::unique_lock<std::mutex> */
struct lock {
    pthread_mutex_t *mutex;
    _Bool owns;
};

WEFT_INST void _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(pthread_cond_t *c, struct lock *l) { pthread_cond_wait(c, l->mutex); }
WEFT_INST void _ZNSt18condition_variable10notify_oneEv(pthread_cond_t *c) { pthread_cond_signal(c); }
WEFT_INST void _ZNSt18condition_variable10notify_allEv(pthread_cond_t *c) { pthread_cond_broadcast(c); }
