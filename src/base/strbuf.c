/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strings that grow, and numbers for people. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weft__strbuf_fini(struct weft_strbuf *b) {
    free(b->s);
    *b = (struct weft_strbuf){0};
}

void weft__strbuf_add(struct weft_strbuf *b, const void *bytes, size_t n) {
    b->s = weft__grow(b->s, &b->cap, b->len + n + 1, 1);
    if (n) memcpy(b->s + b->len, bytes, n);
    b->len += n;
    b->s[b->len] = 0;
}

void weft__strbuf_puts(struct weft_strbuf *b, const char *s) { weft__strbuf_add(b, s, strlen(s)); }

void weft__strbuf_printf(struct weft_strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    WEFT_CHECK(n >= 0);
    b->s = weft__grow(b->s, &b->cap, b->len + (size_t)n + 1, 1);
    va_start(ap, fmt);
    vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none. (Overlong forms and surrogates do not count.) */
static size_t utf8(const unsigned char *s) {
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : (s[0] & 0xf0) == 0xe0       ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) return 0;
    return n;
}

/* Two dozen lines instead of a library: weft writes one flat object and reads no JSON. Bytes that are not UTF-8 (paths
 * may hold any) come out as U+FFFD. */
void weft__strbuf_json(struct weft_strbuf *b, const char *s) {
    weft__strbuf_puts(b, "\"");
    while (*s) {
        unsigned char c = (unsigned char)*s;
        size_t n = utf8((const unsigned char *)s);
        if (c == '"' || c == '\\') {
            weft__strbuf_printf(b, "\\%c", c);
        } else if (c < 0x20) {
            weft__strbuf_printf(b, "\\u%04x", c);
        } else if (n == 0) {
            weft__strbuf_puts(b, "\xef\xbf\xbd");
        } else {
            weft__strbuf_add(b, s, n);
        }
        s += n ? n : 1;
    }
    weft__strbuf_puts(b, "\"");
}

const char *weft__commas(char buf[WEFT_NUMBUF], uint64_t n) {
    char digits[WEFT_NUMBUF];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *out = buf;
    for (int i = 0; i < len; i++) {
        *out++ = digits[i];
        int left = len - 1 - i;
        if (left > 0 && left % 3 == 0) *out++ = ',';
    }
    *out = 0;
    return buf;
}

const char *weft__bytes(char buf[WEFT_NUMBUF], uint64_t n) {
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (n < 1024) {
        snprintf(buf, WEFT_NUMBUF, "%llu bytes", (unsigned long long)n);
        return buf;
    }
    double v = (double)n / 1024;
    int u = 0;
    while (v >= 1023.95 && u < 5) {
        v /= 1024;
        u++;
    }
    snprintf(buf, WEFT_NUMBUF, "%.1f %s", v, unit[u]);
    return buf;
}
