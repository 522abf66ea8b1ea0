/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is shared between instrumented code, the runtime inside the program, and the launcher (`weft record`, `weft
 * replay`). The pass emits exactly what is described here; the assembly stubs use the offsets below. */
#ifndef WEFT_ABI_H
#define WEFT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Where a function stops that looks for something, in memory that goes on: weft__t_take_until. */
enum weft_until {
    WEFT_UNTIL_NUL,
    WEFT_UNTIL_BYTE,    /* this byte */
    WEFT_UNTIL_CHAR,    /* this one, or NUL */
    WEFT_UNTIL_ONE_OF,  /* a character of this string, or NUL */
    WEFT_UNTIL_NONE_OF, /* one that is not in this string */
    WEFT_UNTIL_NUMBER,  /* the end of a number, with white space before it */
    WEFT_UNTIL_BYTES,   /* the end of so many bytes as these */
    WEFT_UNTIL_STRING,  /* the end of this string, or NUL */
    WEFT_UNTIL_FOLDED,  /* the same, whatever the case of its letters */
    WEFT_UNTIL_OTHER,   /* a character that this string does not have there, or NUL; takes that string too */
    WEFT_UNTIL_OTHER_FOLDED,
};

/* ---- the owner table ----------------------------------------------------------------------------------------------
 * Two-byte entries, one per 64-byte line of the low 32 bits of an address, at a fixed address below 2 GiB so that a check
 * is: mov, shr, load id, compare, branch. Lines 4 GiB apart share an entry: harmless to the order, so the allocator and
 * the stacks are laid out to avoid it. In replay, and without `weft record`, all entries are 0. */
#define WEFT_TABLE_ADDR 0x40000000ul
#define WEFT_LINE_SHIFT 6
#define WEFT_LINE 64u
#define WEFT_TABLE_ENTRIES (1ul << (32 - WEFT_LINE_SHIFT))
#define WEFT_TABLE_SIZE (WEFT_TABLE_ENTRIES * 2 + 4096) /* bytes: behind the lines there are those of weak locks */
/* Which SHARED lines a thread may read: a word for each page of the low 32 bits of an address, a bit for each line. Each thread that has come to any has a
 * table of its own, at WEFT_READS_ADDR + tls.saved[3]; until then saved[3] is 0, and there is one of zeros. */
#define WEFT_READS_ADDR (WEFT_TABLE_ADDR + WEFT_TABLE_SIZE)
#define WEFT_READS_SIZE ((1ul << 23) + 4096) /* bytes: with weak locks, as above */
_Static_assert(WEFT_READS_ADDR == 0x48001000, "arch/x86_64/entry.h");
#define WEFT_NOBODY 0
#define WEFT_SPLIT 0xffff
#define WEFT_SHARED 0xfffe
#define WEFT_COMMON 0xfffd /* memory that processes share: every access of it is looked at (shm.c) */
#define WEFT_POISON 0xfffc /* no entry is this: with it as its id, a thread comes to the runtime at every check */
#define WEFT_MAX_SLOT 0xfffb

/* ---- the address space --------------------------------------------------------------------------------------------
 * Everything in a recorded process has a place that does not depend on the kernel's random choices: src/replay/place.c puts
 * the program there. No place lies where the kernel puts anything by itself, whatever vm.mmap_rnd_bits is: programs at
 * 0x5555_5555_4000 to 0x6600_0000_0000, mappings from 0x6ffb_0000_0000 on.
 *
 *   0x0000_4000_0000  the owner table, and a table of zeros (WEFT_READS_ADDR)
 *   0x0060_0000_0000  the heap's own tables (alloc.h)
 *   0x0600_0000_0000  the runtime's memory, in the order in which it is needed
 *   0x0a00_0000_0000  replay: the schedule
 *   0x0c00_0000_0000  replay: what it tells of accesses, for reports
 *   0x0e00_0000_0000  what belongs to a thread's slot
 *   0x0f00_0000_0000  record: the chunks of the log that threads are filling, by slot
 *   0x1000_0000_0000  the program's heap (alloc.h)
 *   0x5500_5555_4000  the program, if it is position-independent
 *   0x5520_0000_0000  brk
 *   0x5600_0000_0000  stacks of threads
 *   0x67ff_ffff_f000  the main thread's stack, downwards
 *   0x6ff0_f7ff_f000  the dynamic loader, libraries and what the program maps, downwards to 0x6800_0000_0000
 *
 * Low halves are chosen so that the program, its libraries and its stack do not share entries of the table. */
#define WEFT_RT_BASE 0x060000000000ul
#define WEFT_RT_END 0x0a0000000000ul
#define WEFT_SCHED_BASE 0x0a0000000000ul
#define WEFT_ACCESSES_BASE 0x0c0000000000ul
#define WEFT_SLOT_BASE 0x0e0000000000ul
#define WEFT_LOGS_BASE 0x0f0000000000ul
#define WEFT_PLACE_PROGRAM 0x550055554000ul
#define WEFT_PLACE_BRK 0x552000000000ul
#define WEFT_PLACE_BRK_END 0x555500000000ul
#define WEFT_STACKS_BASE 0x560000000000ul
#define WEFT_PLACE_STACK 0x67fffffff000ul
#define WEFT_STACK_SLOT (256ul << 20) /* from slot to slot */
#define WEFT_HEAP_BASE 0x100000000000ul
#define WEFT_HEAP_SLOT (111ul << 23)   /* from slot to slot: 888 MiB */
#define WEFT_PLACE_LOW 0x680000000000ul
#define WEFT_PLACE_TOP 0x6ff0f7fff000ul

/* Where a mapping of n bytes goes, next below `next`: large ones so that they can have large pages. */
static inline uint64_t weft_place_below(uint64_t next, uint64_t n) {
    return (next - n) & ~(n >= 0x200000 ? 0x1ffffful : 0xffful);
}

/* ---- per-thread words that instrumented code touches --------------------------------------------------------------
 * `__weft_tls`, thread-local, initial-exec. Executables define it themselves (the pass adds a definition), so that their
 * accesses are one fs-relative instruction; the runtime's own definition serves processes whose executable was not built
 * with weft. */
#define WEFT_RANGES 8 /* of a loop, at most */
#define WEFT_RANGE_WRITES (1ull << 63)
#define WEFT_RANGE_ALL (1ull << 62) /* the loop touches each of its lines */
#define WEFT_RANGE_SIZE (WEFT_RANGE_ALL - 1)
struct weft_tls {
    uint64_t clock;    /* 0: ticks so far; written by the thread only */
    uint64_t limit;    /* 8: the tick at which to call the runtime; record: others store 0 to ask for attention */
    uint16_t me;       /* 16: id that owned entries hold; 0 in replay and natively; poison otherwise */
    uint8_t outside;   /* 18: the thread runs code that was not built with weft; entries of callbacks come inside */
    uint8_t selector;  /* 19: Syscall User Dispatch: 0 allow, 1 trap */
    uint32_t depth;    /* 20: >0 while on the runtime's own stack */
    void *rt_sp;       /* 24: top of the runtime's stack for this thread; NULL before the thread is known */
    void *self;        /* 32: struct weft_thread * */
    uint64_t saved[11];/* 40: scratch of the stubs */
    uint64_t operand[4];/* 128: of an atomic that misses: value, expected value; each two words */
    uint8_t fast;      /* 160: the thread is in a loop's copy without checks, and these are its ranges, so many; 0: it is in none, or has to leave it */
    uint8_t zero[7];
    struct weft_tls_range {
        uint64_t at, size; /* bytes; WEFT_RANGE_WRITES, WEFT_RANGE_ALL */
    } range[WEFT_RANGES];  /* 168 */
    uint64_t weak;     /* 296: sides of weak locks that the thread does not have, as bits; natively and in replay none, or all */
    uint64_t region;   /* 304: sides that it needs where it is; the runtime keeps it from going on without them */
};
#define WEFT_TLS_CLOCK 0
#define WEFT_TLS_LIMIT 8
#define WEFT_TLS_ME 16
#define WEFT_TLS_OUTSIDE 18
#define WEFT_TLS_SELECTOR 19
#define WEFT_TLS_DEPTH 20
#define WEFT_TLS_RT_SP 24
#define WEFT_TLS_SELF 32
#define WEFT_TLS_SAVED 40
#define WEFT_TLS_OPERAND 128
#define WEFT_TLS_FAST 160
#define WEFT_TLS_RANGE 168
#define WEFT_TLS_WEAK (168 + 16 * WEFT_RANGES)
#define WEFT_TLS_REGION (WEFT_TLS_WEAK + 8)
#define WEFT_TLS_SIZE (WEFT_TLS_WEAK + 16)
_Static_assert(offsetof(struct weft_tls, clock) == WEFT_TLS_CLOCK, "tls");
_Static_assert(offsetof(struct weft_tls, limit) == WEFT_TLS_LIMIT, "tls");
_Static_assert(offsetof(struct weft_tls, me) == WEFT_TLS_ME, "tls");
_Static_assert(offsetof(struct weft_tls, outside) == WEFT_TLS_OUTSIDE, "tls");
_Static_assert(offsetof(struct weft_tls, selector) == WEFT_TLS_SELECTOR, "tls");
_Static_assert(offsetof(struct weft_tls, depth) == WEFT_TLS_DEPTH, "tls");
_Static_assert(offsetof(struct weft_tls, rt_sp) == WEFT_TLS_RT_SP, "tls");
_Static_assert(offsetof(struct weft_tls, self) == WEFT_TLS_SELF, "tls");
_Static_assert(offsetof(struct weft_tls, saved) == WEFT_TLS_SAVED, "tls");
_Static_assert(offsetof(struct weft_tls, operand) == WEFT_TLS_OPERAND, "tls");
_Static_assert(offsetof(struct weft_tls, fast) == WEFT_TLS_FAST, "tls");
_Static_assert(offsetof(struct weft_tls, range) == WEFT_TLS_RANGE, "tls");
_Static_assert(offsetof(struct weft_tls, weak) == WEFT_TLS_WEAK, "tls");
_Static_assert(offsetof(struct weft_tls, region) == WEFT_TLS_REGION, "tls");
_Static_assert(sizeof(struct weft_tls) == WEFT_TLS_SIZE, "tls");

/* ---- weak locks ---------------------------------------------------------------------------------------------------
 * Code of one side of a weak lock excludes code of its other sides, but not itself: any number of threads are on one side at a time. A bit
 * of `weak` and `region` is a side, and WEFT_WEAK_SIDES in a row are those of a lock. Which code is on which side is the plan's business
 * (src/pass/plan/weak.c). */
#define WEFT_WEAK_LOCKS 8
#define WEFT_WEAK_SIDES 8

/* ---- entries from instrumented code -------------------------------------------------------------------------------
 * Cold entries are jumped to, not called: the address to come back to is in rax, nothing is written to the program's
 * stack, and every register but rax and the flags is preserved. The operands of a miss go through tls.saved[9] and [10], so
 * that the compiler has no reason to move anything out of its registers, or to the stack, only where a check misses; those
 * of the others are in rdi and rsi.
 *
 *   __weft_tick_cold    clock has reached limit
 *   __weft_tick_spin    the same, in a loop that only waits for others
 *   __weft_spins        behind a tick of such a loop whose clock has no bit of WEFT_SPIN_MASK: it still waits
 *   __weft_range        saved[10]: how many lines, 0: too many | WEFT_RANGE_WRITE. A loop will touch tls.range, and the thread does not have these of
 *                       them. If it does not get all, sets `fast` to 0. The site is rax.
 *   __weft_weak         the thread does not have all that `region` says. The site is rax.
 *   __weft_miss         saved[9]: address; saved[10]: WEFT_ACC_* | size. The entry of a touched line is not `me`. The site is rax.
 *                       A read of a line that saved[3] lists as shared by this thread goes on at once; executables look there before they
 *                       jump.
 *                       When it returns, the access may be done; what it had to lock is released at the thread's next
 *                       tick or miss. Of an atomic, `operand` has the operands.
 *   __weft_verify       rdi: address; rsi: WEFT_ACC_* | size; after the access, in verify builds only
 *   __weft_repeat_cold  saved[10]: WEFT_REPEAT_* (trace.h): an iteration of a loop begins, and the thread's id is WEFT_POISON. Gives
 *                       saved[9]: 1: it is left out. In the source, and until the link, this is a call __weft_repeat(flags).
 *   __weft_come_in      an address-taken function was entered while outside, or a call of foreign code is over
 *   __weft_go_out       such a function is left again, or foreign code is about to be called
 */
#define WEFT_SPIN_MASK 0x3f0u /* 16 ticks in a row of 1,024 */
#define WEFT_ACC_SIZE 0x0000ffffu
#define WEFT_ACC_OP_SHIFT 16 /* enum weft_atomic, of an atomic */
#define WEFT_ACC_OP 0x00ff0000u
#define WEFT_ACC_WRITE 0x01000000u
#define WEFT_ACC_ATOMIC 0x02000000u
#define WEFT_ACC_ORDERED 0x08000000u /* an atomic load or store, of one piece anyway: for reports only (stubs.S knows the bit) */
#define WEFT_RANGE_WRITE 0x80000000u /* __weft_range: with the number of lines */
#define WEFT_ACC_PARTIAL 0x04000000u /* a write that may leave some bytes as they are, and may read them */

enum weft_atomic {
    WEFT_AT_UNKNOWN = 0, /* inline assembly, floating point */
    WEFT_AT_LOAD,
    WEFT_AT_STORE,
    WEFT_AT_CAS,
    WEFT_AT_XCHG,
    WEFT_AT_ADD,
    WEFT_AT_SUB,
    WEFT_AT_AND,
    WEFT_AT_NAND,
    WEFT_AT_OR,
    WEFT_AT_XOR,
    WEFT_AT_MAX,
    WEFT_AT_MIN,
    WEFT_AT_UMAX,
    WEFT_AT_UMIN,
};

/* __weft_serial_begin, __weft_serial_end: calls with the same object are ordered among each other. Small numbers stand for
 * groups of libc functions with a common state (hidden_state in the pass); these the runtime itself knows too. */
#define WEFT_SERIAL_MESSAGES 1 /* texts of errors, and the locale they depend on */
#define WEFT_SERIAL_LOADING 2  /* the dynamic loader */
#define WEFT_SERIAL_NAMES 9    /* the name service */

/* ---- launcher and runtime -----------------------------------------------------------------------------------------
 * `weft record` and `weft replay` start the program with WEFT_RT=PATH first in the environment; the runtime removes it. PATH
 * is a descriptor of the launcher, /proc/PID/fd/N, with slashes in front, so that its length is always the same. The file
 * starts with struct weft_control; in replay the schedule follows at sched_off. */
#define WEFT_ENV "WEFT_RT="
#define WEFT_ENV_SIZE 41 /* with the NUL */

static inline void weft_env_make(char out[WEFT_ENV_SIZE], uint64_t pid, uint64_t fd) {
    static const char name[] = WEFT_ENV, proc[] = "/proc/", mid[] = "/fd/";
    char *p = out + WEFT_ENV_SIZE;
    *--p = 0;
    do *--p = (char)('0' + fd % 10);
    while (fd /= 10);
    for (unsigned i = sizeof mid - 1; i-- > 0;) *--p = mid[i];
    do *--p = (char)('0' + pid % 10);
    while (pid /= 10);
    for (unsigned i = sizeof proc - 1; i-- > 0;) *--p = proc[i];
    while (p > out + sizeof name - 1) *--p = '/';
    while (p > out) p--, *p = name[p - out];
}

/* ---- profiles -----------------------------------------------------------------------------------------------------
 * `weft profile` starts a program natively with WEFT_RT_PROFILE=PATH first in the environment; the runtime removes it. PATH is a descriptor
 * of weft's, /proc/PID/fd/N. The file is mapped by all processes of the program, and begins with this; then, at weft_profile_bits, a bit
 * for each pair of regions. A region's number is that of its line in the section WEFT_REGIONS of the program, from 0 on.
 *
 * What instrumented code calls (-weft-profile), as plain C functions:
 *   __weft_profile_enter(uint32_t id)   the thread is in this region from here on
 *   __weft_profile_leave(void)          it leaves the one that it entered last
 *   __weft_profile_at(uint32_t id)      it is there in this moment */
#define WEFT_PROFILE_ENV "WEFT_RT_PROFILE="
#define WEFT_PROFILE_MAGIC 0x31464f5250465757ull
#define WEFT_REGIONS ".weft.regions"
#define WEFT_MAX_REGIONS (1u << 16) /* the bits of so many are 256 MiB */

struct weft_profile_map {
    uint64_t magic;
    uint64_t regions;
    uint32_t count[]; /* of each region: how often it was entered; stays at its maximum */
};

static inline uint64_t weft_profile_bits(uint64_t regions) { /* offset in the file */
    return (sizeof(struct weft_profile_map) + 4 * regions + 63) & ~(uint64_t)63;
}
static inline uint64_t weft_profile_bit(uint64_t a, uint64_t b) { /* half of a matrix, with its diagonal */
    return a < b ? b * (b + 1) / 2 + a : a * (a + 1) / 2 + b;
}
static inline uint64_t weft_profile_size(uint64_t regions) {
    return weft_profile_bits(regions) + regions * (regions + 1) / 2 / 8 + 1;
}

#define WEFT_CONTROL_MAGIC 0x304c5254464557ull
#define WEFT_EXIT_DIVERGED 125

enum weft_mode { WEFT_NATIVE = 0, WEFT_RECORD = 1, WEFT_REPLAY = 2 };

enum weft_outcome {
    WEFT_OUT_RUNNING = 0,
    WEFT_OUT_ENDED = 1,    /* the program ended by itself: exit or a fatal signal */
    WEFT_OUT_DIVERGED = 2, /* replay differs; message says how */
    WEFT_OUT_STUCK = 3,    /* replay: all threads wait; message says where */
    WEFT_OUT_REFUSED = 4,  /* record or replay cannot go on: message says what is not supported */
    WEFT_OUT_MISSING = 5,  /* a steered run needs an input that the trace does not have: message says which */
    WEFT_OUT_BOUND = 6,    /* a steered run goes on for too long */
};

/* Where the threads of a process are, for who reads its memory. Written by the runtime at its start. */
struct weft_threads {
    uint64_t slots;  /* address of a u32: highest slot + 1 */
    uint64_t table;  /* address of pointers, by slot; NULL: none */
    uint64_t holds;  /* address of a pointer to struct weft_hold[], and */
    uint64_t nholds; /* of a u64: how many; none without WEFT_OPT_WAITS */
    uint64_t signals, nsignals; /* the same: who has signalled a condition variable or posted a semaphore, each once; object 0: no entry */
    uint32_t alive, tid, tls, wait; /* offsets in what the table points to: int, int, struct weft_tls *, struct weft_wait */
};
enum weft_wait_kind {
    WEFT_WAIT_NONE = 0,
    WEFT_WAIT_MUTEX,
    WEFT_WAIT_RDLOCK,
    WEFT_WAIT_WRLOCK,
    WEFT_WAIT_SPIN,
    WEFT_WAIT_COND, /* with: its mutex */
    WEFT_WAIT_BARRIER,
    WEFT_WAIT_SEM,
    WEFT_WAIT_JOIN, /* object: slot */
    WEFT_WAIT_ONCE,
    WEFT_WAIT_STREAM, /* or another lock of libc or the runtime; steered runs only */
    WEFT_WAIT_FUTEX,  /* of the program or the C++ library (std::atomic::wait) */
    WEFT_WAIT_CALL,   /* a system call that never came back; steered runs only */
};
/* What a thread is about to do, or does: the runtime fills it in in replay, with WEFT_OPT_WAITS. */
struct weft_wait {
    uint32_t kind, zero; /* enum weft_wait_kind */
    uint64_t object, with;
    uint64_t site; /* where the program called */
};
enum weft_holder { WEFT_HOLDER_HERE = 0, WEFT_HOLDER_ENDED = 1, WEFT_HOLDER_PARENT = 2 /* the process that this was forked from */ };
struct weft_hold {
    uint64_t object;
    uint32_t slot;
    uint32_t kind; /* enum weft_wait_kind: what for it waited to get it */
    uint64_t site;
    uint32_t holder, zero; /* enum weft_holder */
};

#define WEFT_CONSOLE 1024
#define WEFT_CONSOLE_RING 256
struct weft_control {
    uint64_t magic;
    uint32_t mode;
    uint32_t outcome;      /* written by the runtime, enum weft_outcome */
    uint64_t seed;
    uint64_t map_size;     /* bytes of the whole memory file */
    uint64_t sched_off;    /* replay: struct weft_sched */
    uint64_t max_bytes;    /* record: the log ends before disk_bytes gets larger; 0: no limit. Of the first process, as all
                              that says so: forked ones share its block, beside their own */
    uint64_t map_next;     /* the loader's mappings end here, downwards: the runtime goes on below */
    uint64_t vdso;         /* address of the vDSO, hidden from libc by the launcher; 0: none */
    uint64_t log_full;     /* record: set by the runtime when the log has ended: errno; EFBIG: by max_bytes. Of the first process */
    uint32_t exit_kind;    /* written by the runtime: enum weft_end_kind */
    uint32_t exit_code;
    uint64_t options;      /* WEFT_OPT_* */
    uint64_t chunks;       /* record: chunks that were begun, by all processes. Of the first process */
    uint64_t parts_off;    /* replay: uint32_t[parts]: descriptors of the launcher that are the files of the parts */
    uint64_t parts;
    uint64_t launcher;     /* pid */
    uint64_t pid;          /* of a process that was forked, or executed another program: in its own control block */
    uint64_t root;         /* descriptor of the launcher: the first process's control block */
    uint64_t alive;        /* record: descriptor of the launcher: a pipe that every recorded process keeps open until its end */
    uint64_t started;      /* record: when the recording began, ns since 1970 */
    uint64_t executed;     /* record: 1: a recorded process executed this program; then: */
    uint8_t console[WEFT_CONSOLE]; /* which of its descriptors are the recorded stdout (1) and stderr (2) */
    struct weft_threads threads;
    char server[64];       /* name of the launcher's socket: see struct weft_exec_request */
    uint64_t chaos;        /* record: enum weft_chaos */
    uint64_t chaos_depth;  /* record: changes of priority */
    uint64_t chaos_events; /* record: how many an earlier run had */
    uint64_t events;       /* record with chaos: so many there were. Of the first process */
    uint64_t disk_bytes;   /* record: reserved for the streams of all processes. Of the first process */
    uint64_t console_seq;  /* record: writes to the recorded stdout and stderr, by all processes; and */
    uint64_t console_last; /* the last of them that was logged. Of the first process */
    uint64_t console_done[WEFT_CONSOLE_RING]; /* replay: by number: the last one that was done. Of the first process */
    uint32_t console_wake; /* replay: futex word: it, or console_free, was changed */
    uint32_t console_free; /* replay: a process could not go on: nobody waits for writes any more. Of the first process */
    uint32_t debug;        /* replay: enum weft_debug_state */
    uint32_t file;         /* replay: descriptor of the launcher that is this file */
    uint64_t given_off;    /* record: struct weft_given; 0: an ordinary recording */
    uint64_t watched;      /* record: how often weft_given's `watch` was passed */
    uint64_t iterations;   /* record, steered: of loops whose iterations may be left out, that were not */
    uint64_t last_site;    /* record, steered: of the thread that ended the process: its last event before that, */
    uint64_t last_slot;    /* and its slot */
    uint64_t accesses_off; /* replay with WEFT_OPT_ACCESSES: struct weft_accesses, behind map_size in the memory file */
    uint64_t plan_races;   /* written by the runtime: 1: a module has plan races */
    char write_files[4096]; /* replay: absolute path of the folder to write files to; empty: none */
    char streams[4096];    /* record: absolute path of the file to append to; it exists and is empty */
    char message[4096];    /* written by the runtime: one line for people, without prefix or newline */
};
enum weft_chaos { /* record: a schedule of weft's choice (steer.c) */
    WEFT_CHAOS_NONE = 0,
    WEFT_CHAOS_RANDOM = 1,
    WEFT_CHAOS_PCT = 2,
    WEFT_CHAOS_TURNS = 3, /* threads take the turns that the launcher gives them; when these are used up, as the next */
    WEFT_CHAOS_ALONE = 4, /* a thread goes on until it waits: weft_given's `next` says who comes then */
};

/* A steered run (TURNS and ALONE) is a recording whose inputs come from a trace: struct weft_given, at given_off of the memory file;
 * all offsets are from its start. Nothing happens outside, and no thread waits in the kernel, so the same turns always give the same
 * run. Positions are those of the trace: where an iteration is left out, the runtime counts on as if it had been there. */
enum weft_next { /* ALONE: who goes on */
    WEFT_NEXT_CHILD = 0,  /* a new thread at once; else the one that was created last */
    WEFT_NEXT_PARENT = 1, /* the one that was created first */
    WEFT_NEXT_TURNS = 2,  /* the one whose turn would be next */
};
struct weft_given {
    uint64_t threads_off, threads; /* struct weft_given_thread[]; number 0 is the main thread */
    uint64_t turns_off, turns;     /* struct weft_turn[] */
    uint64_t next;                 /* enum weft_next */
    uint64_t bound;                /* ticks of all threads; beyond, the run ends with WEFT_OUT_BOUND */
    uint64_t watch_off, watch;     /* pairs of uint64_t, from and to: weft_control's `watched` counts how often sites there are passed */
    uint64_t signals;              /* there are some in the trace */
    uint64_t plain;                /* 1: iterations that are not left out are not logged */
    uint64_t most;                 /* of these; beyond, the run ends with WEFT_OUT_BOUND. 0: as many as there are */
    uint64_t recorded;             /* when the first recording began: seconds since 1970 */
    uint64_t counted;              /* 1: nor were they in the trace, which was such a run: a turn's `pass` is how many the thread had begun */
    uint64_t longer;               /* ticks: so much longer than in the trace a turn may take; its thread waits in a loop then */
};
struct weft_given_thread { /* one per START of the trace; and one more: threads that are not even created any more */
    uint64_t tick, last;           /* of its START; how far it came */
    uint64_t made;                 /* tick of its parent's, when it was created */
    uint32_t parent;               /* number */
    uint32_t born;                 /* the runtime: it was created */
    uint64_t cut;                  /* the process ended when it had come to this tick; UINT64_MAX: it ended before */
    uint32_t slot;
    uint32_t removed;              /* 1: it ends at once, and gives `value` to who joins it; the runtime: 2 when it was created */
    uint64_t value;
    uint64_t items_off, items;     /* struct weft_sched_item[], kind WEFT_S_INPUT, in stream order. `site`: of INPUT THREAD_CREATE the
                                      number of the thread that was created, UINT32_MAX: none; of SIGNAL its place */
    uint64_t passes_off, passes;   /* struct weft_pass[], in order */
    uint64_t barriers_off, barriers; /* struct weft_removed_barrier[], of one that is removed */
    uint64_t loops_off, loops;     /* struct weft_given_loop[], by rank */
};
/* A loop inside another one begins again and again. If its n-th iteration was left out every time, it is so beyond the trace as well. */
struct weft_given_loop {
    uint64_t site;
    uint32_t frame, unused; /* 0: all that have no entry of their own */
    uint64_t leaves_off, leaves; /* uint8_t[], by number: 1: it is left out */
};
/* A turn: the thread runs until it stands at this position, or is beyond it, or cannot go on. Positions of the trace fit as long as the thread
 * does what it did there. So when a turn ends, the runtime writes down where that was by what the thread has done since its iteration of a
 * loop began: the last operation, the last access since then, and the ticks since. Where that is known, it is what counts: so a loop between two
 * operations whose length depends on other threads shifts nothing behind it. */
struct weft_turn {
    uint32_t thread;
    uint32_t done;       /* 1: until the access or operation there is done */
    uint64_t tick, site; /* WEFT_NEVER-like UINT64_MAX: until it ends; with `done`: or waits, yields, sleeps, or goes on for very long; if that is 2,
                            not beyond where it was when the process ended */
    uint32_t known;      /* 1: what follows counts, not the tick. 2: the `nth` time that it stands at `site`; if that is 0, after its access `where`, or,
                            if that is 0, its operation `op` */
    uint32_t pass;       /* iterations that the thread has begun: the last one of the trace's that it was at, + 1 */
    uint64_t op, op_nth; /* caller of its last operation since that began, 0: none; and so often it has come there since */
    uint64_t where, nth; /* site of its last access since the operation, 0: none; and so often it has come there since */
    uint64_t after;      /* ticks since then */
};
struct weft_pass { /* an iteration of a loop begins */
    uint64_t tick, site;
    uint32_t skip;  /* 1: it is left out */
    uint32_t flags; /* WEFT_REPEAT_*, of the loop */
    uint32_t rank;  /* of the thread's loops, the n-th that it came to: one that is around another has the lower rank */
    uint32_t frame; /* of its loop: as in the trace; 0: one of many */
};
#define WEFT_LOOPS_OWN 256u /* loops of a thread that are told apart by their frames, too; all further ones by site alone */
#define WEFT_CHAOS_DEPTH 64u /* changes of priority, at most */
#define WEFT_OPT_DELAYS 1u /* record: races are to show: more splits, and delays */
#define WEFT_OPT_REFER 4u  /* record: what is read from large files is referred to */
#define WEFT_OPT_WAITS 8u  /* replay of a run that was stuck: the runtime keeps what threads wait for, and who has it */
#define WEFT_OPT_WORDS 2u  /* record, to compare with: each word has a lock, which is taken at each access that is checked */
#define WEFT_OPT_LEAVE_OUT 32u /* record with chaos, to test weft: iterations of loops are left out at random */
#define WEFT_OPT_PROVE 64u /* replay of a verify build: whether the trace orders all accesses that conflict */
#define WEFT_OPT_ACCESSES 16u /* replay for a report: the runtime tells of every access (struct weft_accesses) */

/* The accesses of a replay, for the launcher. Every check comes to the runtime, which notes it in a ring: the last `room` accesses and
 * operations of synchronisation, in an order that they may have happened in (accesses that conflict: in which they did). At positions
 * in `stop`, and at the end, it asks the launcher to look (WEFT_EXEC_LOOK) before it goes on. */
struct weft_access {
    uint64_t addr; /* or the object */
    uint64_t site; /* 0: an operation of the runtime, at this tick */
    uint64_t tick;
    uint32_t slot;
    uint32_t what; /* WEFT_ACC_*, and the size, 0xffff for more; or WEFT_ACCESS_SYNC */
};
#define WEFT_ACCESS_SYNC 0x80000000u   /* synchronisation: comes after all before it with the same object */
#define WEFT_ACCESS_LOCK 0x40000000u   /* with it: the thread has got the lock */
#define WEFT_ACCESS_UNLOCK 0x20000000u /* with it: and gives it back */
#define WEFT_ACCESS_FRESH 0x10000000u  /* no access: the allocator hands this memory out; what was there before does not count */
#define WEFT_ACCESS_STOPS 8u
#define WEFT_LOOK_END WEFT_ACCESS_STOPS /* in place of a stop's number: the process is about to end */
struct weft_accesses {
    uint64_t next; /* how many there were */
    uint64_t room;
    uint64_t size; /* bytes of all this */
    uint64_t stops;
    struct weft_access stop[WEFT_ACCESS_STOPS]; /* what: how often it has come by */
    struct weft_access ring[];
};

/* A program that a recorded process executes has to be placed by the launcher, which is asked first: through a connection to
 * its abstract socket `server` (SOCK_SEQPACKET), a request and an answer. From then on it traces the thread that asked, until
 * the program has been executed and its runtime starts; if nothing is executed, the thread says so by any message, and gets
 * one back when it is free again. The connection is closed by exec. */
enum weft_exec_kind {
    WEFT_EXEC_SELF = 1,  /* by this thread */
    WEFT_EXEC_CHILD = 2, /* by a child that it makes (posix_spawn) */
    WEFT_EXEC_STUCK = 3, /* nothing is executed: replay has come to where the recorded process was stuck, for people to look at */
    WEFT_EXEC_LOOK = 4,  /* nor here: the thread stands at a stop (part: its number), or WEFT_LOOK_END */
};
struct weft_exec_request {
    uint32_t kind; /* enum weft_exec_kind */
    uint32_t tid;
    uint32_t part; /* record: its number in the process; replay: descriptor of the launcher that is its memory file */
    uint32_t zero;
    uint64_t mask; /* WEFT_EXEC_SELF: signals that the program blocks */
    char streams[4096]; /* record: of the process that asks */
    char program[4096]; /* record: absolute path */
};
struct weft_exec_reply {
    int32_t error;    /* errno; 0: go on */
    uint32_t control; /* descriptor of the launcher, for WEFT_ENV */
    char program[4096], cwd[4096]; /* replay */
};

/* The schedule: what a replay needs, laid flat by the launcher (weft__replay_schedule). All offsets are from the start of
 * the memory file. `slots` entries of struct weft_sched_slot follow the header, index 0 unused. */
struct weft_sched {
    uint64_t slots;     /* highest slot number + 1 */
    uint64_t flags_off; /* uint32_t[flags], zero: one per mark; the runtime's */
    uint64_t flags;
    uint64_t data_off;  /* bytes of inputs */
    uint64_t data_len;
    uint32_t end_kind;  /* enum weft_end_kind; 0: the recording was cut short */
    uint32_t end_code;
    uint32_t end_slot;  /* the thread that ended the process: exit, crash; 0: not known */
    uint32_t zero;
};

struct weft_sched_slot {
    uint64_t items_off; /* struct weft_sched_item[items], sorted by tick; within a tick own items in stream order */
    uint64_t items;
    uint64_t final_tick; /* no position of the slot beyond this tick is known (see weft__replay_schedule) */
    uint64_t open_end;   /* 1: this thread goes on beyond its last item (it ended the process) */
};

enum weft_sched_kind {
    WEFT_S_WAIT = 1,    /* at (tick, site): wait for flag a, of slot `item` */
    WEFT_S_REACHED = 2, /* at (tick, site): set flag a on arrival, after the first `size` WAITs there */
    WEFT_S_DONE = 3,    /* at (tick, site): set flag a when the access or operation is done */
    WEFT_S_INPUT = 4,   /* item kind WEFT_ITEM_*: see `item`, `op`, data */
    WEFT_S_MEMORY = 5,  /* at (tick, site), after the WAITs: memory changes; data: u64 address, then the bytes */
    WEFT_S_REPEAT = 6,  /* at (tick, site): the iteration that begins there is left out, and the next size - 1 of that site */
    WEFT_S_LOOP = 7,    /* at tick: a: WEFT_LOOP_* (trace.h) */
};

struct weft_sched_item {
    uint64_t tick;
    uint64_t site;
    uint32_t kind; /* enum weft_sched_kind */
    uint32_t a;    /* flag index; for INPUT: op */
    uint32_t item; /* for WAIT: slot; for INPUT: enum weft_item_kind (INPUT, START, EXIT, MODULE, CRASH, VERIFY, SIGNAL) */
    uint32_t size; /* for INPUT: bytes; for REACHED: step */
    uint64_t data; /* for INPUT: offset of the bytes in the memory file */
};
_Static_assert(sizeof(struct weft_sched_item) == 40, "sched item layout");

/* ---- debuggers ------------------------------------------------------------------------------------------------------
 * `weft debug` has gdb attach to a process of a replay. The process waits for it at its start, or where it was forked. All that
 * the commands in gdb (src/debug/weft-gdb.py) know of the runtime is below: the symbols __weft_debug and __weft_debug_hook. */
enum weft_debug_state {
    WEFT_DEBUG_NONE = 0,
    WEFT_DEBUG_WANTED = 1, /* the launcher: a debugger is to come to this process */
    WEFT_DEBUG_READY = 2,  /* the runtime: it waits; weft_control's pid is set */
    WEFT_DEBUG_GO = 3,     /* the debugger: it is there */
};

#define WEFT_DEBUG_VERSION 1
struct weft_debug {
    uint64_t version;
    uint64_t state;     /* address of weft_control's `debug` */
    uint64_t message;   /* and of its message */
    uint64_t launcher;  /* pid, and */
    uint64_t fd;        /* its descriptor that is the memory file, as it was before the program met anything of it */
    uint64_t sched_off; /* in which this is struct weft_sched */
    uint64_t file;      /* where the program has it mapped: an item that was met has kind 0 there */
    int64_t tls;        /* struct weft_tls, from the thread's fs base; its `self` is the thread's structure, 0 before it starts */
    /* Offsets in a thread's structure. */
    uint32_t slot;         /* uint32_t */
    uint32_t alive;        /* int: 0 when it has ended */
    uint32_t waiting;      /* int: 0 no, 1 at an edge, 2 nothing more is known of it, 3 for the end of the others, 4 for a lock
                              of libc or a library */
    uint32_t waiting_flag; /* uint32_t: at an edge: which flag */
    uint32_t waiting_site; /* uint64_t: and where */
    uint32_t items;        /* pointer: its next struct weft_sched_item that may not be met yet */
    uint32_t scratch;      /* of the thread control block, from the fs base: a word of the entries' */
    uint32_t calling;      /* not an offset: 1 during a call that the debugger makes; malloc then leaves the program's heap alone */
    /* For such calls: with all other threads stopped, *mode WEFT_NATIVE, *selector and the thread's own 0, its limit the
     * largest and its id 0, the runtime lets them pass. Afterwards all of it, the whole struct weft_tls and the scratch word are
     * as they were. */
    uint64_t mode;     /* int */
    uint64_t selector; /* unsigned char */
    /* Written by the debugger: call the hook at this position; 0: no. The site may be any (WEFT_DEBUG_ANY). Then, if the thread
     * is inside, its limit is to be lowered to stop_tick, and in that very tick its id changed to WEFT_POISON. */
    uint64_t stop_tick;
    uint64_t stop_site;
    uint64_t stop_slot;
};
_Static_assert(sizeof(struct weft_debug) == 136, "debug layout");
#define WEFT_DEBUG_ANY UINT64_MAX

/* __weft_debug_hook(event, slot, tick, site) is called, and does nothing: */
enum weft_debug_event {
    WEFT_DEBUG_STOP = 1,   /* at stop_tick and stop_site, when all has happened that comes before, and not the access itself */
    WEFT_DEBUG_MISSED = 2, /* the thread is beyond stop_tick */
    WEFT_DEBUG_END = 3,    /* the process is about to end, as recorded; all threads are where they were then */
    WEFT_DEBUG_EXEC = 4,   /* it is about to become another program of the trace, which takes the launcher to trace it */
    WEFT_DEBUG_FAILED = 5, /* the replay differs, or cannot go on: weft_control's message */
};

/* A section that is not loaded: two words for each check of an access of which a loop has one and its copy without checks of other accesses has another: the
 * site, and a number that both have; that of the copy with the highest bit. */
#define WEFT_PAIRS ".weft.pairs"
#define WEFT_PAIR_COPY (1ull << 63)

/* Every module built with weft carries this ELF note (section .note.weft, owner "weft", type 1). */
#define WEFT_NOTE_OWNER "weft"
#define WEFT_NOTE_TYPE 1
#define WEFT_ABI_VERSION 8

#endif
