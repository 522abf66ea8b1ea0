/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Other programs: execve, posix_spawn, system. (popen: lc_popen.c.)
 *
 * What another program does comes back to this one through pipes, files and wait statuses, which are inputs; replay does
 * not run it. A process that becomes another program ends there, as far as weft is concerned. */
#define _GNU_SOURCE
#include "real.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <spawn.h>

/* The words and strings of an argument list, owned; in record only. */
static void take_list(struct weft_thread *t, char *const *list) {
    for (size_t i = 0; list; i++) {
        weft__take_read(t, &list[i], sizeof list[i]);
        if (!list[i]) return;
        weft__take_string(t, list[i], SIZE_MAX);
    }
}
static void take_all(struct weft_thread *t, const char *path, char *const *argv, char *const *env) {
    if (!RECORD) return;
    weft__take_string(t, path, SIZE_MAX);
    take_list(t, argv);
    take_list(t, env);
}

long weft__sys_execve(struct weft_thread *t, const long a[6]) {
    long r;
    take_all(t, (const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
    if (RECORD) {
        uint64_t mask = t->sigmask, old;
        weft__note_reached(t);
        weft__log_input(t, WEFT_OP_EXEC, 0, NULL, 0);
        uint32_t kind = weft__control->exit_kind, code = weft__control->exit_code;
        weft__control->exit_kind = WEFT_END_EXIT; /* of a forked process; the first one's end is seen by the launcher */
        weft__control->exit_code = 0;
        weft__raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, &old, 8);
        r = weft__raw(SYS_execve, a[0], a[1], a[2]);
        weft__raw(SYS_rt_sigprocmask, 2, &old, 0, 8);
        weft__control->exit_kind = kind;
        weft__control->exit_code = code;
        weft__log_input(t, SYS_execve, r, NULL, 0);
        return r;
    }
    if (!weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_EXEC))
        weft__diverged("thread %u at tick %lu becomes another program, which the recording does not have there", t->slot, t->tls->clock);
    if (weft__gate_op(t) != SYS_execve) weft__end_as_recorded(t);
    return weft__input(t, SYS_execve, 0, NULL, 0);
}

typedef int spawner(int *, const char *, const void *, const void *, char *const *, char *const *);
static int spawn(spawner *real, int *pid, const char *path, const void *actions, const void *attr, char *const *argv,
                 char *const *env) {
    int was, r = 0, child = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return real(pid, path, actions, attr, argv, env);
    take_all(t, path, argv, env);
    weft__take2(t, actions, actions ? sizeof(posix_spawn_file_actions_t) : 0, attr, attr ? sizeof(posix_spawnattr_t) : 0);
    weft__tick(t);
    if (RECORD) {
        weft__outside(t);
        r = real(&child, path, actions, attr, argv, env);
        weft__inside(t);
    }
    r = (int)weft__input(t, WEFT_OP_SPAWN, r, &child, sizeof child);
    if (r == 0 && pid) {
        weft__take(t, pid, sizeof *pid);
        *pid = child;
        weft__tick(t);
    }
    weft__return(t, was);
    return r;
}
WEFT_HIDDEN int weft__posix_spawn(int *pid, const char *path, const void *actions, const void *attr, char *const *argv,
                                  char *const *env) {
    return spawn(weft__real.posix_spawn, pid, path, actions, attr, argv, env);
}
WEFT_HIDDEN int weft__posix_spawnp(int *pid, const char *path, const void *actions, const void *attr, char *const *argv,
                                   char *const *env) {
    return spawn(weft__real.posix_spawnp, pid, path, actions, attr, argv, env);
}
WEFT_WRAP(posix_spawn, weft__posix_spawn);
WEFT_WRAP(posix_spawnp, weft__posix_spawnp);

WEFT_HIDDEN int weft__system(const char *command) {
    int was, r = 0, e = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return weft__real.system(command);
    weft__take_string(t, command, SIZE_MAX);
    weft__tick(t);
    if (RECORD) {
        weft__outside(t);
        r = weft__real.system(command);
        e = *weft__real.__errno_location();
        weft__inside(t);
    }
    r = (int)weft__input(t, WEFT_OP_SPAWN, r, &e, sizeof e);
    if (r < 0) *weft__real.__errno_location() = e;
    weft__return(t, was);
    return r;
}
WEFT_WRAP(system, weft__system);
