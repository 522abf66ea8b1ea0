/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* String functions whose destination is as long as their source: what they write is known only when the source is owned.
 * The pass calls these in place of libc's. The length is measured with the string taken, then the bytes are copied as
 * memcpy does it; a string that another thread changes in between is copied as a mixture, as libc would, but always ends.
 *
 * Also what the copies of libweft-inst.a in the modules of a process have in common. */
#include "runtime.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

WEFT_API char *__weft_strtok_save;
WEFT_API void *__weft_hsearch_data[2];
WEFT_API struct tm __weft_tm;
WEFT_API char __weft_asctime[114];

void __weft_take_begin(void);
void __weft_take_end(void);
void __weft_take_strn(const char *, size_t);
void *__weft_memcpy(void *, const void *, size_t);
void *__weft_memset(void *, int, size_t);
__attribute__((noreturn)) void __chk_fail(void);

static size_t length(const char *s, size_t most) {
    __weft_take_begin();
    __weft_take_strn(s, most);
    __weft_take_end();
    return strnlen(s, most);
}

/* Up to `most` characters of s, and a NUL; the address of that. */
static char *copy(char *d, const char *s, size_t most, size_t room) {
    size_t n = length(s, most);
    if (n >= room) __chk_fail();
    if (n) __weft_memcpy(d, s, n);
    __weft_memset(d + n, 0, 1);
    return d + n;
}

static char *append(char *d, const char *s, size_t most, size_t room) {
    size_t n = length(d, SIZE_MAX);
    copy(d + n, s, most, n < room ? room - n : 0);
    return d;
}

WEFT_API char *__weft_stpcpy(char *d, const char *s) { return copy(d, s, SIZE_MAX, SIZE_MAX); }
WEFT_API char *__weft___stpcpy_chk(char *d, const char *s, size_t room) { return copy(d, s, SIZE_MAX, room); }
WEFT_API char *__weft_strcpy(char *d, const char *s) {
    copy(d, s, SIZE_MAX, SIZE_MAX);
    return d;
}
WEFT_API char *__weft___strcpy_chk(char *d, const char *s, size_t room) {
    copy(d, s, SIZE_MAX, room);
    return d;
}
WEFT_API char *__weft_strcat(char *d, const char *s) { return append(d, s, SIZE_MAX, SIZE_MAX); }
WEFT_API char *__weft___strcat_chk(char *d, const char *s, size_t room) { return append(d, s, SIZE_MAX, room); }
WEFT_API char *__weft_strncat(char *d, const char *s, size_t n) { return append(d, s, n, SIZE_MAX); }
WEFT_API char *__weft___strncat_chk(char *d, const char *s, size_t n, size_t room) { return append(d, s, n, room); }

void *(*weft__process_malloc)(size_t) = malloc; /* of the process, which frees the memory: another one where the program brings its own */

/* malloc may tick, which would lose what was taken before: so length, memory, copy, each at its own position. */
static char *duplicate(const char *s, size_t most) {
    size_t n = length(s, most);
    char *d = weft__process_malloc(n + 1);
    if (!d) return NULL;
    if (n) __weft_memcpy(d, s, n);
    __weft_memset(d + n, 0, 1);
    return d;
}
WEFT_API char *__weft_strdup(const char *s) { return duplicate(s, SIZE_MAX); }
WEFT_API char *__weft___strdup(const char *s) { return duplicate(s, SIZE_MAX); }
WEFT_API char *__weft_strndup(const char *s, size_t n) { return duplicate(s, n); }
WEFT_API char *__weft___strndup(const char *s, size_t n) { return duplicate(s, n); }
