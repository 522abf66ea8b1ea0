/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Other programs: execve, posix_spawn, system. (popen: lc_popen.c.)
 *
 * One that was built with weft becomes a part of the trace, numbered like forked processes, and is executed in replay as it
 * was in record. The launcher is asked first, since it has to place the program (struct weft_exec_request); then the program
 * is executed by its absolute path, with WEFT_ENV first in its environment, and everything else is as the process hands it
 * on. In replay a spawned program is forked and executed: what was to become of its descriptors does not matter there.
 *
 * What any other program does comes back to this one through pipes, files and wait statuses, which are inputs; replay does
 * not run it. A process that becomes such a program ends there, as far as weft is concerned. */
#define _GNU_SOURCE
#include "real.h"
#include "sys.h"
#include "sys_calls.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

extern char **environ;

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

/* ---- is it to be a part? */

static size_t length(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
static int starts(const char *s, const char *with) {
    while (*with && *s == *with) s++, with++;
    return !*with;
}

static int built_with_weft(long fd) {
    Elf64_Ehdr e;
    Elf64_Phdr p;
    char notes[4096];
    uint8_t id[32];
    if (weft__raw(SYS_pread64, fd, &e, sizeof e, 0) != sizeof e || !starts((const char *)e.e_ident, ELFMAG) ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64 || e.e_phentsize != sizeof p)
        return 0;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        if (weft__raw(SYS_pread64, fd, &p, sizeof p, e.e_phoff + i * sizeof p) != sizeof p) return 0;
        if (p.p_type != PT_NOTE || p.p_filesz > sizeof notes) continue;
        if (weft__raw(SYS_pread64, fd, notes, p.p_filesz, p.p_offset) != (long)p.p_filesz) continue;
        if (weft__notes(notes, notes + p.p_filesz, p.p_align, id) == WEFT_ABI_VERSION) return 1;
    }
    return 0;
}

static void note(struct weft_thread *t, const char *program, const char *why) {
    char text[4200];
    size_t n = weft__format(text, sizeof text, "%s was executed and not recorded: %s", program, why);
    weft__log_item(t, WEFT_ITEM_NOTE, 0, text, n, NULL, 0);
}

/* Record: whether the program was built with weft and can be recorded; `program` (4096 bytes) becomes its absolute path. */
static int to_record(struct weft_thread *t, const char *path, char *const *argv, char *program) {
    char link[64];
    struct stat st;
    if (weft__root->log_full || (uint64_t)(uintptr_t)path < 4096) return 0;
    long fd = weft__raw(SYS_open, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), n = 0;
    if (fd < 0) return 0; /* as execve is about to say, or nobody may read it */
    int ours = weft__raw(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) && weft__raw(SYS_access, path, 1 /* X_OK */) == 0 && built_with_weft(fd);
    if (ours) {
        weft__format(link, sizeof link, "/proc/self/fd/%ld", fd);
        n = weft__raw(SYS_readlink, link, program, 4095);
        program[n < 0 ? 0 : n] = 0;
    }
    weft__raw(SYS_close, fd);
    if (!ours) return 0;
    const char *why = st.st_mode & (S_ISUID | S_ISGID) ? "it is a setuid program"
                      : weft__filtered                 ? "this kernel has no Syscall User Dispatch"
                      : !argv || !argv[0]              ? "it was given no name among its arguments"
                      : program[0] != '/'              ? "its path is not known (is there no /proc?)"
                                                       : NULL;
    if (why) note(t, path, why);
    return !why;
}

/* ---- the launcher */

/* Gives the connection, or -errno; from then on the thread is traced. */
static long ask(const struct weft_exec_request *q, struct weft_exec_reply *a) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const char *name = weft__control->server;
    size_t n = length(name);
    weft__copy(at.sun_path + 1, name, n);
    weft__raw(SYS_prctl, PR_SET_PTRACER, weft__control->launcher);
    long s = weft__raw(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r;
    if (s < 0) return s;
    if (RECORD) s = weft__high_fd(s);
    do r = weft__raw(SYS_connect, s, &at, offsetof(struct sockaddr_un, sun_path) + 1 + n);
    while (r == -EINTR);
    if (!r) r = weft__raw(SYS_sendto, s, q, sizeof *q, MSG_NOSIGNAL, 0, 0);
    while (r > 0 && (r = weft__raw(SYS_recvfrom, s, a, sizeof *a, 0, 0, 0)) == -EINTR) r = 1;
    if (r >= 0) r = r != sizeof *a ? -ECONNRESET : -a->error;
    if (r >= 0) return s;
    weft__raw(SYS_close, s);
    return r;
}

/* All threads stand where they stood when the recording ended: for the launcher to look at, until it answers. */
void weft__tell_stuck(void) {
    struct weft_exec_request q = {.kind = WEFT_EXEC_STUCK, .tid = (uint32_t)weft__raw(SYS_gettid)};
    struct weft_exec_reply a;
    long s = ask(&q, &a);
    if (s >= 0) weft__raw(SYS_close, s);
}

/* This thread stands at a stop: likewise. It may be in a handler, with a small stack. */
void weft__look(uint32_t which) {
    static struct weft_exec_request q;
    static struct weft_exec_reply a;
    static int lock;
    weft__lock(&lock);
    q = (struct weft_exec_request){.kind = WEFT_EXEC_LOOK, .tid = (uint32_t)weft__raw(SYS_gettid), .part = which};
    long s = ask(&q, &a);
    if (s >= 0) weft__raw(SYS_close, s);
    weft__unlock(&lock);
}

/* Nothing was executed. */
static void take_back(long s) {
    char byte = 0;
    weft__raw(SYS_sendto, s, &byte, 1, MSG_NOSIGNAL, 0, 0);
    while (weft__raw(SYS_recvfrom, s, &byte, 1, 0, 0, 0) == -EINTR) {}
    weft__raw(SYS_close, s);
}

/* The environment with what the launcher adds. */
struct marked {
    char **env;
    size_t size;
};
static struct marked mark(char *const *env, uint32_t control) {
    static const char now[] = "LD_BIND_NOW=1";
    size_t n = 0, out = 1;
    int bind = 0;
    while (env && env[n]) n++;
    struct marked m = {NULL, (n + 3) * sizeof *m.env + WEFT_ENV_SIZE};
    m.env = weft__rt_map(m.size);
    m.env[0] = (char *)(m.env + n + 3);
    weft_env_make(m.env[0], weft__control->launcher, control);
    for (size_t i = 0; i < n; i++) {
        if (starts(env[i], WEFT_ENV)) continue;
        /* The runtime removes the last one if it is as if weft had put it there. */
        if (starts(env[i], "LD_BIND_NOW=") && !(i == n - 1 && starts(env[i], now) && !env[i][sizeof now - 1])) bind = 1;
        m.env[out++] = env[i];
    }
    if (!bind) m.env[out++] = (char *)now;
    return m;
}
static void unmark(struct marked m) { weft__raw(SYS_munmap, m.env, (m.size + 0xffff) & ~0xfffful); }

static void block(uint64_t *was) {
    uint64_t all = ~0ul;
    weft__raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, was, 8);
}
static void unblock(const uint64_t *was) { weft__raw(SYS_rt_sigprocmask, 2, was, 0, 8); }

/* Record: a part is ready for the program, and the launcher watches the thread. 0: it is not to be a part. */
struct begun {
    char program[4096];
    uint32_t part;
    long socket;
    struct marked marked;
};
static int begin(struct weft_thread *t, struct begun *b, int kind, const char *path, char *const *argv, char *const *env) {
    struct weft_exec_reply a;
    if (!to_record(t, path, argv, b->program)) return 0;
    struct weft_exec_request q = {.kind = (uint32_t)kind, .tid = (uint32_t)weft__raw(SYS_gettid), .part = weft__part_number(), .mask = t->sigmask};
    weft__copy(q.streams, weft__control->streams, sizeof q.streams);
    weft__copy(q.program, b->program, sizeof q.program);
    b->part = q.part;
    b->socket = ask(&q, &a);
    if (b->socket < 0) {
        char why[64];
        weft__format(why, sizeof why, "weft cannot attend to it (error %ld)", -b->socket);
        note(t, b->program, why);
        return 0;
    }
    b->marked = mark(env, a.control);
    return 1;
}

/* Replay: the process becomes the part's program; -errno. */
static long become(uint32_t part, char *const *argv, char *const *env) {
    struct weft_exec_request q = {.kind = WEFT_EXEC_SELF, .tid = (uint32_t)weft__raw(SYS_gettid)};
    struct weft_exec_reply a;
    q.part = weft__part_fd(part);
    if (weft__filtered) return -ENOSYS;
    long s = ask(&q, &a);
    if (s < 0) return s;
    weft__raw(SYS_chdir, a.cwd); /* its libraries may have relative paths */
    struct marked m = mark(env, a.control);
    return weft__raw(SYS_execve, a.program, argv, m.env);
}
#define NOT_AGAIN "a program that the recorded process executed cannot be executed here (error %ld)"

/* ---- execve */

long weft__sys_execve(struct weft_thread *t, const long a[6]) {
    char *const *argv = (char *const *)a[1], *const *env = (char *const *)a[2];
    struct begun b;
    uint32_t part = 0;
    uint64_t was;
    long r;
    take_all(t, (const char *)a[0], argv, env);
    if (RECORD) {
        block(&was);
        part = begin(t, &b, WEFT_EXEC_SELF, (const char *)a[0], argv, env) ? b.part : 0;
        weft__note_reached(t);
        weft__log_input(t, WEFT_OP_EXEC, 0, &part, part ? sizeof part : 0);
        uint32_t kind = weft__control->exit_kind, code = weft__control->exit_code;
        weft__control->exit_kind = WEFT_END_EXIT; /* of a forked process; the first one's end is seen by the launcher */
        weft__control->exit_code = 0;
        if (part) {
            r = weft__raw(SYS_execve, b.program, argv, b.marked.env); /* the launcher sets the mask */
            take_back(b.socket);
            unmark(b.marked);
        } else {
            unblock(&t->sigmask);
            r = weft__raw(SYS_execve, a[0], a[1], a[2]);
        }
        unblock(&was);
        weft__control->exit_kind = kind;
        weft__control->exit_code = code;
        weft__log_input(t, SYS_execve, r, NULL, 0);
        return r;
    }
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_EXEC);
    if (!it)
        weft__diverged("thread %u at tick %lu becomes another program, which the recording does not have there", t->slot, t->tls->clock);
    if (weft__gate_op(t) == SYS_execve) return weft__input(t, SYS_execve, 0, NULL, 0);
    if (it->size == 8 + sizeof part) __builtin_memcpy(&part, (const char *)weft__gate_data(it) + 8, sizeof part);
    if (!part || !weft__part_fd(part)) weft__end_as_recorded(t);
    weft__become_as_recorded(t);
    __weft_debug_hook(WEFT_DEBUG_EXEC, t->slot, t->tls->clock, part);
    block(&was);
    r = become(part, argv, env);
    weft__diverged(NOT_AGAIN, -r);
}

/* ---- posix_spawn */

/* Where posix_spawnp finds the program. */
static const char *in_path(const char *name, char *buf, size_t n) {
    const char *path = "/bin:/usr/bin";
    for (const char *p = name; *p; p++)
        if (*p == '/') return name;
    for (char **e = environ; e && *e; e++)
        if (starts(*e, "PATH=")) {
            path = *e + 5;
            break;
        }
    for (;;) {
        size_t k = 0;
        while (path[k] && path[k] != ':') k++;
        if (k + length(name) + 2 < n) {
            weft__copy(buf, path, k);
            weft__format(buf + k, n - k, k ? "/%s" : "%s", name);
            if (weft__raw(SYS_access, buf, 1 /* X_OK */) == 0) return buf;
        }
        if (!path[k]) return name;
        path += k + 1;
    }
}

/* In record libc's child executes it, traced by the launcher. A relative path is left to libc if the child may go elsewhere
 * first. */
static int spawn_part(struct weft_thread *t, struct begun *b, const char *path, const posix_spawn_file_actions_t *actions,
                      char *const *argv, char *const *env) {
    uint64_t was;
    if (path[0] != '/' && actions && actions->__used > 0) {
        if (to_record(t, path, argv, b->program)) note(t, b->program, "its path is relative, and posix_spawn was given file actions");
        return 0;
    }
    block(&was);
    int r = begin(t, b, WEFT_EXEC_CHILD, path, argv, env);
    unblock(&was);
    return r;
}

/* In replay. */
static long spawn_again(uint32_t part, char *const *argv, char *const *env) {
    int p[2], error = 0;
    uint64_t was, all = ~(1ul << (SIGSYS - 1)); /* libc may be trapped (filter.c) */
    weft__raw(SYS_pipe2, p, O_CLOEXEC);
    weft__raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &was, 8);
    long pid = weft__real.fork();
    if (pid == 0) {
        error = (int)-become(part, argv, env);
        weft__raw(SYS_write, p[1], &error, sizeof error);
        weft__raw(SYS_exit_group, WEFT_EXIT_DIVERGED);
    }
    if (pid < 0) error = *weft__real.__errno_location();
    unblock(&was);
    weft__raw(SYS_close, p[1]);
    while (weft__raw(SYS_read, p[0], &error, sizeof error) == -EINTR) {}
    weft__raw(SYS_close, p[0]);
    if (error) weft__diverged(NOT_AGAIN, (long)error);
    return pid;
}

typedef int spawner(int *, const char *, const void *, const void *, char *const *, char *const *);
static int spawn(spawner *real, int *pid, const char *path, const void *actions, const void *attr, char *const *argv,
                 char *const *env) {
    int was, r = 0, child = 0;
    struct {
        uint32_t pid, part;
    } x = {0, 0};
    struct weft_thread *t = weft__enter(&was);
    if (!t) return real(pid, path, actions, attr, argv, env);
    take_all(t, path, argv, env);
    weft__take2(t, actions, actions ? sizeof(posix_spawn_file_actions_t) : 0, attr, attr ? sizeof(posix_spawnattr_t) : 0);
    weft__tick(t);
    if (RECORD) {
        struct begun b;
        char buf[4096];
        const char *found = real == weft__real.posix_spawnp ? in_path(path, buf, sizeof buf) : path;
        if (spawn_part(t, &b, found, actions, argv, env)) x.part = b.part;
        weft__outside(t);
        if (x.part)
            r = weft__real.posix_spawn(&child, b.program, actions, attr, argv, b.marked.env);
        else
            r = real(&child, path, actions, attr, argv, env);
        weft__inside(t);
        if (x.part && r)
            take_back(b.socket);
        else if (x.part)
            weft__raw(SYS_close, b.socket);
        if (x.part) unmark(b.marked);
        x.pid = (uint32_t)child;
    }
    r = (int)weft__input(t, WEFT_OP_SPAWN, r, &x, sizeof x);
    if (weft__given && x.part) weft__refuse("the program starts another one that is recorded too, and a run with several processes cannot be steered");
    if (!RECORD && r == 0 && x.part && weft__part_fd(x.part)) weft__child_new(x.pid, spawn_again(x.part, argv, env));
    if (r == 0 && pid) {
        weft__take(t, pid, sizeof *pid);
        *pid = (int)x.pid;
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
