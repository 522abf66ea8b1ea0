/* Proves: string functions on buffers that other threads change meanwhile return the same again. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -fno-builtin
// SOAK: 2 4 8 16
#include "common.h"
#include <ctype.h>
#include <strings.h>

/* Every buffer ends in a zero byte that nobody ever writes, and is far larger than what is copied into it. */
#define N 6
#define LEN 64
static char pot[N][4096];

static char letter(uint64_t h) { return h % 11 ? (char)('a' + h % 5) : '\0'; }

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    char mine[8192] = "";
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        char *a = pot[r % N], *b = pot[(r >> 3) % N];
        uint32_t k = (r >> 8) % LEN;
        ENTER();
        switch ((r >> 16) % 22) {
        case 0: h = mix(h, strlen(a)); break;
        case 1: h = mix(h, strnlen(a, k)); break;
        case 2: strcpy(mine, a), h = mix_bytes(h, mine, strlen(mine)); break;
        case 3: strncpy(b, mine, k), mine[0] = 'x', mine[k] = 0; break;
        case 4: h = mix(h, (uint64_t)(strcmp(a, b) > 0)); break;
        case 5: h = mix(h, (uint64_t)(strncmp(a, b, k) > 0) + (uint64_t)(strcasecmp(a, b) < 0)); break;
        case 6: {
            char *p = strchr(a, 'c');
            h = mix(h, p ? (uint64_t)(p - a) : 999);
            break;
        }
        case 7: {
            char *p = strrchr(a, 'b');
            h = mix(h, p ? (uint64_t)(p - a) : 999);
            break;
        }
        case 8: {
            char *p = strstr(a, "ab");
            h = mix(h, p ? (uint64_t)(p - a) : 999);
            break;
        }
        case 9: h = mix(h, strspn(a, "abc") + 100 * strcspn(b, "de")); break;
        case 10: {
            char *p = (char *)memchr(a, 'e', LEN);
            h = mix(h, p ? (uint64_t)(p - a) : 999);
            break;
        }
        case 11: h = mix(h, (uint64_t)(memcmp(a, b, LEN) > 0)); break;
        case 12: snprintf(mine, sizeof mine, "%s/%.10s/%d", a, b, me), h = mix_bytes(h, mine, strlen(mine)); break;
        case 13: snprintf(b, LEN, "%x%s", (unsigned)h, "abc"); break;
        case 14: {
            char *d = strdup(a);
            h = mix_bytes(h, d, strlen(d));
            free(d);
            break;
        }
        case 15: h = mix(h, (uint64_t)strtol(a, NULL, 16)); break;
        case 16: {
            int x = 0;
            h = mix(h, (uint64_t)sscanf(a, "%x", (unsigned *)&x) + (uint64_t)x);
            break;
        }
        case 17: {
            char *e = stpcpy(mine, "k"), *p = (char *)memccpy(e, a, 'd', LEN);
            h = mix(h, p ? (uint64_t)(p - mine) : 998);
            mine[LEN] = 0;
            break;
        }
        case 18: memmove(b + 1, b, LEN); break;
        case 19: mine[0] = 0, strncat(mine, a, k), strcat(mine, "."), h = mix(h, strlen(mine)); break;
        case 20: bzero(b + k, 3), bcopy(a, b + k, 5); break;
        default:
            for (int j = 0; j < 12; j++) {
                h = mix(h, (uint64_t)toupper((unsigned char)((volatile char *)a)[(k + (uint32_t)j * 5) % LEN]));
                ((volatile char *)b)[(k + (uint32_t)j * 3) % LEN] = letter(h >> 7);
            }
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < LEN; j++) pot[i][j] = letter((uint64_t)(i * 71 + j * 13 + 1));
    uint64_t h = together(cook);
    for (int i = 0; i < N; i++) h = mix_bytes(h, pot[i], LEN * 2);
    return finish(h);
}
