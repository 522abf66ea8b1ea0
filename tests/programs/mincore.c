/* Proves: what mincore tells is an input. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/mman.h>

int main(void) {
    unsigned char in[64] = {0};
    char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 64; i += 3) p[i * 4096] = 1;
    if (mincore(p, 64 * 4096, in)) return 3;
    for (int i = 0; i < 64; i++) printf("%d", in[i] & 1);
    puts("");
    return in[0] & 1 ? 0 : 4;
}
