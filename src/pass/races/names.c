/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a variable, and a place in it, is called in the source, by the debug information: account.balance, table[].next.
 * Elements of an array are one for the analysis, so they have no number. */
#include "races.h"
#include <llvm-c/DebugInfo.h>

enum { TAG_ARRAY = 0x01, TAG_CLASS = 0x02, TAG_STRUCT = 0x13, TAG_UNION = 0x17, TAG_MEMBER = 0x0d, TAG_INHERITANCE = 0x1c }; /* DWARF's */
enum { OP_NAME = 1 /* of a variable */, OP_TYPE = 3 /* of a variable, a member, a typedef, an array */, OP_ELEMENTS = 4 };

LLVMMetadataRef weft__name_operand(struct weft_races *r, LLVMMetadataRef node, unsigned i) {
    LLVMValueRef v = LLVMMetadataAsValue(LLVMGetModuleContext(r->f->module), node), op[32];
    unsigned n = LLVMGetMDNodeNumOperands(v);
    if (i >= n || n > 32) return NULL;
    LLVMGetMDNodeOperands(v, op);
    return op[i] ? LLVMValueAsMetadata(op[i]) : NULL;
}

const char *weft__name_string(struct weft_races *r, LLVMMetadataRef node, unsigned i, unsigned *length) {
    LLVMMetadataRef s = weft__name_operand(r, node, i);
    return s ? LLVMGetMDString(LLVMMetadataAsValue(LLVMGetModuleContext(r->f->module), s), length) : NULL;
}

/* Without typedef, const and the like. */
static LLVMMetadataRef peeled(struct weft_races *r, LLVMMetadataRef type) {
    for (int i = 0; type && i < 32; i++) {
        LLVMMetadataKind k = LLVMGetMetadataKind(type);
        if (k == LLVMDICompositeTypeMetadataKind) return type;
        if (k != LLVMDIDerivedTypeMetadataKind) return NULL;
        uint16_t tag = LLVMGetDINodeTag(type);
        size_t n = 0;
        const char *name = LLVMDITypeGetName(type, &n);
        if (tag == 0x0f || tag == 0x10 || tag == 0x42) return NULL; /* pointers, references */
        if (name && n > 8 && !strncmp(name, "pthread_", 8)) return NULL; /* nobody wants to know its members */
        type = weft__name_operand(r, type, OP_TYPE);
    }
    return NULL;
}

static void put_path(struct weft_races *r, LLVMMetadataRef type, uint64_t offset, char *out, size_t room, int depth) {
    type = peeled(r, type);
    if (!type || depth > 16) return;
    uint16_t tag = LLVMGetDINodeTag(type);
    size_t n = strlen(out);
    if (tag == TAG_ARRAY) {
        LLVMMetadataRef element = weft__name_operand(r, type, OP_TYPE), inner = element ? peeled(r, element) : NULL;
        uint64_t size = inner ? LLVMDITypeGetSizeInBits(inner) / 8 : 0;
        snprintf(out + n, room - n, "[]");
        if (size) put_path(r, inner, offset % size, out, room, depth + 1);
        return;
    }
    LLVMMetadataRef elements = weft__name_operand(r, type, OP_ELEMENTS);
    if ((tag != TAG_STRUCT && tag != TAG_CLASS && tag != TAG_UNION) || !elements) return;
    unsigned count = LLVMGetMDNodeNumOperands(LLVMMetadataAsValue(LLVMGetModuleContext(r->f->module), elements));
    LLVMValueRef *member = weft__an_alloc(NULL, count + 1, sizeof *member);
    LLVMGetMDNodeOperands(LLVMMetadataAsValue(LLVMGetModuleContext(r->f->module), elements), member);
    for (unsigned i = 0; i < count; i++) {
        LLVMMetadataRef m = member[i] ? LLVMValueAsMetadata(member[i]) : NULL;
        if (!m || LLVMGetMetadataKind(m) != LLVMDIDerivedTypeMetadataKind) continue;
        uint16_t kind = LLVMGetDINodeTag(m);
        uint64_t at = LLVMDITypeGetOffsetInBits(m) / 8, size = (LLVMDITypeGetSizeInBits(m) + 7) / 8;
        if ((kind != TAG_MEMBER && kind != TAG_INHERITANCE) || offset < at || offset >= at + size) continue;
        size_t length;
        const char *name = kind == TAG_MEMBER ? LLVMDITypeGetName(m, &length) : NULL;
        if (name && length) snprintf(out + n, room - n, ".%.*s", (int)length, name);
        put_path(r, weft__name_operand(r, m, OP_TYPE), offset - at, out, room, depth + 1);
        break;
    }
    free(member);
}

int weft__name_variable(struct weft_races *r, LLVMValueRef global, uint64_t offset, char *out, size_t room) {
    size_t n = 0;
    int found = 0;
    LLVMValueMetadataEntry *e = LLVMGlobalCopyAllMetadata(global, &n);
    for (size_t i = 0; i < n && !found; i++) {
        LLVMMetadataRef m = LLVMValueMetadataEntriesGetMetadata(e, (unsigned)i);
        if (LLVMGetMetadataKind(m) != LLVMDIGlobalVariableExpressionMetadataKind) continue;
        LLVMMetadataRef v = LLVMDIGlobalVariableExpressionGetVariable(m);
        unsigned length = 0;
        const char *name = v ? weft__name_string(r, v, OP_NAME, &length) : NULL;
        if (!name) continue;
        snprintf(out, room, "%.*s", (int)length, name);
        put_path(r, weft__name_operand(r, v, OP_TYPE), offset, out, room, 0);
        found = 1;
    }
    LLVMDisposeValueMetadataEntries(e);
    return found;
}
