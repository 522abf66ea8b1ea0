/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of the system calls of x86-64 Linux, by number: for people who read dumps.
 *    X(name, number)                                                                                                  */
#ifndef WEFT_SYSCALL_NAMES_H
#define WEFT_SYSCALL_NAMES_H
/* clang-format off */
#define WEFT_SYSCALLS(X) \
    X(read, 0) X(write, 1) X(open, 2) X(close, 3) X(stat, 4) X(fstat, 5) X(lstat, 6) X(poll, 7) X(lseek, 8) \
    X(mmap, 9) X(mprotect, 10) X(munmap, 11) X(brk, 12) X(rt_sigaction, 13) X(rt_sigprocmask, 14) \
    X(rt_sigreturn, 15) X(ioctl, 16) X(pread64, 17) X(pwrite64, 18) X(readv, 19) X(writev, 20) X(access, 21) \
    X(pipe, 22) X(select, 23) X(sched_yield, 24) X(mremap, 25) X(msync, 26) X(mincore, 27) X(madvise, 28) \
    X(shmget, 29) X(shmat, 30) X(shmctl, 31) X(dup, 32) X(dup2, 33) X(pause, 34) X(nanosleep, 35) X(getitimer, 36) \
    X(alarm, 37) X(setitimer, 38) X(getpid, 39) X(sendfile, 40) X(socket, 41) X(connect, 42) X(accept, 43) \
    X(sendto, 44) X(recvfrom, 45) X(sendmsg, 46) X(recvmsg, 47) X(shutdown, 48) X(bind, 49) X(listen, 50) \
    X(getsockname, 51) X(getpeername, 52) X(socketpair, 53) X(setsockopt, 54) X(getsockopt, 55) X(clone, 56) \
    X(fork, 57) X(vfork, 58) X(execve, 59) X(exit, 60) X(wait4, 61) X(kill, 62) X(uname, 63) X(semget, 64) \
    X(semop, 65) X(semctl, 66) X(shmdt, 67) X(msgget, 68) X(msgsnd, 69) X(msgrcv, 70) X(msgctl, 71) X(fcntl, 72) \
    X(flock, 73) X(fsync, 74) X(fdatasync, 75) X(truncate, 76) X(ftruncate, 77) X(getdents, 78) X(getcwd, 79) \
    X(chdir, 80) X(fchdir, 81) X(rename, 82) X(mkdir, 83) X(rmdir, 84) X(creat, 85) X(link, 86) X(unlink, 87) \
    X(symlink, 88) X(readlink, 89) X(chmod, 90) X(fchmod, 91) X(chown, 92) X(fchown, 93) X(lchown, 94) X(umask, 95) \
    X(gettimeofday, 96) X(getrlimit, 97) X(getrusage, 98) X(sysinfo, 99) X(times, 100) X(ptrace, 101) X(getuid, 102) \
    X(syslog, 103) X(getgid, 104) X(setuid, 105) X(setgid, 106) X(geteuid, 107) X(getegid, 108) X(setpgid, 109) \
    X(getppid, 110) X(getpgrp, 111) X(setsid, 112) X(setreuid, 113) X(setregid, 114) X(getgroups, 115) \
    X(setgroups, 116) X(setresuid, 117) X(getresuid, 118) X(setresgid, 119) X(getresgid, 120) X(getpgid, 121) \
    X(setfsuid, 122) X(setfsgid, 123) X(getsid, 124) X(capget, 125) X(capset, 126) X(rt_sigpending, 127) \
    X(rt_sigtimedwait, 128) X(rt_sigqueueinfo, 129) X(rt_sigsuspend, 130) X(sigaltstack, 131) X(utime, 132) \
    X(mknod, 133) X(uselib, 134) X(personality, 135) X(ustat, 136) X(statfs, 137) X(fstatfs, 138) X(sysfs, 139) \
    X(getpriority, 140) X(setpriority, 141) X(sched_setparam, 142) X(sched_getparam, 143) X(sched_setscheduler, 144) \
    X(sched_getscheduler, 145) X(sched_get_priority_max, 146) X(sched_get_priority_min, 147) \
    X(sched_rr_get_interval, 148) X(mlock, 149) X(munlock, 150) X(mlockall, 151) X(munlockall, 152) X(vhangup, 153) \
    X(modify_ldt, 154) X(pivot_root, 155) X(_sysctl, 156) X(prctl, 157) X(arch_prctl, 158) X(adjtimex, 159) \
    X(setrlimit, 160) X(chroot, 161) X(sync, 162) X(acct, 163) X(settimeofday, 164) X(mount, 165) X(umount2, 166) \
    X(swapon, 167) X(swapoff, 168) X(reboot, 169) X(sethostname, 170) X(setdomainname, 171) X(iopl, 172) \
    X(ioperm, 173) X(create_module, 174) X(init_module, 175) X(delete_module, 176) X(get_kernel_syms, 177) \
    X(query_module, 178) X(quotactl, 179) X(nfsservctl, 180) X(getpmsg, 181) X(putpmsg, 182) X(afs_syscall, 183) \
    X(tuxcall, 184) X(security, 185) X(gettid, 186) X(readahead, 187) X(setxattr, 188) X(lsetxattr, 189) \
    X(fsetxattr, 190) X(getxattr, 191) X(lgetxattr, 192) X(fgetxattr, 193) X(listxattr, 194) X(llistxattr, 195) \
    X(flistxattr, 196) X(removexattr, 197) X(lremovexattr, 198) X(fremovexattr, 199) X(tkill, 200) X(time, 201) \
    X(futex, 202) X(sched_setaffinity, 203) X(sched_getaffinity, 204) X(set_thread_area, 205) X(io_setup, 206) \
    X(io_destroy, 207) X(io_getevents, 208) X(io_submit, 209) X(io_cancel, 210) X(get_thread_area, 211) \
    X(lookup_dcookie, 212) X(epoll_create, 213) X(epoll_ctl_old, 214) X(epoll_wait_old, 215) \
    X(remap_file_pages, 216) X(getdents64, 217) X(set_tid_address, 218) X(restart_syscall, 219) X(semtimedop, 220) \
    X(fadvise64, 221) X(timer_create, 222) X(timer_settime, 223) X(timer_gettime, 224) X(timer_getoverrun, 225) \
    X(timer_delete, 226) X(clock_settime, 227) X(clock_gettime, 228) X(clock_getres, 229) X(clock_nanosleep, 230) \
    X(exit_group, 231) X(epoll_wait, 232) X(epoll_ctl, 233) X(tgkill, 234) X(utimes, 235) X(vserver, 236) \
    X(mbind, 237) X(set_mempolicy, 238) X(get_mempolicy, 239) X(mq_open, 240) X(mq_unlink, 241) X(mq_timedsend, 242) \
    X(mq_timedreceive, 243) X(mq_notify, 244) X(mq_getsetattr, 245) X(kexec_load, 246) X(waitid, 247) \
    X(add_key, 248) X(request_key, 249) X(keyctl, 250) X(ioprio_set, 251) X(ioprio_get, 252) X(inotify_init, 253) \
    X(inotify_add_watch, 254) X(inotify_rm_watch, 255) X(migrate_pages, 256) X(openat, 257) X(mkdirat, 258) \
    X(mknodat, 259) X(fchownat, 260) X(futimesat, 261) X(newfstatat, 262) X(unlinkat, 263) X(renameat, 264) \
    X(linkat, 265) X(symlinkat, 266) X(readlinkat, 267) X(fchmodat, 268) X(faccessat, 269) X(pselect6, 270) \
    X(ppoll, 271) X(unshare, 272) X(set_robust_list, 273) X(get_robust_list, 274) X(splice, 275) X(tee, 276) \
    X(sync_file_range, 277) X(vmsplice, 278) X(move_pages, 279) X(utimensat, 280) X(epoll_pwait, 281) \
    X(signalfd, 282) X(timerfd_create, 283) X(eventfd, 284) X(fallocate, 285) X(timerfd_settime, 286) \
    X(timerfd_gettime, 287) X(accept4, 288) X(signalfd4, 289) X(eventfd2, 290) X(epoll_create1, 291) X(dup3, 292) \
    X(pipe2, 293) X(inotify_init1, 294) X(preadv, 295) X(pwritev, 296) X(rt_tgsigqueueinfo, 297) \
    X(perf_event_open, 298) X(recvmmsg, 299) X(fanotify_init, 300) X(fanotify_mark, 301) X(prlimit64, 302) \
    X(name_to_handle_at, 303) X(open_by_handle_at, 304) X(clock_adjtime, 305) X(syncfs, 306) X(sendmmsg, 307) \
    X(setns, 308) X(getcpu, 309) X(process_vm_readv, 310) X(process_vm_writev, 311) X(kcmp, 312) \
    X(finit_module, 313) X(sched_setattr, 314) X(sched_getattr, 315) X(renameat2, 316) X(seccomp, 317) \
    X(getrandom, 318) X(memfd_create, 319) X(kexec_file_load, 320) X(bpf, 321) X(execveat, 322) X(userfaultfd, 323) \
    X(membarrier, 324) X(mlock2, 325) X(copy_file_range, 326) X(preadv2, 327) X(pwritev2, 328) X(pkey_mprotect, 329) \
    X(pkey_alloc, 330) X(pkey_free, 331) X(statx, 332) X(io_pgetevents, 333) X(rseq, 334) X(pidfd_send_signal, 424) \
    X(io_uring_setup, 425) X(io_uring_enter, 426) X(io_uring_register, 427) X(open_tree, 428) X(move_mount, 429) \
    X(fsopen, 430) X(fsconfig, 431) X(fsmount, 432) X(fspick, 433) X(pidfd_open, 434) X(clone3, 435) \
    X(close_range, 436) X(openat2, 437) X(pidfd_getfd, 438) X(faccessat2, 439) X(process_madvise, 440) \
    X(epoll_pwait2, 441) X(mount_setattr, 442) X(quotactl_fd, 443) X(landlock_create_ruleset, 444) \
    X(landlock_add_rule, 445) X(landlock_restrict_self, 446) X(memfd_secret, 447) X(process_mrelease, 448) \
    X(futex_waitv, 449) X(set_mempolicy_home_node, 450)
/* clang-format on */
#endif
