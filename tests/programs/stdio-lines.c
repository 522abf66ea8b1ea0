/* Proves: input without a buffer, for which libc writes out a line-buffered stdout, replays with what others print then. */
// RUN: %rr %s %t
// STDIN: stdio-lines.c
// SOAK: 2 4 8
#include "common.h"
#include <wchar.h>

static volatile uint32_t pot[8];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char line[100];
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (h % 8) {
        case 0: printf("%d %ld\nand %08x ", me, i, (unsigned)h); break;
        case 1: fputs("no end ", stdout); break;
        case 2:
            flockfile(stdout);
            for (int k = 0; k < 5; k++) printf("%d ", me), h = mix(h, pot[k]++);
            funlockfile(stdout);
            break;
        case 3:
            if (fgets(line, sizeof line, stdin)) h = mix_bytes(h, line, strlen(line));
            break;
        case 4: h = mix(h, (uint64_t)getchar()); break;
        case 5: h = mix(h, fread(line, 1, 7, stdin)), h = mix_bytes(h, line, 7); break;
        case 6: {
            char word[10] = "";
            h = mix(h, (uint64_t)scanf("%9s", word)), h = mix_bytes(h, word, 10);
            break;
        }
        default: h = mix(h, (uint64_t)lseek(1, 0, SEEK_CUR)); /* what was written */
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 300);
    return finish(together(cook));
}
