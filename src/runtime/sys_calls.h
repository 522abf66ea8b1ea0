/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files that do system calls (sys*.c) share. */
#ifndef WEFT_RUNTIME_SYS_CALLS_H
#define WEFT_RUNTIME_SYS_CALLS_H

#include "runtime.h"
#include "sys.h"

#define RECORD WEFT_LIVE /* calls are made; else what they gave is given */
static inline int failed(long r) { return r < 0 && r > -4096; }
static inline long raw(long nr, const long a[6]) { return weft__raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); }

/* ---- sys.c */
const char *weft__sys_name(long nr);

/* At least n bytes of the thread's own, which the kernel may read and write while the thread is outside. What was in it
 * stays when it grows. */
unsigned char *weft__bounce(struct weft_thread *t, size_t n);
/* Does call nr, as its parameters say (syscalls.def); what it gives is an input. */
long weft__emulated(struct weft_thread *t, long nr, const long a[6], const char *params);
#define RW_MAX 0x7ffff000l /* the kernel moves no more than this in one call */
/* Whether an argument points where there is never any memory: then the kernel shall say so (EFAULT, or what else it finds
 * wrong first), not a fault in here. */
static inline int weft__nowhere(long p) { return (unsigned long)p - 1 < 65535 || (unsigned long)p >> 47; }

/* ---- sys_output.c */
int weft__console(long fd);                                  /* 1, 2: it is the recorded stdout, stderr; 0: neither */
void weft__console_fds(long nr, const long a[6], long r);    /* after a call that may have made a descriptor, or closed one */
/* Does call nr with arguments b, by which the n bytes at data go out; replay compares them instead. pieces: NULL, or what they are made of. */
struct weft_iov {
    char *base;
    size_t len;
};
struct weft_pieces {
    const struct weft_iov *v;
    size_t n;
    int apart;     /* record: they are not all at data, and this is their hash: */
    uint64_t hash;
};
long weft__write_out(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, const struct weft_pieces *pieces);
long weft__sys_write(struct weft_thread *t, long nr, const long a[6]);
void weft__console_settle(void);
void weft__console_forked(void);

/* ---- sys_end.c */
void weft__note_reached(struct weft_thread *t);
__attribute__((noreturn)) void weft__end_as_recorded(struct weft_thread *t);
void weft__become_as_recorded(struct weft_thread *t);
long weft__sys_exit_group(struct weft_thread *t, const long a[6]);

/* ---- sys_ctl.c */
long weft__sys_ioctl(struct weft_thread *t, const long a[6]);
long weft__sys_prctl(struct weft_thread *t, const long a[6]);
long weft__sys_fcntl(struct weft_thread *t, const long a[6]);
long weft__sys_semctl(struct weft_thread *t, const long a[6]);
long weft__sys_msgctl(struct weft_thread *t, const long a[6]);

/* ---- sys_futex.c */
long weft__sys_futex(struct weft_thread *t, const long a[6], int foreign);

/* ---- files.c */
uint32_t weft__file_of(long fd);           /* record: number of the file that it is open for writing; 0: none that counts */
int *weft__file_lock(uint32_t file);
int weft__file_ordered(long nr); /* calls, but for writes, that depend on what was done to a file before */
int *weft__file_order(long nr, const long a[6]); /* record: the lock of a file that this call, not a write, asks about; NULL: none */
int64_t weft__file_offset(long nr, const long b[6], long r); /* record, under the lock: where the r bytes went */
void weft__file_write(uint32_t file, const unsigned char *data, size_t n, int64_t at); /* replay, with --write-files */
int weft__file_call(long nr);              /* whether these two are wanted around it: */
uint32_t weft__file_before(long nr, const long a[6]);
void weft__file_after(struct weft_thread *t, long nr, const long a[6], long r, uint32_t before);
void weft__files_open(void);
void weft__files_inherited(struct weft_thread *t, const unsigned char *console); /* from the process that executed this program */
int weft__file_refers(long fd);            /* record: what is read from it is not logged; then this one reads: */
long weft__file_read(struct weft_thread *t, long nr, const long a[6]);
long weft__file_read_again(struct weft_thread *t, const long a[6]); /* replay: the input is a REFERENCE */
void weft__files_forked(void);

/* ---- own.c: a steered run */
enum { WEFT_OWN_LIVE = 1, WEFT_OWN_STAT };
struct stat;
int weft__own_begin(struct weft_thread *t, long nr, const long a[6], long b[6]); /* before a call; LIVE: it is to be made, with b. 0: it is none of these */
long weft__own_do(struct weft_thread *t, long nr, const long b[6]);            /* LIVE, at its last tick: waits until there is something, and makes it */
void weft__own_end(long nr, const long a[6]); /* after LIVE */
void weft__own_stat(struct weft_thread *t, long nr, long fd, struct stat *out);
int weft__own_write(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, int64_t *r); /* 1: done */
void weft__own_made(long nr, const long a[6], long r); /* after a call that may have made a descriptor, or changed one */

/* ---- exec.c */
long weft__sys_execve(struct weft_thread *t, const long a[6]);

/* ---- sys_vm.c */
void weft__sys_vm_forked(void);
long weft__sys_vm(struct weft_thread *t, long nr, const long a[6]);
/* Record: n bytes that are to go out, if they are part of a mapping that is known: the same ones, which nobody changes until it is done, and their digest. NULL: no. */
const unsigned char *weft__shown_bytes(struct weft_thread *t, const void *at, size_t n, uint64_t *hash, void **use);
void weft__shown_done(void *use);
long weft__sys_msync(struct weft_thread *t, const long a[6]);
long weft__sys_shmat(struct weft_thread *t, const long a[6]);
long weft__sys_shmdt(struct weft_thread *t, const long a[6]);
long weft__sys_shmctl(struct weft_thread *t, const long a[6]);

/* ---- sys_vec.c */
long weft__sys_writev(struct weft_thread *t, long nr, const long a[6]);
long weft__sys_readv(struct weft_thread *t, long nr, const long a[6]);
long weft__sys_sendto(struct weft_thread *t, const long a[6]);
long weft__sys_sendmsg(struct weft_thread *t, const long a[6]);
long weft__sys_recvmsg(struct weft_thread *t, const long a[6]);
long weft__sys_ifconf(struct weft_thread *t, const long a[6]);
long weft__sys_mmsg(struct weft_thread *t, long nr, const long a[6]);

#endif
