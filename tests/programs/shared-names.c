/* Proves: a string that many threads read, and now and then one changes by a function of libc that writes where it reads,
 * replays exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <libgen.h>
#include <wchar.h>

#define NAMES 8
static char path[NAMES][192] __attribute__((aligned(64)));
static wchar_t words[NAMES][64] __attribute__((aligned(64)));

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r % NAMES;
        volatile char *p = path[k];
        volatile wchar_t *w = words[k];
        for (int n = 0; n < 16; n++) h = mix(h, (uint64_t)(p[n * 12 + 11] + w[n * 4 + 3]));
        if (r >> 8 & 255) continue;
        if (r & 1 << 20) { /* at the end of the string, lines after its beginning */
            dirname(path[k]);
        } else if (r & 1 << 21) {
            wchar_t *rest;
            wcstok(words[k], L" ", &rest);
        } else {
            memset(path[k], 'a' + (int)(h % 26), 191);
            for (int n = 11; n < 191; n += 12) p[n] = '/';
            for (int n = 0; n < 63; n++) w[n] = n % 4 == 3 ? L' ' : L'a' + (wchar_t)(h % 26);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 20000);
    return finish(together(cook));
}
