/* Proves: getline, memory streams, vasprintf and scanf of several threads replay exactly. */
// RUN: %rr %s %t
// STDIN: memstream.c
// SOAK: 2 4
#include "common.h"
#include <stdarg.h>
#include <wchar.h>

static volatile uint32_t pot[8];
static char shared[64] = "12 abc 3.5 end"; /* read by sscanf while others write */

static char *text(const char *format, ...) {
    va_list ap;
    char *s = NULL;
    va_start(ap, format);
    if (vasprintf(&s, format, ap) < 0) exit(3);
    va_end(ap);
    return s;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char *line = NULL;
    size_t room = 0;
    for (long i = 0; i < rounds; i++) {
        ssize_t n = getline(&line, &room, stdin);
        if (n > 0) h = mix_bytes(h, line, (size_t)n);
        char *buf = NULL, word[20];
        size_t size = 0;
        FILE *f = open_memstream(&buf, &size);
        fprintf(f, "%d %08x %s", me, pot[h % 8]++, "in memory");
        fclose(f);
        h = mix_bytes(h, buf, size);
        f = fmemopen(buf, size, "r");
        int a;
        unsigned b;
        h = mix(h, (uint64_t)fscanf(f, "%d %x", &a, &b) + b);
        fclose(f);
        free(buf);
        float x = 0;
        h = mix(h, (uint64_t)sscanf(shared, "%d %19s %f", &a, word, &x) + (uint64_t)a);
        ((volatile char *)shared)[h % 2] = (char)('0' + h % 10);
        char *s = text("%s-%ls-%5.2f-%p", "t", L"wide", (double)x, (void *)&h);
        h = mix_bytes(h, s, strlen(s));
        if (i % 8 == 0) puts(s);
        free(s);
    }
    free(line);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 30);
    return finish(together(cook));
}
