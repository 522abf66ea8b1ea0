/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft rm: removes traces, and nothing but traces: files that weft did not put there stay, and their folder with them.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `latest` must not point to what is gone. */
static void fix_latest(void) {
    struct weft_err err;
    struct weft_strbuf link = {0};
    struct stat st;
    char *store;
    if (weft__store_dir(&store, &err) < 0) return;
    weft__strbuf_printf(&link, "%s/latest", store);
    if (lstat(link.s, &st) == 0 && S_ISLNK(st.st_mode) && stat(link.s, &st) < 0 && errno == ENOENT) unlink(link.s);
    weft__strbuf_fini(&link);
    free(store);
}

int weft__cmd_rm(int argc, char **argv) {
    struct weft_err err;
    int ret = 0;
    if (weft__asks_help(argc, argv)) return 0;
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (first == 1 && argc > 1 && argv[1][0] == '-') return weft__usage("rm", "there is no option %s", argv[1]);
    if (first >= argc) return weft__usage("rm", "no trace to remove");
    for (int i = first; i < argc; i++) {
        char *dir = NULL;
        if (weft__store_find(argv[i], &dir, &err) < 0 || weft__store_remove(dir, false, &err) < 0) ret = weft__fail(&err);
        free(dir);
    }
    fix_latest();
    return ret;
}
