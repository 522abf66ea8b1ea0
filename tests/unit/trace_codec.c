/* Proves: what the encoder writes, the reader gives back: items of all kinds, over many chunks, in parts, compressed or
 * not, sealed or open; and a sealed folder holds the same items as the open one it was made from. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static void header_comes_back(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    make_small(&e);
    struct weft_trace *t = open_encoded(&e, NULL);
    assert_string_equal(t->program, "/bin/prog");
    assert_string_equal(t->cwd, "/tmp");
    assert_string_equal(t->argv[0], "./prog");
    assert_string_equal(t->argv[1], "one");
    assert_string_equal(t->argv[2], "");
    assert_null(t->argv[3]);
    assert_string_equal(t->env[1], "LD_BIND_NOW=1");
    assert_null(t->env[2]);
    assert_int_equal(t->header.seed, 42);
    assert_int_equal(t->header.stack_limit, 8 << 20);
    assert_memory_equal(t->header.at_random, "0123456789abcdef", 16);
    assert_false(t->has_end);
    weft__trace_close(t);
    weft__encoder_fini(&e);
}

static void small_items(void **state) {
    (void)state;
    static const uint32_t kinds[2][16] = {{WEFT_ITEM_START, WEFT_ITEM_MODULE, WEFT_ITEM_INPUT, WEFT_ITEM_EDGE_STEP,
                                           WEFT_ITEM_EDGE, WEFT_ITEM_REPEAT, WEFT_ITEM_NOTE, 99, WEFT_ITEM_REACHED, WEFT_ITEM_CRASH},
                                          {WEFT_ITEM_START, WEFT_ITEM_EDGE, WEFT_ITEM_EDGE_DONE, WEFT_ITEM_INPUT,
                                           WEFT_ITEM_VERIFY, WEFT_ITEM_SIGNAL, WEFT_ITEM_EXIT}};
    struct weft_encoder e = {0};
    struct weft_err err;
    struct weft_item i;
    make_small(&e);
    struct weft_trace *t = open_encoded(&e, NULL);
    for (uint32_t slot = 1; slot <= 2; slot++) {
        struct weft_cursor c;
        weft__cursor_open(&c, t, slot);
        for (int k = 0; kinds[slot - 1][k]; k++) {
            assert_int_equal(weft__cursor_next(&c, &i, &err), 1);
            assert_int_equal(i.kind, kinds[slot - 1][k]);
            assert_int_equal(i.slot, slot);
            if (slot == 2 && i.kind == WEFT_ITEM_EDGE_DONE) {
                assert_int_equal(i.tick, 9);
                assert_int_equal(i.site, 0x400200);
                assert_int_equal(i.other_slot, 1);
                assert_int_equal(i.other_tick, 5);
                assert_int_equal(i.other_site, 0x400100);
            }
            if (i.kind == WEFT_ITEM_EDGE_STEP) assert_int_equal(i.op, 1);
            if (slot == 2 && i.kind == WEFT_ITEM_INPUT) {
                assert_int_equal(i.op, 1);
                assert_int_equal(i.size, 14);
                assert_memory_equal(i.data + 8, "hello\n", 6);
            }
        }
        assert_int_equal(weft__cursor_next(&c, &i, &err), 0);
        weft__cursor_close(&c);
    }
    weft__trace_close(t);
    weft__encoder_fini(&e);
}

/* The same numbers in the same order for the writer and for the reader. */
#define SLOTS 5
#define ITEMS 30000
/* Blocks that come again, and one that is not kept any more. */
static void again(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct weft_err err;
    struct weft_cursor c;
    struct weft_item i;
    for (uint32_t k = 0; k < 3 + WEFT_BLOCKS; k++) {
        char block[6] = {'b', 'l', 'o', 'c', 'k', (char)('A' + k)};
        weft__encode_item(&e, 1, WEFT_ITEM_PART, k, 0, "result: ", 8);
        weft__encode_item(&e, 1, WEFT_ITEM_PART, k, 1, block, 3);
        weft__encode_item(&e, 1, WEFT_ITEM_INPUT, k, 7, block + 3, 3);
    }
    for (uint32_t k = 1; k <= WEFT_BLOCKS + 1; k++) {
        weft__encode_item(&e, 1, WEFT_ITEM_PART, 100 + k, 0, "another:", 8);
        weft__encode_item(&e, 1, WEFT_ITEM_AGAIN, 100 + k, k, NULL, 0);
        weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 100 + k, 7, "!", 1);
    }
    struct weft_trace *t = open_encoded(&e, NULL);
    weft__cursor_open(&c, t, 0);
    for (uint32_t k = 0; k < 3 + WEFT_BLOCKS; k++) assert_int_equal(weft__cursor_next(&c, &i, &err), 1);
    for (uint32_t k = 1; k <= WEFT_BLOCKS; k++) {
        assert_int_equal(weft__cursor_next(&c, &i, &err), 1);
        assert_int_equal(i.kind, WEFT_ITEM_INPUT);
        assert_int_equal(i.size, 15);
        assert_memory_equal(i.data, "another:block", 13);
        assert_int_equal(i.data[13], 'A' + 3 + WEFT_BLOCKS - k);
        assert_int_equal(i.data[14], '!');
    }
    assert_true(weft__cursor_next(&c, &i, &err) < 0);
    assert_non_null(strstr(err.text, "not kept"));
    weft__cursor_close(&c);
    weft__trace_close(t);
    weft__encoder_fini(&e);
}

/* Each word of a piece counts, whatever stands beside and behind it: numbers that the digest works with, and the size, too. */
static void digest_of_all(void **state) {
    (void)state;
    enum { WORDS = 96 };
    static const uint64_t beside[] = {0, 8 * WORDS, 8 * WORDS + 1, 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull, 8 * WORDS * 0xd6e8feb86659fd93ull, UINT64_MAX};
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++)
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t w[WORDS];
            for (size_t j = 0; j < WORDS; j++) w[j] = beside[k];
            w[i] = 1;
            uint64_t one = weft_digest(w, sizeof w);
            w[i] = 2;
            assert_true(one != weft_digest(w, sizeof w));
        }
}

/* Bytes that are in bulk, in front of others; and bulk as it must not be. */
static void stored(void **state) {
    (void)state;
    static const char bulk[] = "0123456789abcdef";
    static const struct {
        uint64_t at, size, more;
        const char *says;
    } wrong[] = {{0, 17, 0, "does not have"}, {17, 0, 0, "does not have"}, {UINT64_MAX, 2, 0, "does not have"}, {1, UINT64_MAX, 0, "2 GiB"}, {3, 10, 1, "checksum mismatch"}};
    for (size_t k = 0; k <= sizeof wrong / sizeof *wrong; k++) {
        struct weft_encoder e = {0};
        struct weft_err err;
        struct weft_cursor c;
        struct weft_item i;
        struct weft_stored_item s = {10, weft_digest(bulk + 3, 10)};
        uint64_t at = 3;
        if (k) at = wrong[k - 1].at, s.size = wrong[k - 1].size, s.digest += wrong[k - 1].more;
        weft__encode_item(&e, 1, WEFT_ITEM_PART, 5, 0, "result: ", 8);
        weft__encode_item(&e, 1, WEFT_ITEM_STORED, 5, at, &s, sizeof s);
        weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 5, 7, "!", 1);
        struct weft_trace *t = open_encoded(&e, NULL);
        t->fd[WEFT_BULK] = memory_file(bulk, 16);
        weft__cursor_open(&c, t, 0);
        int r = weft__cursor_next(&c, &i, &err);
        if (k) {
            assert_true(r < 0);
            assert_non_null(strstr(err.text, wrong[k - 1].says));
        } else {
            assert_int_equal(r, 1);
            assert_int_equal(i.kind, WEFT_ITEM_INPUT);
            assert_int_equal(i.size, 19);
            assert_memory_equal(i.data, "result: 3456789abc!", 19);
            assert_int_equal(weft__cursor_next(&c, &i, &err), 0);
        }
        weft__cursor_close(&c);
        weft__trace_close(t);
        weft__encoder_fini(&e);
    }
}

static void random_item(uint64_t *s, uint32_t slot, uint64_t *tick, struct weft_item *i, uint8_t *data) {
    uint64_t r = rnd(s);
    *tick += r % 5 == 0 ? rnd(s) % 1000000 : r % 3;
    *i = (struct weft_item){.slot = slot, .tick = *tick};
    if (r % 7) {
        i->kind = r & 8 ? WEFT_ITEM_EDGE : r & 32 ? WEFT_ITEM_EDGE_STEP : WEFT_ITEM_EDGE_DONE;
        i->site = r & 16 ? 0 : rnd(s) >> (rnd(s) % 64);
        i->other_slot = 1 + rnd(s) % WEFT_MAX_SLOT;
        i->other_tick = rnd(s) >> (rnd(s) % 64);
        i->other_site = rnd(s) >> (rnd(s) % 64);
        if (i->kind == WEFT_ITEM_EDGE_STEP) i->op = rnd(s) % WEFT_STEP_MAX;
        return;
    }
    i->kind = WEFT_ITEM_INPUT;
    i->op = rnd(s) >> (rnd(s) % 64);
    i->size = 8 + (r % 1000 == 0 ? rnd(s) % 199000 : rnd(s) % 40);
    uint64_t fill = rnd(s);
    for (size_t k = 0; k < i->size; k++) data[k] = (uint8_t)(fill + k);
    i->data = data;
}

static void check_random(struct weft_trace *t, uint8_t *data) {
    struct weft_err err = {0};
    for (uint32_t slot = 1; slot <= SLOTS; slot++) {
        struct weft_cursor c;
        uint64_t s = slot * 77, tick = 0;
        weft__cursor_open(&c, t, slot);
        for (int n = 0; n < ITEMS; n++) {
            struct weft_item want, got;
            random_item(&s, slot, &tick, &want, data);
            if (weft__cursor_next(&c, &got, &err) != 1) fail_msg("slot %u item %d: %s", slot, n, err.text);
            assert_int_equal(got.kind, want.kind);
            assert_int_equal(got.tick, want.tick);
            assert_int_equal(got.site, want.site);
            assert_int_equal(got.other_slot, want.other_slot);
            assert_int_equal(got.other_tick, want.other_tick);
            assert_int_equal(got.other_site, want.other_site);
            assert_int_equal(got.op, want.op);
            assert_int_equal(got.size, want.size);
            if (want.size) assert_memory_equal(got.data, want.data, want.size);
        }
        struct weft_item got;
        assert_int_equal(weft__cursor_next(&c, &got, &err), 0);
        weft__cursor_close(&c);
    }
}

static void encode_random(struct weft_encoder *e, uint8_t *data) {
    uint64_t s[SLOTS + 1], tick[SLOTS + 1] = {0};
    for (uint32_t slot = 1; slot <= SLOTS; slot++) s[slot] = slot * 77;
    for (int n = 0; n < ITEMS; n++)
        for (uint32_t slot = 1; slot <= SLOTS; slot++) {
            struct weft_item i;
            random_item(&s[slot], slot, &tick[slot], &i, data);
            if (i.kind == WEFT_ITEM_INPUT)
                weft__encode_item(e, slot, i.kind, i.tick, i.op, i.data, i.size);
            else
                weft__encode_edge(e, slot, i.kind, i.tick, i.site, i.other_slot, i.other_tick, i.other_site, i.op);
        }
}

static void many_items(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct weft_err err = {0};
    struct bytes h = make_header(), z;
    uint8_t *data = malloc(200000);
    encode_random(&e, data);
    assert_true(e.chunks > 40);
    for (int sealed = 0; sealed < 2; sealed++) {
        struct weft_trace *t = open_encoded(&e, NULL);
        check_random(t, data);
        weft__trace_close(t);
        weft__encode_seal(&e);
    }
    assert_int_equal(weft__streams_compress(e.bytes, e.chunks * WEFT_CHUNK, &z.p, &z.n, &err), 0);
    struct weft_trace *t;
    assert_int_equal(open_bytes(h, NULL, z.p, z.n, true, &t, &err), 0);
    assert_true(t->nframes > 1);
    assert_int_equal(t->chunks, e.chunks);
    check_random(t, data);
    weft__trace_close(t);
    free(data);
    free(z.p);
    free(h.p);
    weft__encoder_fini(&e);
}

static void put(const char *dir, const char *name, const void *p, size_t n) {
    char path[512];
    struct weft_err err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(weft__file_write(path, p, n, &err), 0);
}

static bool there(const char *dir, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void clean(const char *dir) {
    static const char *const names[] = {"header", "streams", "streams.zst", "end"};
    char path[512];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0); /* nothing temporary was left */
}

/* Moves what is closed (some), or closes it all. */
static void move(const char *dir, bool some, uint64_t patience_us, struct weft_counts *n) {
    struct weft_trace *t;
    struct weft_err err;
    bool stop = false;
    if (weft__trace_open(dir, &t, &err) < 0) fail_msg("%s", err.text);
    struct weft_packer *p = weft__packer_new(t, NULL);
    if (some) weft__packer_some(p, &stop);
    if (!some && weft__packer_finish(p, WEFT_END_SIGNAL, 9, patience_us, NULL, NULL, n, &err) < 0) fail_msg("%s", err.text);
    weft__packer_free(p);
    weft__trace_close(t);
}

static struct weft_trace *open_checked(const char *dir, uint8_t *data) {
    struct weft_trace *t;
    struct weft_err err = {0};
    struct weft_counts n;
    if (weft__trace_open(dir, &t, &err) < 0 || weft__trace_check(t, &n, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(n.edges + n.inputs, SLOTS * ITEMS);
    check_random(t, data);
    return t;
}

/* As a killed program leaves it: open chunks, reserved ones in between and at the end, one with half a header. */
static void moving_keeps_items(void **state) {
    (void)state;
    char dir[] = "/tmp/weft-unit-XXXXXX", path[512];
    struct weft_encoder e = {0};
    struct weft_err err = {0};
    struct weft_counts n, again;
    struct bytes h = make_header();
    uint8_t *data = malloc(200000);
    assert_non_null(mkdtemp(dir));
    encode_random(&e, data);
    struct weft_strbuf raw = {0};
    uint8_t zero[WEFT_CHUNK] = {0};
    for (size_t i = 0; i < e.chunks; i++) {
        weft__strbuf_add(&raw, e.bytes + i * WEFT_CHUNK, WEFT_CHUNK);
        if (i % 3 == 0) weft__strbuf_add(&raw, zero, WEFT_CHUNK);
    }
    zero[4] = 9; /* slot, and no magic yet */
    weft__strbuf_add(&raw, zero, WEFT_CHUNK);
    zero[4] = 0;
    for (size_t i = 0; i < 200; i++) weft__strbuf_add(&raw, zero, WEFT_CHUNK);
    weft__strbuf_add(&raw, zero, 1000); /* the disk was full in the middle of a reservation */
    put(dir, "header", h.p, h.n);
    put(dir, "streams", raw.s, raw.len);
    struct weft_trace *t = open_checked(dir, data);
    assert_int_equal(t->packed, 0);

    /* Somebody reads: chunks are moved, and stay where they were. */
    move(dir, true, 0, NULL);
    check_random(t, data);
    weft__trace_close(t);
    t = open_checked(dir, data);
    uint64_t packed = t->packed;
    assert_true(packed >= 32 && packed % 32 == 0 && packed < e.chunks);
    weft__trace_close(t);
    struct stat st;
    snprintf(path, sizeof path, "%s/streams", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true((size_t)st.st_blocks * 512 >= raw.len);

    /* Killed while it wrote a frame. */
    snprintf(path, sizeof path, "%s/streams.zst", dir);
    struct stat whole;
    assert_int_equal(stat(path, &whole), 0);
    char *bytes;
    size_t len;
    assert_int_equal(weft__file_read(path, 64 << 20, &bytes, &len, &err), 0);
    for (size_t cut = 1; cut < 1000; cut += 333) {
        assert_int_equal(truncate(path, whole.st_size - (off_t)cut), 0);
        t = open_checked(dir, data);
        assert_true(t->packed == packed - 32);
        weft__trace_close(t);
    }
    assert_int_equal(unlink(path), 0);

    /* Nobody reads: streams gets holes. */
    move(dir, true, 0, NULL);
    snprintf(path, sizeof path, "%s/streams", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true((size_t)st.st_blocks * 512 <= raw.len - packed * WEFT_CHUNK + 65536);
    t = open_checked(dir, data);
    assert_false(t->has_end);
    assert_true(t->packed == packed);
    weft__trace_close(t);
    /* A piece that is nowhere is missed. */
    snprintf(path, sizeof path, "%s/streams.zst", dir);
    assert_int_equal(truncate(path, whole.st_size - 1), 0);
    assert_int_equal(weft__trace_open(dir, &t, &err), 0);
    assert_true(weft__trace_check(t, &n, &err) < 0);
    weft__trace_close(t);

    /* Closed at the end, with and without patience. */
    for (int wait = 0; wait < 2; wait++) {
        unlink(path);
        put(dir, "streams", raw.s, raw.len);
        move(dir, false, !wait, &n);
        assert_true(wait ? !there(dir, "streams") : there(dir, "streams.zst"));
        t = open_checked(dir, data);
        assert_true(t->has_end);
        assert_int_equal(t->end.kind, WEFT_END_SIGNAL);
        assert_int_equal(t->end.code, 9);
        if (wait) assert_int_equal(t->chunks, e.chunks);
        struct weft_cursor c;
        weft__cursor_open(&c, t, 0);
        while (weft__cursor_load(&c, &err) > 0) assert_true(c.head.used); /* closed */
        weft__cursor_close(&c);
        if (weft__trace_check(t, &again, &err) < 0) fail_msg("%s", err.text);
        assert_memory_equal(&n, &again, sizeof n);
        weft__trace_close(t);
    }
    clean(dir);
    free(bytes);
    free(data);
    free(h.p);
    weft__strbuf_fini(&raw);
    weft__encoder_fini(&e);
}

static void closing_nothing(void **state) {
    (void)state;
    char dir[] = "/tmp/weft-unit-XXXXXX";
    struct weft_err err = {0};
    struct weft_counts n;
    struct bytes h = make_header();
    assert_non_null(mkdtemp(dir));
    put(dir, "header", h.p, h.n);
    put(dir, "streams", "", 0);
    move(dir, false, 0, &n);
    struct weft_trace *t;
    if (weft__trace_open(dir, &t, &err) < 0) fail_msg("%s", err.text);
    if (weft__trace_check(t, &n, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(n.items, 0);
    weft__trace_close(t);
    clean(dir);
    free(h.p);
}

static void numbers_for_people(void **state) {
    (void)state;
    char b[WEFT_NUMBUF];
    assert_string_equal(weft__commas(b, 0), "0");
    assert_string_equal(weft__commas(b, 999), "999");
    assert_string_equal(weft__commas(b, 1234567), "1,234,567");
    assert_string_equal(weft__commas(b, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(weft__bytes(b, 1023), "1023 bytes");
    assert_string_equal(weft__bytes(b, 12595), "12.3 KiB");
    assert_string_equal(weft__bytes(b, 1024 * 1024 - 1), "1.0 MiB");
    assert_string_equal(weft__bytes(b, UINT64_MAX), "16.0 EiB");
    struct weft_strbuf s = {0};
    weft__strbuf_json(&s, "a\"\\\n\xc3\xa4\xff");
    assert_string_equal(s.s, "\"a\\\"\\\\\\u000a\xc3\xa4\xef\xbf\xbd\"");
    weft__strbuf_fini(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_comes_back),   cmocka_unit_test(small_items),     cmocka_unit_test(many_items),
        cmocka_unit_test(again), cmocka_unit_test(stored), cmocka_unit_test(digest_of_all),
        cmocka_unit_test(moving_keeps_items), cmocka_unit_test(closing_nothing), cmocka_unit_test(numbers_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
