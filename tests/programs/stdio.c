/* Proves: stdio streams shared by threads (printf, fputs, locked and unlocked calls, input) replay byte for byte. */
// RUN: %rr %s %t
// STDIN: stdio.c
// SOAK: 2 4 8
#include "common.h"

static volatile uint32_t pot[8];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char line[512];
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (h % 7) {
        case 0: printf("%d %ld %08x %s %.3f\n", me, i, (unsigned)h, "text", (double)(h % 1000) / 7); break;
        case 1: fputs("puts ", stdout), putchar('a' + me % 26), putc('\n', stdout); break;
        case 2:
            flockfile(stdout);
            for (int k = 0; k < 5; k++) putchar_unlocked('0' + k), h = mix(h, pot[k]++);
            putchar_unlocked('\n');
            funlockfile(stdout);
            break;
        case 3: fprintf(stderr, "err %d %016llx\n", me, (unsigned long long)h); break;
        case 4:
            if (fgets(line, sizeof line, stdin)) h = mix_bytes(h, line, strlen(line)); /* the threads share the lines */
            break;
        case 5: {
            int c = getchar();
            if (c != EOF) ungetc(c, stdin);
            h = mix(h, (uint64_t)c);
            break;
        }
        default: fwrite(&"0123456789\n"[h % 10], 1, 11 - h % 10, stdout), fflush(i % 8 ? stdout : NULL);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    uint64_t h = together(cook);
    h = mix(h, (uint64_t)feof(stdin));
    return finish(h);
}
