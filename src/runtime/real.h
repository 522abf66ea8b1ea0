/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libc's own versions of the functions that the runtime interposes. Resolved once, before anything is wrapped. */
#ifndef WEFT_REAL_H
#define WEFT_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <threads.h>

/*    X(result, name, parameters)                                                                                      */
#define WEFT_REALS(X)                                                                                                  \
    X(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))                           \
    X(int, pthread_join, (pthread_t, void **))                                                                         \
    X(int, fork, (void))                                                                                               \
    X(int, dl_iterate_phdr, (void *, void *))                                                                          \
    X(int, system, (const char *))                                                                                     \
    X(int, posix_spawn, (int *, const char *, const void *, const void *, char *const *, char *const *))               \
    X(int, posix_spawnp, (int *, const char *, const void *, const void *, char *const *, char *const *))              \
    X(void, _IO_list_lock, (void))                                                                                     \
    X(void, _IO_list_unlock, (void))                                                                                   \
    X(int, pthread_tryjoin_np, (pthread_t, void **))                                                                   \
    X(int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *))                                        \
    X(int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *))                             \
    X(int, pthread_detach, (pthread_t))                                                                                \
    X(void, exit, (int))                                                                                               \
    X(void, quick_exit, (int))                                                                                         \
    X(int, __cxa_thread_atexit_impl, (void (*)(void *), void *, void *))                                               \
    X(int, pthread_getcpuclockid, (pthread_t, clockid_t *))                                                            \
    X(void, pthread_exit, (void *))                                                                                    \
    X(int, pthread_mutex_lock, (pthread_mutex_t *))                                                                    \
    X(int, pthread_mutex_trylock, (pthread_mutex_t *))                                                                 \
    X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *))                                      \
    X(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *))                           \
    X(int, pthread_mutex_unlock, (pthread_mutex_t *))                                                                  \
    X(int, pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))                                       \
    X(int, pthread_mutex_destroy, (pthread_mutex_t *))                                                                 \
    X(int, pthread_mutex_consistent, (pthread_mutex_t *))                                                              \
    X(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))                                                   \
    X(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))                     \
    X(int, pthread_cond_clockwait, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))          \
    X(int, pthread_cond_signal, (pthread_cond_t *))                                                                    \
    X(int, pthread_cond_broadcast, (pthread_cond_t *))                                                                 \
    X(int, pthread_cond_init, (pthread_cond_t *, const pthread_condattr_t *))                                          \
    X(int, pthread_cond_destroy, (pthread_cond_t *))                                                                   \
    X(int, pthread_rwlock_rdlock, (pthread_rwlock_t *))                                                                \
    X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))                                                             \
    X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *))                                  \
    X(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *, clockid_t, const struct timespec *))                       \
    X(int, pthread_rwlock_wrlock, (pthread_rwlock_t *))                                                                \
    X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))                                                             \
    X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *))                                  \
    X(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *, clockid_t, const struct timespec *))                       \
    X(int, pthread_rwlock_unlock, (pthread_rwlock_t *))                                                                \
    X(int, pthread_barrier_destroy, (pthread_barrier_t *))                                                             \
    X(int, pthread_barrier_wait, (pthread_barrier_t *))                                                                \
    X(int, pthread_spin_lock, (pthread_spinlock_t *))                                                                  \
    X(int, pthread_spin_trylock, (pthread_spinlock_t *))                                                               \
    X(int, pthread_spin_unlock, (pthread_spinlock_t *))                                                                \
    X(int, pthread_once, (pthread_once_t *, void (*)(void)))                                                           \
    X(int, sem_wait, (sem_t *))                                                                                        \
    X(int, sem_trywait, (sem_t *))                                                                                     \
    X(int, sem_timedwait, (sem_t *, const struct timespec *))                                                          \
    X(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *))                                               \
    X(int, sem_post, (sem_t *))                                                                                        \
    X(int, sem_getvalue, (sem_t *, int *))                                                                             \
    X(int *, __errno_location, (void))                                                                                 \
    X(int, pthread_attr_init, (pthread_attr_t *))                                                                      \
    X(int, pthread_attr_destroy, (pthread_attr_t *))                                                                   \
    X(int, pthread_attr_getstacksize, (const pthread_attr_t *, size_t *))                                              \
    X(int, pthread_attr_getstack, (const pthread_attr_t *, void **, size_t *))                                         \
    X(int, pthread_attr_setstack, (pthread_attr_t *, void *, size_t))                                                  \
    X(int, pthread_attr_getdetachstate, (const pthread_attr_t *, int *))                                               \
    X(int, pthread_attr_setdetachstate, (pthread_attr_t *, int))                                                       \
    X(int, pthread_attr_getguardsize, (const pthread_attr_t *, size_t *))                                              \
    X(int, pthread_getattr_default_np, (pthread_attr_t *))                                                             \
    X(pthread_t, pthread_self, (void))                                                                                 \
    X(int, pthread_kill, (pthread_t, int))                                                                             \
    X(int, pthread_sigqueue, (pthread_t, int, union sigval))                                                           \
    X(int, pthread_cancel, (pthread_t))                                                                                \
    X(void, pthread_testcancel, (void))                                                                                \
    X(int, pthread_setcancelstate, (int, int *))                                                                       \
    X(int, pthread_setcanceltype, (int, int *))

struct weft_real {
#define WEFT_X(r, name, p) r(*name) p;
    WEFT_REALS(WEFT_X)
#undef WEFT_X
};
extern struct weft_real weft__real __attribute__((visibility("hidden")));
void weft__real_open(void);
void *weft__real_find(const char *name);
extern void *(*weft__process_malloc)(size_t) __attribute__((visibility("hidden"))); /* lc_string.c */

/* Defines the exported function `name`: its body runs on the runtime's stack. */
#define WEFT_WRAP(name, body)                                                                                          \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n"                            \
            "leaq " #body "(%rip), %r11\njmp weft__switch\n.size " #name ", .-" #name "\n")

#endif
