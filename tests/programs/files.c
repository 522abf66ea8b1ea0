/* Proves: files read and written by several threads, with stdio and with system calls, replay from the trace alone. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char folder[64] = "/tmp/weft-files-XXXXXX";
static volatile unsigned char shared[256]; /* read() writes here while others do */
static int log_fd;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char name[128], text[256];
    snprintf(name, sizeof name, "%s/%d", folder, me);
    for (long i = 0; i < rounds; i++) {
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0) return 1;
        int n = snprintf(text, sizeof text, "%016llx %ld\n", (unsigned long long)h, i);
        h = mix(h, (uint64_t)write(fd, text, (size_t)n));
        h = mix(h, (uint64_t)pwrite(fd, (void *)shared, sizeof shared, n)); /* reads memory that others write */
        lseek(fd, 3, SEEK_SET);
        h = mix(h, (uint64_t)read(fd, (void *)(shared + 64 * (me % 4)), 40));
        struct iovec v[2] = {{(void *)shared, 10}, {text, 20}};
        h = mix(h, (uint64_t)preadv(fd, v, 2, 5));
        h = mix_bytes(h, text, 20);
        struct stat st;
        fstat(fd, &st);
        h = mix(h, (uint64_t)st.st_size + (uint64_t)st.st_mtim.tv_nsec + st.st_ino + (uint64_t)fd);
        ftruncate(fd, 10);
        close(fd);
        h = mix(h, shared[h % 256]);

        FILE *f = fopen(name, "r+");
        if (!f) return 2;
        while (fgets(text, sizeof text, f)) h = mix_bytes(h, text, strlen(text));
        fprintf(f, "again %d %p\n", me, (void *)f);
        rewind(f);
        char word[64];
        unsigned long long value = 0;
        h = mix(h, (uint64_t)fscanf(f, "%llx %63s", &value, word) + value);
        h = mix(h, (uint64_t)(fseek(f, 0, SEEK_END) + ftell(f)));
        fclose(f);
        n = snprintf(text, sizeof text, "%d %016llx\n", me, (unsigned long long)h);
        if (write(log_fd, text, (size_t)n) != n) return 3;
        if (i % 4 == 0) {
            char to[140];
            snprintf(to, sizeof to, "%s.old", name);
            rename(name, to);
            unlink(to);
            h = mix(h, (uint64_t)access(name, R_OK) + (uint64_t)errno);
            DIR *d = opendir(folder);
            int entries = 0;
            while (d && readdir(d)) entries++;
            if (d) closedir(d);
            h = mix(h, (uint64_t)entries);
        }
    }
    unlink(name);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 12);
    char name[128];
    if (!mkdtemp(folder)) return 3;
    snprintf(name, sizeof name, "%s/log", folder);
    log_fd = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
    uint64_t h = together(cook);
    char text[65536];
    ssize_t n = pread(log_fd, text, sizeof text, 0);
    fwrite(text, 1, n > 0 ? (size_t)n : 0, stdout);
    close(log_fd);
    unlink(name);
    rmdir(folder);
    return finish(h);
}
