/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A replay in which every instruction of the program is followed: the process is traced, and its threads are stepped, one at a time, each
 * until it has to wait. Which one comes first does not matter: who accesses memory that another thread accesses waits in the replay's gate
 * until that has done so, however long it takes.
 *
 * Where a thread comes to the runtime's own stack (the cold entries, and weft__switch, through which all operations go) it runs by itself,
 * and is stepped again from where it leaves it: there are breakpoints at the ends of these entries, which are jumps and returns; they are
 * never executed, but done by us, so that they never have to be taken out. A function of the runtime's that works on the program's stack
 * (malloc, printf) runs by itself as well, if it comes back for sure; a debug register holds the place, since in the program's text other
 * threads would meet a breakpoint. What the runtime does for the program meanwhile it notes in the
 * list of accesses (struct weft_accesses), as for a report: each before it is done, so what others can have seen of it is there when they
 * go on. So is what every check is about. */
#include "slice/slice.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const cold[] = {"__weft_tick_cold", "__weft_tick_spin", "__weft_spins", "__weft_miss", "__weft_range", "__weft_weak", "__weft_verify",
                                   "__weft_repeat_cold", "__weft_come_in", "__weft_go_out", "weft__cold_call"};
#define COLD (sizeof cold / sizeof *cold)

struct breakpoint {
    uint64_t at;
    struct weft_insn insn; /* what is there: a jump, a return, or push */
    bool handler;          /* a handler of the program's is about to be called */
};
enum state { READY, RUNNING };
struct stepped {
    pid_t tid;
    enum state state;
    int signal; /* to be delivered */
    bool inside; /* RUNNING: in the runtime, until a breakpoint */
    uint64_t until; /* RUNNING: it has called a function of the runtime's, and comes back here; 0: no */
    struct weft_follow_thread *t;
    struct stepped *next;
};
struct weft_step {
    int mem;
    const struct weft_module *runtime, *loader;
    uint64_t entry[COLD + 1]; /* the last: weft__switch */
    uint64_t retire;          /* a long way of the runtime's own, when a thread ends */
    struct breakpoint *bps;
    size_t nbps, bps_cap;
    int64_t tls;    /* from the fs base */
    uint32_t slot;  /* offset in a thread's structure */
    struct stepped *list;
    uint64_t drained;
    struct stepped *current;
    struct weft_registers registers; /* of the current one */
};

/* ---- the process's memory ---- */

static bool get(const struct weft_step *x, uint64_t addr, void *out, size_t n) { return pread(x->mem, out, n, (off_t)addr) == (ssize_t)n; }
static bool put(const struct weft_step *x, uint64_t addr, const void *in, size_t n) { return pwrite(x->mem, in, n, (off_t)addr) == (ssize_t)n; }

static const struct breakpoint *breakpoint_at(const struct weft_step *x, uint64_t pc) {
    for (size_t i = 0; i < x->nbps; i++)
        if (x->bps[i].at == pc) return &x->bps[i];
    return NULL;
}

static bool read_code(void *ctx, uint64_t pc, uint8_t bytes[16]) {
    const struct weft_stepping *s = ctx;
    ssize_t n = pread(s->own->mem, bytes, 16, (off_t)pc);
    return n > 0 || pread(s->own->mem, bytes, 4096 - pc % 4096, (off_t)pc) > 0;
}

/* ---- what the runtime has to say of itself ---- */

static const struct weft_module *module_of(const struct weft_trace *t, uint64_t pc) {
    for (size_t i = 0; i < t->nmodules; i++)
        if (pc - t->modules[i].base < t->modules[i].size) return &t->modules[i];
    return NULL;
}

static enum weft_zone zone_of(void *ctx, uint64_t pc) {
    const struct weft_stepping *s = ctx;
    static const struct weft_module *last; /* mostly the same again */
    const struct weft_module *m = last && pc - last->base < last->size ? last : module_of(s->t, pc);
    if (m) last = m;
    if (m == s->own->runtime) return WEFT_ZONE_RUNTIME;
    if (m == s->own->loader) return WEFT_ZONE_LOADER;
    return m && m->weft ? WEFT_ZONE_PROGRAM : WEFT_ZONE_FOREIGN;
}

static bool bounds_of(void *ctx, uint64_t pc, uint64_t *from, uint64_t *to) {
    const struct weft_stepping *s = ctx;
    const struct weft_name *n = weft__names_at(&s->names, pc);
    if (!n) return false;
    *from = n->from;
    *to = n->to;
    return true;
}

/* Where a call goes, also by the procedure linkage table; 0: not known. */
static uint64_t target_of(struct weft_stepping *s, const struct weft_insn *i) {
    struct weft_insn plt = *i;
    uint64_t to = 0;
    uint8_t bytes[16];
    for (uint64_t pc = i->target, n = 0; i->target && n < 2; n++, pc += plt.length) { /* there may be an endbr64 first */
        if (!read_code(s, pc, bytes) || !weft__insn_decode(bytes, sizeof bytes, pc, &plt)) return 0;
        if (plt.flow == WEFT_FLOW_INDIRECT) break;
    }
    if (!plt.through_memory) return i->target;
    return plt.nmemory && get(s->own, (uint64_t)plt.memory[0].disp, &to, 8) ? to : 0;
}

static enum weft_call ends(void *ctx, const struct weft_insn *call) {
    static const struct { const char *name; enum weft_call how; } known[] = {
        {"exit", WEFT_CALL_EXITS}, {"_exit", WEFT_CALL_EXITS}, {"_Exit", WEFT_CALL_EXITS}, {"quick_exit", WEFT_CALL_EXITS}, {"pthread_exit", WEFT_CALL_EXITS},
        {"thrd_exit", WEFT_CALL_EXITS}, {"abort", WEFT_CALL_FAILS}, {"__assert_fail", WEFT_CALL_FAILS}, {"__stack_chk_fail", WEFT_CALL_FAILS},
        {"longjmp", WEFT_CALL_FAILS}, {"siglongjmp", WEFT_CALL_FAILS}, {"__longjmp_chk", WEFT_CALL_FAILS}, {"__cxa_throw", WEFT_CALL_FAILS},
        {"__cxa_rethrow", WEFT_CALL_FAILS}, {"_Unwind_Resume", WEFT_CALL_FAILS}, {"_ZSt9terminatev", WEFT_CALL_FAILS}, {"err", WEFT_CALL_FAILS},
        {"errx", WEFT_CALL_FAILS},
    };
    struct weft_stepping *s = ctx;
    const struct weft_name *n = weft__names_at(&s->names, target_of(s, call));
    for (size_t i = 0; n && i < sizeof known / sizeof *known; i++)
        if (strcmp(n->name, known[i].name) == 0) return known[i].how;
    return WEFT_CALL_RETURNS;
}

static bool is_main(void *ctx, uint64_t entry) {
    const struct weft_stepping *s = ctx;
    const struct weft_name *n = weft__names_at(&s->names, entry);
    return n && n->from == entry && strcmp(n->name, "main") == 0;
}

static enum weft_whose whose(void *ctx, const struct weft_follow_thread *t, uint64_t addr) {
    const struct weft_stepping *s = ctx;
    const struct weft_step *x = s->own;
    (void)t;
    if (addr >= WEFT_TABLE_ADDR && addr < WEFT_HEAP_BASE) return WEFT_WHOSE_WEFT;
    if (x->runtime && addr - x->runtime->base < x->runtime->size) return WEFT_WHOSE_WEFT;
    uint64_t tls = x->registers.fs + (uint64_t)x->tls;
    if (addr - tls == offsetof(struct weft_tls, saved[4])) return WEFT_WHOSE_KEPT; /* read_miss() in the pass */
    return addr - tls < sizeof(struct weft_tls) ? WEFT_WHOSE_WEFT : WEFT_WHOSE_PROGRAM;
}

/* Functions of the runtime that take fewer than six arguments: what is left in the other registers is nobody's. */
static unsigned arguments_of(void *ctx, uint64_t pc) {
    static const struct { const char *name; unsigned n; } known[] = {
        {"abort", 0}, {"pthread_self", 0}, {"sched_yield", 0}, {"__weft_take_begin", 0}, {"__weft_take_end", 0},
        {"exit", 1}, {"_exit", 1}, {"_Exit", 1}, {"quick_exit", 1}, {"pthread_exit", 1}, {"raise", 1}, {"malloc", 1}, {"free", 1}, {"_Znwm", 1}, {"_ZdlPv", 1},
        {"pthread_mutex_lock", 1}, {"pthread_mutex_unlock", 1}, {"pthread_mutex_trylock", 1}, {"pthread_mutex_destroy", 1}, {"pthread_cond_signal", 1},
        {"pthread_cond_broadcast", 1}, {"pthread_barrier_wait", 1}, {"pthread_spin_lock", 1}, {"pthread_spin_unlock", 1}, {"pthread_spin_trylock", 1},
        {"pthread_rwlock_rdlock", 1}, {"pthread_rwlock_wrlock", 1}, {"pthread_rwlock_unlock", 1}, {"sem_wait", 1}, {"sem_post", 1}, {"sem_trywait", 1},
        {"pthread_detach", 1}, {"usleep", 1}, {"sleep", 1}, {"time", 1}, {"puts", 1}, {"fflush", 1}, {"fclose", 1}, {"close", 1}, {"getenv", 1}, {"strdup", 1},
        {"putchar", 1}, {"strlen", 1}, {"__weft_strlen", 1},
        {"calloc", 2}, {"realloc", 2}, {"aligned_alloc", 2}, {"pthread_join", 2}, {"pthread_cond_wait", 2}, {"pthread_mutex_init", 2}, {"pthread_cond_init", 2},
        {"nanosleep", 2}, {"clock_gettime", 2}, {"pthread_once", 2}, {"strcmp", 2}, {"strcpy", 2}, {"fputs", 2}, {"signal", 2}, {"sem_init", 3}, {"sem_timedwait", 2},
        {"pthread_cond_timedwait", 3}, {"pthread_barrier_init", 3}, {"memcpy", 3}, {"memmove", 3}, {"memset", 3}, {"memcmp", 3}, {"__weft_memcpy", 3},
        {"__weft_memmove", 3}, {"__weft_memset", 3}, {"__weft_memcmp", 3}, {"read", 3}, {"write", 3}, {"open", 3}, {"__weft_take_range", 3}, {"pthread_create", 4},
    };
    const struct weft_stepping *s = ctx;
    const struct weft_name *n = weft__names_at(&s->names, pc);
    for (size_t i = 0; n && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, n->name) == 0) return known[i].n;
    return 6;
}

static enum weft_operation operation_of(void *ctx, uint64_t pc) {
    const struct weft_stepping *s = ctx;
    const struct weft_name *n = weft__names_at(&s->names, pc);
    if (n && (strcmp(n->name, "pthread_create") == 0 || strcmp(n->name, "thrd_create") == 0)) return WEFT_OPERATION_CREATES;
    return n && strncmp(n->name, "__weft_take", 11) == 0 ? WEFT_OPERATION_TAKES : WEFT_OPERATION_OTHER;
}

#define STRING_MAX 65536u
static uint64_t string_at(void *ctx, uint64_t addr, unsigned width) {
    const struct weft_stepping *s = ctx;
    uint64_t n = 0;
    for (uint32_t c = 1; n < STRING_MAX && c; n += width) {
        c = 0;
        if (!get(s->own, addr + n, &c, width)) break;
    }
    return n > width ? n : width;
}

static bool read_tls(const struct weft_step *x, const struct weft_registers *r, struct weft_tls *out) {
    return r->fs && get(x, r->fs + (uint64_t)x->tls, out, sizeof *out);
}

static uint64_t clock_of(void *ctx, const struct weft_follow_thread *t) {
    const struct weft_stepping *s = ctx;
    const struct weft_step *x = s->own;
    struct weft_tls tls;
    return x->current && x->current->t == t && read_tls(x, &x->registers, &tls) ? tls.clock : 0;
}

static int add_breakpoint(struct weft_step *x, const struct weft_insn *i, struct weft_err *err) {
    static const uint8_t int3 = 0xcc;
    x->bps = weft__grow(x->bps, &x->bps_cap, x->nbps + 1, sizeof *x->bps);
    x->bps[x->nbps++] = (struct breakpoint){.at = i->pc, .insn = *i};
    return put(x, i->pc, &int3, 1) ? 0 : weft__err(err, errno, "a breakpoint cannot be set: %s", strerror(errno));
}

/* The ways out of an entry: jmp *rax, ret, and the one of a thread that is cancelled. */
static int find_ends(struct weft_stepping *s, const struct weft_name *n, uint64_t cancel, struct weft_err *err) {
    struct weft_step *x = s->own;
    int r = 0;
    for (uint64_t pc = n->from; pc < n->to && r == 0;) {
        uint8_t bytes[16] = {0};
        struct weft_insn i;
        if (!read_code(s, pc, bytes) || !weft__insn_decode(bytes, sizeof bytes, pc, &i)) return weft__err(err, EINVAL, "the runtime cannot be read");
        bool out = i.flow == WEFT_FLOW_RETURN || (i.flow == WEFT_FLOW_INDIRECT && i.uses == 1ull << WEFT_R_RAX) ||
                   (i.flow == WEFT_FLOW_JUMP && i.target == cancel);
        if (out) r = add_breakpoint(x, &i, err);
        pc += i.length;
    }
    return r;
}

static int find_runtime(struct weft_stepping *s, struct weft_err *err) {
    struct weft_step *x = s->own;
    for (size_t i = 0; i < s->t->nmodules; i++) {
        const struct weft_module *m = &s->t->modules[i];
        const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;
        if (strncmp(name, "libweft-rt.so", 13) == 0) x->runtime = m;
        if (strncmp(name, "ld-linux", 8) == 0) x->loader = m;
    }
    if (!x->runtime) return weft__err(err, EINVAL, "%s: names no runtime", s->t->dir);
    uint64_t from = x->runtime->base, to = from + x->runtime->size;
    const struct weft_name *cancel = weft__names_find(&s->names, "weft__cancel_exit", from, to),
                           *handler = weft__names_find(&s->names, "weft__handler_call", from, to);
    int r = cancel && handler ? 0 : weft__err(err, ENOENT, "%s: has no symbols (was it stripped?)", x->runtime->path);
    for (size_t i = 0; i <= COLD && r == 0; i++) {
        const struct weft_name *n = weft__names_find(&s->names, i < COLD ? cold[i] : "weft__switch", from, to);
        if (!n) return weft__err(err, ENOENT, "%s: %s is missing (is it another version's?)", x->runtime->path, i < COLD ? cold[i] : "weft__switch");
        x->entry[i] = n->from;
        r = find_ends(s, n, cancel->from, err);
    }
    const struct weft_name *retire = weft__names_find(&s->names, "weft__heap_retire", from, to);
    x->retire = retire ? retire->from : 0;
    uint8_t bytes[16];
    struct weft_insn push;
    for (int i = 0; i < 2 && r == 0; i++) { /* they begin with push rbx, and push rbp */
        const struct weft_name *n = i ? cancel : handler;
        if (!read_code(s, n->from, bytes) || bytes[0] != (i ? 0x55 : 0x53) || !weft__insn_decode(bytes, 16, n->from, &push))
            return weft__err(err, EINVAL, "%s: %s is another one", x->runtime->path, n->name);
        r = add_breakpoint(x, &push, err);
        x->bps[x->nbps - 1].handler = i == 0;
    }
    return r;
}

/* __weft_debug, which the runtime has filled in before it waits. */
static int read_offsets(struct weft_stepping *s, uint64_t debug, struct weft_err *err) {
    struct weft_debug d;
    if (!debug || !get(s->own, debug, &d, sizeof d) || d.version != WEFT_DEBUG_VERSION) return weft__err(err, EINVAL, "the runtime is another version's");
    s->own->tls = d.tls;
    s->own->slot = d.slot;
    return 0;
}

/* ---- threads ---- */

static struct stepped *thread_of(struct weft_stepping *s, pid_t tid) {
    struct stepped *k = s->own->list;
    while (k && k->tid != tid) k = k->next;
    if (k) return k;
    k = weft__alloc(sizeof *k);
    *k = (struct stepped){.tid = tid, .state = RUNNING, .t = weft__follow_new(&s->f, (uint32_t)s->nthreads + 1, 0), .next = s->own->list};
    s->own->list = k;
    s->threads = weft__grow(s->threads, &s->threads_cap, s->nthreads + 1, sizeof *s->threads);
    s->threads[s->nthreads++] = k->t;
    return k;
}

static void gone(struct weft_step *x, pid_t tid) {
    for (struct stepped **p = &x->list; *p; p = &(*p)->next)
        if ((*p)->tid == tid) {
            struct stepped *k = *p;
            *p = k->next;
            if (x->current == k) x->current = NULL;
            free(k);
            return;
        }
}

static bool get_registers(pid_t tid, struct weft_registers *out) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, tid, 0, &u) < 0) return false;
    *out = (struct weft_registers){.r = {u.rax, u.rcx, u.rdx, u.rbx, u.rsp, u.rbp, u.rsi, u.rdi, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15},
                                   .pc = u.rip, .fs = u.fs_base, .gs = u.gs_base};
    return true;
}

static bool set_pc_sp(pid_t tid, uint64_t pc, uint64_t sp) {
    return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rip), pc) == 0 &&
           ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rsp), sp) == 0;
}

/* The slot is known from when the runtime has begun the thread. */
static void learn_slot(struct weft_stepping *s, struct stepped *k, const struct weft_registers *r) {
    struct weft_tls tls;
    uint32_t slot;
    if (weft__follow_slot_of(k->t) || !read_tls(s->own, r, &tls) || !tls.self) return;
    if (get(s->own, (uint64_t)(uintptr_t)tls.self + s->own->slot, &slot, sizeof slot)) weft__follow_slot(k->t, slot);
}

static struct weft_follow_thread *by_slot(struct weft_stepping *s, uint32_t slot) {
    struct weft_registers r;
    for (struct stepped *k = s->own->list; k; k = k->next)
        if (weft__follow_slot_of(k->t) == slot) return k->t;
    for (struct stepped *k = s->own->list; k; k = k->next) /* it is stopped, or its registers cannot be read: then it is no new one */
        if (!weft__follow_slot_of(k->t) && get_registers(k->tid, &r)) learn_slot(s, k, &r);
    for (struct stepped *k = s->own->list; k; k = k->next)
        if (weft__follow_slot_of(k->t) == slot) return k->t;
    return NULL;
}

/* What the runtime has noted since. */
static int drain(struct weft_stepping *s, struct weft_err *err) {
    uint64_t next = __atomic_load_n(&s->list->next, __ATOMIC_ACQUIRE);
    if (next - s->own->drained > s->list->room) return weft__err(err, EOVERFLOW, "the list of accesses is too short: one call makes more than %llu",
                                                                 (unsigned long long)s->list->room);
    for (; s->own->drained < next; s->own->drained++) {
        const struct weft_access *a = &s->list->ring[s->own->drained % s->list->room];
        struct weft_follow_thread *t = by_slot(s, a->slot);
        if (t) weft__follow_note(&s->f, t, a);
    }
    return 0;
}

/* ---- stepping ---- */

/* A breakpoint of the thread's own; 0: none. False: there are no debug registers here. */
static bool set_debug(pid_t tid, uint64_t at) {
    if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]), 0) < 0) return false;
    if (!at) return true;
    return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[0]), at) == 0 &&
           ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]), 1) == 0;
}

/* The function of the runtime's at pc comes back to where it was called, and calls nothing of the program's. */
static bool comes_back(const struct weft_stepping *s, uint64_t pc) {
    static const char *const not[] = {"pthread_once", "call_once", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit", "abort", "raise",
                                      "longjmp", "siglongjmp", "_longjmp", "__longjmp_chk", "fork", "vfork", "weft__thread_tramp", "weft__cancel_exit"};
    const struct weft_name *n = weft__names_at(&s->names, pc);
    for (size_t i = 0; n && i < sizeof not / sizeof *not; i++)
        if (strcmp(n->name, not[i]) == 0) return false;
    return n && n->from == pc;
}

/* Does what is at the breakpoint. */
static bool emulate(const struct weft_step *x, pid_t tid, const struct breakpoint *b, const struct weft_registers *r) {
    uint64_t sp = r->r[WEFT_R_RSP], to;
    switch ((enum weft_flow)b->insn.flow) {
    case WEFT_FLOW_INDIRECT: return set_pc_sp(tid, r->r[WEFT_R_RAX], sp);
    case WEFT_FLOW_JUMP: return set_pc_sp(tid, b->insn.target, sp);
    case WEFT_FLOW_RETURN: return get(x, sp, &to, 8) && set_pc_sp(tid, to, sp + 8);
    default: return put(x, sp - 8, &r->r[b->insn.uses & 1ull << WEFT_R_RBX ? WEFT_R_RBX : WEFT_R_RBP], 8) && set_pc_sp(tid, b->at + 1, sp - 8);
    }
}

/* It is at an entry to the runtime's stack, which is not in use. */
static bool at_entry(const struct weft_step *x, const struct weft_registers *r) {
    struct weft_tls tls;
    for (size_t i = 0; i <= COLD; i++)
        if (x->entry[i] == r->pc) return read_tls(x, r, &tls) && tls.rt_sp && (i < COLD || tls.depth == 0);
    return false;
}

static int too_long(struct weft_stepping *s, struct weft_err *err) {
    return weft__err(err, EFBIG, "%s: too long to be sliced: more than %llu instructions (weft slice --most)", s->t->dir, (unsigned long long)s->most);
}

/* A signal for the thread, which stands. */
static void signalled(struct weft_stepping *s, struct stepped *k, int sig) {
    struct weft_registers r;
    bool fault = sig == SIGSYS || sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
    k->signal = sig;
    if (!fault || !get_registers(k->tid, &r)) return;
    s->own->current = k;
    s->own->registers = r;
    weft__follow_signal(&s->f, k->t, &r, sig == SIGSYS);
}

/* Code that only a thread that is stepped executes. */
static bool may_run(void *ctx, uint64_t pc) {
    enum weft_zone zone = zone_of(ctx, pc);
    return (zone == WEFT_ZONE_PROGRAM || zone == WEFT_ZONE_FOREIGN) && module_of(((struct weft_stepping *)ctx)->t, pc);
}

static bool put_stops(const struct weft_step *x, struct weft_code *c, const struct weft_run_ahead *a, bool in) {
    static const uint8_t int3 = 0xcc;
    for (size_t i = 0; i < a->nstops; i++) {
        uint32_t k = weft__code_at(c, a->stop[i]);
        if (!k || !put(x, a->stop[i], in ? &int3 : &c->list[k].first, 1)) return false;
    }
    return true;
}

/* Runs what can be run at once; the first instruction is followed already. 1: it did; 0: it has to be stepped. */
static int run_ahead(struct weft_stepping *s, struct stepped *k, struct weft_err *err) {
    struct weft_step *x = s->own;
    struct weft_run_ahead a;
    struct weft_registers end;
    int r, status;
    if (!weft__follow_outside(k->t) || weft__run_plan(&s->f.code, &x->registers, may_run, s, &a) < 2) return 0;
    for (size_t i = 0; i < a.nstops; i++)
        if (!weft__code_at(&s->f.code, a.stop[i])) return 0;
    if (!put_stops(x, &s->f.code, &a, true)) return weft__err(err, errno, "a breakpoint cannot be set: %s", strerror(errno));
    if (ptrace(PTRACE_CONT, k->tid, 0, 0) < 0) { /* it was killed */
        k->state = RUNNING;
        return 1;
    }
    do r = waitpid(k->tid, &status, __WALL);
    while (r < 0 && errno == EINTR);
    if (r < 0 || !WIFSTOPPED(status) || !get_registers(k->tid, &end)) {
        if (r < 0 || !WIFSTOPPED(status)) gone(x, k->tid);
        return 1;
    }
    if (!put_stops(x, &s->f.code, &a, false)) return weft__err(err, errno, "a breakpoint cannot be taken out: %s", strerror(errno));
    bool whole = WSTOPSIG(status) == SIGTRAP && (end.pc - 1 == a.stop[0] || (a.nstops > 1 && end.pc - 1 == a.stop[1]));
    if (whole && !set_pc_sp(k->tid, end.pc - 1, end.r[WEFT_R_RSP])) return weft__err(err, errno, "ptrace: %s", strerror(errno));
    size_t done = a.n; /* all, or up to the one that failed: that is followed as when it is stepped */
    for (size_t i = 0; i < a.n && !whole; i++)
        if (a.r[i].pc == end.pc) done = i + 1;
    for (size_t i = 1; i < done; i++) {
        weft__follow_step(&s->f, k->t, &a.r[i]);
        s->steps++;
    }
    if (!whole) signalled(s, k, WSTOPSIG(status));
    return 1;
}

/* One thread, until it runs by itself. */
static int step(struct weft_stepping *s, struct stepped *k, struct weft_err *err) {
    struct weft_step *x = s->own;
    int status, r;
    x->current = k;
    while (k->state == READY) {
        if (!get_registers(k->tid, &x->registers)) { /* it was killed */
            k->state = RUNNING;
            return 0;
        }
        const struct weft_registers *now = &x->registers;
        learn_slot(s, k, now);
        const struct breakpoint *b = breakpoint_at(x, now->pc);
        if (b && !k->signal) {
            struct weft_tls tls;
            if (b->handler && read_tls(x, now, &tls)) weft__follow_handler(&s->f, k->t, tls.saved[0]);
            if (!emulate(x, k->tid, b, now)) return weft__err(err, errno, "ptrace: %s", strerror(errno));
            continue;
        }
        if (!k->signal && at_entry(x, now)) {
            k->state = RUNNING;
            k->inside = true;
            ptrace(PTRACE_CONT, k->tid, 0, 0);
            return 0;
        }
        bool call = false;
        if (!k->signal) {
            uint64_t back;
            bool entered = weft__follow_step(&s->f, k->t, now);
            if ((entered ? comes_back(s, now->pc) : now->pc == x->retire) && get(x, now->r[WEFT_R_RSP], &back, 8) && set_debug(k->tid, back)) {
                k->state = RUNNING;
                k->inside = true;
                k->until = back;
                ptrace(PTRACE_CONT, k->tid, 0, 0);
                return 0;
            }
            uint32_t i = weft__code_at(&s->f.code, now->pc);
            call = i && s->f.code.list[i].flow == WEFT_FLOW_SYSCALL;
        }
        if (++s->steps > s->most * 4 || s->f.graph.n > s->most) return too_long(s, err);
        int sig = k->signal;
        if (!sig && !call && !s->single) {
            if ((r = run_ahead(s, k, err)) < 0) return r;
            if (!x->current) return 0; /* it has ended */
            if (r > 0) continue;
        }
        k->signal = 0;
        if (sig == SIGSYS && set_debug(k->tid, now->pc)) { /* the runtime does the call, and goes on here */
            k->state = RUNNING;
            k->inside = true;
            k->until = now->pc;
            ptrace(PTRACE_CONT, k->tid, 0, sig);
            return 0;
        }
        if (ptrace(PTRACE_SINGLESTEP, k->tid, 0, sig) < 0 || call || sig) { /* may wait in the kernel, or have been killed */
            k->state = RUNNING;
            return 0;
        }
        do r = waitpid(k->tid, &status, __WALL);
        while (r < 0 && errno == EINTR);
        if (r < 0 || !WIFSTOPPED(status)) {
            gone(x, k->tid);
            return 0;
        }
        if (WSTOPSIG(status) != SIGTRAP) signalled(s, k, WSTOPSIG(status));
    }
    return 0;
}

/* Something that a thread which runs has come to. */
static int stopped(struct weft_stepping *s, pid_t tid, int status, struct weft_err *err) {
    struct weft_step *x = s->own;
    struct weft_registers r;
    int sig = WSTOPSIG(status), event = status >> 16, e = drain(s, err); /* first: a slot may be another thread's from now on */
    if (e < 0) return e;
    if (!WIFSTOPPED(status)) {
        gone(x, tid);
        return 0;
    }
    struct stepped *k = thread_of(s, tid);
    if (event == PTRACE_EVENT_STOP) { /* a new one */
        k->state = READY;
        return 0;
    }
    if (event) {
        ptrace(PTRACE_CONT, tid, 0, 0);
        return 0;
    }
    k->state = READY;
    if (!get_registers(tid, &r)) return 0;
    if (sig != SIGTRAP && k->inside) { /* the runtime's */
        k->state = RUNNING;
        ptrace(PTRACE_CONT, tid, 0, sig);
        return 0;
    }
    if (sig != SIGTRAP) {
        signalled(s, k, sig);
        return 0;
    }
    const struct breakpoint *b = k->inside && r.pc != k->until ? breakpoint_at(x, r.pc - 1) : NULL;
    if (b && k->until && b->insn.flow == WEFT_FLOW_RETURN) { /* an operation on its way */
        if (!emulate(x, tid, b, &r)) return weft__err(err, errno, "ptrace: %s", strerror(errno));
        k->state = RUNNING;
        ptrace(PTRACE_CONT, tid, 0, 0);
        return 0;
    }
    if (b) set_pc_sp(tid, b->at, r.r[WEFT_R_RSP]);
    if (k->until) set_debug(tid, 0);
    k->until = 0;
    k->inside = false;
    return 0;
}

static int attach(struct weft_stepping *s, struct weft_err *err) {
    int status;
    if (ptrace(PTRACE_SEIZE, s->pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) < 0 || ptrace(PTRACE_INTERRUPT, s->pid, 0, 0) < 0)
        return weft__err(err, errno, "the program cannot be traced: ptrace: %s", strerror(errno));
    if (waitpid(s->pid, &status, __WALL) < 0 || !WIFSTOPPED(status)) return weft__err(err, ESRCH, "the program has ended before it began");
    return 0;
}

int weft__step_all(struct weft_stepping *s, struct weft_err *err) {
    char path[64];
    struct weft_step *x = s->own = weft__alloc(sizeof *x);
    x->mem = -1;
    s->f = (struct weft_following){.code = {.read = read_code, .ctx = s}, .zone = zone_of, .whose = whose, .arguments = arguments_of, .operation = operation_of, .string = string_at, .clock = clock_of, .ctx = s};
    s->f.functions = (struct weft_functions){.code = &s->f.code, .bounds = bounds_of, .ends = ends, .is_main = is_main, .ctx = s};
    int r = weft__names_read(&s->names, s->t, err);
    if (r == 0) r = attach(s, err);
    if (r < 0) return r;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)s->pid);
    if ((x->mem = open(path, O_RDWR | O_CLOEXEC)) < 0) return weft__err(err, errno, "%s: %s", path, strerror(errno));
    if ((r = find_runtime(s, err)) < 0) return r;
    const struct weft_name *debug = weft__names_find(&s->names, "__weft_debug", x->runtime->base, x->runtime->base + x->runtime->size);
    if ((r = read_offsets(s, debug ? debug->from : 0, err)) < 0) return r;
    thread_of(s, s->pid)->state = READY;
    __atomic_store_n(&s->schedule->control->debug, WEFT_DEBUG_GO, __ATOMIC_RELEASE);
    while (x->list && r == 0) {
        struct stepped *k = x->list, *ready = NULL;
        for (; k; k = k->next)
            if (k->state == READY) ready = k; /* the oldest */
        if (ready) {
            if ((r = drain(s, err)) == 0) r = step(s, ready, err);
            continue;
        }
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) break;
        r = stopped(s, tid, status, err);
    }
    return r;
}

void weft__step_fini(struct weft_stepping *s) {
    struct weft_step *x = s->own;
    for (size_t i = 0; i < s->nthreads; i++) weft__follow_free(s->threads[i]);
    free(s->threads);
    weft__following_fini(&s->f);
    weft__names_fini(&s->names);
    while (x && x->list) gone(x, x->list->tid);
    if (x && x->mem >= 0) close(x->mem);
    if (x) free(x->bps);
    free(x);
}
