/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which failures are the same. Fewer threads and iterations change values, so what may depend on these does not count: numbers in
 * messages, addresses but for their class. What counts is where it happens and how.
 *
 *   crash          signal, line of the instruction, class of the address; the frames above tell how it came there. Where there is no code (a
 *                  jump through a pointer to anything): only that it is so
 *   signal, sent   signal (abort), frames, last line on stderr (an assertion) without its numbers
 *   status         status, frames, last line on stderr without its numbers
 *   stuck          where the threads wait that wait for each other, or if there are none, all; the steered run tells. Whether what they wait for had been
 *                  signalled is for the judge: where no order passes, nothing else tells who came too late from who waits for a thread that was removed */
#include "simplify/simplify.h"

#include <ctype.h>
#include <string.h>

enum weft_address weft__address_class(uint64_t a) {
    if (a < 0x10000) return WEFT_ADDRESS_NULL;
    if (a >= WEFT_HEAP_BASE && a < WEFT_PLACE_PROGRAM) return WEFT_ADDRESS_HEAP;
    if (a >= WEFT_PLACE_BRK && a < WEFT_PLACE_BRK_END) return WEFT_ADDRESS_HEAP;
    if (a >= WEFT_PLACE_PROGRAM && a < WEFT_PLACE_BRK) return WEFT_ADDRESS_CODE;
    if (a >= WEFT_STACKS_BASE && a < WEFT_PLACE_STACK) return WEFT_ADDRESS_STACK;
    if (a >= WEFT_PLACE_LOW && a < WEFT_PLACE_TOP) return WEFT_ADDRESS_CODE;
    return WEFT_ADDRESS_WILD;
}

/* The last line that is not empty; a number, also a hexadecimal one, becomes #. */
static void last_line(const char *s, size_t n, char *out, size_t room) {
    while (n && isspace((unsigned char)s[n - 1])) n--;
    size_t from = n, len = 0;
    while (from && s[from - 1] != '\n') from--;
    for (size_t i = from; i < n && len + 1 < room;) {
        bool word = i > from && (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_');
        if (!isdigit((unsigned char)s[i]) || word) {
            out[len++] = s[i++];
            continue;
        }
        bool hex = s[i] == '0' && i + 1 < n && s[i + 1] == 'x';
        if (hex) i += 2;
        while (i < n && (hex ? isxdigit((unsigned char)s[i]) : isdigit((unsigned char)s[i]))) i++;
        if (len && out[len - 1] == '-' && (len == 1 || out[len - 2] == ' ')) len--; /* its sign */
        out[len++] = '#';
    }
    out[len] = 0;
}

/* Without the marks, which become bits. */
static void waits(const char *message, struct weft_failure *out) {
    size_t n = 0, place = 0;
    for (; *message && n + 1 < sizeof out->line; message++) {
        if (*message == '+' && place < 32) out->signalled |= 1u << place;
        if (*message == '+') continue;
        place += *message == ' ';
        out->line[n++] = *message;
    }
    out->line[n] = 0;
}

/* A line may be in several places of the code: a loop that was unrolled. */
static uint64_t line_of(struct weft_symbols *symbols, uint64_t addr) {
    struct weft_range r;
    return symbols && weft__symbols_same_line(symbols, addr, &r, 1) ? r.from : addr;
}

uint64_t weft__failure_place(struct weft_symbols *symbols, uint64_t ip) {
    return weft__address_class(ip) == WEFT_ADDRESS_CODE ? line_of(symbols, ip) : WEFT_NO_CODE;
}

void weft__failure_of(const struct weft_ending *e, const char *errors, size_t n, struct weft_symbols *symbols, struct weft_failure *out) {
    *out = (struct weft_failure){.kind = e->kind, .code = e->code};
    out->last_site[0] = (struct weft_range){e->last_site, e->last_site + 1};
    out->last_sites = e->last_site != 0;
    if (symbols && e->last_site) out->last_sites = weft__symbols_same_line(symbols, e->last_site, out->last_site, WEFT_FAILURE_PLACES);
    if (e->kind == WEFT_END_SIGNAL && e->ip) {
        out->crash = true;
        out->ip = weft__failure_place(symbols, e->ip);
        out->address = weft__address_class(e->addr);
    }
    for (size_t i = 0; e->kind != WEFT_END_STUCK && i < e->frames && out->frames < WEFT_FAILURE_FRAMES; i++) out->frame[out->frames++] = line_of(symbols, e->frame[i]);
    if (e->kind == WEFT_END_STUCK)
        waits(e->message, out);
    else if (!out->crash)
        last_line(errors, n, out->line, sizeof out->line);
}

bool weft__failure_same(const struct weft_failure *a, const struct weft_failure *b) {
    if (a->kind != b->kind || a->code != b->code || a->crash != b->crash) return false;
    if (a->crash && (a->ip != b->ip || (a->ip != WEFT_NO_CODE && a->address != b->address))) return false;
    if (a->frames != b->frames || memcmp(a->frame, b->frame, a->frames * sizeof *a->frame) != 0) return false;
    return strcmp(a->line, b->line) == 0;
}

void weft__failure_text(const struct weft_failure *f, struct weft_strbuf *out) {
    static const char *const address[] = {"a null pointer", "the heap", "a stack", "code or mapped memory", "a wild address"};
    if (f->kind == WEFT_END_STUCK)
        weft__strbuf_puts(out, "stuck");
    else
        weft__strbuf_printf(out, "%s %u", f->kind == WEFT_END_SIGNAL ? "signal" : "exit", f->code);
    if (f->crash && f->ip == WEFT_NO_CODE)
        weft__strbuf_puts(out, " where there is no code");
    else if (f->crash)
        weft__strbuf_printf(out, " at 0x%llx, accessing %s", (unsigned long long)f->ip, address[f->address]);
    if (*f->line && f->kind != WEFT_END_STUCK) weft__strbuf_printf(out, ", \"%s\"", f->line);
}
