/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft dump: a trace in words (weft__trace_dump), as LEAP's access vectors (weft__trace_vectors), or for Perfetto
 * (weft__report_perfetto). */
#include "cli/cli.h"
#include "report/report.h"

#include <getopt.h>
#include <stdlib.h>

int weft__cmd_dump(int argc, char **argv) {
    static const struct option options[] = {{"vectors", no_argument, NULL, 'v'}, {"perfetto", no_argument, NULL, 'p'}, {"sites", no_argument, NULL, 's'}, {0}};
    int (*dump)(struct weft_trace *t, FILE *out, struct weft_err *err) = weft__trace_dump;
    struct weft_err err;
    struct weft_trace *t = NULL;
    char *dir = NULL;
    int ret = WEFT_FAILED;
    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == '?') return weft__usage("dump", "there is no option %s", argv[optind - 1]);
        dump = o == 'v' ? weft__trace_vectors : o == 's' ? weft__trace_dump_sites : weft__report_perfetto;
    }
    if (argc - optind > 1) return weft__usage("dump", "one trace at a time");
    if (weft__store_find(argv[optind], &dir, &err) < 0 || weft__trace_open(dir, &t, &err) < 0 ||
        dump(t, stdout, &err) < 0)
        weft__fail(&err);
    else
        ret = weft__flush(0);
    weft__trace_close(t);
    free(dir);
    return ret;
}
