/* Proves: printf and scanf give in a program with threads, where weft follows their formats, what libc itself gives. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O2 -D_FORTIFY_SOURCE=2
#include "common.h"
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <wchar.h>

#pragma clang diagnostic ignored "-Wformat"
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-extra-args"

/* What was seen, as text: once before the first thread, when libc is called straight, and once in a thread. */
static char *seen[2];
static size_t length[2];
static int turn;
static void note(const void *p, size_t n) {
    char *q = realloc(seen[turn], length[turn] + n);
    if (!q) exit(3);
    memcpy(q + length[turn], p, n);
    seen[turn] = q;
    length[turn] += n;
}
static void note_int(long n) { note(&n, sizeof n); }

static __attribute__((format(printf, 1, 2))) void print(const char *fmt, ...) {
    char b[20000], *p = NULL;
    va_list ap;
    for (size_t room = 0; room < sizeof b; room = room * 3 + 7) {
        memset(b, '#', sizeof b);
        va_start(ap, fmt);
        note_int(vsnprintf(b, room, fmt, ap));
        va_end(ap);
        note(b, sizeof b);
    }
    memset(b, '#', sizeof b);
    va_start(ap, fmt);
    note_int(vsprintf(b, fmt, ap));
    va_end(ap);
    note(b, sizeof b);
    va_start(ap, fmt);
    int n = vasprintf(&p, fmt, ap);
    va_end(ap);
    note_int(n);
    if (n >= 0) note(p, (size_t)n + 1), free(p);
}
static void print_wide(const wchar_t *fmt, ...) {
    wchar_t b[3000];
    va_list ap;
    for (size_t room = 1; room < 3000; room = room * 3 + 7) {
        wmemset(b, L'#', 3000);
        va_start(ap, fmt);
        int n = vswprintf(b, room, fmt, ap);
        va_end(ap);
        note_int(n);
        if (n >= 0) note(b, sizeof b);
    }
}
/* Four targets, whatever the format makes of them. */
static void scan(const char *text, const char *fmt) {
    union {
        char s[64];
        wchar_t w[16];
        long n;
        char *p;
    } a[4];
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    memset(a, '#', sizeof a);
    note_int(sscanf(text, fmt, &a[0], &a[1], &a[2], &a[3]));
    note(a, sizeof a);
    memset(a, '#', sizeof a);
    if (!f) exit(3);
    note_int(fscanf(f, fmt, &a[0], &a[1], &a[2], &a[3]));
    note(a, sizeof a);
    note_int(getc(f));
    fclose(f);
}
static void scan_allocated(const char *text, const char *fmt) {
    char *p[3] = {NULL, NULL, NULL};
    int n = sscanf(text, fmt, &p[0], &p[1], &p[2]);
    note_int(n);
    for (int i = 0; i < 3; i++)
        if (p[i]) note(p[i], strlen(p[i])), free(p[i]);
}
static void scan_wide(const wchar_t *text, const wchar_t *fmt) {
    union {
        char s[64];
        wchar_t w[16];
    } a[4];
    memset(a, '#', sizeof a);
    note_int(swscanf(text, fmt, &a[0], &a[1], &a[2], &a[3]));
    note(a, sizeof a);
}

#define EIGHT(x) x, x, x, x, x, x, x, x
static void all(void) {
    static const char endless[5] = {'a', 'b', 'c', 'd', 'e'};
    static const wchar_t wide[4] = {L'ä', L'€', L'x', L'y'}; /* neither ends */
    static const char hard[4] = "\xff\xfe";
    char *big = malloc(9001);
    signed char hh = 0;
    short h = 0;
    int d = 0;
    long l = 0;
    if (!big) exit(3);
    memset(big, 'b', 9000), big[9000] = 0;
    print("%s %d %% %5.2f|%-8s|%08lx|%c|%p", "text", -5, 3.14159, "left", 0xbeefL, 'c', (void *)16);
    print("%2$s %1$s %2$.1s %3$*4$d %5$.*4$f", "one", "two", 3, 4, 5.5);
    print("%3$Lf %1$d %2$f %4$s", 1, 2.5, 3.5L, "four");
    print("%f %Lf %f %d %Lf %s", 1., 2.L, 3., 4, 5.L, "six");
    print("%.5s %.*s %.*s %.0s", endless, 3, endless, -1, "negative", NULL);
    print("%1$.2s %1$.5s %1$.1s", endless);
    print("%ls %.5ls %.4ls %lc %S", L"wïde", wide, wide, (wint_t)L'ß', L"S");
    print("%s %.2s %s", (char *)NULL, (char *)NULL, "after");
    errno = ENOENT;
    print("%m and %s", "after");
    print("%s %s", big, big), print("%9000d|%.9000f", 7, 1 / 3.);
    print("%d%n %hhn%ld%hn%s%ln", 1, &d, &hh, 22L, &h, big, &l);
    note_int(d), note_int(hh), note_int(h), note_int(l);
    print("%3$n%1$s%2$s", "x", "y", &d), note_int(d);
    print("%s%ls%s", "before", (wchar_t[]){0x7fffffff, 0}, "after"); /* cannot be converted */
    print("%y %d", 3), print("100%"), print("%");
    print("%d %d %d %d %d %d %d %d|%f %f %f %f %f %f %f %f|%d %d %d %d %d %d %d %d|%f %f %f %f %f %f %f %f|%s", EIGHT(1), EIGHT(.5), EIGHT(2),
          EIGHT(.25), "last");
    print("%1$s%2$s%3$s%4$s%5$s%6$s%7$s%8$s%9$s%10$s%11$s%12$s%13$s%14$s%15$s%16$s%17$s%18$s%19$s%20$s%21$s%22$s%23$s%24$s", EIGHT("a"),
          EIGHT("bb"), EIGHT("ccc"));
    print_wide(L"%s %ls %d|", "ä€", L"ö", 3), print_wide(L"%2$ls %1$s %3$.2s %4$f", "n", L"w", "äöü", .5), print_wide(L"%s", big);
    print_wide(L"%s", hard);
    free(big);

    scan("17 word 4711", "%d %s %d"), scan("17 word 4711", "%2$d %1$s %4$ld"), scan("17 word 4711", "%3$d%1$n %2$3s%4$hhn");
    scan("abcdef", "%3c%2$2c"), scan("ab", "%5c"), scan("ab", "%5c%n"), scan("", "%d"), scan("x", "%d"), scan("12x", "%d %d");
    scan("a]b^c", "%[]a]%[^x]"), scan("abc", "%[abc"), scan("1 2", "%d %y"), scan("50%", "%d%%%n"), scan("äß€", "%2lc%ls");
    scan("1.5 2.5 3.5", "%f %lf %Lf"), scan("1 2 3 4", "%hhd %hd %ld %*d"), scan("1 2 3", "%*d %1$d %*s"), scan("  7", "%1$5d%2$n");
    scan_allocated("one two three", "%ms %ms %ms"), scan_allocated("one two three", "%3$ms %1$m[a-z] %2$m[a-z]"), scan_allocated("one", "%ms %ms");
    scan_wide(L"äb €x 7", L"%3c %ls %d"), scan_wide(L"äb €x 7", L"%2$2c%1$ls %3$l[^7]"), scan_wide(L"ä", L"%3c%n"), scan_wide(L"1 ä", L"%d %lc");
}

static uint64_t cook(int me) {
    (void)me;
    turn = 1;
    all();
    return 0;
}

int main(int argc, char **argv) {
    args(argc, argv, 1, 1);
    setlocale(LC_ALL, "C.UTF-8");
    all();
    together(cook);
    for (size_t i = 0; i < length[0] || i < length[1]; i++)
        if (i >= length[0] || i >= length[1] || seen[0][i] != seen[1][i]) {
            printf("byte %zu of %zu and %zu is %d and %d\n", i, length[0], length[1], i < length[0] ? seen[0][i] : -1, i < length[1] ? seen[1][i] : -1);
            return 1;
        }
    return finish(length[0]);
}
