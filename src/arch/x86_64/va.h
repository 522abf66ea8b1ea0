/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A va_list of nothing but pointers. */
#ifndef WEFT_ARCH_VA_H
#define WEFT_ARCH_VA_H

#include <stdarg.h>

/* All register arguments have been used: the rest is in memory, a word each. */
static inline void weft__va_pointers(va_list ap, void **arg) {
    struct {
        unsigned gp_offset, fp_offset;
        void *overflow_arg_area, *reg_save_area;
    } tag = {48, 176, arg, 0};
    __builtin_memcpy(ap, &tag, sizeof tag);
}

#endif
