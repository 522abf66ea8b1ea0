/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Errors as values, and the two ways in which a tool tells them. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

int weft__err(struct weft_err *err, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return -code;
}

/* One write for the line: the program that is being recorded may share our stderr. */
static void tell(const char *fmt, va_list ap) {
    struct weft_strbuf b = {0};
    char text[4096];
    vsnprintf(text, sizeof text, fmt, ap);
    weft__strbuf_printf(&b, "weft: %s\n", text);
    fflush(stdout);
    int r = weft__write_all(2, b.s, b.len);
    (void)r; /* nowhere left to say it */
    weft__strbuf_fini(&b);
}

void weft__warn(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(fmt, ap);
    va_end(ap);
}

void weft__die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(fmt, ap);
    va_end(ap);
    exit(125);
}
