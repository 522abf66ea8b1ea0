/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where is every thread that a pthread_create has made surely joined? */
#include "races.h"

uint64_t weft__joins_call(const struct weft_races *r, LLVMValueRef call) {
    uint32_t *i = weft__map_find(&r->join_at, weft__key(call));
    return i ? r->join[*i - 1] : 0;
}

static uint64_t edge_key(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    return weft__key(from) * 0x9e3779b97f4a7c15u ^ weft__key(to);
}

uint64_t weft__joins_edge(const struct weft_races *r, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    uint32_t *i = r->join_edge.count ? weft__map_find(&r->join_edge, edge_key(from, to)) : NULL;
    return i ? r->join[*i - 1] : 0;
}

void weft__joins_find(struct weft_races *r) {
}
