/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hsearch and its family: open addressing with linear probing. The table without a name belongs to the process, and so is
 * the runtime's (inst.h). */
#include "inst.h"
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct table {
    size_t size, used; /* size: what was asked for; the slots are the next power of two above 4/3 of it */
    size_t mask;
    ENTRY slot[];
};

static size_t hash(const char *s) {
    size_t h = 5381;
    while (*s) h = h * 33 + (unsigned char)*s++;
    return h ^ h >> 16;
}

WEFT_INST int hcreate_r(size_t n, struct hsearch_data *h) {
    size_t slots = 8, bytes;
    if (!h) {
        errno = EINVAL;
        return 0;
    }
    if (h->table) return 0;
    while (slots && slots - slots / 4 <= n) slots *= 2;
    if (!slots || __builtin_mul_overflow(slots, sizeof(ENTRY), &bytes) || __builtin_add_overflow(bytes, sizeof(struct table), &bytes)) {
        errno = ENOMEM;
        return 0;
    }
    struct table *t = calloc(1, bytes);
    if (!t) return 0;
    t->size = n;
    t->mask = slots - 1;
    h->table = (struct _ENTRY *)t;
    return 1;
}

WEFT_INST void hdestroy_r(struct hsearch_data *h) {
    if (!h) {
        errno = EINVAL;
        return;
    }
    free(h->table);
    h->table = NULL;
}

WEFT_INST int hsearch_r(ENTRY item, ACTION action, ENTRY **result, struct hsearch_data *h) {
    struct table *t = (struct table *)h->table;
    *result = NULL;
    if (!t) {
        errno = action == FIND ? ESRCH : ENOMEM;
        return 0;
    }
    size_t i = hash(item.key) & t->mask;
    for (; t->slot[i].key; i = (i + 1) & t->mask)
        if (!strcmp(item.key, t->slot[i].key)) {
            *result = &t->slot[i];
            return 1;
        }
    if (action == FIND) {
        errno = ESRCH;
        return 0;
    }
    if (t->used >= t->mask) { /* one slot stays empty, or a search would not end */
        errno = ENOMEM;
        return 0;
    }
    t->slot[i] = item;
    t->used++;
    *result = &t->slot[i];
    return 1;
}

static struct hsearch_data *common(struct hsearch_data *h) {
    memset(h, 0, sizeof *h);
    h->table = __weft_hsearch_data[0];
    return h;
}
WEFT_INST int hcreate(size_t n) {
    struct hsearch_data h;
    int r = hcreate_r(n, common(&h));
    __weft_hsearch_data[0] = h.table;
    return r;
}
WEFT_INST void hdestroy(void) {
    struct hsearch_data h;
    hdestroy_r(common(&h));
    __weft_hsearch_data[0] = NULL;
}
WEFT_INST ENTRY *hsearch(ENTRY item, ACTION action) {
    struct hsearch_data h;
    ENTRY *result;
    hsearch_r(item, action, &result, common(&h));
    return result;
}
