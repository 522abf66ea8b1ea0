/* Proves: C++ symbols get their names in the source, without the types of arguments; other symbols stay as they are. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void is(const char *symbol, const char *name) { assert_string_equal(weft__demangle(symbol), name); }

static void names(void **state) {
    (void)state;
    is("main", "main");
    is("_ZNSt6thread4joinEv", "std::thread::join");
    is("_ZL8instance", "instance");
    is("_ZNK4pool3getEiPc", "pool::get");
    is("_ZN12_GLOBAL__N_14workEPv", "(anonymous namespace)::work");
    is("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
    is("_ZNSt8functionIFviEEclEi", "std::function<void (int)>::operator()");
    is("_Znot_a_symbol", "_Znot_a_symbol");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
