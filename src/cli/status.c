/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How programs end, in words, and ending in the same way. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void weft__status_text(struct weft_strbuf *b, uint32_t kind, uint32_t code) {
    if (kind == WEFT_END_SIGNAL) {
        const char *name = code <= 64 ? sigabbrev_np((int)code) : NULL;
        weft__strbuf_printf(b, "signal %u", code);
        if (name) weft__strbuf_printf(b, " (SIG%s)", name);
    } else if (kind == WEFT_END_STUCK) {
        weft__strbuf_puts(b, "stuck");
    } else {
        weft__strbuf_printf(b, "exit %u", code);
    }
}

const char *weft__lost_text(uint64_t error) {
    static char text[128];
    if (error == EFBIG) return "the recording had reached its largest size (--max-size)";
    snprintf(text, sizeof text, "the disk was full%s%s%s", error ? " (" : "", error ? strerror((int)error) : "", error ? ")" : "");
    return text;
}

void weft__status_of(int s, uint32_t *kind, uint32_t *code) {
    *kind = WIFSIGNALED(s) ? WEFT_END_SIGNAL : WEFT_END_EXIT;
    *code = (uint32_t)(WIFSIGNALED(s) ? WTERMSIG(s) : WEXITSTATUS(s));
}

int weft__status_repeat(uint32_t kind, uint32_t code) {
    if (kind != WEFT_END_SIGNAL) return (int)code;
    /* The program has left its core already, if it was to. */
    struct rlimit none = {0, 0};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &none);
    signal((int)code, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, (int)code);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise((int)code);
    return 128 + (int)code; /* a signal that does not end weft */
}

char *weft__message_lines(struct weft_trace *t, const char *message) {
    struct weft_strbuf b = {0};
    struct weft_symbols *s = weft__symbols_new(t);
    weft__strbuf_puts(&b, "");
    while (*message) {
        char *end;
        if (strncmp(message, "@0x", 3) == 0) {
            unsigned long long addr = strtoull(message + 1, &end, 16);
            if (end > message + 3) {
                weft__strbuf_puts(&b, weft__symbols_line(s, addr));
                message = end;
                continue;
            }
        }
        weft__strbuf_add(&b, message++, 1);
    }
    weft__symbols_free(s);
    return b.s;
}
