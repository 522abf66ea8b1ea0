/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft races: which accesses of a program may race, by the analysis at its link. */
#include "cli/cli.h"
#include "races/races.h"

#include <string.h>

int weft__cmd_races(int argc, char **argv) {
    struct weft_answer a;
    struct weft_err err;
    const char *path = NULL;
    bool json = false, sarif = false, all = false;
    if (weft__asks_help(argc, argv)) return 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--sarif") == 0)
            sarif = true;
        else if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (argv[i][0] == '-')
            return weft__usage("races", "there is no option %s", argv[i]);
        else if (path)
            return weft__usage("races", "one program at a time");
        else
            path = argv[i];
    }
    if (!path) return weft__usage("races", "no program");
    if (json && sarif) return weft__usage("races", "--json or --sarif, not both");
    if (weft__answer_read(path, &a, &err) < 0) return weft__fail(&err);
    if (json)
        weft__answer_json(&a, stdout);
    else if (sarif)
        weft__answer_sarif(&a, stdout);
    else
        weft__answer_text(&a, all ? 0 : 50, stdout);
    weft__answer_fini(&a);
    return weft__flush(0);
}
