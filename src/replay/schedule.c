/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Turns a trace into what a replay needs, laid flat in a memory file that the program maps (struct weft_sched).
 *
 * Each slot gets one list, sorted by tick: its own items in stream order, and the marks: positions of this slot that
 * edges of other slots wait for. An edge becomes a WAIT here and a mark there, tied by a flag; edges that wait for the
 * same position (and step) share mark and flag. Within a tick the own items come first, then the marks; the runtime
 * goes by site.
 *
 * Two walks over the streams. The first counts: own items, bytes of data, marks on each slot. Then everything has its
 * place, and the second fills it in. Own items are sorted already (a clock never goes back). Marks are gathered apart,
 * 24 bytes each, and sorted per slot by natural merging: one thread's edges to another mostly ask for later and later
 * positions, so there are few runs. Flags are given out in that order and written into the WAITs; only then are the
 * marks merged into the slot's list, from the back, in place. The cost per edge is 40 bytes for the WAIT, 40 for its
 * mark, 4 for the flag, and 24 (36 for the slot being sorted) that are given back slot by slot.
 *
 * What comes again is there once: a server maps or reads the same file for each request, and with the bytes of each in a place of its own
 * half of the replay's time went into filling memory. The first walk does not know of it: pages of the file that nothing is put into cost nothing.
 *
 * The two walks may see different bytes if the trace is changed meanwhile: the second checks every index against what
 * the first has counted.
 *
 * final_tick: where a slot's knowledge ends. A thread that exited: the tick of its exit. Otherwise the largest tick of
 * its own items, of the marks on it (others have seen it reach that far, even if its own stream was cut before), and of
 * the REACHED items about it. Everything is finished up to there before the process may end. */
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_BITS 24
#define STEP_DONE ((1u << STEP_BITS) - 1)
_Static_assert(WEFT_STEP_MAX < STEP_DONE, "a step does not look like done");

struct mark {
    uint64_t tick, site;
    uint64_t ref; /* (index of the waiting item << STEP_BITS) | step; the largest step means done */
};

struct slot {
    uint64_t own, own_filled;     /* items of its own stream */
    uint64_t marks, marks_filled; /* before equal ones are joined */
    uint64_t first;               /* index of its first item */
    uint64_t last_tick;           /* of its last own item */
    uint64_t known_tick;          /* by marks and REACHED */
    struct mark *mark;
    bool exited;
    bool ended; /* made the process end: exit_group, or a fatal signal */
    int crash;  /* signal */
};

struct build {
    struct weft_trace *t;
    struct slot *slots;
    size_t nslots;
    uint64_t data_len;
};

static struct slot *slot_of(struct build *b, uint32_t slot) {
    if (slot >= b->nslots) {
        size_t had = b->nslots;
        b->slots = weft__grow(b->slots, &b->nslots, (size_t)slot + 1, sizeof *b->slots);
        memset(b->slots + had, 0, (b->nslots - had) * sizeof *b->slots);
    }
    return &b->slots[slot];
}

static bool is_edge(const struct weft_item *i) { return weft__item_is_edge(i->kind); }

/* "reached" is step 0 of a position. */
static uint64_t step_of(const struct weft_item *i) {
    return i->kind == WEFT_ITEM_EDGE_DONE ? STEP_DONE : i->kind == WEFT_ITEM_EDGE_STEP ? i->op : 0;
}

/* Kinds that the runtime has to meet. */
static bool is_met(const struct weft_item *i) {
    switch (i->kind) {
    case WEFT_ITEM_INPUT:
    case WEFT_ITEM_START:
    case WEFT_ITEM_EXIT:
    case WEFT_ITEM_MODULE:
    case WEFT_ITEM_CRASH:
    case WEFT_ITEM_VERIFY:
    case WEFT_ITEM_MEMORY:
    case WEFT_ITEM_LOOP:
    case WEFT_ITEM_SIGNAL: return true;
    case WEFT_ITEM_REPEAT: return i->op & WEFT_REPEAT_LEFT_OUT;
    default: return false;
    }
}

static uint32_t kind_of(uint32_t item) {
    switch (item) {
    case WEFT_ITEM_MEMORY: return WEFT_S_MEMORY;
    case WEFT_ITEM_REPEAT: return WEFT_S_REPEAT;
    case WEFT_ITEM_LOOP: return WEFT_S_LOOP;
    default: return WEFT_S_INPUT;
    }
}

static uint32_t times(const struct weft_item *i) {
    uint64_t n = 1;
    if (i->size >= 16) memcpy(&n, i->data + 8, 8);
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint64_t padded(uint64_t n) { return (n + 7) & ~7ull; } /* inputs start with an 8-byte result */

static int first_walk(struct build *b, struct weft_counts *counts, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    int r;
    weft__cursor_open(&c, b->t, 0);
    c.sizes = true;
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        struct slot *s = slot_of(b, i.slot);
        weft__counts_add(counts, &i);
        s->last_tick = i.tick;
        if (is_edge(&i)) {
            s->own++;
            s->exited = false;
            struct slot *o = slot_of(b, i.other_slot);
            o->marks++;
            if (i.other_tick > o->known_tick) o->known_tick = i.other_tick;
            continue;
        }
        if (i.kind == WEFT_ITEM_REACHED && i.op >= 1 && i.op <= WEFT_MAX_SLOT && i.size == 8) {
            uint64_t tick;
            memcpy(&tick, i.data, 8);
            s->exited = false;
            struct slot *o = slot_of(b, (uint32_t)i.op);
            if (tick > o->known_tick) o->known_tick = tick;
            continue;
        }
        if (!is_met(&i)) continue;
        if (i.kind == WEFT_ITEM_MEMORY ? i.size <= 8 : i.op > UINT32_MAX || (i.kind == WEFT_ITEM_REPEAT && i.size < 8)) {
            r = weft__err(err, EBADMSG, "%s: chunk %llu at 0x%llx: operation %llu cannot be", b->t->path,
                          (unsigned long long)i.chunk, (unsigned long long)(i.chunk * WEFT_CHUNK + i.off),
                          (unsigned long long)i.op);
            break;
        }
        s->own++;
        s->exited = i.kind == WEFT_ITEM_EXIT;
        if (i.kind == WEFT_ITEM_CRASH) s->crash = (int)i.op;
        if (i.kind == WEFT_ITEM_CRASH || (i.kind == WEFT_ITEM_INPUT && (i.op == SYS_exit_group || i.op == WEFT_OP_EXEC))) s->ended = true;
        if (i.kind == WEFT_ITEM_INPUT && i.op == SYS_execve) s->ended = false; /* it failed */
        b->data_len += padded(i.size);
    }
    counts->stream_bytes = c.stream_bytes;
    weft__cursor_close(&c);
    return r;
}

/* Large inputs that are in the file already, by a few of their bytes. */
#define SEEN 4096
#define SEEN_MIN 2048 /* bytes */
struct seen {
    uint64_t data, size;
};
static struct seen *seen_of(struct seen *seen, const struct weft_item *i) {
    uint64_t h = weft_hash(i->data, 64) + weft_hash(i->data + i->size / 2, 64) + weft_hash(i->data + i->size - 64, 64) + i->size;
    return &seen[(h * 0x9e3779b97f4a7c15ull) >> 52];
}

static int changed(struct build *b, struct weft_err *err) {
    return weft__err(err, EAGAIN, "%s: was changed while it was being read", b->t->path);
}

static int second_walk(struct build *b, struct weft_sched_item *items, uint8_t *map, uint64_t data_off,
                       struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    uint64_t data = data_off, data_end = data_off + b->data_len;
    struct seen *seen = weft__alloc(SEEN * sizeof *seen);
    int r;
    weft__cursor_open(&c, b->t, 0);
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        if (!is_edge(&i) && !is_met(&i)) continue;
        if (i.slot >= b->nslots || b->slots[i.slot].own_filled >= b->slots[i.slot].own) {
            r = changed(b, err);
            break;
        }
        struct slot *s = &b->slots[i.slot];
        uint64_t index = s->first + s->own_filled++;
        struct weft_sched_item *out = &items[index];
        out->tick = i.tick;
        if (is_edge(&i)) {
            struct slot *o = i.other_slot < b->nslots ? &b->slots[i.other_slot] : NULL;
            if (!o || o->marks_filled >= o->marks) {
                r = changed(b, err);
                break;
            }
            out->site = i.site;
            out->kind = WEFT_S_WAIT;
            out->item = i.other_slot;
            o->mark[o->marks_filled++] =
                (struct mark){.tick = i.other_tick, .site = i.other_site, .ref = index << STEP_BITS | step_of(&i)};
            continue;
        }
        if (padded(i.size) > data_end - data) {
            r = changed(b, err);
            break;
        }
        out->kind = kind_of(i.kind);
        if (i.kind == WEFT_ITEM_MEMORY) out->site = i.op;
        if (i.kind == WEFT_ITEM_REPEAT) memcpy(&out->site, i.data, 8);
        out->a = (uint32_t)i.op;
        out->item = i.kind;
        out->size = i.kind == WEFT_ITEM_REPEAT ? times(&i) : (uint32_t)i.size;
        if (i.size >= SEEN_MIN) {
            struct seen *was = seen_of(seen, &i);
            if (was->size == i.size && memcmp(map + was->data, i.data, i.size) == 0) {
                out->data = was->data;
                continue;
            }
            *was = (struct seen){data, i.size};
        }
        out->data = data;
        if (i.size) memcpy(map + data, i.data, i.size);
        data += padded(i.size);
    }
    weft__cursor_close(&c);
    free(seen);
    for (size_t n = 0; n < b->nslots && r == 0; n++)
        if (b->slots[n].own_filled != b->slots[n].own || b->slots[n].marks_filled != b->slots[n].marks)
            r = changed(b, err);
    return r;
}

static bool mark_less(const struct mark *a, const struct mark *b) {
    if (a->tick != b->tick) return a->tick < b->tick;
    if (a->site != b->site) return a->site < b->site;
    return (a->ref & STEP_DONE) < (b->ref & STEP_DONE);
}

/* Merges sorted [0, mid) and [mid, n): the shorter part goes aside. */
static void merge(struct mark *m, size_t mid, size_t n, struct mark *aside) {
    if (mid <= n - mid) {
        memcpy(aside, m, mid * sizeof *m);
        size_t i = 0, j = mid, k = 0;
        while (i < mid) m[k++] = j < n && mark_less(&m[j], &aside[i]) ? m[j++] : aside[i++];
    } else {
        size_t right = n - mid;
        memcpy(aside, m + mid, right * sizeof *m);
        size_t i = mid, j = right, k = n;
        while (j) {
            k--;
            m[k] = i && mark_less(&aside[j - 1], &m[i - 1]) ? m[--i] : aside[--j];
        }
    }
}

/* Natural merge sort: runs that are there already are used. */
static void sort_marks(struct mark *m, size_t n) {
    size_t *runs = NULL, nruns = 0, cap = 0; /* starts */
    for (size_t i = 0; i < n; i++) {
        if (i && !mark_less(&m[i], &m[i - 1])) continue;
        runs = weft__grow(runs, &cap, nruns + 2, sizeof *runs);
        runs[nruns++] = i;
    }
    if (nruns > 1) {
        struct mark *aside = weft__alloc((n / 2 + 1) * sizeof *aside);
        while (nruns > 1) {
            size_t out = 0;
            runs[nruns] = n;
            for (size_t i = 0; i < nruns; i += 2) {
                if (i + 1 < nruns) merge(m + runs[i], runs[i + 1] - runs[i], runs[i + 2] - runs[i], aside);
                runs[out++] = runs[i];
            }
            nruns = out;
            runs = weft__grow(runs, &cap, nruns + 2, sizeof *runs);
        }
        free(aside);
    }
    free(runs);
}

/* Sorts the marks of a slot, joins equal ones, numbers the rest from *flags, and tells the waiting items. */
static void give_flags(struct slot *s, struct weft_sched_item *items, uint64_t *flags) {
    size_t out = 0;
    sort_marks(s->mark, s->marks);
    for (size_t i = 0; i < s->marks; i++) {
        if (out == 0 || mark_less(&s->mark[out - 1], &s->mark[i])) {
            s->mark[out] = s->mark[i];
            out++;
            ++*flags;
        }
        items[s->mark[i].ref >> STEP_BITS].a = (uint32_t)(*flags - 1);
    }
    s->marks = out;
}

/* Own items stand at the front of the slot's place; the list grows from its end. first_flag: of this slot's marks. */
static void merge_marks(struct slot *s, struct weft_sched_item *items, uint64_t first_flag) {
    struct weft_sched_item *list = items + s->first;
    uint64_t i = s->own, j = s->marks;
    while (j) {
        const struct mark *m = &s->mark[j - 1];
        if (i && list[i - 1].tick > m->tick) {
            list[i + j - 1] = list[i - 1];
            i--;
            continue;
        }
        list[i + j - 1] = (struct weft_sched_item){
            .tick = m->tick,
            .site = m->site,
            .kind = (m->ref & STEP_DONE) == STEP_DONE ? WEFT_S_DONE : WEFT_S_REACHED,
            .size = (m->ref & STEP_DONE) == STEP_DONE ? 0 : (uint32_t)(m->ref & STEP_DONE),
            .a = (uint32_t)(first_flag + j - 1),
        };
        j--;
    }
}

static uint64_t final_tick(const struct slot *s) {
    if (s->exited) return s->last_tick;
    return s->last_tick > s->known_tick ? s->last_tick : s->known_tick;
}

/* The thread that ended the process. Several may have been about to: then the one whose signal it was. */
static uint32_t end_slot(const struct build *b) {
    uint32_t found = 0;
    for (uint32_t n = 1; n < b->nslots; n++) {
        const struct slot *s = &b->slots[n];
        if (!s->ended) continue;
        if (b->t->has_end && b->t->end.kind == WEFT_END_SIGNAL && s->crash == (int)b->t->end.code) return n;
        if (!found) found = n;
    }
    return found;
}

static int map_new(uint64_t size, struct weft_schedule *out, struct weft_err *err) {
    int fd = memfd_create("weft", MFD_CLOEXEC);
    if (fd < 0) return weft__err(err, errno, "cannot make a memory file: %s", strerror(errno));
    if (ftruncate(fd, (off_t)size) < 0) {
        int e = errno;
        close(fd);
        return weft__err(err, e, "cannot make a memory file of %llu bytes: %s", (unsigned long long)size, strerror(e));
    }
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        int e = errno;
        close(fd);
        return weft__err(err, e, "cannot map a memory file of %llu bytes: %s", (unsigned long long)size, strerror(e));
    }
    *out = (struct weft_schedule){.fd = fd, .map = map, .size = size, .control = map};
    return 0;
}


int weft__schedule_grow(struct weft_schedule *s, uint64_t size, struct weft_err *err) {
    if (ftruncate(s->fd, (off_t)size) < 0)
        return weft__err(err, errno, "cannot grow a memory file to %llu bytes: %s", (unsigned long long)size,
                         strerror(errno));
    void *map = mremap(s->map, s->size, size, MREMAP_MAYMOVE);
    if (map == MAP_FAILED)
        return weft__err(err, errno, "cannot map a memory file of %llu bytes: %s", (unsigned long long)size,
                         strerror(errno));
    s->map = map;
    s->control = map;
    s->size = size;
    return 0;
}

/* The processes that were forked from this one. */
static int build_parts(const char *dir, struct weft_schedule *s, struct weft_err *err) {
    int r = 0;
    unsigned n = weft__trace_parts(dir);
    if (!n) return 0;
    s->parts = weft__alloc(n * sizeof *s->parts);
    s->nparts = n;
    for (unsigned k = 0; k < n; k++) s->parts[k].fd = -1;
    for (unsigned k = 0; k < n && r == 0; k++) {
        struct weft_strbuf part = {0};
        struct weft_trace *t = NULL;
        if (weft__trace_part(dir, k + 1, &part)) {
            r = weft__trace_open(part.s, &t, err);
            if (r == 0) r = weft__replay_schedule(t, &s->parts[k], err);
            s->parts[k].trace = t;
        }
        weft__strbuf_fini(&part);
    }
    return r;
}

int weft__replay_schedule(struct weft_trace *t, struct weft_schedule *out, struct weft_err *err) {
    struct build b = {.t = t};
    struct weft_schedule s = {.fd = -1};
    struct weft_counts counts = {0};
    uint64_t *first_flag = NULL;
    uint64_t items = 0, flags = 0, edges = 0;
    int r = first_walk(&b, &counts, err);
    if (r < 0) goto out;
    /* The array grew by halves: cut it to what is used. */
    while (b.nslots > 1 && !b.slots[b.nslots - 1].own && !b.slots[b.nslots - 1].marks &&
           !b.slots[b.nslots - 1].known_tick && !b.slots[b.nslots - 1].last_tick)
        b.nslots--;
    if (b.nslots < 1) slot_of(&b, 0), b.nslots = 1;
    for (size_t n = 0; n < b.nslots; n++) {
        b.slots[n].first = items;
        items += b.slots[n].own + b.slots[n].marks;
        edges += b.slots[n].marks;
    }
    if (edges > UINT32_MAX) {
        r = weft__err(err, EFBIG, "%s: more edges than a replay can hold", t->dir);
        goto out;
    }

    uint64_t sched_off = weft__page_up(sizeof(struct weft_control));
    uint64_t data_off = padded(sched_off + sizeof(struct weft_sched) + b.nslots * sizeof(struct weft_sched_slot));
    uint64_t items_off = data_off + b.data_len;
    uint64_t flags_off = items_off + items * sizeof(struct weft_sched_item);
    if ((r = map_new(weft__page_up(flags_off), &s, err)) < 0) goto out;
    for (size_t n = 0; n < b.nslots; n++)
        if (b.slots[n].marks) b.slots[n].mark = weft__alloc(b.slots[n].marks * sizeof(struct mark));
    struct weft_sched_item *list = (struct weft_sched_item *)(s.map + items_off);
    if ((r = second_walk(&b, list, s.map, data_off, err)) < 0) goto out;

    first_flag = weft__alloc(b.nslots * sizeof *first_flag);
    for (size_t n = 0; n < b.nslots; n++) {
        first_flag[n] = flags;
        give_flags(&b.slots[n], list, &flags);
    }
    for (size_t n = 0; n < b.nslots; n++) {
        merge_marks(&b.slots[n], list, first_flag[n]);
        free(b.slots[n].mark);
        b.slots[n].mark = NULL;
    }

    if ((r = build_parts(t->dir, &s, err)) < 0) goto out;
    uint64_t parts_off = flags_off + flags * sizeof(uint32_t);
    if ((r = weft__schedule_grow(&s, weft__page_up(parts_off + s.nparts * sizeof(uint32_t)), err)) < 0) goto out;
    for (size_t k = 0; k < s.nparts; k++)
        if (s.parts[k].fd >= 0) ((uint32_t *)(s.map + parts_off))[k] = (uint32_t)s.parts[k].fd;
    struct weft_sched *head = (struct weft_sched *)(s.map + sched_off);
    *head = (struct weft_sched){
        .slots = b.nslots,
        .flags_off = flags_off,
        .flags = flags,
        .data_off = data_off,
        .data_len = b.data_len,
        .end_slot = end_slot(&b),
    };
    if (t->has_end) {
        head->end_kind = t->end.kind;
        head->end_code = t->end.code;
    }
    struct weft_sched_slot *place = (struct weft_sched_slot *)(head + 1);
    for (size_t n = 0; n < b.nslots; n++)
        place[n] = (struct weft_sched_slot){
            .items_off = items_off + b.slots[n].first * sizeof(struct weft_sched_item),
            .items = b.slots[n].own + b.slots[n].marks,
            .final_tick = final_tick(&b.slots[n]),
            .open_end = n && n == head->end_slot,
        };
    *s.control = (struct weft_control){.magic = WEFT_CONTROL_MAGIC,
                                       .mode = WEFT_REPLAY,
                                       .seed = t->header.seed,
                                       .map_size = s.size,
                                       .sched_off = sched_off,
                                       .parts_off = parts_off,
                                       .parts = s.nparts,
                                       .launcher = (uint64_t)getpid(),
                                       .file = (uint32_t)s.fd};
    s.counts = counts;
    *out = s;
    s = (struct weft_schedule){.fd = -1};
out:
    free(first_flag);
    for (size_t n = 0; n < b.nslots; n++) free(b.slots[n].mark);
    free(b.slots);
    weft__schedule_fini(&s);
    return r;
}

int weft__record_control(const char *streams, uint64_t seed, struct weft_schedule *out, struct weft_err *err) {
    struct weft_schedule s;
    if (strlen(streams) >= sizeof s.control->streams)
        return weft__err(err, ENAMETOOLONG, "%s: the path is too long", streams);
    int r = map_new(weft__page_up(sizeof(struct weft_control)), &s, err);
    if (r < 0) return r;
    *s.control =
        (struct weft_control){.magic = WEFT_CONTROL_MAGIC, .mode = WEFT_RECORD, .seed = seed, .map_size = s.size};
    memcpy(s.control->streams, streams, strlen(streams) + 1);
    *out = s;
    return 0;
}

void weft__schedule_reset(struct weft_schedule *s) {
    struct weft_control *c = s->control;
    c->outcome = WEFT_OUT_RUNNING;
    c->exit_kind = c->exit_code = 0;
    c->vdso = c->map_next = c->chunks = c->pid = 0;
    c->debug = WEFT_DEBUG_NONE;
    memset(c->console_done, 0, sizeof c->console_done);
    c->console_free = 0;
    memset(c->message, 0, sizeof c->message);
    if (c->mode == WEFT_REPLAY) {
        struct weft_sched *head = (struct weft_sched *)(s->map + c->sched_off);
        memset(s->map + head->flags_off, 0, head->flags * sizeof(uint32_t));
    }
    for (size_t k = 0; k < s->nparts; k++)
        if (s->parts[k].fd >= 0) weft__schedule_reset(&s->parts[k]);
}

void weft__schedule_fini(struct weft_schedule *s) {
    for (size_t k = 0; k < s->nparts; k++) weft__schedule_fini(&s->parts[k]);
    free(s->parts);
    weft__trace_close(s->trace);
    if (s->map) munmap(s->map, s->size);
    if (s->fd >= 0) close(s->fd);
    *s = (struct weft_schedule){.fd = -1};
}
