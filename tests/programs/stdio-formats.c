/* Proves: what printf and scanf touch through their formats (numbered arguments, many strings, %n, %m, strings without an
 * end, formats that change) is ordered, whether they write to a stream or to memory. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O2 -D_FORTIFY_SOURCE=2
// STDIN: stdio-formats.c
// SOAK: 2 4 8
#include "common.h"
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <wchar.h>

#define S(i) name[(i) % 40]
#define TEN(i) S(i), S(i + 1), S(i + 2), S(i + 3), S(i + 4), S(i + 5), S(i + 6), S(i + 7), S(i + 8), S(i + 9)
#define FORTY_S "%s %s %s %s %s %s %s %s %s %s|%s %s %s %s %s %s %s %s %s %s|%s %s %s %s %s %s %s %s %s %s|%s %s %s %s %s %s %s %s %s %s"
#define FORTY(i) TEN(i), TEN(i + 10), TEN(i + 20), TEN(i + 30)

/* Written and printed by all; the last character of a string stays 0. */
static struct {
    char text[64];
} names[40];
static char *name[40];
static char endless[4][64]; /* has no 0 */
static wchar_t wide[4][16];
static int number[16];
static char swapped[64] = "%1$s %2$s %3$d %4$.3f%1$.0s%2$.0s\n"; /* somebody changes which comes first */
static const char digits[] = "12";

static uint64_t scribble(uint64_t h) {
    char *s = names[h % 40].text;
    for (unsigned k = 0; k < 1 + h % 50; k++) s[k] = (char)('a' + (h + k) % 26);
    endless[h % 4][(h >> 3) % 64] = (char)('A' + (h >> 9) % 26);
    wide[h % 4][(h >> 4) % 15] = (wchar_t)(L'α' + (wchar_t)((h >> 9) % 20));
    number[h % 16] = (int)(h >> 20);
    swapped[1] = digits[h % 2];
    return mix(h, (uint64_t)s[3]);
}

static __attribute__((format(printf, 2, 3))) uint64_t through(uint64_t h, const char *fmt, ...) {
    char own[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(own, sizeof own, fmt, ap);
    va_end(ap);
    return mix_bytes(h, own, n < 4096 ? (size_t)n : 4095);
}

#pragma clang diagnostic ignored "-Wformat-nonliteral"
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char own[4096], *p = NULL;
    wchar_t w[256];
    static char shared[80];
    signed char tiny;
    for (long i = 0; i < rounds; i++) {
        unsigned k = (unsigned)(h >> 40), j = (unsigned)(h >> 30) % 4;
        int n = 0;
        h = scribble(h);
        switch ((h >> 5) % 14) {
        case 0: printf("%2$s %4$*1$d %3$.*5$s %6$ls\n", 12, S(k), endless[j], me, 64, wide[j]); break;
        case 1: printf("%d: " FORTY_S "\n", me, FORTY(k)); break;
        case 2: n = snprintf(own, sizeof own, FORTY_S "%n", FORTY(k), &number[k % 16]); break;
        case 3: h = through(h, "%3$s %1$.64s %2$.*4$s", endless[j], endless[(j + 1) % 4], S(k), (int)(h % 64)); break;
        case 4: h = through(h, FORTY_S " %s %s %.3f %Lg", FORTY(k), S(k), S(k + 1), (double)me, (long double)k); break;
        case 5: n = sprintf(own, "%1$s %3$hhn%2$ls", S(k), wide[j], &tiny), h = mix(h, (uint64_t)tiny); break;
        case 6: /* into what others read */
            snprintf(shared, sizeof shared, "%2$.30s %1$d", me, S(k)), snprintf(names[k % 40].text, 60, "%s %.20s", shared, S(k + 1));
            break;
        case 7:
            if (swprintf(w, 256, L"%2$ls %1$s %3$.10s", S(k), wide[j], endless[j]) > 0) h = mix_bytes(h, w, wcslen(w) * 4);
            break;
        case 8:
            errno = (int)(h % 40);
            if (asprintf(&p, "%m %s %.*s", S(k), 64, endless[j]) >= 0) h = mix_bytes(h, p, strlen(p)), free(p);
            break;
        case 9: h = mix(h, (uint64_t)sscanf("17 word 4711", "%2$d %1$7s %3$d", shared, &number[k % 16], &number[(k + 5) % 16])); break;
        case 10: h = mix(h, (uint64_t)sscanf(S(k), "%2$5[a-m]%1$n%3$c", &number[k % 16], names[j].text, &names[j].text[7])); break;
        case 11:
            p = NULL;
            if (scanf("%3$9s %2$ms%1$hhn", (signed char *)&number[k % 16], &p, names[k % 40].text) >= 2) h = mix_bytes(h, p, strlen(p));
            free(p);
            break;
        case 12: n = snprintf(own, sizeof own, swapped, S(k), S(k + 1), me, 0.5); break;
        default: h = mix(h, (uint64_t)number[k % 16] + (uint64_t)names[k % 40].text[k % 60]);
        }
        if (n > 0) h = mix_bytes(h, own, (size_t)n < sizeof own ? (size_t)n : sizeof own - 1);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    setlocale(LC_ALL, "C.UTF-8");
    memset(endless, 'x', sizeof endless);
    for (int i = 0; i < 40; i++) name[i] = names[i].text;
    for (int i = 0; i < 4; i++) wmemset(wide[i], L'β', 15);
    return finish(together(cook));
}
