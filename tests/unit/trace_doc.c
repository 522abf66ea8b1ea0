/* Proves: the hexdumps in docs/trace-format.md are what the code writes. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

#include <stdio.h>

/* The bytes of the block that starts with "```hexdump NAME". */
static struct bytes from_doc(const char *name) {
    char start[64], *line = NULL;
    size_t cap = 0;
    struct weft_strbuf b = {0};
    bool inside = false;
    FILE *f = fopen(WEFT_SOURCE_DIR "/docs/trace-format.md", "r");
    assert_non_null(f);
    snprintf(start, sizeof start, "```hexdump %s\n", name);
    while (getline(&line, &cap, f) > 0) {
        if (strcmp(line, start) == 0) {
            inside = true;
        } else if (inside && strncmp(line, "```", 3) == 0) {
            break;
        } else if (inside) {
            char *p = line + 8, *bar = strchr(line, '|');
            assert_non_null(bar);
            assert_int_equal(strtoul(line, NULL, 16), b.len);
            for (;;) {
                char *end;
                unsigned long v = strtoul(p, &end, 16);
                if (end == p || end > bar) break;
                char byte = (char)v;
                weft__strbuf_add(&b, &byte, 1);
                p = end;
            }
        }
    }
    assert_true(inside);
    free(line);
    fclose(f);
    return (struct bytes){b.s, b.len};
}

static void same(const char *name, const void *p, size_t n) {
    struct bytes doc = from_doc(name);
    assert_int_equal(doc.n, n);
    assert_memory_equal(doc.p, p, n);
    free(doc.p);
}

static void documented_bytes(void **state) {
    (void)state;
    static char *argv[] = {"p", "x", NULL}, *env[] = {"A=1", NULL};
    struct weft_trace_start s = {.program = "/bin/p",
                                 .cwd = "/",
                                 .argv = argv,
                                 .env = env,
                                 .seed = 7,
                                 .stack_limit = 8 << 20,
                                 .start_time = 1700000000};
    struct weft_encoder e = {0};
    struct weft_err err;
    struct weft_counts n;
    struct bytes h;
    memcpy(s.at_random, "0123456789abcdef", 16);
    assert_int_equal(weft__header_encode(&s, &h.p, &h.n, &err), 0);
    same("header", h.p, h.n);

    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 2, 0, "\5\0\0\0\0\0\0\0hello", 13);
    weft__encode_item(&e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 1, 0, 1, 2, 0, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 300, 0x1010, 2, 4, 0x1020, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_EXIT, 9, 0, NULL, 0);
    weft__encode_seal(&e);
    assert_int_equal(e.chunks, 2);
    for (int i = 0; i < 2; i++) {
        struct weft_chunk c;
        memcpy(&c, e.bytes + i * WEFT_CHUNK, sizeof c);
        same(i ? "chunk 1" : "chunk 0", e.bytes + i * WEFT_CHUNK, c.used);
    }

    struct weft_trace *t = open_encoded(&e, NULL);
    if (weft__trace_check(t, &n, &err) < 0) fail_msg("%s", err.text);
    struct weft_trace_end end = make_end(WEFT_END_EXIT, 0, &n);
    same("end", &end, sizeof end);
    weft__trace_close(t);
    weft__encoder_fini(&e);
    free(h.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(documented_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
