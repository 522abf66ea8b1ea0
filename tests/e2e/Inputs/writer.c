/* For write-files.test: files written in all the usual ways, in and below the working directory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x) do if ((x) < 0) { perror(#x); exit(2); } while (0)
static int shared;

static void *append(void *arg) {
    char line[64];
    for (int i = 0; i < 300; i++) {
        int n = snprintf(line, sizeof line, "thread %d line %d\n", *(int *)arg, i);
        MUST(write(shared, line, (size_t)n));
        if (i % 30 == 0) { /* descriptors go round among the threads */
            snprintf(line, sizeof line, "many/%d.%d", *(int *)arg, i);
            int fd = open(line, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            MUST(fd);
            MUST(write(fd, line, strlen(line)));
            MUST(close(fd));
            if (i % 60 == 0) MUST(unlink(line));
        }
    }
    return NULL;
}

int main(void) {
    MUST(mkdir("many", 0755));
    MUST(mkdir("sub", 0755));
    FILE *f = fopen("stdio", "w");
    for (int i = 0; i < 5000; i++) fprintf(f, "%d\n", i * i);
    fseek(f, 100, SEEK_SET);
    fputs("in the middle", f);
    fclose(f);
    f = fopen("stdio", "a"); /* again, at its end */
    fputs("the end\n", f);
    fclose(f);

    MUST(chdir("sub"));
    int fd = open("../sub/parts", O_RDWR | O_CREAT | O_EXCL, 0600), two = dup(fd);
    char buf[10];
    MUST(write(fd, "0123456789", 10));
    MUST(lseek(two, 2, SEEK_SET));
    MUST(read(fd, buf, 3));
    MUST(write(two, "X", 1)); /* at 5 */
    MUST(pwrite(fd, "Y", 1, 20));
    MUST(writev(fd, (struct iovec[]){{"ab", 2}, {"cd", 2}}, 2)); /* at 6 */
    MUST(ftruncate(fd, 15));
    MUST(posix_fallocate(fd, 0, 40));
    MUST(close(fd));
    MUST(write(two, "Z", 1));
    MUST(dup2(two, 77));
    MUST(close(two));
    MUST(write(77, "!", 1));
    MUST(close(77));
    MUST(chdir(".."));

    int dir = open("sub", O_RDONLY);
    fd = openat(dir, "temporary", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    MUST(write(fd, "renamed while open\n", 19));
    MUST(renameat(dir, "temporary", AT_FDCWD, "final"));
    MUST(write(fd, "and written to\n", 15));
    MUST(close(fd));
    MUST(unlinkat(dir, "../many/none", 0) + 1);
    MUST(symlink("final", "link"));
    MUST(link("final", "second"));
    fd = open("link", O_WRONLY | O_APPEND);
    MUST(write(fd, "by a link\n", 10));
    MUST(close(fd));
    fd = open("gone", O_WRONLY | O_CREAT, 0644);
    MUST(write(fd, "x", 1));
    MUST(unlink("gone"));
    MUST(write(fd, "x", 1));
    MUST(close(fd));
    MUST(mkdir("empty", 0755));
    MUST(rmdir("empty"));
    MUST(truncate("second", 30));

    int id[4] = {0, 1, 2, 3};
    pthread_t t[4];
    shared = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, append, &id[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    if (fork() == 0) {
        MUST(write(shared, "the child\n", 10));
        f = fopen("childs", "w");
        fputs("own\n", f);
        fclose(f);
        _exit(0);
    }
    wait(NULL);
    MUST(write(shared, "the parent\n", 11));
    MUST(close_range((unsigned)shared, (unsigned)shared, 0));

    fd = open("old", O_WRONLY); /* was there before */
    MUST(pwrite(fd, "new", 3, 4));
    MUST(close(fd));
    puts("done");
    return 0;
}
