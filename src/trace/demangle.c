/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is a symbol called in the source? One of C++ by the C++ library's own demangler, without the types of a function's arguments; a part that clang made a
 * function of, for OpenMP, by the function that it was in. */
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

/* "f.omp_outlined_debug__.omp_outlined" -> "f"; NULL: it is none. */
static char *function_of_region(const char *symbol, const char **what) {
    const char *region = strstr(symbol, ".omp_outlined"), *task = strstr(symbol, ".omp_task_entry");
    const char *end = region ? region : task;
    *what = task && (!region || task < region) ? "task" : "parallel region";
    return end ? strndup(symbol, (size_t)(end - symbol)) : NULL;
}

const char *weft__demangle(const char *symbol) {
    static struct known {
        char *symbol, *name;
    } *known;
    static size_t n, room;
    const char *what;
    char *within = function_of_region(symbol, &what);
    if (!within && strncmp(symbol, "_Z", 2) != 0) return symbol;
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i].symbol, symbol) == 0) {
            free(within);
            return known[i].name;
        }
    char *name = __cxa_demangle(within ? within : symbol, NULL, NULL, NULL);
    if (!name && !within) return symbol;
    if (name) cut_arguments(name);
    if (within) {
        struct weft_strbuf b = {0};
        weft__strbuf_printf(&b, "%s%s%s", name ? name : within, name || *within ? ", " : "", what);
        free(name);
        free(within);
        name = b.s;
    }
    known = weft__grow(known, &room, n + 1, sizeof *known);
    known[n++] = (struct known){weft__strdup(symbol), name};
    return name;
}
