/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a call does to locks and threads, by the name of the function. Waiting for a condition is OTHER: it gives the
 * mutex back and takes it again, so whatever is accessed before and after is accessed with it. So are barriers,
 * semaphores and once, whose order is not used. */
#include "races.h"

static const struct {
    const char *name;
    enum weft_sync_kind kind;
} table[] = {
    {"pthread_mutex_lock", WEFT_SYNC_LOCK},
    {"pthread_mutex_trylock", WEFT_SYNC_TRY},
    {"pthread_mutex_timedlock", WEFT_SYNC_TRY},
    {"pthread_mutex_clocklock", WEFT_SYNC_TRY},
    {"pthread_mutex_unlock", WEFT_SYNC_UNLOCK},
    {"pthread_mutex_consistent", WEFT_SYNC_OTHER},
    {"pthread_spin_lock", WEFT_SYNC_LOCK},
    {"pthread_spin_trylock", WEFT_SYNC_TRY},
    {"pthread_spin_unlock", WEFT_SYNC_UNLOCK},
    {"pthread_rwlock_wrlock", WEFT_SYNC_LOCK},
    {"pthread_rwlock_trywrlock", WEFT_SYNC_TRY},
    {"pthread_rwlock_timedwrlock", WEFT_SYNC_TRY},
    {"pthread_rwlock_clockwrlock", WEFT_SYNC_TRY},
    {"pthread_rwlock_rdlock", WEFT_SYNC_READ},
    {"pthread_rwlock_tryrdlock", WEFT_SYNC_TRYREAD},
    {"pthread_rwlock_timedrdlock", WEFT_SYNC_TRYREAD},
    {"pthread_rwlock_clockrdlock", WEFT_SYNC_TRYREAD},
    {"pthread_rwlock_unlock", WEFT_SYNC_UNLOCK},
    {"mtx_lock", WEFT_SYNC_LOCK},
    {"mtx_trylock", WEFT_SYNC_TRY},
    {"mtx_timedlock", WEFT_SYNC_TRY},
    {"mtx_unlock", WEFT_SYNC_UNLOCK},
    {"pthread_join", WEFT_SYNC_JOIN},
    {"thrd_join", WEFT_SYNC_JOIN},
    {"pthread_cond_wait", WEFT_SYNC_OTHER},
    {"pthread_cond_timedwait", WEFT_SYNC_OTHER},
    {"pthread_cond_clockwait", WEFT_SYNC_OTHER},
    {"pthread_cond_signal", WEFT_SYNC_OTHER},
    {"pthread_cond_broadcast", WEFT_SYNC_OTHER},
    {"cnd_wait", WEFT_SYNC_OTHER},
    {"cnd_timedwait", WEFT_SYNC_OTHER},
    {"cnd_signal", WEFT_SYNC_OTHER},
    {"cnd_broadcast", WEFT_SYNC_OTHER},
    {"pthread_barrier_wait", WEFT_SYNC_OTHER},
    {"sem_wait", WEFT_SYNC_OTHER},
    {"sem_trywait", WEFT_SYNC_OTHER},
    {"sem_timedwait", WEFT_SYNC_OTHER},
    {"sem_clockwait", WEFT_SYNC_OTHER},
    {"sem_post", WEFT_SYNC_OTHER},
    {"sem_getvalue", WEFT_SYNC_OTHER},
    {"pthread_once", WEFT_SYNC_OTHER},
    {"call_once", WEFT_SYNC_OTHER},
    {"__cxa_guard_acquire", WEFT_SYNC_OTHER},
    {"__cxa_guard_release", WEFT_SYNC_OTHER},
    {"__cxa_guard_abort", WEFT_SYNC_OTHER},
};

enum weft_sync_kind weft__sync_named(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].kind;
    return !strncmp(name, "__atomic_", 9) ? WEFT_SYNC_OTHER : WEFT_SYNC_NONE;
}

enum weft_sync_kind weft__sync_of(LLVMValueRef callee) {
    if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return WEFT_SYNC_NONE;
    return weft__sync_named(weft__ir_name(callee));
}

int weft__sync_owns(const char *name, int arg) {
    enum weft_sync_kind k = weft__sync_named(name);
    if (k == WEFT_SYNC_NONE || k == WEFT_SYNC_JOIN) return 0;
    if (!strncmp(name, "__atomic_", 9)) return arg == (strncmp(name, "__atomic_fetch", 14) != 0);
    return arg == 0 || (arg == 1 && (!strncmp(name, "pthread_cond_", 13) || !strncmp(name, "cnd_", 4)));
}
