/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that does not fail and a hash map from words to numbers, for the analysis. */
#include "analysis.h"

void *weft__an_alloc(void *old, size_t count, size_t size) {
    void *p = realloc(old, (count ? count : 1) * size);
    if (!p) {
        fputs("weft: out of memory\n", stderr);
        abort();
    }
    return p;
}

_Noreturn void weft__an_die(const char *file, int line, const char *what) {
    fprintf(stderr, "weft: bug in the pass: %s:%d: %s\n", file, line, what);
    abort();
}

static size_t slot_of(uint64_t key, size_t room) {
    key *= 0x9e3779b97f4a7c15u;
    return (key ^ (key >> 32)) & (room - 1);
}

uint32_t *weft__map_find(const struct weft_map *map, uint64_t key) {
    if (!map->room) return NULL;
    for (size_t s = slot_of(key, map->room);; s = (s + 1) & (map->room - 1)) {
        if (map->key[s] == key) return &map->value[s];
        if (!map->key[s]) return NULL;
    }
}

uint32_t *weft__map_at(struct weft_map *map, uint64_t key) {
    if (2 * (map->count + 1) > map->room) {
        struct weft_map old = *map;
        map->room = old.room ? 2 * old.room : 64;
        map->key = weft__an_alloc(NULL, map->room, sizeof *map->key);
        map->value = weft__an_alloc(NULL, map->room, sizeof *map->value);
        memset(map->key, 0, map->room * sizeof *map->key);
        for (size_t i = 0; i < old.room; i++)
            if (old.key[i]) {
                size_t s = slot_of(old.key[i], map->room);
                while (map->key[s])
                    s = (s + 1) & (map->room - 1);
                map->key[s] = old.key[i], map->value[s] = old.value[i];
            }
        free(old.key);
        free(old.value);
    }
    size_t s = slot_of(key, map->room);
    for (; map->key[s]; s = (s + 1) & (map->room - 1))
        if (map->key[s] == key) return &map->value[s];
    map->key[s] = key, map->value[s] = 0;
    map->count++;
    return &map->value[s];
}

void weft__map_fini(struct weft_map *map) {
    free(map->key);
    free(map->value);
    *map = (struct weft_map){0};
}

/* ---- sets ------------------------------------------------------------------------------------------------------ */

static void set_reserve(struct weft_set *s, uint32_t room) {
    if (room <= s->room) return;
    uint32_t want = s->room ? s->room : 2;
    while (want < room)
        want *= 2;
    s->chunk = weft__an_alloc(s->chunk, want, sizeof *s->chunk);
    s->room = want;
}

void weft__set_fini(struct weft_set *s) {
    free(s->chunk);
    *s = (struct weft_set){0};
}

/* Index of the first chunk whose base is not below `base`. */
static uint32_t set_find(const struct weft_set *s, uint32_t base) {
    uint32_t lo = 0, hi = s->count;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (s->chunk[mid].base < base)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int weft__set_has(const struct weft_set *s, uint32_t x) {
    uint32_t i = set_find(s, x / 64);
    return i < s->count && s->chunk[i].base == x / 64 && (s->chunk[i].bits >> (x % 64) & 1);
}

int weft__set_add(struct weft_set *s, uint32_t x) {
    uint32_t base = x / 64, i = s->count && s->chunk[s->count - 1].base < base ? s->count : set_find(s, base);
    uint64_t bit = 1ull << (x % 64);
    if (i < s->count && s->chunk[i].base == base) {
        int isnew = !(s->chunk[i].bits & bit);
        s->chunk[i].bits |= bit;
        return isnew;
    }
    set_reserve(s, s->count + 1);
    memmove(s->chunk + i + 1, s->chunk + i, (s->count - i) * sizeof *s->chunk);
    s->chunk[i] = (struct weft_chunk){base, bit};
    s->count++;
    return 1;
}

/* Leaves an empty chunk behind rather than moving the rest. */
int weft__set_remove(struct weft_set *s, uint32_t x) {
    uint32_t i = set_find(s, x / 64);
    uint64_t bit = 1ull << (x % 64);
    if (i == s->count || s->chunk[i].base != x / 64 || !(s->chunk[i].bits & bit)) return 0;
    s->chunk[i].bits &= ~bit;
    return 1;
}

/* First pass: what is missing? Mostly nothing, and then nothing is written. Second pass: merge from the end, in place.
 */
int weft__set_union(struct weft_set *into, const struct weft_set *from, struct weft_set *fresh) {
    uint32_t extra = 0, i = 0;
    int changed = 0;
    for (uint32_t j = 0; j < from->count; j++) {
        const struct weft_chunk *c = &from->chunk[j];
        while (i < into->count && into->chunk[i].base < c->base)
            i++;
        if (i == into->count || into->chunk[i].base != c->base) {
            extra++;
            changed = 1;
        } else if (c->bits & ~into->chunk[i].bits) {
            changed = 1;
        }
    }
    if (!changed) return 0;
    if (fresh) {
        struct weft_set add = {0};
        i = 0;
        for (uint32_t j = 0; j < from->count; j++) {
            const struct weft_chunk *c = &from->chunk[j];
            while (i < into->count && into->chunk[i].base < c->base)
                i++;
            uint64_t bits = c->bits;
            if (i < into->count && into->chunk[i].base == c->base) bits &= ~into->chunk[i].bits;
            if (bits) {
                set_reserve(&add, add.count + 1);
                add.chunk[add.count++] = (struct weft_chunk){c->base, bits};
            }
        }
        if (!fresh->count) {
            free(fresh->chunk);
            *fresh = add;
        } else {
            weft__set_union(fresh, &add, NULL);
            weft__set_fini(&add);
        }
    }
    set_reserve(into, into->count + extra);
    int64_t a = (int64_t)into->count - 1, b = (int64_t)from->count - 1, w = (int64_t)(into->count + extra) - 1;
    into->count += extra;
    while (b >= 0) {
        if (a >= 0 && into->chunk[a].base > from->chunk[b].base)
            into->chunk[w--] = into->chunk[a--];
        else if (a >= 0 && into->chunk[a].base == from->chunk[b].base) {
            into->chunk[w] = into->chunk[a--];
            into->chunk[w--].bits |= from->chunk[b--].bits;
        } else
            into->chunk[w--] = from->chunk[b--];
    }
    return 1;
}

int weft__set_meets(const struct weft_set *a, const struct weft_set *b) {
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->chunk[i].base < b->chunk[j].base)
            i++;
        else if (a->chunk[i].base > b->chunk[j].base)
            j++;
        else if (a->chunk[i++].bits & b->chunk[j++].bits)
            return 1;
    }
    return 0;
}

/* a without b */
void weft__set_minus(struct weft_set *a, const struct weft_set *b) {
    uint32_t j = 0, w = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        struct weft_chunk c = a->chunk[i];
        while (j < b->count && b->chunk[j].base < c.base)
            j++;
        if (j < b->count && b->chunk[j].base == c.base) c.bits &= ~b->chunk[j].bits;
        if (c.bits) a->chunk[w++] = c;
    }
    a->count = w;
}

size_t weft__set_size(const struct weft_set *s) {
    size_t n = 0;
    for (uint32_t i = 0; i < s->count; i++)
        n += (size_t)__builtin_popcountll(s->chunk[i].bits);
    return n;
}
