/* Proves: system calls, and commands of others, that came with newer kernels, or that this processor has not, are recorded or answered with ENOSYS, and refuse no
 * recording: programs try them and go on. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, (uint64_t)syscall(448, -1, 0)); /* process_mrelease */
        h = mix(h, (uint64_t)syscall(211, NULL));  /* get_thread_area */
        h = mix(h, (uint64_t)syscall(452, AT_FDCWD, "/nowhere", 0600, 0)); /* fchmodat2 */
        uint64_t range[2] = {0, 0}, cached[5] = {0};
        h = mix(h, (uint64_t)syscall(451, 0, range, cached, 0)); /* cachestat */
        h = mix_bytes(h, cached, sizeof cached);
        h = mix(h, (uint64_t)syscall(458, NULL, NULL, 0, 0)); /* listmount */
        unsigned ids[2] = {0};
        h = mix(h, (uint64_t)fcntl(0, 17, ids)); /* F_GETOWNER_UIDS */
        uint64_t hint = 0;
        h = mix(h, (uint64_t)fcntl(0, F_GET_RW_HINT, &hint)) ^ hint;
        h = mix(h, (uint64_t)prctl(68, 0, 0, 0, 0)); /* PR_GET_MEMORY_MERGE */
        h = mix(h, (uint64_t)prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
        int fd = open("/", O_RDONLY), size = 0;
        h = mix(h, (uint64_t)ioctl(fd, FIGETBSZ, &size));
        h = mix(h, (uint64_t)size);
        close(fd);
        fd = open("/dev/ptmx", O_RDWR);
        char old[18] = {0};
        h = mix(h, (uint64_t)ioctl(fd, TCGETA, old)) ^ (uint64_t)ioctl(fd, TIOCGPTLCK, &size);
        h = mix_bytes(h, old, sizeof old);
        if (fd >= 0) close(fd);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 10);
    return finish(together(cook));
}
