/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the linker's --wrap=X changes, as the analysis has to see it: who calls X comes to __wrap_X, and who calls __real_X comes to X.
 *
 * The linker redirects symbols, after the pass: in the module there are calls of X, and of an unknown function __real_X. So X would be taken for
 * what the table of externals says of it (strlen keeps no pointer), resolvers of ifuncs would not be known to lead to __wrap_X, and memory that
 * __real_memcpy touches would not be taken.
 *
 * Uses of X become uses of __wrap_X for good; the linker leaves these as they are. __real_X, which is nowhere defined, has the name X while the pass is
 * at work, so that everything that goes by names knows it, and gets its own back at the end: an X would be redirected. If X is defined in the module, whoever
 * calls __real_X calls that, by an alias that the linker does not know. */
#include "rewrite.h"
#include <stdlib.h>
#include <string.h>

/* Calls `each` for every name of the list, with commas. */
static void names(const char *list, LLVMModuleRef m, void (*each)(LLVMModuleRef, const char *x, const char *wrap, const char *real)) {
    char *copy = strdup(list ? list : "");
    for (char *rest = copy, *x; (x = strsep(&rest, ","));) {
        char wrap[512], real[512];
        if (!*x || (size_t)snprintf(wrap, sizeof wrap, "__wrap_%s", x) >= sizeof wrap) continue;
        snprintf(real, sizeof real, "__real_%s", x);
        each(m, x, wrap, real);
    }
    free(copy);
}

static void begin(LLVMModuleRef m, const char *x, const char *wrap, const char *real) {
    LLVMValueRef fn = LLVMGetNamedFunction(m, x), to = LLVMGetNamedFunction(m, wrap), from = LLVMGetNamedFunction(m, real);
    int defined = fn && !LLVMIsDeclaration(fn);
    if (fn && LLVMGetFirstUse(fn)) {
        if (!to) to = LLVMAddFunction(m, wrap, LLVMGlobalGetValueType(fn));
        LLVMReplaceAllUsesWith(fn, to);
    }
    if (from && !LLVMIsDeclaration(from)) return; /* one that the program brings itself: nobody comes to it */
    if (defined && from) {
        LLVMValueRef alias = LLVMAddAlias2(m, LLVMGlobalGetValueType(fn), 0, fn, "weft.real");
        LLVMSetLinkage(alias, LLVMInternalLinkage);
        LLVMReplaceAllUsesWith(from, alias);
        return;
    }
    if (fn && !defined) LLVMDeleteFunction(fn);
    if (from) LLVMSetValueName2(from, x, strlen(x));
}

static void end(LLVMModuleRef m, const char *x, const char *wrap, const char *real) {
    (void)wrap;
    LLVMValueRef fn = LLVMGetNamedFunction(m, x);
    if (fn && LLVMIsDeclaration(fn) && !LLVMGetNamedFunction(m, real)) LLVMSetValueName2(fn, real, strlen(real));
}

void weft__rewrite_wraps(LLVMModuleRef m, const char *list) { names(list, m, begin); }
void weft__rewrite_wraps_end(LLVMModuleRef m, const char *list) { names(list, m, end); }
