/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is a C++ symbol called in the source? By the C++ library's own demangler; without the types of a function's arguments. */
#include "base/base.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

/* "a::b<int (*)(char)>::c(int, char) const" -> "a::b<int (*)(char)>::c" */
static void cut_arguments(char *name) {
    char *end = strrchr(name, ')');
    if (!end) return;
    int depth = 0;
    char *p = end;
    for (; p > name; p--) {
        depth += (*p == ')') - (*p == '(');
        if (!depth) break;
    }
    int of_operator = p >= name + 8 && strncmp(p - 8, "operator", 8) == 0; /* operator() itself: its arguments are gone already */
    int in_template = strchr(end, '>') != NULL, in_namespace = end[1] == ':';
    if (p > name && p[-1] != ' ' && !of_operator && !in_template && !in_namespace) *p = 0;
}

const char *weft__demangle(const char *symbol) {
    static struct known {
        char *symbol, *name;
    } *known;
    static size_t n, room;
    if (strncmp(symbol, "_Z", 2) != 0) return symbol;
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i].symbol, symbol) == 0) return known[i].name;
    char *name = __cxa_demangle(symbol, NULL, NULL, NULL);
    if (!name) return symbol;
    cut_arguments(name);
    known = weft__grow(known, &room, n + 1, sizeof *known);
    known[n++] = (struct known){weft__strdup(symbol), name};
    return name;
}
