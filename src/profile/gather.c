/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run: from the regions that a program tells of (a section that the pass leaves) and the file that its runtime maps
 * (include/weft/abi.h has both) to a profile. The file is in memory, and weft's: however the program ends, it is there. */
#include "base/base.h"
#include "profile/profile.h"
#include "weft/abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int by_name(const void *a, const void *b, void *names) {
    char **name = names;
    return strcmp(name[*(const uint32_t *)a], name[*(const uint32_t *)b]);
}

static int read_names(struct weft_gather *g, const char *program, struct weft_err *err) {
    char *bytes = NULL;
    size_t size, n = 0, room = 0;
    int r = weft__file_read(program, (size_t)4 << 30, &bytes, &size, err);
    if (r < 0) return r;
    const char *s = weft__elf_section(bytes, size, WEFT_REGIONS, &n);
    g->text = weft__alloc(n + 1);
    if (s) memcpy(g->text, s, n);
    free(bytes);
    if (!s)
        return weft__err(err, ENOENT, "%s: it does not tell of its regions: link it with weft-cc -weft-plan=races -weft-profile", program);
    for (char *line = g->text, *end; *line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        g->name = weft__grow(g->name, &room, g->regions + 1, sizeof *g->name);
        g->name[g->regions++] = line;
        if (!*line || strchr(line, '\t')) return weft__err(err, EBADMSG, "%s: region %zu has no name", program, g->regions - 1);
    }
    if (g->regions > WEFT_MAX_REGIONS)
        return weft__err(err, E2BIG, "%s: it has %zu regions, more than the %u that can be profiled", program, g->regions, WEFT_MAX_REGIONS);
    uint32_t *order = weft__alloc(g->regions * sizeof *order);
    for (uint32_t i = 0; i < g->regions; i++) order[i] = i;
    qsort_r(order, g->regions, sizeof *order, by_name, g->name);
    g->place = weft__alloc(g->regions * sizeof *g->place);
    for (uint32_t i = 0; i < g->regions; i++) {
        g->place[order[i]] = i;
        if (i && !strcmp(g->name[order[i - 1]], g->name[order[i]]))
            r = weft__err(err, EBADMSG, "%s: two regions have the name '%s'", program, g->name[order[i]]);
    }
    free(order);
    return r;
}

int weft__gather_open(struct weft_gather *g, const char *program, struct weft_err *err) {
    *g = (struct weft_gather){.fd = -1};
    int r = read_names(g, program, err);
    if (r < 0) goto out;
    size_t size = weft_profile_size(g->regions);
    g->fd = memfd_create("weft-profile", MFD_CLOEXEC);
    if (g->fd < 0 || ftruncate(g->fd, (off_t)size) < 0) {
        r = weft__err(err, errno, "no memory for the profile: %s", strerror(errno));
        goto out;
    }
    void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, g->fd, 0);
    if (m == MAP_FAILED) {
        r = weft__err(err, errno, "no memory for the profile: %s", strerror(errno));
        goto out;
    }
    g->map = m;
    g->map->magic = WEFT_PROFILE_MAGIC;
    g->map->regions = g->regions;
out:
    if (r < 0) weft__gather_close(g);
    return r;
}

struct weft_profile *weft__gather_take(const struct weft_gather *g) {
    const unsigned char *bits = (const unsigned char *)g->map + weft_profile_bits(g->regions);
    struct weft_profile *p = weft__alloc(sizeof *p);
    size_t room = 0;
    p->region = weft__alloc(g->regions * sizeof *p->region);
    p->regions = g->regions;
    for (uint32_t i = 0; i < g->regions; i++)
        p->region[g->place[i]] = (struct weft_profile_region){weft__strdup(g->name[i]), g->map->count[i]};
    uint64_t k = 0;
    for (uint32_t b = 0; b < g->regions; b++) /* in the order of weft_profile_bit */
        for (uint32_t a = 0; a <= b; a++, k++) {
            if (!(bits[k >> 3] >> (k & 7) & 1)) continue;
            uint32_t x = g->place[a], y = g->place[b];
            p->pair = weft__grow(p->pair, &room, p->pairs + 1, sizeof *p->pair);
            p->pair[p->pairs++] = (struct weft_profile_pair){x < y ? x : y, x < y ? y : x};
        }
    weft__profile_sort(p->pair, p->pairs);
    p->added = weft__alloc(sizeof *p->added);
    p->added[0] = p->pairs;
    p->runs = 1;
    return p;
}

void weft__gather_close(struct weft_gather *g) {
    if (g->map) munmap(g->map, weft_profile_size(g->regions));
    if (g->fd >= 0) close(g->fd);
    free(g->name);
    free(g->place);
    free(g->text);
    *g = (struct weft_gather){.fd = -1};
}
