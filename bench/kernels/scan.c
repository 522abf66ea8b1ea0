/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file scanner, as pfscan: workers take paths from a queue under a lock, read the file and count a pattern in it; the
 * counts are added up under another lock. It makes -n files of a MiB each first, in a folder of its own, which it removes
 * in the end; the pattern is put into them as it goes, so how often it must be found is known. */
#include "kernel.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FILE_SIZE (1 << 20)
#define READ_SIZE (1 << 16)
#define PASSES 24 /* each file is in the queue so often */
static const char pattern[] = "needle";
#define LENGTH (sizeof pattern - 1)

struct job {
    struct job *next;
    char path[300];
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_grew = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first; /* under the lock, with: */
static int complete;                       /* nothing more will come */
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static long found, bytes, files;

static void add_job(const char *folder, const char *name) {
    struct job *job = room(1, sizeof *job);
    snprintf(job->path, sizeof job->path, "%s/%s", folder, name);
    pthread_mutex_lock(&queue_lock);
    *last = job;
    last = &job->next;
    pthread_cond_signal(&queue_grew);
    pthread_mutex_unlock(&queue_lock);
}

static struct job *take_job(void) {
    pthread_mutex_lock(&queue_lock);
    while (!first && !complete) pthread_cond_wait(&queue_grew, &queue_lock);
    struct job *job = first;
    if (job) {
        first = job->next;
        if (!first) last = &first;
    }
    pthread_mutex_unlock(&queue_lock);
    return job;
}

static long count_in(const char *text, size_t n) {
    long count = 0;
    for (size_t i = 0; i + LENGTH <= n; i++)
        if (text[i] == pattern[0] && !memcmp(text + i, pattern, LENGTH)) count++;
    return count;
}

/* Reads the file piece by piece; a match may lie across two pieces, so the last bytes of one stay for the next. */
static void scan(const char *path, char *buffer) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) wrong("scan: %s: %s", path, strerror(errno));
    long count = 0, size_of = 0;
    size_t kept = 0;
    for (;;) {
        ssize_t n = read(fd, buffer + kept, READ_SIZE);
        if (n < 0) wrong("scan: %s: %s", path, strerror(errno));
        if (n == 0) break;
        size_of += n;
        size_t have = kept + (size_t)n;
        count += count_in(buffer, have);
        kept = have < LENGTH - 1 ? have : LENGTH - 1;
        memmove(buffer, buffer + have - kept, kept);
    }
    close(fd);
    pthread_mutex_lock(&sum_lock);
    found += count, bytes += size_of, files++;
    pthread_mutex_unlock(&sum_lock);
}

static void *work(void *p) {
    (void)p;
    char *buffer = room(1, READ_SIZE + LENGTH);
    for (struct job *job; (job = take_job());) {
        scan(job->path, buffer);
        free(job);
    }
    free(buffer);
    return NULL;
}

/* Words of letters; gives how many of them are the pattern. */
static long make_file(const char *folder, long number, char *text) {
    uint64_t s = 0x2545f4914f6cdd1dull * (uint64_t)(number + 1);
    long count = 0;
    char path[300];
    for (size_t i = 0; i < FILE_SIZE;) {
        uint64_t r = rnd(&s);
        if (r % 500 == 0 && i + LENGTH < FILE_SIZE) {
            memcpy(text + i, pattern, LENGTH);
            i += LENGTH;
            count++;
        } else
            for (int k = 0; k < 8 && i < FILE_SIZE; k++, r >>= 8) text[i++] = (char)(r & 1 ? 'a' + (r >> 1) % 16 : ' ' + (r >> 1) % 3);
        if (i < FILE_SIZE) text[i++] = ' ';
    }
    snprintf(path, sizeof path, "%s/%04ld", folder, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, text, FILE_SIZE) != FILE_SIZE || close(fd)) wrong("scan: %s: %s", path, strerror(errno));
    return count;
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/scan.XXXXXX", path[300];
    long expected = 0;
    options(argc, argv, 64);
    if (!mkdtemp(folder)) wrong("scan: %s: %s", folder, strerror(errno));
    char *text = room(1, FILE_SIZE);
    for (long i = 0; i < size; i++) expected += make_file(folder, i, text);
    free(text);

    pthread_t thread[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        errno = pthread_create(&thread[i], NULL, work, NULL);
        if (errno) wrong("pthread_create: %s", strerror(errno));
    }
    for (int pass = 0; pass < PASSES; pass++) {
        DIR *d = opendir(folder);
        if (!d) wrong("scan: %s: %s", folder, strerror(errno));
        for (struct dirent *e; (e = readdir(d));)
            if (e->d_name[0] != '.') add_job(folder, e->d_name);
        closedir(d);
    }
    pthread_mutex_lock(&queue_lock);
    complete = 1;
    pthread_cond_broadcast(&queue_grew);
    pthread_mutex_unlock(&queue_lock);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);

    for (long i = 0; i < size; i++) {
        snprintf(path, sizeof path, "%s/%04ld", folder, i);
        unlink(path);
    }
    rmdir(folder);
    if (found != PASSES * expected) wrong("scan: found %ld instead of %ld", found, PASSES * expected);
    printf("scan: %ld files, %ld bytes, %d threads, found %ld\n", files, bytes, threads, found);
    return 0;
}
