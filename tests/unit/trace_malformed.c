/* Proves: whatever happens to a trace's bytes, the reader, the checker and the schedule builder do not crash, and
 * either refuse it or find exactly the items that were written. Every truncation, every bit flipped. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

/* All items of a trace, in file order, as one string of bytes; -errno if it is refused on the way. */
static int digest(struct bytes header, const struct weft_trace_end *end, const void *streams, size_t n, bool compressed,
                  uint64_t *out) {
    struct weft_err err = {0};
    struct weft_trace *t;
    struct weft_cursor c;
    struct weft_item i;
    struct weft_counts counts;
    uint64_t h = 0;
    int r = open_bytes(header, end, streams, n, compressed, &t, &err);
    if (r < 0) {
        assert_true(err.text[0]);
        return r;
    }
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &i, &err)) > 0) {
        uint64_t w[] = {i.slot, i.kind, i.tick, i.site, i.other_slot, i.other_tick, i.other_site, i.op, i.size};
        h = weft_hash_more(h, w, sizeof w);
        h = weft_hash_more(h, i.data, i.size);
    }
    weft__cursor_close(&c);
    int checked = weft__trace_check(t, &counts, &err);
    if (checked < 0) r = checked;
    struct weft_schedule s;
    int built = weft__replay_schedule(t, &s, &err);
    if (built == 0) weft__schedule_fini(&s);
    for (uint32_t slot = 1; slot < 4; slot++) { /* one slot's walk sees what all slots' walk sees */
        weft__cursor_open(&c, t, slot);
        while (weft__cursor_next(&c, &i, &err) > 0) {
        }
        weft__cursor_close(&c);
    }
    weft__trace_close(t);
    *out = h;
    return r;
}

struct fixture {
    struct weft_encoder e;
    struct bytes header, zst;
    struct weft_trace_end end;
    uint64_t digest;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    struct weft_err err;
    struct weft_counts n;
    make_small(&f->e);
    weft__encode_seal(&f->e);
    f->header = make_header();
    assert_int_equal(weft__streams_compress(f->e.bytes, f->e.chunks * WEFT_CHUNK, &f->zst.p, &f->zst.n, &err), 0);
    struct weft_trace *t = open_encoded(&f->e, NULL);
    if (weft__trace_check(t, &n, &err) < 0) fail_msg("%s", err.text);
    weft__trace_close(t);
    f->end = make_end(WEFT_END_SIGNAL, 11, &n);
    assert_int_equal(digest(f->header, &f->end, f->e.bytes, f->e.chunks * WEFT_CHUNK, false, &f->digest), 0);
    uint64_t again;
    assert_int_equal(digest(f->header, &f->end, f->zst.p, f->zst.n, true, &again), 0);
    assert_int_equal(again, f->digest);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    weft__encoder_fini(&f->e);
    free(f->header.p);
    free(f->zst.p);
    free(f);
    return 0;
}

static void header_damage(void **state) {
    struct fixture *f = *state;
    uint64_t d;
    for (size_t n = 0; n < f->header.n; n++) {
        struct bytes cut = {f->header.p, n};
        assert_true(digest(cut, &f->end, f->zst.p, f->zst.n, true, &d) < 0);
    }
    for (size_t bit = 0; bit < f->header.n * 8; bit++) {
        f->header.p[bit / 8] ^= 1 << bit % 8;
        assert_true(digest(f->header, &f->end, f->zst.p, f->zst.n, true, &d) < 0);
        f->header.p[bit / 8] ^= 1 << bit % 8;
    }
    struct bytes longer = {malloc(f->header.n + 1), f->header.n + 1};
    memcpy(longer.p, f->header.p, f->header.n);
    longer.p[f->header.n] = 0;
    assert_true(digest(longer, &f->end, f->zst.p, f->zst.n, true, &d) < 0);
    free(longer.p);
}

/* Sections with right hashes and wrong places. */
static void header_lies(void **state) {
    struct fixture *f = *state;
    uint64_t d;
    static const uint32_t values[] = {0, 1, 127, 128, 129, 200, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t word = 16; word < 32; word++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct weft_trace_header h;
            char *copy = malloc(f->header.n);
            memcpy(copy, f->header.p, f->header.n);
            memcpy(copy + word * 4, &values[v], 4);
            memset(copy + offsetof(struct weft_trace_header, hash), 0, 8);
            h.hash = weft_hash(copy, f->header.n);
            memcpy(copy + offsetof(struct weft_trace_header, hash), &h.hash, 8);
            (void)digest((struct bytes){copy, f->header.n}, &f->end, f->zst.p, f->zst.n, true, &d);
            free(copy);
        }
}

static void end_damage(void **state) {
    struct fixture *f = *state;
    uint64_t d;
    struct weft_err err;
    struct weft_trace *t;
    for (size_t bit = 0; bit < sizeof f->end * 8; bit++) {
        ((char *)&f->end)[bit / 8] ^= 1 << bit % 8;
        assert_true(digest(f->header, &f->end, f->zst.p, f->zst.n, true, &d) < 0);
        ((char *)&f->end)[bit / 8] ^= 1 << bit % 8;
    }
    for (size_t n = 0; n < sizeof f->end; n++)
        assert_true(weft__trace_open_parts("test", f->header.p, f->header.n, &f->end, n,
                                           (int[WEFT_FILES]){memory_file(f->zst.p, f->zst.n), -1, -1, -1}, &t, &err) < 0);
}

static void compressed_damage(void **state) {
    struct fixture *f = *state;
    uint64_t d;
    for (size_t n = 0; n < f->zst.n; n++) assert_true(digest(f->header, &f->end, f->zst.p, n, true, &d) < 0);
    for (size_t bit = 0; bit < f->zst.n * 8; bit++) {
        f->zst.p[bit / 8] ^= 1 << bit % 8;
        int r = digest(f->header, &f->end, f->zst.p, f->zst.n, true, &d);
        if (r == 0 && d != f->digest) fail_msg("bit %zu of streams.zst makes another trace of it", bit);
        f->zst.p[bit / 8] ^= 1 << bit % 8;
    }
}

static void raw_damage(void **state) {
    struct fixture *f = *state;
    size_t all = f->e.chunks * WEFT_CHUNK;
    uint64_t d;
    /* Every length near something; in the zeros between, every 97th. */
    for (size_t n = 0; n < all; n += n % WEFT_CHUNK < 400 || n % WEFT_CHUNK > WEFT_CHUNK - 40 ? 1 : 97)
        assert_true(digest(f->header, &f->end, f->e.bytes, n, false, &d) < 0);
    for (size_t c = 0; c < f->e.chunks; c++)
        for (size_t bit = 0; bit < 400 * 8; bit++) {
            uint8_t *p = f->e.bytes + c * WEFT_CHUNK + bit / 8;
            *p ^= 1 << bit % 8;
            int r = digest(f->header, &f->end, f->e.bytes, all, false, &d);
            /* slot and tick are not under the chunk's own hash (under zstd's, once compressed) */
            bool seen = bit / 8 >= sizeof(struct weft_chunk) || bit / 8 < 4 || (bit / 8 >= 8 && bit / 8 < 16);
            if (seen && r == 0 && d != f->digest) fail_msg("bit %zu of chunk %zu makes another trace of it", bit, c);
            *p ^= 1 << bit % 8;
        }
}

/* Bytes changed and all hashes right: nothing but the rules is left to refuse it. */
static void lies_in_chunks(void **state) {
    struct fixture *f = *state;
    size_t all = f->e.chunks * WEFT_CHUNK;
    uint8_t *copy = malloc(all);
    uint64_t s = 1, d;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, f->e.bytes, all);
        for (uint64_t k = rnd(&s) % 4 + 1; k--;) {
            size_t c = rnd(&s) % f->e.chunks;
            copy[c * WEFT_CHUNK + rnd(&s) % 300] = (uint8_t)(rnd(&s) >> (rnd(&s) % 8));
        }
        for (size_t c = 0; c < f->e.chunks; c++) {
            struct weft_chunk h;
            memcpy(&h, copy + c * WEFT_CHUNK, sizeof h);
            if (h.used >= sizeof h && h.used <= WEFT_CHUNK)
                h.hash = weft_chunk_hash((struct weft_chunk *)(copy + c * WEFT_CHUNK), h.used);
            memcpy(copy + c * WEFT_CHUNK, &h, sizeof h);
        }
        (void)digest(f->header, round & 1 ? &f->end : NULL, copy, all, false, &d);
    }
    free(copy);
}

static void bombs(void **state) {
    struct fixture *f = *state;
    struct weft_err err;
    struct weft_trace *t;
    struct bytes z;
    struct weft_strbuf many = {0};
    uint8_t *zero = calloc(1, WEFT_FRAME);
    assert_int_equal(weft__streams_compress(zero, WEFT_FRAME, &z.p, &z.n, &err), 0);
    for (int i = 0; i < 3000; i++) weft__strbuf_add(&many, z.p, z.n);
    assert_true(open_bytes(f->header, NULL, many.s, many.len, true, &t, &err) < 0);
    assert_non_null(strstr(err.text, "more than a recording can hold"));
    weft__strbuf_fini(&many);
    free(z.p);
    free(zero);
}

static void messages_say_where(void **state) {
    struct fixture *f = *state;
    struct weft_err err;
    struct weft_counts n;
    f->e.bytes[WEFT_CHUNK + 40] ^= 1;
    struct weft_trace *t = open_encoded(&f->e, NULL);
    assert_true(weft__trace_check(t, &n, &err) < 0);
    assert_string_equal(err.text, "test: streams: chunk 1 at 0x8018: checksum mismatch (its bytes were changed)");
    f->e.bytes[WEFT_CHUNK + 40] ^= 1;
    weft__trace_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_damage), cmocka_unit_test(header_lies),
        cmocka_unit_test(end_damage),    cmocka_unit_test(compressed_damage),
        cmocka_unit_test(raw_damage),    cmocka_unit_test(lies_in_chunks),
        cmocka_unit_test(bombs),         cmocka_unit_test(messages_say_where),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
