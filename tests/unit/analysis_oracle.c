/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: random programs in which pointers travel in all kinds of ways never do what the analyses say they do not
 * (tests/analysis/oracle). A few seeds here; tests/analysis/oracle/run.sh takes any number. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#ifndef WEFT_SOURCE_DIR
#define WEFT_SOURCE_DIR "../.."
#endif

int main(void) {
    char *script = NULL;
    if (system("command -v clang-19 llvm-config-19 ld.lld python3 > /dev/null")) {
        puts("clang-19, lld or python3 is missing");
        return 77;
    }
    if (asprintf(
            &script,
            "set -e; cd '%s/tests/analysis/oracle'; export WORK=$(mktemp -d) LIMIT=30; trap 'rm -rf \"$WORK\"' EXIT; "
            "for s in 1 2 3 59 68 83 196 404; do python3 generate.py $s > $WORK/g$s.c; done; "
            "./run.sh $WORK/g*.c > $WORK/log 2>&1 || { cat $WORK/log; exit 1; }; cat $WORK/log; "
            "test $(grep -c ' 0 broken claims' $WORK/log) = 8",
            WEFT_SOURCE_DIR) < 0)
        return 1;
    int status = system(script);
    free(script);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}
