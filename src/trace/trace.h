/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading, writing, checking and printing traces: the only code that touches trace bytes. The format itself is
 * include/weft/trace.h. */
#ifndef WEFT_TRACE_INTERNAL_H
#define WEFT_TRACE_INTERNAL_H

#include "base/base.h"
#include "weft/abi.h"
#include "weft/trace.h"

#include <stdio.h>

/* Bounds of the reader. A frame of streams.zst holds at most WEFT_FRAME_MAX bytes and says how many; all frames
 * together hold at most WEFT_RATIO_MAX times the file's size, and WEFT_RATIO_FREE bytes on top (a thread that did next
 * to nothing has a chunk of zeros, about 1,500 to 1; a bomb would give 32,000 to 1). */
#define WEFT_FRAME (1u << 20)
#define WEFT_FRAME_MAX (4u << 20)
#define WEFT_PARTS_MAX 65536u
#define WEFT_RATIO_MAX 4096u
#define WEFT_RATIO_FREE (64u << 20)
#define WEFT_HEADER_MAX (64u << 20)
#define WEFT_STEP_MAX 0xfffffeu   /* edges of one thread at one position */
#define WEFT_ITEM_MAX 0x80000000u /* bytes of one item, parts joined; one system call moves less than that */

/* ---- read.c: a trace folder, opened ---- */
struct weft_frame {
    uint64_t off;   /* in streams.zst */
    uint64_t first; /* chunk */
    uint32_t size;  /* compressed */
    uint32_t chunks;
};

struct weft_module {
    uint64_t base, size;
    uint8_t build_id[32];
    bool weft; /* built with weft */
    char *path;
};

enum weft_file { WEFT_PACKED, WEFT_STREAMS, WEFT_OPEN, WEFT_BULK, WEFT_FILES };

struct weft_trace {
    char *dir; /* as the user named it: starts every message */
    struct weft_trace_header header;
    char *program, *cwd;
    char **argv, **env; /* NULL-terminated */
    struct weft_trace_end end;
    bool has_end;
    bool recording; /* `weft record` is still at it */
    /* streams.zst, streams, open, in this order; and bulk */
    char *path; /* for messages: those that are there */
    int fd[WEFT_FILES]; /* -1: there is none */
    uint64_t size[WEFT_FILES];
    uint64_t packed, closed, chunks; /* in the first; in the first two; in all. Cursors skip what was in one before */
    struct weft_frame *frames;
    size_t nframes;
    /* the frame last read, decompressed */
    size_t cached; /* index + 1; 0: none */
    uint8_t *frame_in, *frame_out;
    void *dctx;
    /* MODULE items, as walks over all slots have met them: all of them after the first walk that came to the end */
    struct weft_module *modules;
    size_t nmodules, modules_cap;
    uint64_t modules_to; /* place up to which they are known */
    bool modules_all;
    char *strings;        /* header file; what the pointers above point into */
    uint32_t *index;      /* chunks grouped by slot, file order within a slot; NULL until a cursor wants one slot */
    uint64_t *index_slot; /* where each slot's chunks start in it, up to the end of index_top's */
    uint32_t index_top;   /* highest slot */
};

int weft__trace_open(const char *dir, struct weft_trace **out, struct weft_err *err) WEFT_MUST;
/* The same from bytes at hand; takes over the descriptors, which may be -1. end may be NULL. */
int weft__trace_open_parts(const char *name, const void *header, size_t header_len, const void *end, size_t end_len,
                           const int fd[WEFT_FILES], struct weft_trace **out, struct weft_err *err) WEFT_MUST;
void weft__trace_close(struct weft_trace *t);
/* Chunk n into buf (WEFT_CHUNK bytes). Bytes beyond the end of an uncompressed file read as zero. */
int weft__trace_chunk(struct weft_trace *t, uint64_t n, uint8_t *buf, struct weft_err *err) WEFT_MUST;
/* Chunk n of streams, or of open; fd is of that file. */
int weft__trace_raw_chunk(struct weft_trace *t, int fd, uint64_t n, uint8_t *buf, struct weft_err *err) WEFT_MUST;
/* Bytes of bulk; buf may be NULL. 0: it does not have them. */
int weft__trace_bulk(struct weft_trace *t, void *buf, size_t n, uint64_t at, struct weft_err *err) WEFT_MUST;
/* The folders of processes that were forked, and of programs that were executed, as numbers in the folder: the largest one;
 * 0: none. */
unsigned weft__trace_parts(const char *dir);
bool weft__trace_is_part(const char *dir);
/* t, a part of `of`, is a program that was executed: it has a header of its own. */
bool weft__trace_is_program(const struct weft_trace *t, const struct weft_trace *of);
/* Whether there is part k, and its folder. One that was killed before its streams file was there, last of all, is none. */
bool weft__trace_part(const char *dir, unsigned k, struct weft_strbuf *path);
/* Bytes on disk of the whole folder. */
uint64_t weft__trace_disk_bytes(const char *dir);
/* Another number when something was logged meanwhile, by any process of a recording that runs. */
uint64_t weft__trace_activity(const char *dir);
/* Groups the chunks by slot, once. */
int weft__trace_index(struct weft_trace *t, struct weft_err *err) WEFT_MUST;

/* ---- cursor.c: items, decoded ---- */
struct weft_item {
    uint32_t slot;
    uint32_t kind; /* enum weft_item_kind, or one that this version does not know; never PART: parts are joined */
    uint64_t tick;
    /* edges; an EDGE_STEP has its step in op */
    uint64_t site;
    uint32_t other_slot;
    uint64_t other_tick, other_site;
    /* all others */
    uint64_t op;
    const uint8_t *data; /* until the next call */
    size_t size;
    /* where it is, for messages */
    uint64_t chunk;
    uint32_t off; /* in the chunk */
};

struct weft_cursor_slot;
struct weft_cursor {
    struct weft_trace *t;
    uint32_t only; /* 0: all slots, in file order */
    uint64_t next; /* chunk, or index into t->index */
    uint64_t chunk;
    bool loaded;
    bool open; /* what is taken comes from the file open */
    struct weft_chunk head;
    uint32_t at, end; /* in buf */
    uint64_t tick;
    uint64_t site, other_tick, other_site; /* of the last edge: deltas */
    struct weft_cursor_slot *slots;
    size_t nslots;
    uint64_t stream_bytes; /* of items so far */
    uint64_t edge_bytes;   /* of these, of edges */
    uint8_t *buf;
    bool skim; /* set it after opening: bytes of items that came in parts are not wanted */
    bool sizes; /* likewise: of inputs, bytes that are in bulk may be missing, and stand for any */
};
void weft__cursor_open(struct weft_cursor *c, struct weft_trace *t, uint32_t only);
void weft__cursor_close(struct weft_cursor *c);
/* 1: an item; 0: the end; -errno. */
int weft__cursor_next(struct weft_cursor *c, struct weft_item *item, struct weft_err *err) WEFT_MUST;
/* The two halves of it, for who needs the chunks: load gives the next chunk that is in use (1), or 0 at the end; item
 * gives its next item (1), or 0 when it has no more, and then c->at is how many bytes of c->buf count. */
int weft__cursor_load(struct weft_cursor *c, struct weft_err *err) WEFT_MUST;
int weft__cursor_item(struct weft_cursor *c, struct weft_item *item, struct weft_err *err) WEFT_MUST;
/* For who reads chunks himself: c->buf has one, as number c->chunk. 1: its items come next; 0: it counts for nothing. */
int weft__cursor_take(struct weft_cursor *c, struct weft_err *err) WEFT_MUST;
static inline bool weft__item_is_edge(uint32_t kind) {
    return kind == WEFT_ITEM_EDGE || kind == WEFT_ITEM_EDGE_DONE || kind == WEFT_ITEM_EDGE_STEP;
}
const char *weft__item_name(uint32_t kind); /* "edge", "input", ...; "unknown" */
const char *weft__op_name(uint64_t op);     /* of the runtime's operations; NULL for system calls and unknown ones */

/* ---- check.c ---- */
struct weft_counts {
    uint64_t threads, edges, inputs, signals, items;
    uint64_t stream_bytes, edge_bytes;
    uint64_t lost;    /* LOST items */
    uint64_t lost_by; /* errno that they tell */
};
void weft__counts_add(struct weft_counts *n, const struct weft_item *item);
/* Reads every byte; *counts is filled as far as it came, also on failure. */
int weft__trace_check(struct weft_trace *t, struct weft_counts *counts, struct weft_err *err) WEFT_MUST;
struct weft_parts {
    uint64_t forked, executed;
};
/* The same for all parts; adds how many there are. */
int weft__trace_check_parts(struct weft_trace *t, struct weft_parts *parts, struct weft_err *err) WEFT_MUST;

/* ---- write.c ---- */
struct weft_trace_start {
    const char *program, *cwd;
    char *const *argv, *const *env;
    uint64_t seed, stack_limit, start_time;
    uint8_t at_random[16];
};
/* The header file's bytes, new memory. */
int weft__header_encode(const struct weft_trace_start *s, char **out, size_t *len, struct weft_err *err) WEFT_MUST;
void weft__end_encode(struct weft_trace_end *end); /* magic and hash */
/* Writes header and an empty streams file into an existing folder. *lock stays locked until it is closed: by this
 * others see that the recording still runs. */
int weft__trace_create(const char *dir, const struct weft_trace_start *s, int *lock, struct weft_err *err) WEFT_MUST;

/* ---- pack.c: from streams to streams.zst ---- */
typedef void weft_progress(void *ctx, uint64_t done, uint64_t all);
struct weft_packer;
/* t stays the caller's, and open. disk_bytes (may be NULL) is kept up to date: what the trace takes. */
struct weft_packer *weft__packer_new(struct weft_trace *t, uint64_t *disk_bytes);
void weft__packer_free(struct weft_packer *p);
/* While the program runs: moves closed chunks, in whole frames, until there are no more or *stop. */
void weft__packer_some(struct weft_packer *p, const bool *stop);
/* After the run: moves the rest, as much as it can in patience_us (0: all), closes what stays, and writes end. Then t knows
 * its modules. */
int weft__packer_finish(struct weft_packer *p, enum weft_end_kind kind, uint32_t code, uint64_t patience_us,
                        weft_progress *progress, void *ctx, struct weft_counts *counts, struct weft_err *err) WEFT_MUST;

/* ---- follow.c: the same for all processes of a recording, in the background ---- */
struct weft_follow;
int weft__follow_open(const char *dir, struct weft_control *control, struct weft_follow **out,
                      struct weft_err *err) WEFT_MUST;
void weft__follow_start(struct weft_follow *f, bool late); /* late: only if there is very much */
void weft__follow_stop(struct weft_follow *f);
void weft__follow_close(struct weft_follow *f);
struct weft_trace *weft__follow_trace(struct weft_follow *f); /* the first process's */
int weft__follow_seal(struct weft_follow *f, enum weft_end_kind kind, uint32_t code, uint64_t patience_us,
                      weft_progress *progress, void *ctx, struct weft_counts *counts, struct weft_err *err) WEFT_MUST;
/* The same for all parts (their control blocks say how they ended; stuck: those that do not were killed for that), without
 * their counts. Gives how many there were; message (weft_control's size), if not empty, is what one of them has to say. */
int weft__follow_seal_parts(struct weft_follow *f, bool stuck, uint64_t patience_us, char *message, struct weft_parts *parts,
                            struct weft_err *err) WEFT_MUST;

/* ---- reached.c ---- */
struct weft_reached {
    uint32_t slot;
    uint64_t tick;
};
/* dir: of a process that will never go on. */
int weft__trace_add_reached(const char *dir, const struct weft_reached *list, size_t n, struct weft_err *err) WEFT_MUST;

/* ---- encode.c: streams made by hand: for tests, and for stages that write traces ---- */
struct weft_encoder_slot;
struct weft_encoder {
    uint8_t *bytes; /* the row of chunks */
    size_t chunks, cap;
    struct weft_encoder_slot *slots;
    size_t nslots;
};
void weft__encoder_fini(struct weft_encoder *e);
/* step counts for EDGE_STEP only. */
void weft__encode_edge(struct weft_encoder *e, uint32_t slot, uint32_t kind, uint64_t tick, uint64_t site,
                       uint32_t other_slot, uint64_t other_tick, uint64_t other_site, uint64_t step);
void weft__encode_item(struct weft_encoder *e, uint32_t slot, uint32_t kind, uint64_t tick, uint64_t op,
                       const void *data, size_t size);
void weft__encode_seal(struct weft_encoder *e); /* every chunk; without it the last of each slot stays open */
void weft__chunk_seal(uint8_t *chunk, uint32_t used);
int weft__streams_compress(const uint8_t *bytes, size_t n, char **out, size_t *len, struct weft_err *err) WEFT_MUST;

/* ---- demangle.c: names of C++ ---- */
/* A C++ symbol's name in the source; others as they are. Lives as long as the process. */
const char *weft__demangle(const char *symbol);

/* ---- symbols.c: addresses to source lines ---- */
struct weft_symbols;
bool weft__module_decode(const struct weft_item *item, struct weft_module *m); /* m->path is new memory */
/* Walks the trace for t->modules, if nobody has yet. */
int weft__modules_read(struct weft_trace *t, struct weft_err *err) WEFT_MUST;
struct weft_symbols *weft__symbols_new(const struct weft_trace *t); /* by t->modules */
void weft__symbols_free(struct weft_symbols *s);
/* "file.c:12", or "libfoo.so+0x123", or "0x7f..."; lives as long as the symbols. */
const char *weft__symbols_line(struct weft_symbols *s, uint64_t addr);

/* The functions that the address is in, innermost first: more than one if it is code that was inlined. At least one. */
struct weft_source {
    const char *function; /* empty: not known; lives as long as the symbols */
    char place[512];      /* as weft__symbols_line */
    bool system;          /* a header of the system's */
};
size_t weft__symbols_sources(struct weft_symbols *s, uint64_t addr, struct weft_source *out, size_t most);

/* The code of the same source line, which may be in several places (a loop that was unrolled); in order, `most` at most. How many; if the
 * line is not known, one: the address alone. */
struct weft_range {
    uint64_t from, to;
};
size_t weft__symbols_same_line(struct weft_symbols *s, uint64_t addr, struct weft_range *out, size_t most);
void *weft__symbols_dwfl(struct weft_symbols *s); /* libdw's; NULL: none */

/* ---- variables.c ---- */
/* The global variable with so many bytes there, with members and indices: "accounts[2].balance"; NULL: none that is known. New
 * memory. */
char *weft__symbols_variable(struct weft_symbols *s, uint64_t addr, size_t size);

/* ---- relevant.c: what of a trace its failure depends on ---- */
struct weft_relevant_range { /* positions: an access, or the operations of these ticks (site 0) */
    uint32_t slot, zero;
    uint64_t from, to; /* ticks; UINT64_MAX: to the thread's end */
    uint64_t site;
};
struct weft_relevant {
    uint64_t instructions, relevant; /* of the program, that were followed */
    struct weft_relevant_range *ranges; /* by slot, site, tick */
    size_t n;
};
int weft__relevant_write(const struct weft_relevant *r, const char *dir, struct weft_err *err) WEFT_MUST;
/* 1: the trace has none. */
int weft__relevant_read(const char *dir, struct weft_relevant *out, struct weft_err *err) WEFT_MUST;
void weft__relevant_fini(struct weft_relevant *r);
bool weft__relevant_counts(const struct weft_item *i);                               /* it is an event that may be relevant at all, */
bool weft__relevant_has(const struct weft_relevant *r, const struct weft_item *i);   /* and is */

/* ---- dump.c, vectors.c ---- */
/* "read", "mutex-lock", "operation 77": buf is for those without a fixed name. */
const char *weft__op_text(uint64_t op, char *buf, size_t n);
int weft__trace_dump(struct weft_trace *t, FILE *out, struct weft_err *err) WEFT_MUST;
int weft__trace_dump_sites(struct weft_trace *t, FILE *out, struct weft_err *err) WEFT_MUST; /* addresses in place of source lines */
int weft__trace_vectors(struct weft_trace *t, FILE *out, struct weft_err *err) WEFT_MUST;

#endif
