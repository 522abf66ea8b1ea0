/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft check: is every byte of a trace valid? */
#include "cli/cli.h"

#include <stdlib.h>

int weft__cmd_check(int argc, char **argv) {
    struct weft_err err;
    struct weft_trace *t = NULL;
    struct weft_counts n;
    char *dir = NULL;
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF];
    struct weft_parts parts = {0};
    int ret = WEFT_FAILED;
    if (weft__asks_help(argc, argv)) return 0;
    if (argc > 1 && argv[1][0] == '-') return weft__usage("check", "there is no option %s", argv[1]);
    if (argc != 2) return weft__usage("check", argc < 2 ? "no trace to check" : "one trace at a time");
    if (weft__store_find(argv[1], &dir, &err) < 0 || weft__trace_open(dir, &t, &err) < 0 ||
        weft__trace_check(t, &n, &err) < 0 || weft__trace_check_parts(t, &parts, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    printf("%s: valid: %s items in %s chunks%s\n", argv[1], weft__commas(a, n.items), weft__commas(b, t->chunks),
           t->recording ? ", still being recorded"
           : t->has_end ? ""
                        : ", incomplete: the recording was cut short");
    if (parts.forked)
        printf("%s: and %s forked process%s\n", argv[1], weft__commas(a, parts.forked), parts.forked == 1 ? "" : "es");
    if (parts.executed)
        printf("%s: and %s executed program%s\n", argv[1], weft__commas(a, parts.executed), parts.executed == 1 ? "" : "s");
    ret = weft__flush(0);
out:
    weft__trace_close(t);
    free(dir);
    return ret;
}
