/* Proves: the unlocked and the rarer functions of stdio.h, several threads on the same streams, replay byte for byte. */
// RUN: %rr %s %t
// RUN: %rr %s %t -D__NO_INLINE__
// RUN: %rr %s %t -n -D_FORTIFY_SOURCE=2
// STDIN: stdio-unlocked.c
// SOAK: 2 4 8
#include "common.h"
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio_ext.h>

/* As functions they are ordered like the others. In line they are accesses of the program to the FILE, and need its lock. */
#ifdef __NO_INLINE__
#define LOCK(f) ((void)0)
#define UNLOCK(f) ((void)0)
#else
#define LOCK(f) flockfile(f)
#define UNLOCK(f) funlockfile(f)
#endif

static volatile uint32_t pot[8];
static FILE *common; /* read and written by all */
static char text[64] = "shared text"; /* printed and read into by all */
static fpos_t place;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char line[200], big[9000];
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (h % 17) {
        case 0:
            fputs_unlocked("unlocked ", stdout);
            LOCK(stdout);
            fputc_unlocked('a' + me % 26, stdout), putc_unlocked('-', stdout), putchar_unlocked('.');
            UNLOCK(stdout);
            puts(text);
            break;
        case 1: fwrite_unlocked(text, 1, sizeof text, common), fflush_unlocked(stdout); break;
        case 2:
            if (fgets_unlocked(line, sizeof line, stdin)) h = mix_bytes(h, line, strlen(line));
            break;
        case 3: h = mix(h, fread_unlocked(line, 3, 20, stdin)), h = mix_bytes(h, line, 60); break;
        case 4:
            LOCK(common);
            h = mix(h, (uint64_t)(feof_unlocked(common) + ferror_unlocked(common)));
            UNLOCK(common);
            clearerr_unlocked(common);
            break;
        case 5: h = mix(h, (uint64_t)(putw(me, common) + getw(stdin))); break;
        case 6: fgets(text, 40, stdin); break;
        case 7: fgetpos(common, &place); break;
        case 8: fsetpos(common, &place); break;
        case 9: errno = (int)(h % 30), perror(text); break;
        case 10: errno = (int)(h % 30), warn("%s %d", text, me); break;
        case 11: error(0, (int)(h % 30), "%.20s", text); break;
        case 12: h = mix(h, (uint64_t)dprintf(2, "dprintf %s\n", text)); break;
        case 13: { /* longer than the stream's buffer */
            memset(big, 'a' + me % 26, sizeof big);
            big[sizeof big - 1] = 0;
            h = mix(h, (uint64_t)fprintf(common, "%s %s\n", big, text));
            break;
        }
        case 14: {
            int n = 0, c = -1;
            char two[4] = "..";
            memset(line, 0, sizeof line);
            h = mix(h, (uint64_t)scanf("%60[^\n]%n%2c%*[ /]%d", line, &c, two, &n) + (uint64_t)(n + c));
            h = mix_bytes(mix_bytes(h, line, strlen(line)), two, 4);
            break;
        }
        case 15:
            LOCK(stdin);
            for (int k = 0; k < 10; k++) h = mix(h, (uint64_t)getc_unlocked(stdin) + (uint64_t)getchar_unlocked());
            UNLOCK(stdin);
            break;
        default: h = mix(h, __fpending(common) + (uint64_t)__fwriting(common) + (uint64_t)(unsigned char)text[h % 64]);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    if (!(common = tmpfile())) return 3;
    static char buffer[1000];
    setbuffer(common, buffer, sizeof buffer);
    fgetpos(common, &place);
    uint64_t h = together(cook);
    rewind(common);
    for (int c; (c = fgetc(common)) != EOF;) h = mix(h, (uint64_t)c);
    return finish(h);
}
