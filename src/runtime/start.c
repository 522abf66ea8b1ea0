/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The beginning: what mode this process runs in, the owner table, the main thread, the list of modules.
 *
 * The constructor runs before every other one (-z initfirst). Without WEFT_RT as the first environment variable the
 * runtime is inert: the table is mapped (instrumented code reads it), the allocator works, wrappers forward. (With WEFT_RT_PROFILE in
 * its place, calls that tell of regions are noted as well.) Otherwise the launcher's memory file says what to do.
 *
 * The runtime's own memory lies in a range of its own (WEFT_RT_BASE), away from where the kernel puts the program's mappings,
 * so that the program's addresses do not depend on what the runtime maps in which mode. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

int weft__mode;
struct weft_control *weft__control;
char *weft__file;
unsigned char weft__selector;
struct weft_thread *weft__threads[WEFT_MAX_SLOT + 2];
uint32_t weft__slots = 1;
WEFT_API __thread struct weft_tls __weft_tls __attribute__((tls_model("initial-exec")));
struct weft_real weft__real;

/* For stubs.S. */
WEFT_HIDDEN const uint64_t weft__off_rt_stack = offsetof(struct weft_thread, rt_stack);
WEFT_HIDDEN const uint64_t weft__off_arg = offsetof(struct weft_thread, arg);
WEFT_HIDDEN const uint64_t weft__off_fn = offsetof(struct weft_thread, fn);

#define RT_STACK (256ul << 10)

/* What belongs to a slot (thread structure, runtime stack, chunk of the log, heap structure) lies at an address that follows from the slot:
 * pointers to it may show on the program's stack, which must not depend on the mode. */
#define SLOT_SIZE (512ul << 10)
#define SLOT_HEAP (448ul << 10)
_Static_assert(sizeof(struct weft_thread) + RT_STACK <= SLOT_HEAP, "layout of a slot");

static int map_at(uint64_t at, size_t n) {
    return weft__raw(SYS_mmap, at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == (long)at;
}

/* One piece after the other, so that all are one mapping to the kernel, which allows 65,530 of them. NULL: there is no memory. */
void *weft__rt_may_map(size_t n) {
    static uint64_t next = WEFT_RT_BASE;
    n = (n + 0xffff) & ~0xfffful;
    uint64_t at = __atomic_fetch_add(&next, n, __ATOMIC_RELAXED);
    return map_at(at, n) ? (void *)at : NULL;
}
static uint32_t looks; /* of spare(): how many there are, and in the upper half how many there were */
void *weft__rt_map(size_t n) {
    for (;;) {
        uint32_t before = __atomic_load_n(&looks, __ATOMIC_SEQ_CST);
        void *p = weft__rt_may_map(n);
        if (p) return p;
        /* Where address space is short, who looks for it has it meanwhile: then once more. */
        if (!(before & 0xffff) && before == __atomic_load_n(&looks, __ATOMIC_SEQ_CST)) weft__rt_panic("no memory for the runtime");
        weft__raw(SYS_sched_yield);
    }
}

/* NULL: there is no memory. */
static char *slot_try(uint32_t slot) {
    static unsigned char mapped[(WEFT_MAX_SLOT + 2) / 8 + 1];
    uint64_t at = WEFT_SLOT_BASE + slot * SLOT_SIZE;
    unsigned char bit = (unsigned char)(1u << (slot & 7));
    if ((__atomic_fetch_or(&mapped[slot / 8], bit, __ATOMIC_ACQ_REL) & bit) || map_at(at, SLOT_SIZE)) return (char *)at;
    __atomic_fetch_and(&mapped[slot / 8], (unsigned char)~bit, __ATOMIC_RELEASE);
    return NULL;
}
void *weft__slot_heap(uint32_t slot) {
    char *m = slot_try(slot);
    if (!m) weft__rt_panic("no memory for the runtime");
    return m + SLOT_HEAP;
}

/* Whether there is address space left for what the runtime may need later, for each thread: where that is missing it can only give up. */
static int spare(uint32_t slots) {
    size_t n = (64ul << 20) + slots * (512ul << 10);
    __atomic_fetch_add(&looks, 0x10001, __ATOMIC_SEQ_CST);
    long r = weft__raw(SYS_mmap, 0, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int there = !(r < 0 && r > -4096);
    if (there) weft__raw(SYS_munmap, r, n);
    __atomic_fetch_sub(&looks, 1, __ATOMIC_SEQ_CST);
    return there;
}

/* The slot's thread structure; once made, it stays for later threads of the slot. NULL: there is no memory. */
struct weft_thread *weft__thread_new(uint32_t slot) {
    struct weft_thread *t = weft__threads[slot];
    if (t) return t;
    char *m = weft__mode == WEFT_RECORD && !spare(slot) ? NULL : slot_try(slot);
    if (!m) return NULL;
    t = (struct weft_thread *)m;
    if (weft__mode == WEFT_RECORD && !t->seen && !(t->seen = weft__rt_may_map((WEFT_MAX_SLOT + 2) * sizeof *t->seen))) return NULL;
    t->slot = slot;
    t->rt_stack = m + ((sizeof *t + RT_STACK - 64) & ~63ul);
    t->state = WEFT_OUT;
    t->rng = (weft__control ? weft__control->seed : 1) * 0x9e3779b97f4a7c15ull + slot * 0xd1342543de82ef95ull + 1;
    t->heap = NULL;
    if (weft__mode == WEFT_REPLAY) weft__gate_open(t);
    __atomic_store_n(&weft__threads[slot], t, __ATOMIC_RELEASE);
    uint32_t n = __atomic_load_n(&weft__slots, __ATOMIC_RELAXED);
    while (n <= slot && !__atomic_compare_exchange_n(&weft__slots, &n, slot + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    return t;
}

void *(*weft__real_memcpy)(void *, const void *, size_t) WEFT_HIDDEN;
void *(*weft__real_memmove)(void *, const void *, size_t) WEFT_HIDDEN;
void *(*weft__real_memset)(void *, int, size_t) WEFT_HIDDEN;

/* ---- modules */

#define MODULES_MAX 256
static struct {
    uint64_t lo, hi; /* executable part */
} weft_code[MODULES_MAX];
static int weft_codes;
static uint64_t own_lo, own_hi;
uint64_t weft__program_at;

int weft__in_weft_code(uint64_t ip) {
    for (int i = 0; i < __atomic_load_n(&weft_codes, __ATOMIC_ACQUIRE); i++)
        if (ip >= weft_code[i].lo && ip < weft_code[i].hi) return 1;
    return 0;
}

static int same(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

static size_t length(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

/* The C++ library waits for words of the program's: std::future does. weft's library for OpenMP takes locks for the program. */
#define CXX 2
#define LIBRARIES 3
static struct {
    uint64_t lo, hi;
} library_code[LIBRARIES];
static int in_library(uint64_t ip, int from, int to) {
    for (int i = from; i < to; i++)
        if (ip >= library_code[i].lo && ip < library_code[i].hi) return 1;
    return 0;
}
int weft__in_cxx_code(uint64_t ip) { return in_library(ip, 0, CXX); }
int weft__in_omp_code(uint64_t ip) { return in_library(ip, CXX, LIBRARIES); }
static void library(const char *path, uint64_t lo, uint64_t hi) {
    static const char *const names[LIBRARIES] = {"libstdc++.so", "libc++.so", "libweft-omp.so"};
    const char *name = path;
    for (; *path; path++)
        if (*path == '/') name = path + 1;
    for (int i = 0; i < LIBRARIES; i++) {
        size_t n = length(names[i]);
        if (length(name) >= n && same(name, names[i], n)) library_code[i].lo = lo, library_code[i].hi = hi;
    }
}

/* What the modules built with weft have in memory that cannot be written to. */
static struct {
    uint64_t lo, hi;
} constants[2 * MODULES_MAX];
static int nconstants;

int weft__constant(const void *p) {
    uint64_t a = (uint64_t)(uintptr_t)p;
    for (int i = 0; i < nconstants; i++)
        if (a >= constants[i].lo && a < constants[i].hi) return 1;
    return 0;
}
void weft__constant_lost(uint64_t lo, uint64_t n) {
    for (int i = 0; i < nconstants; i++)
        if (lo < constants[i].hi && lo + n > constants[i].lo) constants[i].hi = constants[i].lo;
}

void weft__own_text(uint64_t *lo, uint64_t *hi) {
    *lo = own_lo;
    *hi = own_hi;
}

uint32_t weft__notes(const char *at, const char *end, uint64_t align, uint8_t *id) {
    uint64_t al = align == 8 ? 8 : 4;
    uint32_t abi = 0;
    while (at + 12 <= end) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
        const char *name = at + 12, *desc = name + ((n->n_namesz + al - 1) & ~(al - 1));
        if (al == 4) desc = name + ((n->n_namesz + 3) & ~3u);
        if (desc + n->n_descsz > end) break;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && same(name, "GNU", 4))
            for (unsigned b = 0; b < n->n_descsz && b < 32; b++) id[b] = (uint8_t)desc[b];
        if (n->n_type == WEFT_NOTE_TYPE && n->n_namesz == 5 && same(name, WEFT_NOTE_OWNER, 5)) {
            abi = WEFT_ABI_VERSION;
            if (n->n_descsz >= 4) __builtin_memcpy(&abi, desc, 4);
        }
        at = desc + ((n->n_descsz + al - 1) & ~(al - 1));
    }
    return abi;
}

static int notes(const struct dl_phdr_info *i, uint8_t id[32]) {
    uint32_t abi = 0;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_NOTE) continue;
        const char *at = (const char *)(i->dlpi_addr + p->p_vaddr);
        uint32_t v = weft__notes(at, at + p->p_memsz, p->p_align, id);
        if (v && v != WEFT_ABI_VERSION)
            weft__refuse("%s: built with another version of weft (interface %u, this is %d): build it again", i->dlpi_name, v,
                         WEFT_ABI_VERSION);
        if (v) abi = v;
    }
    return abi != 0;
}

struct module_walk {
    struct weft_thread *t;
    int index;
};

static int module(struct dl_phdr_info *i, size_t size, void *arg) {
    (void)size;
    struct module_walk *w = arg;
    struct {
        struct weft_module_item m;
        char path[4096];
    } r = {0};
    uint64_t lo = UINT64_MAX, hi = 0, xlo = 0, xhi = 0;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_LOAD) continue;
        uint64_t a = i->dlpi_addr + p->p_vaddr;
        if (a < lo) lo = a;
        if (a + p->p_memsz > hi) hi = a + p->p_memsz;
        if (p->p_flags & PF_X) xlo = a, xhi = a + p->p_memsz;
    }
    uint64_t me = (uint64_t)(uintptr_t)&weft__thread_new;
    if (me >= xlo && me < xhi) own_lo = xlo, own_hi = xhi;
    if (hi == 0) return 0;
    if (weft__mode == WEFT_RECORD && w->index && (lo < WEFT_PLACE_LOW || hi > WEFT_PLACE_TOP))
        weft__refuse("the dynamic loader put %s at 0x%lx and not where it was told to: weft does not know this loader",
                     i->dlpi_name, lo);
    r.m.base = lo;
    r.m.size = hi - lo;
    int weft = notes(i, r.m.build_id);
    library(i->dlpi_name, xlo, xhi);
    if (weft && weft_codes < MODULES_MAX) {
        weft_code[weft_codes].lo = xlo;
        weft_code[weft_codes].hi = xhi;
        __atomic_store_n(&weft_codes, weft_codes + 1, __ATOMIC_RELEASE);
    }
    for (int k = 0; weft && k < i->dlpi_phnum && nconstants < 2 * MODULES_MAX; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_LOAD || p->p_flags & PF_W) continue;
        constants[nconstants].lo = i->dlpi_addr + p->p_vaddr;
        constants[nconstants].hi = constants[nconstants].lo + p->p_memsz;
        nconstants++;
    }
    if (weft__mode == WEFT_NATIVE) return 0;
    const char *path = i->dlpi_name;
    char exe[4096];
    if (w->index == 0) {
        weft__program_at = lo;
        long n = weft__raw(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
        if (n > 0) {
            exe[n] = 0;
            path = exe;
        }
    }
    w->index++;
    size_t n = length(path);
    if (n > sizeof r.path - 1) n = sizeof r.path - 1;
    weft__copy(r.path, path, n);
    size_t total = sizeof r.m + n + 1;
    if (weft__mode == WEFT_RECORD)
        weft__log_item(w->t, WEFT_ITEM_MODULE, (uint64_t)weft, &r, total, NULL, 0);
    else {
        struct weft_sched_item *it = weft__gate_input(w->t, WEFT_ITEM_MODULE, -1);
        if (!it) weft__diverged("the process loads %s, which the recorded one did not", r.path);
        const struct weft_module_item *m = weft__gate_data(it);
        const char *was = (const char *)(m + 1);
        /* The vDSO belongs to the kernel and is hidden from libc: it may differ. */
        int vdso = same(path, "linux-vdso.so.1", 15) || same(path, "linux-gate", 10);
        if (!vdso && (it->size != total || !same((const char *)m, (const char *)&r, total)))
            weft__diverged("module %s is not loaded as in the recording (%s at 0x%lx, now %s at 0x%lx): was it rebuilt or moved?",
                           r.path, was, m->base, r.path, r.m.base);
    }
    return 0;
}

/* ---- start */

static int is_marker(const char *s) { return s && same(s, WEFT_ENV "/", sizeof WEFT_ENV); }
static int is_profile(const char *s) { return s && same(s, WEFT_PROFILE_ENV "/", sizeof WEFT_PROFILE_ENV); }

/* First of all: where the program brings its own malloc, the loader calls that. */
__attribute__((constructor(101))) static void map_table(void) {
    size_t n = WEFT_TABLE_SIZE + WEFT_READS_SIZE;
    long r = weft__raw(SYS_mmap, WEFT_TABLE_ADDR, n, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (r != (long)WEFT_TABLE_ADDR) {
        static const char m[] = "weft: cannot map the owner table at 0x40000000: is the address space limited, or is the "
                                "program not position-independent and very large?\n";
        weft__raw(SYS_write, 2, m, sizeof m - 1);
        weft__raw(SYS_exit_group, WEFT_EXIT_DIVERGED);
    }
}

/* A descriptor of the launcher. */
long weft__launcher_fd(uint64_t fd, int flags) {
    char path[64];
    weft__format(path, sizeof path, "/proc/%lu/fd/%lu", weft__control->launcher, fd);
    return weft__raw(SYS_open, path, flags | O_CLOEXEC, 0);
}

static void open_control(const char *path) {
    struct weft_control *c;
    long fd = weft__raw(SYS_open, path, O_RDWR | O_CLOEXEC, 0), root;
    long r = weft__raw(SYS_mmap, WEFT_RT_BASE - 0x100000, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (fd >= 0 && r == -EEXIST) weft__refuse("something else is where weft's memory belongs (AddressSanitizer?): such a program cannot be recorded");
    if (r < 0 && r > -4096) weft__rt_panic("no control file: WEFT_RT is for weft record and weft replay only");
    c = (struct weft_control *)r;
    if (c->magic != WEFT_CONTROL_MAGIC) weft__rt_panic("the control file is foreign");
    weft__control = c;
    root = weft__launcher_fd(c->root, O_RDWR);
    r = weft__raw(SYS_mmap, weft__root, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, root, 0);
    if (r != (long)weft__root) weft__rt_panic("cannot map the control file");
    weft__raw(SYS_close, root);
    if (c->mode == WEFT_REPLAY || c->given_off) {
        /* A schedule is for many runs; what a steered run is given is for this one, and the launcher reads in it where turns ended. */
        int shared = c->given_off ? MAP_SHARED : MAP_PRIVATE;
        r = weft__raw(SYS_mmap, WEFT_SCHED_BASE, c->map_size, PROT_READ | PROT_WRITE, shared | MAP_FIXED_NOREPLACE, fd, 0);
        if (r < 0 && r > -4096) weft__rt_panic("cannot map the schedule");
        weft__file = (char *)r;
    }
    if (c->mode == WEFT_RECORD) weft__log_alive(); /* now, while the launcher holds the pipe as well */
    weft__accesses_open(c, fd);
    weft__prove_open(c);
    weft__raw(SYS_close, fd);
    weft__waits_open(c);
    weft__mode = (int)c->mode;
    if (c->given_off) {
        weft__given = 1;
        weft__given_open();
    }
}

/* libc comes behind the runtime, but for programs that were not linked with weft and have a library that was. */
void *weft__real_find(const char *name) {
    extern const char __ehdr_start[] WEFT_HIDDEN, _end[] WEFT_HIDDEN;
    void *p = dlsym(RTLD_NEXT, name);
    if (p) return p;
    p = dlsym(RTLD_DEFAULT, name);
    return (const char *)p >= __ehdr_start && (const char *)p < _end ? NULL : p;
}

__attribute__((constructor(102))) void weft__real_open(void) {
#define WEFT_X(r, name, p)                                                                                             \
    weft__real.name = (r(*) p)weft__real_find(#name);
    WEFT_REALS(WEFT_X)
#undef WEFT_X
    extern void (*weft__exit_function)(void *);
    weft__exit_function = weft__real.pthread_exit;
    weft__real_memcpy = weft__real_find("memcpy");
    weft__real_memmove = weft__real_find("memmove");
    weft__real_memset = weft__real_find("memset");
    weft__process_malloc = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
}

extern int64_t weft__started; /* sys_vm.c */

/* The loader is asked once: in a forked process a thread that is not there may have had its lock. What is loaded later is no part of the list. */
static struct dl_phdr_info looked[MODULES_MAX];
static int nlooked;

static int look(struct dl_phdr_info *i, size_t size, void *arg) {
    (void)size;
    (void)arg;
    if (nlooked < MODULES_MAX) looked[nlooked++] = *i;
    return 0;
}
void weft__modules(struct weft_thread *t) {
    struct module_walk w = {t, 0};
    weft_codes = 0;
    if (!nlooked) weft__real.dl_iterate_phdr((void *)look, NULL);
    for (int k = 0; k < nlooked; k++) module(&looked[k], sizeof looked[k], &w);
}

static void begin(struct weft_thread *t) {
    weft__started = (int64_t)weft__control->started;
    weft__delays = (weft__control->options & WEFT_OPT_DELAYS) != 0;
    weft__words = (weft__control->options & WEFT_OPT_WORDS) != 0;
    if (weft__mode == WEFT_RECORD)
        weft__log_open();
    else
        weft__files_open();
    t->tls->clock = 0;
    t->tls->me = weft__mode == WEFT_RECORD ? 1 : 0;
    t->tls->weak = weft__mode == WEFT_RECORD ? ~0ull : 0;
    t->tls->limit = 0;
    t->state = WEFT_IN;
    if (weft__mode == WEFT_RECORD && weft__control->chaos) {
        weft__steer_open();
        t->tls->me = WEFT_POISON;
        if (weft__given) weft__turns_open(t);
        weft__steer_in(t);
    }
    weft__tick(t);
    if (weft__mode == WEFT_RECORD)
        weft__given_start(t);
    else if (!weft__gate_input(t, WEFT_ITEM_START, 0))
        weft__diverged("the trace does not start with the main thread");
    weft__modules(t);
    weft__signal_born(t, t);
    weft__signal_open(t);
    weft__signal_begin(t);
    weft__console_begin(t);
    weft__sud_open();
    weft__sud_thread(t);
}

void *weft__on_rt(void *fn, ...);

/* Zeroes the program's stack below its stack pointer. The dynamic loader leaves time stamps there, which programs that read
 * uninitialised memory would see. */
#define SCRUB (128ul << 10)
WEFT_HIDDEN void weft__scrub(void) {
    if (weft__mode == WEFT_NATIVE || !__weft_tls.depth) return;
    char *sp = (char *)__weft_tls.saved[0];
    weft__zero(sp - SCRUB, SCRUB);
}
/* First of all initialisers of an executable (the pass sees to that): the loader's frames are gone by then, and libc is
 * initialised. */
WEFT_HIDDEN void weft__start_program(void) {
    if (weft__mode == WEFT_NATIVE) return;
    /* libc loads the unwinder when a thread first needs it (pthread_exit), under the loader's lock, and allocates meanwhile:
     * threads would wait for each other in an order that is not recorded. So here, where there is one thread. */
    int (*unwinder)(void **, int) = (int (*)(void **, int))dlsym(RTLD_NEXT, "backtrace");
    void *frame;
    if (unwinder) unwinder(&frame, 1);
    /* libc's own sort (glob, scandir, fts) asks once how much memory there is, in whichever thread comes first. */
    void (*sort)(void *, size_t, size_t, void *) = (void (*)(void *, size_t, size_t, void *))dlsym(RTLD_NEXT, "qsort");
    if (sort) sort(NULL, 1, 1024, NULL);
    /* The C++ library makes the locks of std::atomic_load(std::shared_ptr *) and its relatives when the first of these is called. Who comes
     * meanwhile waits in there, and calls leave return addresses on its stack; in replay another one may wait. */
    void (*lock)(void *, const void *) = (void (*)(void *, const void *))dlsym(RTLD_NEXT, "_ZNSt10_Sp_lockerC1EPKv");
    void (*unlock)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "_ZNSt10_Sp_lockerD1Ev");
    unsigned char locker[16];
    if (lock && unlock) lock(locker, locker), unlock(locker);
    weft__thread_keep(dlsym(RTLD_NEXT, "__nptl_nthreads"));
    weft__scrub();
}
WEFT_WRAP(__weft_start_program, weft__start_program);

__attribute__((constructor)) static void start(int argc, char **argv, char **envp) {
    (void)argc;
    (void)argv;
    if (!is_marker(envp[0])) {
        weft__real.dl_iterate_phdr((void *)module, &(struct module_walk){0}); /* for weft__in_weft_code */
        if (is_profile(envp[0])) {
            weft__profile_open(envp[0] + sizeof WEFT_PROFILE_ENV - 1);
            for (char **e = envp; (e[0] = e[1]); e++) {}
        }
        return;
    }
    const char *control = envp[0] + sizeof WEFT_ENV - 1;
    char **e = envp;
    for (; (e[0] = e[1]); e++) {}
    /* The launcher's too: the last one, if it is that. */
    if (e > envp && same(e[-1], "LD_BIND_NOW=1", 14)) e[-1] = NULL;
    open_control(control);
    __asm__ volatile("int3"); /* the launcher waits for this, and lets us go (src/replay/place.c) */
    weft__debug_wait();
    weft__place_open();
    if (dlsym(RTLD_DEFAULT, "malloc") != weft__heap_malloc_function())
        weft__refuse("the program brings its own malloc (jemalloc, mimalloc, tcmalloc), which cannot be recorded yet: link it without");
    struct weft_thread *t = weft__thread_new(1);
    t->tls = &__weft_tls;
    t->alive = 1;
    weft__gate_awake(1);
    t->tid = (int)weft__raw(SYS_gettid);
    t->pthread = (unsigned long)weft__real.pthread_self();
    t->tls->self = t;
    weft__heap_attach(t);
    t->tls->rt_sp = t->rt_stack;
    weft__on_rt((void *)begin, t);
    weft__on_rt((void *)weft__scrub);
}
