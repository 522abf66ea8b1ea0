/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What every tool needs and nothing more: errors as values, memory that does not fail, strings that grow, numbers for
 * people. Knows nothing about traces or threads. The runtime inside the program does not use it. */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define WEFT_MUST __attribute__((warn_unused_result))

/* Our own bug, not the user's: stays on in release builds. */
#define WEFT_CHECK(cond) ((cond) ? (void)0 : weft__die("internal error at %s:%d: %s", __FILE__, __LINE__, #cond))

/* ---- err.c ----
 * Functions that can fail for reasons outside weft return 0 (or a count) or -errno, and fill a struct weft_err with a
 * sentence that names the file and the place in it. Only src/cli prints it. */
struct weft_err {
    int code;        /* errno */
    char text[2048]; /* no prefix, no newline */
};
int weft__err(struct weft_err *err, int code, const char *fmt, ...) WEFT_PRINTF(3, 4); /* returns -code */
void weft__warn(const char *fmt, ...) WEFT_PRINTF(1, 2);                               /* "weft: ..." on stderr */
void weft__die(const char *fmt, ...) WEFT_PRINTF(1, 2) __attribute__((noreturn));      /* the same, then exit 125 */

/* ---- mem.c ----
 * Tools are short-lived: no memory is the end of them, with a message. */
void *weft__alloc(size_t n) __attribute__((malloc)); /* zeroed */
void *weft__resize(void *p, size_t n);
char *weft__strdup(const char *s) __attribute__((malloc));
/* Makes room for `need` elements of `elem` bytes in an array of `*cap`; grows by half at least. */
void *weft__grow(void *p, size_t *cap, size_t need, size_t elem);

/* ---- strbuf.c ---- */
struct weft_strbuf {
    char *s; /* NULL, or NUL-terminated */
    size_t len, cap;
};
void weft__strbuf_fini(struct weft_strbuf *b);
void weft__strbuf_add(struct weft_strbuf *b, const void *bytes, size_t n);
void weft__strbuf_puts(struct weft_strbuf *b, const char *s);
void weft__strbuf_printf(struct weft_strbuf *b, const char *fmt, ...) WEFT_PRINTF(2, 3);
void weft__strbuf_json(struct weft_strbuf *b, const char *s); /* as a JSON string, with its quotes */

/* Numbers for people, in a caller's buffer: 1,234,567 and 12.3 KiB. */
#define WEFT_NUMBUF 32
const char *weft__commas(char buf[WEFT_NUMBUF], uint64_t n);
const char *weft__bytes(char buf[WEFT_NUMBUF], uint64_t n);

/* ---- file.c ---- */
/* Whole file into new memory, with a NUL byte after it. Fails with -EFBIG beyond `max`. */
int weft__file_read(const char *path, size_t max, char **out, size_t *len, struct weft_err *err) WEFT_MUST;
/* Under a temporary name, then renamed: the file is there whole or not at all. */
int weft__file_write(const char *path, const void *bytes, size_t n, struct weft_err *err) WEFT_MUST;
int weft__write_all(int fd, const void *bytes, size_t n) WEFT_MUST; /* 0 or -errno */

/* ---- elf.c ---- */
/* The section of that name in the bytes of a program, and its size; NULL: there is none. */
const char *weft__elf_section(const char *bytes, size_t size, const char *name, size_t *n);

#endif
