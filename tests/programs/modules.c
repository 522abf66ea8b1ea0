/* Proves: a program is not told of the runtime among the modules. Collectors of garbage search the data of modules for pointers, and what
 * is in the runtime's is not the same in the replay. */
// RUN: %rr %s %t
#include "common.h"
#include <link.h>

static int runtimes;
static int look(struct dl_phdr_info *i, size_t size, void *h) {
    (void)size;
    for (const char *c = i->dlpi_name; *c; c++) *(uint64_t *)h = mix(*(uint64_t *)h, (uint64_t)*c);
    *(uint64_t *)h = mix(*(uint64_t *)h, i->dlpi_phnum);
    runtimes += strstr(i->dlpi_name, "libweft-rt") != NULL;
    return 0;
}
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) dl_iterate_phdr(look, &h);
    return h;
}
int main(int argc, char **argv) {
    args(argc, argv, 2, 20);
    uint64_t h = together(cook);
    return runtimes ? 1 : finish(h);
}
