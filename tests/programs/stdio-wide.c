/* Proves: wide streams shared by threads (characters, lines, printf, scanf) replay character for character. */
// RUN: %rr %s %t
// STDIN: stdio-wide.c
// SOAK: 2 4 8
#include "common.h"
#include <locale.h>
#include <wchar.h>

static volatile uint32_t pot[8];
static FILE *common;
static wchar_t word[24] = L"wörd"; /* written by fgetws and fwscanf of all, printed by all */

static uint64_t mix_wide(uint64_t h, const wchar_t *s) {
    for (; *s; s++) h = mix(h, (uint64_t)*s);
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    wchar_t line[300], own[24];
    char narrow[24];
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (h % 12) {
        case 0: wprintf(L"%d %ld %08x %ls %s %.3f ü\n", me, i, (unsigned)h, L"wide", "narrow", (double)(h % 1000) / 7); break;
        case 1: fputws(L"puts ", stdout), putwchar((wchar_t)(L'α' + me)), putwc(L'\n', stdout); break;
        case 2:
            if (fgetws(line, 300, stdin)) h = mix_wide(h, line);
            break;
        case 3: {
            wint_t c = getwchar();
            if (c != WEOF) ungetwc(c, stdin);
            h = mix(h, c);
            break;
        }
        case 4: {
            unsigned n = 0;
            int at = -2;
            own[0] = narrow[0] = 0;
            h = mix(h, (uint64_t)wscanf(L" %5l[a-z]%n%20s", own, &at, narrow) + (uint64_t)at);
            h = mix_bytes(mix_wide(h, own), narrow, strlen(narrow));
            h = mix(h, (uint64_t)wscanf(L"%*2c%u%4lc", &n, own) + n);
            break;
        }
        case 5: fwprintf(common, L"%d %.10ls €\n", me, word); break; /* word may change any time */
        case 6: fwscanf(stdin, L"%20ls", word); break;
        case 7: fgetws(word, 20, stdin); break;
        case 8: h = mix(h, (uint64_t)fputwc(L'ω', common) + (uint64_t)fwide(common, 0)); break;
        case 9: h = mix(h, (uint64_t)fflush(NULL)); break;
        case 10: {
            wchar_t *text = NULL;
            size_t n = 0;
            FILE *m = open_wmemstream(&text, &n);
            if (!m) exit(4);
            fwprintf(m, L"%d-%x-ß", me, (unsigned)h), fflush(m);
            h = mix_wide(mix(h, n), text);
            fputws(L" more", m), fclose(m);
            h = mix_wide(mix(h, n), text);
            free(text);
            break;
        }
        default: h = mix(h, (uint64_t)word[h % 20]);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    setlocale(LC_ALL, "C.UTF-8");
    if (!(common = tmpfile())) return 3;
    uint64_t h = together(cook);
    rewind(common);
    for (wint_t c; (c = fgetwc(common)) != WEOF;) h = mix(h, c);
    wprintf(L"%016llx\n", (unsigned long long)h);
    return 0;
}
