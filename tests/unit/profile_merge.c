/* Proves: a profile is read as it was written, and answers for its regions and pairs; what breaks a rule is refused with its line;
 * merged profiles have the regions, counts, pairs and runs of both, in whatever order. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ATTRACT "function attract water.c:120"
#define MAIN "code main water.c:160"
#define WORK "loop work water.c:57"
#define WATER                                                                                                          \
    "weft-profile 1\nruns 2\nadded 2\nadded 1\nregion 1 " MAIN "\nregion 4 " ATTRACT "\nregion 4294967296 " WORK      \
    "\nbeside " MAIN "\t" WORK "\nbeside " ATTRACT "\t" ATTRACT "\nbeside " ATTRACT "\t" WORK "\n"

static char path[64], err[512];

static void put(const char *text, size_t n) {
    struct weft_err e;
    snprintf(path, sizeof path, "/tmp/unit-profile-%d", getpid());
    assert_int_equal(weft__file_write(path, text, n, &e), 0);
}

static struct weft_profile *made(const char *text) {
    put(text, strlen(text));
    struct weft_profile *p = weft__profile_read(path, err, sizeof err);
    if (!p) fail_msg("%s", err);
    unlink(path);
    return p;
}

static void is_text(const struct weft_profile *p, const char *want) {
    struct weft_strbuf b = {0};
    weft__profile_text(p, &b);
    assert_string_equal(b.s, want);
    weft__strbuf_fini(&b);
}

static void reads(void **state) {
    (void)state;
    struct weft_profile *p = made(WATER);
    assert_int_equal(p->runs, 2);
    assert_int_equal(weft__profile_knows(p, ATTRACT), 1);
    assert_int_equal(weft__profile_knows(p, "function attrac"), 0);
    assert_int_equal(weft__profile_count(p, WORK), 4294967296);
    assert_int_equal(weft__profile_count(p, "zero"), 0);
    assert_int_equal(weft__profile_beside(p, MAIN, WORK), 1);
    assert_int_equal(weft__profile_beside(p, WORK, MAIN), 1);
    assert_int_equal(weft__profile_beside(p, ATTRACT, ATTRACT), 1);
    assert_int_equal(weft__profile_beside(p, WORK, ATTRACT), 1);
    assert_int_equal(weft__profile_beside(p, WORK, WORK), 0);
    assert_int_equal(weft__profile_beside(p, MAIN, ATTRACT), 0);
    assert_int_equal(weft__profile_beside(p, MAIN, "nobody"), 0);
    is_text(p, WATER);
    weft__profile_free(p);
    p = made("weft-profile 1\nruns 0\n");
    assert_int_equal(weft__profile_beside(p, MAIN, WORK), 0);
    weft__profile_free(p);
}

static void refuse_bytes(const char *text, size_t n, const char *why) {
    put(text, n);
    assert_null(weft__profile_read(path, err, sizeof err));
    assert_memory_equal(err, path, strlen(path));
    if (!strstr(err, why)) fail_msg("'%s' is not in: %s", why, err);
    unlink(path);
}

static void refuse(const char *text, const char *why) { refuse_bytes(text, strlen(text), why); }

#define HEAD "weft-profile 1\nruns 0\n"
static void refuses(void **state) {
    (void)state;
    assert_null(weft__profile_read("/tmp/there/is/none", err, sizeof err));
    assert_string_equal(err, "/tmp/there/is/none: No such file or directory");
    refuse("", ": not a profile");
    refuse("weft-profile\n", ": not a profile");
    refuse("weft-profile x\n", ": not a profile");
    refuse("int main(void) { return 0; }\n", ": not a profile");
    refuse("weft-profile 2\nwhatever\n", ":1: a profile of version 2");
    refuse("weft-profile 1\n", ":2: the number of runs");
    refuse("weft-profile 1\nruns -1\n", ":2: the number of runs");
    refuse("weft-profile 1\nruns 2\nadded 1\n", ":2: 2 runs, but 1 lines");
    refuse("weft-profile 1\nruns 1\nadded 1\nadded 1\n", ":2: 1 runs, but 2 lines");
    refuse("weft-profile 1\nruns 1\nadded 18446744073709551616\n", ":3: a number");
    refuse("weft-profile 1\nruns 1\nadded 01\n", ":3: a number");
    refuse(HEAD "region x\n", ":3: a number and a name");
    refuse(HEAD "region 1 \n", ":3: a number and a name");
    refuse(HEAD "region 1 a\tb\n", ":3: a number and a name");
    refuse(HEAD "region 1 a\nregion 1 a\n", ":4: not in its place: regions");
    refuse(HEAD "region 1 b\nregion 1 a\n", ":4: not in its place: regions");
    refuse(HEAD "region 1 a\n<<<<<<< HEAD\n", ":4: not a line of a profile");
    refuse(HEAD "region 1 a\nbeside a\ta\nregion 1 b\n", ":5: not a line of a profile, or not in its place");
    refuse(HEAD "region 1 a\nbeside a a\n", ":4: two names with a tab");
    refuse(HEAD "region 1 a\nbeside a\tb\n", ":4: there is no region 'b'");
    refuse(HEAD "region 1 a\nregion 1 b\nbeside b\ta\n", ":5: not in its place: pairs");
    refuse(HEAD "region 1 a\nregion 1 b\nbeside a\tb\nbeside a\tb\n", ":6: not in its place: pairs");
    refuse(HEAD "region 1 a\nregion 1 b\nbeside a\tb\nbeside a\ta\n", ":6: not in its place: pairs");
    refuse(HEAD "region 1 a\nregion 1 b", ":4: the file ends in the middle");
    refuse_bytes("weft-profile 1\nruns 0\nregion 1 a\0b\n", 36, ":3: not a line of a profile");
}

/* No prefix of a profile is taken for another one, but where a line ends. */
static void cuts(void **state) {
    (void)state;
    for (size_t n = 0; n < strlen(WATER); n++) {
        put(WATER, n);
        struct weft_profile *p = weft__profile_read(path, err, sizeof err);
        if (p && WATER[n - 1] != '\n') fail_msg("%zu bytes of it were read", n);
        weft__profile_free(p);
    }
    unlink(path);
}

#define OTHER                                                                                                          \
    "weft-profile 1\nruns 1\nadded 3\nregion 2 " MAIN "\nregion 7 function zap zap.c:1\nregion 1 " WORK                \
    "\nbeside " MAIN "\t" WORK "\nbeside function zap zap.c:1\tfunction zap zap.c:1\nbeside function zap zap.c:1\t" WORK "\n"
#define REST                                                                                                           \
    "region 3 " MAIN "\nregion 4 " ATTRACT "\nregion 7 function zap zap.c:1\nregion 4294967297 " WORK "\nbeside " MAIN \
    "\t" WORK "\nbeside " ATTRACT "\t" ATTRACT "\nbeside " ATTRACT "\t" WORK                                           \
    "\nbeside function zap zap.c:1\tfunction zap zap.c:1\nbeside function zap zap.c:1\t" WORK "\n"
static void merges(void **state) {
    (void)state;
    struct weft_profile *a = made(WATER), *b = made(OTHER), *none = made(HEAD);
    weft__profile_merge(a, b);
    is_text(a, "weft-profile 1\nruns 3\nadded 2\nadded 1\nadded 2\n" REST);
    weft__profile_merge(a, b); /* nothing new */
    assert_int_equal(a->added[3], 0);
    assert_int_equal(a->pairs, 5);
    assert_int_equal(weft__profile_count(a, "function zap zap.c:1"), 14);
    weft__profile_free(a);
    a = made(WATER); /* the other way round: two are new, and the last run of two had one of them at most */
    weft__profile_merge(b, a);
    is_text(b, "weft-profile 1\nruns 3\nadded 3\nadded 1\nadded 1\n" REST);
    weft__profile_merge(none, a);
    is_text(none, WATER);
    weft__profile_merge(none, a);
    assert_int_equal(none->pairs, 3);
    assert_int_equal(none->runs, 4);
    weft__profile_free(a);
    weft__profile_free(b);
    weft__profile_free(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads), cmocka_unit_test(refuses), cmocka_unit_test(cuts),
                                       cmocka_unit_test(merges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
