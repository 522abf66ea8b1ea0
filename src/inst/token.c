/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* strtok, strtok_r and strsep: how far they go, and where they start, is known only on the way. */
#include "inst.h"
#include <string.h>

WEFT_INST char *__strtok_r(char *restrict s, const char *restrict delim, char **restrict save) {
    if (!s) s = *save;
    if (!s || !*s) {
        *save = s;
        return NULL;
    }
    s += strspn(s, delim);
    if (!*s) {
        *save = s;
        return NULL;
    }
    char *end = s + strcspn(s, delim);
    if (*end) *end++ = 0;
    *save = end;
    return s;
}
WEFT_INST char *strtok_r(char *restrict s, const char *restrict delim, char **restrict save) { return __strtok_r(s, delim, save); }
WEFT_INST char *strtok(char *restrict s, const char *restrict delim) { return __strtok_r(s, delim, &__weft_strtok_save); }

WEFT_INST char *strsep(char **restrict sp, const char *restrict delim) {
    char *s = *sp;
    if (!s) return NULL;
    char *end = s + strcspn(s, delim);
    if (*end) {
        *end++ = 0;
        *sp = end;
    } else
        *sp = NULL;
    return s;
}
