/* Proves: callbacks from the C library of many kinds (trees, walks, scans, once, cleanup, atexit) race and replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <dirent.h>
#include <link.h>
#include <search.h>

static volatile uint32_t pot[32];
static uint64_t at_end;

static uint32_t touch(uint32_t x) {
    pot[x % 32] += x;
    return pot[(x >> 5) % 32];
}

static __thread uint64_t *my_hash;
static int compare(const void *a, const void *b) {
    *my_hash = mix(*my_hash, touch((uint32_t)(uintptr_t)a));
    return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}
static void visit(const void *node, VISIT which, int depth) {
    if (which == postorder || which == leaf)
        *my_hash = mix(*my_hash, touch((uint32_t)(uintptr_t)*(void *const *)node) + (uint32_t)depth);
}
static void drop(void *node) { touch((uint32_t)(uintptr_t)node); }
static int module_seen(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    *(uint64_t *)arg = mix(*(uint64_t *)arg, touch((uint32_t)info->dlpi_phnum));
    return 0;
}
static int wanted(const struct dirent *d) {
    *my_hash = mix(*my_hash, touch((uint32_t)d->d_name[0]));
    return d->d_name[0] != '.';
}
static void cleanup(void *p) { *(uint64_t *)p = mix(*(uint64_t *)p, touch(3)); }
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) { touch(77); }
static void last(void) { printf("atexit %d %016llx\n", pot[3] == pot[4], (unsigned long long)at_end); }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    my_hash = &h;
    pthread_once(&once, first);
    for (long i = 0; i < rounds; i++) {
        void *root = NULL;
        for (uintptr_t j = 1; j < 12; j++) tsearch((void *)(j * 37 % 64 + 1), &root, compare);
        twalk(root, visit);
        tdelete((void *)(37ul + 1), &root, compare);
        tdestroy(root, drop);
        size_t n = 5;
        const void *tab[8] = {(void *)1, (void *)2, (void *)3, (void *)4, (void *)5};
        lfind((void *)4, tab, &n, sizeof *tab, compare);
        dl_iterate_phdr(module_seen, &h);
        if (i % 16 == 0) {
            struct dirent **list;
            int k = scandir("/proc/self/task", &list, wanted, NULL);
            for (int j = 0; j < k; j++) free(list[j]);
            if (k >= 0) free(list);
        }
        pthread_cleanup_push(cleanup, &h);
        touch((uint32_t)h);
        pthread_cleanup_pop((int)(h & 1));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    atexit(last);
    at_end = together(cook);
    for (int i = 0; i < 32; i++) at_end = mix(at_end, pot[i]);
    return finish(at_end);
}
