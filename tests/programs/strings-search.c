/* Proves: searches in and comparisons of long strings that other threads change meanwhile find the same again, however far they go. */
// RUN: %rr %s %t
// RUN: %rr %s %t -fno-builtin
// SOAK: 2 4 8
#define _GNU_SOURCE
#include "common.h"
#include <strings.h>
#include <wchar.h>

/* They are nearly the same, and go on over many lines and pages. A byte in 500 is a NUL. */
#define N 4
#define LEN 9000
static char pot[N][LEN + 64], needles[N][256];

static char letter(uint64_t h) { return h % 503 ? "aAabB"[h % 5] : '\0'; }
static uint64_t at(const char *base, const char *p) { return p ? (uint64_t)(p - base) : 999999; }

static uint64_t seek(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = (r >> 10) % LEN;
        char *a = pot[r % N], *b = pot[(r >> 2) % N], *needle = needles[(r >> 4) % N];
        ENTER();
        switch ((r >> 24) % 10) {
        case 0: h = mix(h, at(a, strstr(a + k, needle))); break;
        case 1: h = mix(h, at(a, strcasestr(a + k, needle))); break;
        case 2: h = mix(h, at(a, (char *)memmem(a + k, LEN - k, needle, k % 40))); break;
        case 3: h = mix(h, (uint64_t)(strcmp(a + k, b + k) > 0)); break;
        case 4: h = mix(h, (uint64_t)(strncmp(a, b, k) > 0)); break;
        case 5: h = mix(h, (uint64_t)(strcasecmp(a + k, b + k + r % 2) > 0)); break;
        case 6: h = mix(h, (uint64_t)(strncasecmp(a, b, k) > 0) + (uint64_t)(strcmp(a + k, "aAabB") > 0)); break;
        case 7: {
            wchar_t c = 0;
            mbstate_t state = {0};
            h = mix(h, mbrtowc(&c, a + k, LEN - k, &state) + (uint64_t)c);
            break;
        }
        case 8: memcpy(needle, a + k, 1 + r % 20), needle[1 + r % 20] = 0; break;
        default:
            for (int j = 0; j < 8; j++) ((volatile char *)b)[(k + (uint32_t)j * 1013) % LEN] = letter(h >> j);
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 3000);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < LEN; j++) pot[i][j] = letter((uint64_t)j * 0x9e3779b97f4a7c15ull >> 40);
        memcpy(needles[i], pot[i] + 700 * i, (size_t)(3 + i * 5));
    }
    uint64_t h = together(seek);
    for (int i = 0; i < N; i++) h = mix_bytes(h, pot[i], LEN);
    return finish(h);
}
