/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Gives a program its places in memory, from its first instruction until the runtime takes over.
 *
 * The kernel chooses random addresses for the program, the dynamic loader, the stack and all mappings that name none;
 * containers do not allow that to be switched off (personality), and even without randomness the places depend on the
 * kernel, the file system and the stack limit. So weft asks for nothing and moves everything to the places of abi.h, which
 * depend on the program, its arguments and its environment alone. The same is done for record and replay, everywhere.
 *
 *   images    the mappings of the program (unless it is linked to an address) and of the loader are moved by mremap.
 *   stack     a new one, built from the words and strings of the old one; its lower end, where the kernel adds a random
 *             offset, is laid out anew, with room for more auxiliary values than this kernel has.
 *   mappings  that the loader makes get an address here, later ones from the runtime (its place.c).
 *   brk       the runtime answers it. The kernel is told of the new places as far as it lets us (PR_SET_MM_MAP), for those
 *             who ask it: ps, gdb, /proc/self/stat.
 *
 * The vDSO stays where it is: libc does not get to know it, only the runtime uses it. So does the old stack, which shows
 * the arguments in /proc where PR_SET_MM_MAP is missing. The places lie where the kernel puts nothing by itself, so nothing
 * is in the way.
 *
 * System calls are made in the program's name: two bytes at its first instruction become `syscall`, which is stepped over
 * once for each. To stop at all system calls of the loader would cost more than a millisecond. So a breakpoint is put on the
 * one instruction with which it calls mmap, which is found in its code, or when it gets there for the first time. (The
 * runtime checks where the libraries are.) From the breakpoint it goes on at the first instruction, which is `syscall` and
 * a jump back by now. The runtime has a
 * breakpoint of its own at its start: then all is as it was, and the program is let go. */
#include "replay/replay.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PAGE 4096ul
#define MAPS_MAX 64
#define STACK_ROOM (256ul << 10) /* of the stack that is mapped from the start; it grows by itself */
#define STACK_MAX (16ul << 20)   /* arguments and environment; the kernel takes 6 MiB */
#define AUX_MAX 40
#define PHDR_MAX 64
#define LOADER_MAX (16ul << 20)
#define FILE_ROOM (1ul << 20)

struct area {
    uint64_t lo, hi;
    int prot;
};

/* What a program or the loader occupies, and by how much it is moved. */
struct image {
    uint64_t base, lo, hi; /* base: what its addresses are relative to */
    uint64_t delta;
    uint64_t align;
    uint64_t start_code, end_code, start_data, end_data; /* as the kernel reckons them */
};

struct child {
    pid_t pid;
    int mem; /* /proc/pid/mem */
    struct user_regs_struct regs;
    uint64_t syscall_at;
    struct area area[MAPS_MAX]; /* in order of address */
    size_t areas;
    int stopped;   /* SIGSTOP came meanwhile */
    uint64_t next; /* mappings go below this */
};

static int broken(struct weft_err *err, const char *what) {
    return weft__err(err, EIO, "the program cannot be placed: %s", what);
}

/* ---- system calls in the program's name ---- */

static int regs_get(struct child *c, struct user_regs_struct *r) {
    struct iovec iov = {r, sizeof *r};
    return ptrace(PTRACE_GETREGSET, c->pid, NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}
static int regs_set(struct child *c, const struct user_regs_struct *r) {
    struct iovec iov = {(void *)r, sizeof *r};
    return ptrace(PTRACE_SETREGSET, c->pid, NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

/* Goes on to the next stop, and gives its signal. *lost: the program cannot be controlled any more (it has ended, and that
 * is left to be waited for). */
static int resume(struct child *c, bool *lost, enum __ptrace_request how) {
    siginfo_t si;
    int status, sig = 0;
    do {
        /* Its own fault (SIGSEGV) ends it. All others but SIGSTOP are blocked. */
        if (*lost || ptrace(how, c->pid, 0, sig == SIGSTOP ? 0 : sig) < 0) goto lost;
        while (waitid(P_PID, (id_t)c->pid, &si, WEXITED | WSTOPPED | WNOWAIT) < 0)
            if (errno != EINTR) goto lost;
        if (si.si_code == CLD_EXITED || si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED) goto lost;
        if (waitpid(c->pid, &status, 0) < 0) goto lost;
        sig = WSTOPSIG(status);
        c->stopped |= sig == SIGSTOP;
    } while ((sig & 0x7f) != SIGTRAP);
    return sig;
lost:
    *lost = true;
    return 0;
}

static long call(struct child *c, bool *lost, long nr, const uint64_t a[6]) {
    struct user_regs_struct r = c->regs;
    r.rax = (unsigned long)nr;
    r.orig_rax = -1ul; /* nothing to restart */
    r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
    r.rip = c->syscall_at;
    if (regs_set(c, &r) < 0) *lost = true;
    resume(c, lost, PTRACE_SINGLESTEP);
    if (!*lost && regs_get(c, &r) < 0) *lost = true;
    return *lost ? -ESRCH : (long)r.rax;
}
#define CALL(c, lost, nr, ...) call(c, lost, nr, (const uint64_t[6]){__VA_ARGS__})

/* ---- what is there ---- */

static int read_areas(struct child *c, struct weft_err *err) {
    char path[64], text[65536];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)c->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return weft__err(err, errno, "the program cannot be placed: %s: %s", path, strerror(errno));
    for (ssize_t r; n < sizeof text - 1 && (r = read(fd, text + n, sizeof text - 1 - n)) > 0;) n += (size_t)r;
    close(fd);
    text[n] = 0;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n'), perms[5] = "";
        struct area a = {0};
        if (!end || c->areas == MAPS_MAX) return broken(err, "its memory does not look as expected");
        *end = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &a.lo, &a.hi, perms) != 3)
            return broken(err, "its memory does not look as expected");
        a.prot = (perms[0] == 'r') * PROT_READ | (perms[1] == 'w') * PROT_WRITE | (perms[2] == 'x') * PROT_EXEC;
        c->area[c->areas++] = a;
        line = end + 1;
    }
    return 0;
}

static bool peek(struct child *c, uint64_t at, void *to, size_t n) {
    return pread(c->mem, to, n, (off_t)at) == (ssize_t)n;
}
static bool poke(struct child *c, uint64_t at, const void *from, size_t n) {
    return pwrite(c->mem, from, n, (off_t)at) == (ssize_t)n;
}

/* From the program headers in memory. `base` is known for the loader; for the program PT_PHDR tells. */
static bool read_image(struct child *c, uint64_t phdrs, uint64_t count, bool find_base, struct image *im) {
    Elf64_Phdr p[PHDR_MAX];
    if (count > PHDR_MAX || !peek(c, phdrs, p, count * sizeof *p)) return false;
    bool found = !find_base;
    for (uint64_t i = 0; i < count && !found; i++)
        if (p[i].p_type == PT_PHDR) im->base = phdrs - p[i].p_vaddr, found = true;
    im->lo = im->start_code = UINT64_MAX;
    im->align = PAGE;
    for (uint64_t i = 0; i < count; i++) {
        if (p[i].p_type != PT_LOAD) continue;
        uint64_t at = im->base + p[i].p_vaddr, file_end = at + p[i].p_filesz;
        if (at < im->lo) im->lo = at & ~(PAGE - 1);
        if (at + p[i].p_memsz > im->hi) im->hi = (at + p[i].p_memsz + PAGE - 1) & ~(PAGE - 1);
        if (p[i].p_align > im->align && !(p[i].p_align & (p[i].p_align - 1))) im->align = p[i].p_align;
        if (p[i].p_flags & PF_X && at < im->start_code) im->start_code = at;
        if (p[i].p_flags & PF_X && file_end > im->end_code) im->end_code = file_end;
        if (at > im->start_data) im->start_data = at;
        if (file_end > im->end_data) im->end_data = file_end;
    }
    return found && im->lo < im->hi;
}

/* ---- moving ---- */

/* To [at, ...), which must be free and not overlap it; `at` may be lowered for alignment. */
static int move_image(struct child *c, struct image *im, uint64_t at, bool *lost, struct weft_err *err) {
    at = (at & ~(im->align - 1)) + (im->lo & (im->align - 1));
    uint64_t size = im->hi - im->lo;
    im->delta = at - im->lo;
    for (size_t i = 0; i < c->areas; i++)
        if (c->area[i].lo < at + size && c->area[i].hi > at) return broken(err, "something is in its place");
    for (size_t i = 0; i < c->areas;) {
        struct area *a = &c->area[i];
        if (a->lo < im->lo || a->hi > im->hi) {
            i++;
            continue;
        }
        uint64_t n = a->hi - a->lo, to = a->lo + im->delta;
        long r = CALL(c, lost, SYS_mremap, a->lo, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to);
        if (r != (long)to) return weft__err(err, EIO, "the program cannot be placed: mremap: %s", strerror((int)-r));
        if (c->syscall_at >= a->lo && c->syscall_at < a->hi) c->syscall_at += im->delta;
        memmove(a, a + 1, (--c->areas - i) * sizeof *a); /* no longer in anybody's way */
    }
    return 0;
}

/* ---- the stack ---- */

/* From its pointer up: argc, arguments, 0, environment, 0, auxiliary vector; then, after some room, the strings: arguments,
 * environment, name of the program; 8 zero bytes. */
struct stack {
    uint64_t *old, *new;    /* contents from sp to top */
    uint64_t old_sp, old_top, sp;
    uint64_t argc, envc;
    uint64_t *aux; /* in old */
    uint64_t auxc; /* pairs, with the last */
    uint64_t aux_at, strings, env, end; /* where these are now; end: of the environment */
    int prot;
};

static int read_stack(struct child *c, struct stack *s, struct weft_err *err) {
    const char *odd = "its stack does not look as expected";
    for (size_t i = 0; i < c->areas; i++)
        if (c->regs.rsp >= c->area[i].lo && c->regs.rsp < c->area[i].hi) {
            s->old_top = c->area[i].hi;
            s->prot = c->area[i].prot;
        }
    s->old_sp = c->regs.rsp;
    if (!s->old_top || s->old_top - s->old_sp > STACK_MAX || s->old_sp % 16) return broken(err, odd);
    size_t n = (s->old_top - s->old_sp) / 8, i = 1;
    s->old = weft__alloc((n + 1) * 8);
    if (!peek(c, s->old_sp, s->old, n * 8)) return broken(err, odd);
    s->argc = s->old[0];
    if (s->argc == 0 || s->argc > n) return broken(err, odd);
    for (i = 1 + s->argc + 1; i < n && s->old[i]; i++) s->envc++;
    s->aux = s->old + ++i;
    for (; i + 2 <= n && s->old[i] != AT_NULL; i += 2) s->auxc++;
    s->auxc++;
    return i + 2 > n || s->auxc > AUX_MAX ? broken(err, odd) : 0;
}

static uint64_t aux(const struct stack *s, uint64_t type) {
    for (uint64_t i = 0; i < s->auxc; i++)
        if (s->aux[2 * i] == type) return s->aux[2 * i + 1];
    return 0;
}

static int build_stack(struct stack *s, const struct image *program, const struct image *loader, const uint8_t at_random[16],
                       struct weft_err *err) {
    const char *odd = "its stack does not look as expected";
    uint64_t first = s->old[1], shift = WEFT_PLACE_STACK - s->old_top, platform = aux(s, AT_PLATFORM);
    if (first <= s->old_sp || first >= s->old_top || !s->envc) return broken(err, odd);
    s->strings = first + shift;
    uint64_t random_at = (s->strings & ~15ul) - 16, platform_at = random_at - 32;
    uint64_t words = 1 + s->argc + 1 + s->envc + 1 + 2 * AUX_MAX;
    s->sp = (platform_at - words * 8) & ~15ul;
    s->new = weft__alloc(WEFT_PLACE_STACK - s->sp);
    char *bytes = (char *)s->new, *old = (char *)s->old;
    memcpy(bytes + (s->strings - s->sp), old + (first - s->old_sp), s->old_top - first);
    memcpy(bytes + (random_at - s->sp), at_random, 16);
    if (platform) {
        if (platform < s->old_sp || platform >= s->old_top) return broken(err, odd);
        strncpy(bytes + (platform_at - s->sp), old + (platform - s->old_sp), 31);
    }
    uint64_t *to = s->new, *from = s->old;
    *to++ = *from++;
    for (uint64_t i = 0; i < s->argc + 1 + s->envc + 1; i++, from++, to++) {
        if (*from && (*from < first || *from >= s->old_top)) return broken(err, odd);
        *to = *from ? *from + shift : 0;
    }
    s->aux_at = s->sp + (uint64_t)((char *)to - bytes);
    for (uint64_t i = 0; i < s->auxc; i++, from += 2, to += 2) {
        to[0] = from[0];
        to[1] = from[1];
        switch (from[0]) {
        case AT_PHDR:
        case AT_ENTRY: to[1] += program->delta; break;
        case AT_BASE: to[1] += loader->delta; break;
        case AT_RANDOM: to[1] = random_at; break;
        case AT_PLATFORM: to[1] = platform_at; break;
        case AT_EXECFN: s->end = to[1] += shift; break;
        case AT_SYSINFO_EHDR: to[0] = AT_IGNORE, to[1] = 0; break; /* its clock would go past the runtime */
        }
    }
    s->env = s->old[1 + s->argc + 1] + shift;
    return s->strings <= s->env && s->env <= s->end && s->end < WEFT_PLACE_STACK ? 0 : broken(err, odd);
}

/* What the kernel says of the process. It may refuse: then it tells of the old places. */
static void tell_kernel(struct child *c, const struct stack *s, const struct image *p, bool *lost) {
    struct prctl_mm_map m = {
        .start_code = p->start_code + p->delta, .end_code = p->end_code + p->delta,
        .start_data = p->start_data + p->delta, .end_data = p->end_data + p->delta,
        .start_brk = WEFT_PLACE_BRK, .brk = WEFT_PLACE_BRK, .start_stack = s->sp,
        .arg_start = s->strings, .arg_end = s->env, .env_start = s->env, .env_end = s->end,
        .auxv = (void *)s->aux_at, .auxv_size = (uint32_t)s->auxc * 16, .exe_fd = (uint32_t)-1};
    uint64_t at = s->old_sp; /* nobody reads there again */
    if (poke(c, at, &m, sizeof m)) CALL(c, lost, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, at, sizeof m);
}

/* ---- all of it ---- */

static int place(struct child *c, struct stack *s, struct image *loader, const uint8_t at_random[16], bool *lost,
                 struct weft_err *err) {
    struct image program = {0};
    Elf64_Ehdr e;
    int r = read_areas(c, err);
    if (r == 0) r = read_stack(c, s, err);
    if (r < 0) return r;
    loader->base = aux(s, AT_BASE);
    if (!loader->base || !peek(c, loader->base, &e, sizeof e) || e.e_phentsize != sizeof(Elf64_Phdr) ||
        !read_image(c, loader->base + e.e_phoff, e.e_phnum, false, loader) ||
        !read_image(c, aux(s, AT_PHDR), aux(s, AT_PHNUM), true, &program))
        return broken(err, "it or its dynamic loader does not look as expected");

    if (program.base) r = move_image(c, &program, WEFT_PLACE_PROGRAM, lost, err);
    if (r == 0) r = move_image(c, loader, WEFT_PLACE_TOP - (loader->hi - loader->lo), lost, err);
    if (r == 0) r = build_stack(s, &program, loader, at_random, err);
    if (r < 0) return r;

    uint64_t lo = (s->sp - STACK_ROOM) & ~(PAGE - 1), hi = WEFT_PLACE_STACK;
    long at = CALL(c, lost, SYS_mmap, lo, hi - lo, (unsigned)s->prot,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1ul);
    if (at != (long)lo) return weft__err(err, EIO, "the program cannot be placed: mmap: %s", strerror((int)-at));
    if (!poke(c, s->sp, s->new, hi - s->sp)) return broken(err, "its stack cannot be written");
    tell_kernel(c, s, &program, lost);
    c->next = loader->lo + loader->delta;
    c->regs.rsp = s->sp;
    c->regs.rip += loader->delta;
    return 0;
}

/* ---- the loader's mappings ---- */

static void steer(struct child *c, struct user_regs_struct *r) {
    uint64_t size = r->rsi;
    if (r->rdi || r->r10 & (MAP_FIXED | MAP_32BIT) || !size || size > WEFT_PLACE_TOP - WEFT_PLACE_LOW) return;
    /* A file that is no library: its list of libraries (ld.so.cache), which grows when packages are installed. */
    if (!(r->r10 & (MAP_ANONYMOUS | MAP_DENYWRITE))) size = (size + FILE_ROOM - 1) & ~(FILE_ROOM - 1);
    c->next = weft_place_below(c->next, size);
    r->rdi = c->next;
    r->r10 |= MAP_FIXED_NOREPLACE;
}

/* A few bytes of the program's code that are others for a while. */
struct patch {
    uint64_t at;
    long was;
};
static bool patch(struct child *c, struct patch *p, uint64_t at, uint64_t bytes, unsigned n) {
    errno = 0;
    p->was = ptrace(PTRACE_PEEKTEXT, c->pid, at, 0);
    if (errno) return false;
    p->at = at;
    return ptrace(PTRACE_POKETEXT, c->pid, at, (long)(((uint64_t)p->was & -1ul << 8 * n) | bytes)) == 0;
}
static bool unpatch(struct child *c, const struct patch *p) {
    return !p->at || ptrace(PTRACE_POKETEXT, c->pid, p->at, p->was) == 0;
}

/* The loader's mmap, as glibc has it: mov $9, %eax; syscall. 0: not there, or more than once. */
static uint64_t find_mmap(struct child *c, const struct image *loader) {
    static const uint8_t code[] = {0xb8, SYS_mmap, 0, 0, 0, 0x0f, 0x05};
    uint64_t at = loader->start_code + loader->delta, n = loader->end_code - loader->start_code, found = 0, count = 0;
    uint8_t *text = n < LOADER_MAX ? malloc(n) : NULL; /* not zeroed: this is on the way of every start */
    if (text && peek(c, at, text, n))
        /* memchr is five times faster than memmem here. */
        for (uint8_t *p = text + 1, *end = text + n; p < end && (p = memchr(p, SYS_mmap, (size_t)(end - p))); p++)
            if (end - p >= 6 && memcmp(p - 1, code, sizeof code) == 0) found = at + (uint64_t)(p - text) + 4, count++;
    free(text);
    return count == 1 ? found : 0;
}

/* Until the runtime's breakpoint. */
static void load(struct child *c, const struct image *loader, bool *lost) {
    struct user_regs_struct r;
    struct patch stop = {0}, detour = {0};
    uint64_t at = find_mmap(c, loader), start = c->regs.rip;
    if (at && !patch(c, &stop, at, 0xcc, 1)) *lost = true;
    while (!*lost) {
        int sig = resume(c, lost, stop.at ? PTRACE_CONT : PTRACE_SYSCALL);
        if (*lost || regs_get(c, &r) < 0) break;
        if (!stop.at && sig == (SIGTRAP | 0x80)) { /* entering or leaving a system call */
            if (r.orig_rax != SYS_mmap) continue;
            if (!patch(c, &stop, r.rip - 2, 0xcc, 1)) break;
        } else if (stop.at && r.rip == stop.at + 1) {
            uint64_t back = stop.at + 2 - (start + 7); /* syscall; jmp back */
            if (!detour.at && !patch(c, &detour, start, 0xe9050f | (back & 0xffffffff) << 24, 7)) break;
            r.rip = start;
        } else if (unpatch(c, &stop) && unpatch(c, &detour)) {
            return;
        } else {
            break;
        }
        steer(c, &r);
        if (regs_set(c, &r) < 0) break;
    }
    *lost = true;
}

/* SIGCONT came: it is pending, like all others. */
static bool continued(pid_t pid) {
    struct __ptrace_peeksiginfo_args which = {0, PTRACE_PEEKSIGINFO_SHARED, 64};
    siginfo_t si[64];
    long n = ptrace(PTRACE_PEEKSIGINFO, pid, &which, si);
    while (n > 0)
        if (si[--n].si_signo == SIGCONT) return true;
    return false;
}

int weft__place(pid_t pid, const uint8_t at_random[16], struct weft_control *control, struct weft_err *err) {
    struct child c = {.pid = pid, .mem = -1};
    struct stack s = {0};
    struct image loader = {0};
    struct patch first;
    uint64_t all = ~(1ul << (SIGTRAP - 1)), mask;
    bool lost = false;
    char path[64];
    int r;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    c.mem = open(path, O_RDWR | O_CLOEXEC);
    if (c.mem < 0) return weft__err(err, errno, "the program cannot be placed: %s: %s", path, strerror(errno));
    if (regs_get(&c, &c.regs) < 0 || ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD) < 0 ||
        ptrace(PTRACE_GETSIGMASK, pid, sizeof mask, &mask) < 0 ||
        ptrace(PTRACE_SETSIGMASK, pid, sizeof all, &all) < 0 ||
        !patch(&c, &first, c.regs.rip, 0x050f /* syscall */, 2)) {
        r = weft__err(err, errno, "the program cannot be placed: ptrace: %s", strerror(errno));
        goto out;
    }
    c.syscall_at = c.regs.rip;
    r = place(&c, &s, &loader, at_random, &lost, err);
    first.at = c.syscall_at; /* moved meanwhile */
    if (r == 0 && (!unpatch(&c, &first) || regs_set(&c, &c.regs) < 0)) lost = true;
    control->vdso = aux(&s, AT_SYSINFO_EHDR);
    if (r == 0) load(&c, &loader, &lost);
    control->map_next = c.next;
    if (lost || (r == 0 && ptrace(PTRACE_SETSIGMASK, pid, sizeof mask, &mask) < 0))
        r = broken(err, "ptrace does not work here");
    if (c.stopped && !continued(pid)) kill(pid, SIGSTOP);
out:
    /* All of this fails when somebody kills it. */
    if (r < 0 && regs_get(&c, &c.regs) == -ESRCH) r = weft__err(err, ESRCH, "%s", strerror(ESRCH));
    free(s.old);
    free(s.new);
    close(c.mem);
    return r;
}
