/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program is told of the modules that are loaded. The runtime is left out: collectors of garbage take the data of all
 * modules for places where pointers may be, and what is in the runtime's is not the same in record and replay. Unwinders that
 * were not built with weft are told everything. */
#include "runtime.h"
#include "real.h"
#include <link.h>

extern const char __ehdr_start[] WEFT_HIDDEN;

struct asked {
    int (*tell)(struct dl_phdr_info *, size_t, void *);
    void *arg;
};
static int tell(struct dl_phdr_info *i, size_t size, void *arg) {
    const struct asked *a = arg;
    return i->dlpi_addr == (uint64_t)(uintptr_t)__ehdr_start ? 0 : a->tell(i, size, a->arg);
}
WEFT_API int dl_iterate_phdr(int (*call)(struct dl_phdr_info *, size_t, void *), void *arg) {
    if (!weft__real.dl_iterate_phdr) weft__real_open();
    if (!weft__in_weft_code((uint64_t)(uintptr_t)__builtin_return_address(0)))
        return weft__real.dl_iterate_phdr((void *)call, arg);
    struct asked a = {call, arg};
    return weft__real.dl_iterate_phdr((void *)tell, &a);
}
