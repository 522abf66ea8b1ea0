/* Proves: what libc's own sort finds out at its first call, in whichever thread that is, is no difference in replay. */
/* Without that, two of three such tests fail. */
// RUN: %rr %s %t -r 4
#include "common.h"
#include <dirent.h>
#include <glob.h>

static uint64_t list(int me) {
    uint64_t h = 1;
    struct dirent **names;
    glob_t g;
    if (me % 2) {
        int n = scandir("/usr/bin", &names, NULL, alphasort); /* 128 names or more: libc needs memory to sort them */
        for (int i = 0; i < n; i++) {
            h = mix_bytes(h, names[i]->d_name, strlen(names[i]->d_name));
            free(names[i]);
        }
        free(names);
    } else if (!glob("/usr/bin/*", 0, NULL, &g)) {
        for (size_t i = 0; i < g.gl_pathc; i++) h = mix_bytes(h, g.gl_pathv[i], strlen(g.gl_pathv[i]));
        globfree(&g);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1);
    return finish(together(list));
}
