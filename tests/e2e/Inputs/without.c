/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* without CALL COMMAND...: runs a command with a system call refused (EPERM), as a container's profile does. CALL is
 * personality, or dispatch (prctl PR_SET_SYSCALL_USER_DISPATCH; EINVAL, as a kernel that does not know it). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int dispatch = argc > 2 && strcmp(argv[1], "dispatch") == 0;
    if (argc < 3 || (!dispatch && strcmp(argv[1], "personality") != 0)) return 2;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, dispatch ? SYS_prctl : SYS_personality, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        /* 0xffffffff asks for the present one: allowed everywhere. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, dispatch ? 59 : 0xffffffff, !dispatch ? 2 : 0, !dispatch ? 0 : 2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (dispatch ? EINVAL : EPERM)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0) {
        perror("without: seccomp");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
