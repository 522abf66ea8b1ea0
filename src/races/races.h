/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the race detector of the pass found, for people and for other tools. The pass leaves its answer in a section of the
 * program (src/pass/races/print.c has the format). */
#ifndef WEFT_RACES_ANSWER_H
#define WEFT_RACES_ANSWER_H

#include "base/base.h"
#include <stdio.h>

/* ---- answer.c ---- */
enum { WEFT_READS = 1, WEFT_WRITES = 2, WEFT_FREES = 4 };

struct weft_race_end {
    const char *function, *file, *thread;
    const char *locks; /* empty: none */
    const char *calls; /* FUNCTION@FILE:LINE>..., outermost first; empty: none */
    unsigned line, column;
};

/* Two source lines that may race on a variable. */
struct weft_race_pair {
    const char *variable;
    const struct weft_race_end *end[2];
    uint8_t does[2]; /* WEFT_READS and the like, of each end */
    int8_t score;    /* how likely it is one that happens */
};

struct weft_answer {
    size_t accesses, racy, atomic; /* of the program; those in pairs; those that race only with other atomics */
    struct weft_race_pair *pair;   /* most likely first */
    size_t pairs, room;
    void **members; /* what the ends are in */
    size_t classes;
    char *text; /* what strings point into */
};

/* Reads a program. -ENOENT: it has no answer in it. */
int weft__answer_read(const char *path, struct weft_answer *a, struct weft_err *err) WEFT_MUST;
void weft__answer_fini(struct weft_answer *a);

/* ---- print.c ---- */
void weft__answer_text(const struct weft_answer *a, size_t most, FILE *out); /* most: 0: all */
void weft__answer_json(const struct weft_answer *a, FILE *out);
void weft__answer_sarif(const struct weft_answer *a, FILE *out);

#endif
