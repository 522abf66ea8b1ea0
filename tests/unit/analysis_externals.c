/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: the table of externals parses; names are found exactly or by the longest prefix; files add to it, come first,
 * and are refused as a whole, with file and line, when a line is wrong. */
#define _GNU_SOURCE
#include "../../src/pass/facts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed;
#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) failed = 1, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                            \
    } while (0)

static const struct weft_effect *effect(const struct weft_external *e, char kind, int arg) {
    for (unsigned i = 0; e && i < e->count; i++)
        if (e->effect[i].kind == (uint8_t)kind && e->effect[i].arg == arg) return &e->effect[i];
    return NULL;
}

static int load(const char *text, char *err, size_t size) {
    char path[] = "/tmp/weft-externals-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    close(fd);
    int rc = weft__externals_load(path, err, size);
    unlink(path);
    return rc;
}

int main(void) {
    char err[300] = "";
    CHECK(weft__externals_check(err, sizeof err) == 0);
    if (*err) fprintf(stderr, "%s\n", err);

    const struct weft_external *e = weft__external("memcpy");
    CHECK(e && e->class == WEFT_EXT_RENAME);
    const struct weft_effect *w = effect(e, 'w', 0);
    CHECK(w && w->size == WEFT_SIZE_ARG && w->arg2 == 2 && w->arg3 == -1 && w->constant == 1);
    CHECK(effect(e, 'd', 0) && effect(e, 'd', 0)->arg2 == 1);

    e = weft__external("qsort");
    CHECK(e && effect(e, 'r', 0) && effect(e, 'r', 0)->arg2 == 1 && effect(e, 'r', 0)->arg3 == 2 && effect(e, 'c', 3));
    e = weft__external("poll");
    CHECK(e && effect(e, 'w', 0) && effect(e, 'w', 0)->arg2 == 1 && effect(e, 'w', 0)->constant == 8);
    e = weft__external("strlen");
    CHECK(e && effect(e, 'r', 0) && effect(e, 'r', 0)->size == WEFT_SIZE_STRING);
    e = weft__external("pthread_create");
    CHECK(e && e->class == WEFT_EXT_WRAP && effect(e, 't', 2) && effect(e, 't', 2)->arg2 == 3);
    e = weft__external("sinf");
    CHECK(e && e->class == WEFT_EXT_PURE && e->count == 0);

    e = weft__external("llvm.memcpy.p0.p0.i64");
    CHECK(e && !strcmp(e->name, "llvm.memcpy.*"));
    e = weft__external("llvm.memcpy.element.unordered.atomic.p0.p0.i64");
    CHECK(e && !strcmp(e->name, "llvm.memcpy.element.unordered.atomic.*"));
    CHECK(!weft__external("no_such_function"));
    CHECK(!weft__external("memcp") && !weft__external("memcpyy"));

    CHECK(load("/* more\n   than one line */\nEXT(no_such_function, OUT, \"x0 T\")\n// and\n# so\nEXT(strlen, PURE, "
               "\"r0:s\")\n"
               "EXT(no_such_*, PURE, \"\")\n",
               err, sizeof err) == 0);
    e = weft__external("no_such_function");
    CHECK(e && e->class == WEFT_EXT_OUT && weft__external_has(e, WEFT_EFF_STARTS));
    e = weft__external("no_such_other");
    CHECK(e && e->class == WEFT_EXT_PURE);
    e = weft__external("strlen");
    CHECK(e && e->class == WEFT_EXT_PURE);

    static const struct {
        const char *text, *message;
    } bad[] = {
        {"EXT(a, PURE, \"\")\nEXT(b, PURE, \"r0\")\n", ":2: effect not understood: 'r0'"},
        {"EXT(a, PURE, \"r0:s w1\")\n", ":1: effect not understood: 'w1'"},
        {"EXT(a, PURE, \"r0:2*\")\n", ":1: effect not understood: 'r0:2*'"},
        {"EXT(a, PURE, \"@\")\n", ":1: effect not understood: '@'"},
        {"EXT(a, PURE, \"f0\")\n", ":1: effect not understood: 'f0'"},
        {"EXT(a, MAGIC, \"\")\n", ":1: class is 'MAGIC', not PURE, WRAP, RENAME or OUT"},
        {"EXT(a, PURE)\n", ":1: expected EXT(name, CLASS, \"effects\")"},
        {"EXT(, PURE, \"\")\n", ":1: expected EXT(name, CLASS, \"effects\")"},
        {"nonsense\n", ":1: expected EXT(name, CLASS, \"effects\")"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *err = 0;
        CHECK(load(bad[i].text, err, sizeof err) < 0);
        if (!strstr(err, bad[i].message))
            failed = 1, fprintf(stderr, "expected '...%s', got '%s'\n", bad[i].message, err);
        CHECK(!weft__external("a"));
    }
    CHECK(weft__externals_load("/no/such/file", err, sizeof err) < 0 &&
          !strcmp(err, "/no/such/file: No such file or directory"));
    puts(failed ? "failed" : "ok");
    return failed;
}
