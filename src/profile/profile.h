/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Profiles: which regions of a program ran beside each other, over any number of runs. A region is a function, an outermost loop,
 * or the code of a function that is in neither; its name is the same in every build of the same source.
 *
 * The file is text, always the same for the same content, so that it can be kept with the source:
 *
 *     weft-profile 1
 *     runs 2
 *     added 1                                                 as many as there are runs: pairs that each of them added
 *     added 0
 *     region 4 function attract water.c:120                   how often it was entered, name; sorted by name
 *     region 8 loop work water.c:57
 *     beside function attract water.c:120<TAB>loop work water.c:57   each pair once, the lesser name first; sorted
 *
 * A profile is valid if and only if every line is one of these, in this order, ends with a newline, names are not empty and have no tab
 * in them, regions and pairs are sorted by the bytes of their names, each there once, and pairs are of regions that are there. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

struct weft_profile_region {
    char *name;
    uint64_t count; /* how often it was entered */
};

struct weft_profile_pair {
    uint32_t a, b; /* indices of regions, a <= b; a region may be beside itself, in two threads */
};

struct weft_profile {
    uint64_t *added; /* of each run */
    size_t runs;
    struct weft_profile_region *region; /* sorted by name */
    size_t regions;
    struct weft_profile_pair *pair; /* sorted */
    size_t pairs;
};

/* ---- read.c: also in weft-cc and in the pass, so it stands alone ---- */
/* NULL: the file is not there, or no profile; `err`, of n bytes, says so, with the path and the line. */
struct weft_profile *weft__profile_read(const char *path, char *err, size_t n);
void weft__profile_free(struct weft_profile *p);
int weft__profile_knows(const struct weft_profile *p, const char *name);
uint64_t weft__profile_count(const struct weft_profile *p, const char *name); /* 0 if it does not know it */
/* 1: they ran beside each other; 0: not, as far as is known. */
int weft__profile_beside(const struct weft_profile *p, const char *a, const char *b);

struct weft_strbuf;
struct weft_err;

/* ---- merge.c ---- */
/* Adds the runs of `from` to `into`. A run of its own counts for as many pairs as are new. Of several, each counts for at most what it
 * added to its own profile, and the last ones for the most, so that no profile looks more saturated than it is. */
void weft__profile_merge(struct weft_profile *into, const struct weft_profile *from);
void weft__profile_sort(struct weft_profile_pair *list, size_t n);
void weft__profile_text(const struct weft_profile *p, struct weft_strbuf *out);

/* ---- gather.c: one run ---- */
struct weft_gather {
    char **name;     /* of the program's regions, by number */
    uint32_t *place; /* of each among all names, sorted */
    size_t regions;
    char *text; /* what they point into */
    struct weft_profile_map *map;
    int fd; /* what the program's runtime maps too */
};
/* Reads a program. -ENOENT: it does not tell of its regions. */
int weft__gather_open(struct weft_gather *g, const char *program, struct weft_err *err);
/* What was found up to now, as a profile of one run. */
struct weft_profile *weft__gather_take(const struct weft_gather *g);
void weft__gather_close(struct weft_gather *g);

/* ---- file.c ---- */
/* Whether runs can be added to a file, which need not be there. */
int weft__profile_check(const char *path, struct weft_err *err);
/* Adds the runs of *p to a file; *p is then what is in it. Two at the same time come one after the other. */
int weft__profile_add(const char *path, struct weft_profile **p, struct weft_err *err);
int weft__profile_write(const char *path, const struct weft_profile *p, struct weft_err *err);

/* ---- show.c ---- */
void weft__profile_show(const struct weft_profile *p, struct weft_strbuf *out); /* for people */

#endif
