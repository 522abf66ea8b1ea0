/* Proves: preadv and pwritev go where their offset says; impossible counts are refused as the kernel does it. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <sys/uio.h>

int main(void) {
    char name[] = "/tmp/weft-vectored-XXXXXX", all[128] = {0}, a[8] = {0}, b[8] = {0};
    int fd = mkstemp(name);
    unlink(name);
    for (int i = 0; i < 100; i++) all[i] = (char)('a' + i % 26);
    if (write(fd, all, 100) != 100) return 3;
    struct iovec in[2] = {{a, 5}, {b, 6}}, out[2] = {{"HELLO", 5}, {"WORLD", 5}};
    if (preadv(fd, in, 2, 3) != 11 || memcmp(a, "defgh", 5) || memcmp(b, "ijklmn", 6)) return 4;
    if (lseek(fd, 0, SEEK_CUR) != 100) return 5;
    if (preadv2(fd, in, 2, 52, 0) != 11 || memcmp(a, "abcde", 5)) return 6;
    if (pwritev(fd, out, 2, 7) != 10 || pread(fd, all, 20, 0) != 20) return 7;
    printf("%.20s %.5s %.6s\n", all, a, b);
    if (readv(fd, in, 5000) != -1 || errno != EINVAL) return 8;
    if (writev(fd, out, -1) != -1 || errno != EINVAL) return 9;
    in[0].iov_len = (size_t)-1;
    if (readv(fd, in, 2) != -1 || errno != EINVAL) return 10;
    if (write(fd, all, (size_t)-1) != -1) return 11;
    lseek(fd, 90, SEEK_SET);
    printf("%zd\n", read(fd, malloc(1ul << 30), 1ul << 30)); /* much more room than there are bytes */
    return 0;
}
