/* Proves: fflush(NULL) against threads that open, write and close streams replays, and what it wrote where and when. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <errno.h>
#include <fcntl.h>

#define SHARED 4
static FILE *shared[SHARED];
static char *memory; /* of a memory stream: its address and size are set by whoever flushes it */
static size_t memory_size;
static FILE *stream;
static char window[96]; /* under a stream of fmemopen that others look at */
static FILE *view;

static uint64_t file_size(FILE *f) { return (uint64_t)lseek(fileno(f), 0, SEEK_CUR); }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        FILE *f = shared[h % SHARED];
        switch (h % 11) {
        case 0: h = mix(h, (uint64_t)fflush(NULL)); break;
        case 1: h = mix(h, (uint64_t)fprintf(f, "%d %ld %08x\n", me, i, (unsigned)h)); break;
        case 2: {
            FILE *own = tmpfile();
            if (!own) exit(4);
            fprintf(own, "%d %016llx", me, (unsigned long long)h);
            if (i % 2) h = mix(h, (uint64_t)fflush(NULL) + file_size(own));
            rewind(own);
            unsigned a = 0;
            unsigned long long b = 0;
            h = mix(h, (uint64_t)fscanf(own, "%u %llx", &a, &b) + a + b);
            fclose(own);
            break;
        }
        case 3: h = mix(h, file_size(f)); break; /* what was flushed */
        case 4:
            if (!ftrylockfile(f)) {
                fputs("tried ", f), putc_unlocked('a' + me % 26, f);
                h = mix(h, 1);
                funlockfile(f);
            }
            break;
        case 5:
            flockfile(f);
            for (int k = 0; k < 20; k++) putc_unlocked('0' + k % 10, f);
            h = mix(h, (uint64_t)ftell(f));
            funlockfile(f);
            break;
        case 6: fprintf(stream, "%d,", me), h = mix(h, (uint64_t)fflush(i % 2 ? stream : NULL)); break;
        case 7: h = mix(h, *(volatile size_t *)&memory_size); break;
        case 8: fprintf(view, "%c", 'a' + (int)(h % 26)), fflush(view); break;
        case 9: h = mix(h, ((volatile char *)window)[h % sizeof window]); break;
        default: {
            char *text = NULL;
            size_t n = 0;
            FILE *m = open_memstream(&text, &n);
            if (!m) exit(4);
            fwrite(&h, 1, sizeof h, m), fputs("..", m), fclose(m);
            h = mix_bytes(h, text, n);
            free(text);
        }
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 80);
    for (int i = 0; i < SHARED; i++)
        if (!(shared[i] = tmpfile())) return 3;
    stream = open_memstream(&memory, &memory_size);
    view = fmemopen(window, sizeof window, "w");
    if (!stream || !view) return 3;
    uint64_t h = together(cook);
    for (int i = 0; i < SHARED; i++) {
        char text[4096];
        rewind(shared[i]);
        for (size_t n; (n = fread(text, 1, sizeof text, shared[i]));) h = mix_bytes(h, text, n);
    }
    fclose(stream), fclose(view);
    return finish(mix_bytes(mix_bytes(h, memory, memory_size), window, sizeof window));
}
