/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ioctl, prctl, fcntl, semctl, msgctl: one number for many calls, each with arguments of its own. */
#define _GNU_SOURCE
#include "format.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

/* A call that weft does not know of: where the kernel does not either, it has done nothing, and the program is told what it is told natively. */
static int not_known(struct weft_thread *t, long nr, const long a[6], long answer, long *r) {
    *r = weft__emulated(t, nr, a, "");
    return *r == answer || *r == -EBADF;
}

long weft__sys_ioctl(struct weft_thread *t, const long a[6]) {
    static const struct { unsigned long req; const char *params; } known[] = {
        /* files */
        {FIONREAD, "o2=4"}, {FIONBIO, "i2=4"}, {FIOASYNC, "i2=4"}, {FIOCLEX, ""}, {FIONCLEX, ""}, {FIOQSIZE, "o2=8"}, {FIGETBSZ, "o2=4"},
        {0x40044900, ""}, /* INOTIFY_IOC_SETNEXTWD */
        {0x40085400, "i2=8"}, /* TFD_IOC_SET_TICKS */
        {FICLONE, ""}, {FICLONERANGE, "i2=32"}, {FS_IOC_GETFLAGS, "o2=4"}, {FS_IOC_SETFLAGS, "i2=4"}, {FS_IOC_FSGETXATTR, "o2=28"},
        {BLKGETSIZE64, "o2=8"}, {BLKSSZGET, "o2=4"}, {BLKGETSIZE, "o2=8"}, {BLKBSZGET, "o2=4"}, {BLKPBSZGET, "o2=4"}, {BLKROGET, "o2=4"},
        {RNDGETENTCNT, "o2=4"},
        /* terminals */
        {TCGETS, "o2=36"}, {TCSETS, "i2=36"}, {TCSETSW, "i2=36"}, {TCSETSF, "i2=36"}, {TCSBRK, ""}, {TCXONC, ""}, {TCFLSH, ""},
        {TIOCGWINSZ, "o2=8"}, {TIOCSWINSZ, "i2=8"}, {TIOCGPGRP, "o2=4"}, {TIOCSPGRP, "i2=4"}, {TIOCGSID, "o2=4"},
        {TIOCOUTQ, "o2=4"}, {TIOCSCTTY, ""}, {TIOCNOTTY, ""}, {TIOCGPTN, "o2=4"}, {TIOCSPTLCK, "i2=4"},
        {TCGETA, "o2=18"}, {TCSETA, "i2=18"}, {TCSETAW, "i2=18"}, {TCSETAF, "i2=18"}, {TCSBRKP, ""}, {TIOCEXCL, ""}, {TIOCNXCL, ""},
        {TIOCGEXCL, "o2=4"}, {TIOCPKT, "i2=4"}, {TIOCGPKT, "o2=4"}, {TIOCGPTLCK, "o2=4"}, {TIOCGETD, "o2=4"}, {TIOCSETD, "i2=4"}, {TIOCMGET, "o2=4"},
        {TIOCGSOFTCAR, "o2=4"}, {TIOCSSOFTCAR, "i2=4"}, {TIOCSTI, "i2=1"}, {TIOCGPTPEER, ""}, {TIOCSIG, ""}, {TIOCVHANGUP, ""}, {TIOCSBRK, ""}, {TIOCCBRK, ""},
        {TIOCMSET, "i2=4"}, {TIOCMBIS, "i2=4"}, {TIOCMBIC, "i2=4"}, {TIOCGDEV, "o2=4"},
        {_IOC(_IOC_READ, 'T', 0x2a, 44), "o2=44"}, {_IOC(_IOC_WRITE, 'T', 0x2b, 44), "i2=44"}, /* TCGETS2, TCSETS2, TCSETSW2, TCSETSF2 */
        {_IOC(_IOC_WRITE, 'T', 0x2c, 44), "i2=44"}, {_IOC(_IOC_WRITE, 'T', 0x2d, 44), "i2=44"},
        /* sockets and network interfaces */
        {SIOCATMARK, "o2=4"}, {SIOCGIFNAME, "b2=40"}, {SIOCGIFFLAGS, "b2=40"}, {SIOCGIFADDR, "b2=40"}, {SIOCGIFNETMASK, "b2=40"},
        {SIOCGIFBRDADDR, "b2=40"}, {SIOCGIFMTU, "b2=40"}, {SIOCGIFHWADDR, "b2=40"}, {SIOCGIFINDEX, "b2=40"},
        {SIOCGIFDSTADDR, "b2=40"}, {SIOCGIFMETRIC, "b2=40"}, {SIOCGIFTXQLEN, "b2=40"}, {SIOCSPGRP, "i2=4"}, {SIOCGPGRP, "o2=4"}, {FIOSETOWN, "i2=4"}, {FIOGETOWN, "o2=4"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].req == (unsigned long)a[1]) return weft__emulated(t, SYS_ioctl, a, known[i].params);
    if (a[1] == SIOCGIFCONF) return !a[2] || weft__nowhere(a[2]) ? weft__emulated(t, SYS_ioctl, a, "") : weft__sys_ifconf(t, a);
    long r;
    if (not_known(t, SYS_ioctl, a, -ENOTTY, &r)) return r;
    weft__refuse("ioctl 0x%lx cannot be recorded yet", (unsigned long)a[1]);
}

/* What the kernel says of a process differs in replay, if only because weft starts it in another way. */
long weft__sys_prctl(struct weft_thread *t, const long a[6]) {
    switch (a[0]) {
    case PR_GET_PDEATHSIG: case PR_GET_UNALIGN: case PR_GET_TSC: case PR_GET_CHILD_SUBREAPER:
        return weft__emulated(t, SYS_prctl, a, weft__nowhere(a[1]) ? "" : "o1=4");
    case PR_GET_TID_ADDRESS: return weft__emulated(t, SYS_prctl, a, weft__nowhere(a[1]) ? "" : "o1=8");
    case PR_GET_NAME: return weft__emulated(t, SYS_prctl, a, weft__nowhere(a[1]) ? "" : "o1=16");
    case PR_SET_NAME: {
        long r = weft__emulated(t, SYS_prctl, a, weft__nowhere(a[1]) ? "" : "i1s");
        if (!RECORD && r == 0) raw(SYS_prctl, a); /* for those who look at the threads of a replay */
        return r;
    }
    case PR_SET_PDEATHSIG: case PR_GET_DUMPABLE: case PR_SET_DUMPABLE: case PR_GET_KEEPCAPS: case PR_SET_KEEPCAPS:
    case PR_GET_TIMING: case PR_SET_TIMING: case PR_GET_SECCOMP: case PR_CAPBSET_READ: case PR_CAPBSET_DROP:
    case PR_GET_SECUREBITS: case PR_SET_SECUREBITS: case PR_SET_TIMERSLACK: case PR_GET_TIMERSLACK:
    case PR_SET_CHILD_SUBREAPER: case PR_SET_NO_NEW_PRIVS: case PR_GET_NO_NEW_PRIVS: case PR_SET_THP_DISABLE:
    case PR_GET_THP_DISABLE: case PR_CAP_AMBIENT: case PR_GET_SPECULATION_CTRL: case PR_SET_SPECULATION_CTRL:
    case PR_MCE_KILL: case PR_MCE_KILL_GET: case PR_SET_IO_FLUSHER: case PR_GET_IO_FLUSHER:
    case 65: case 66: case 67: case 68: /* PR_{SET,GET}_MDWE, PR_{SET,GET}_MEMORY_MERGE */
    case PR_SET_PTRACER: return weft__emulated(t, SYS_prctl, a, "");
    case PR_SET_VMA: return weft__sys_vm(t, SYS_prctl, a);
    default: {
        long r;
        if (not_known(t, SYS_prctl, a, -EINVAL, &r)) return r;
        weft__refuse("prctl option %ld cannot be recorded yet", a[0]);
    }
    }
}

long weft__sys_fcntl(struct weft_thread *t, const long a[6]) {
    switch (a[1]) {
    case F_GETLK:
    case F_OFD_GETLK: return weft__emulated(t, SYS_fcntl, a, "b2=32");
    case 17: return weft__emulated(t, SYS_fcntl, a, "o2=8"); /* F_GETOWNER_UIDS */
    case F_GET_RW_HINT: case F_GET_FILE_RW_HINT: return weft__emulated(t, SYS_fcntl, a, "o2=8");
    case F_SET_RW_HINT: case F_SET_FILE_RW_HINT: return weft__emulated(t, SYS_fcntl, a, "i2=8");
    case F_GETOWN_EX: return weft__emulated(t, SYS_fcntl, a, "o2=8");
    case F_SETOWN_EX: return weft__emulated(t, SYS_fcntl, a, "i2=8");
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: return weft__emulated(t, SYS_fcntl, a, "i2=32");
    case F_DUPFD: case F_DUPFD_CLOEXEC: case F_GETFD: case F_SETFD: case F_GETFL: case F_SETFL: case F_GETOWN: case F_SETOWN:
    case F_SETSIG: case F_GETSIG: case F_GETLEASE: case F_SETLEASE: case F_NOTIFY: case F_SETPIPE_SZ: case F_GETPIPE_SZ:
    case F_ADD_SEALS: case F_GET_SEALS: {
        long r = weft__emulated(t, SYS_fcntl, a, "");
        weft__file_after(t, SYS_fcntl, a, r, 0);
        weft__console_fds(SYS_fcntl, a, r);
        return r;
    }
    default: {
        long r;
        if (not_known(t, SYS_fcntl, a, -EINVAL, &r)) return r;
        weft__refuse("fcntl command %ld cannot be recorded yet", a[1]);
    }
    }
}

long weft__sys_semctl(struct weft_thread *t, const long a[6]) {
    switch (a[2] & 0xff) {
    case 0: case 11: case 12: case 14: case 15: case 16: /* IPC_RMID, GETPID, GETVAL, GETNCNT, GETZCNT, SETVAL */
        return weft__emulated(t, SYS_semctl, a, "");
    case 1: return weft__emulated(t, SYS_semctl, a, "i3=104"); /* IPC_SET */
    case 2: return weft__emulated(t, SYS_semctl, a, "o3=104"); /* IPC_STAT */
    case 13: case 17: { /* GETALL, SETALL: a number for each semaphore of the set */
        char ds[104], params[32];
        int64_t n = 0;
        if (RECORD && weft__raw(SYS_semctl, a[0], 0, 2 /* IPC_STAT */, ds) >= 0) __builtin_memcpy(&n, ds + 80, 8);
        n = weft__input(t, SYS_semctl, n, NULL, 0);
        weft__tick(t);
        weft__format(params, sizeof params, "%c3=%lu", (a[2] & 0xff) == 13 ? 'o' : 'i', (unsigned long)n * 2);
        return weft__emulated(t, SYS_semctl, a, params);
    }
    default: weft__refuse("semctl command %ld cannot be recorded yet", a[2]);
    }
}

long weft__sys_msgctl(struct weft_thread *t, const long a[6]) {
    switch (a[1] & 0xff) {
    case 0: return weft__emulated(t, SYS_msgctl, a, "");       /* IPC_RMID */
    case 1: return weft__emulated(t, SYS_msgctl, a, "i2=120"); /* IPC_SET */
    case 2: return weft__emulated(t, SYS_msgctl, a, "o2=120"); /* IPC_STAT */
    default: weft__refuse("msgctl command %ld cannot be recorded yet", a[1]);
    }
}
