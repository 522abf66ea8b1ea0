/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program is told of the modules that are loaded, and what is done with one that it has loaded. The runtime is left out: collectors of garbage take the data of all
 * modules for places where pointers may be, and what is in the runtime's is not the same in record and replay. Unwinders that
 * were not built with weft are told everything. */
#include "runtime.h"
#include "real.h"
#include <dlfcn.h>
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

/* The pass calls this behind dlopen. Where a module has its thread-local memory is decided when a thread first comes to it, under a lock that libc has
 * while it unloads modules. Which of two threads had it first is in no trace: so it is done at once, by who has loaded the module, in the order of what
 * loads. On the program's stack and in its heap: the memory is the thread's, and its address can be seen. */
struct tls_index {
    size_t module, offset;
};
void *__tls_get_addr(struct tls_index *);
WEFT_API void __weft_loaded(void *handle) {
    struct tls_index i = {0, 0};
    void *has = NULL;
    if (weft__mode == WEFT_NATIVE || !handle || dlinfo(handle, RTLD_DI_TLS_MODID, &i.module) || !i.module) return;
    if (!dlinfo(handle, RTLD_DI_TLS_DATA, &has) && !has) __tls_get_addr(&i);
}
