/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stacks of a living process: libdw stops a thread, unwinds it by the call frame information of its modules, and lets it go.
 * The way from the runtime's stack to the program's is in that information too (stubs.S). Without libdw, or where the thread
 * may not be traced (somebody else traces it), there are no frames. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>
#if WEFT_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

struct weft_stacks {
    void *dwfl;
    bool attached;
};

#if WEFT_HAVE_LIBDW
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo};

struct walk {
    struct weft_stacks *s;
    struct weft_frame_view *frames;
    size_t n, most;
};

static int frame(Dwfl_Frame *f, void *arg) {
    struct walk *w = arg;
    Dwarf_Addr pc;
    bool exact;
    if (w->n == w->most || !dwfl_frame_pc(f, &pc, &exact)) return DWARF_CB_ABORT;
    struct weft_frame_view *v = &w->frames[w->n++];
    *v = (struct weft_frame_view){.pc = exact ? pc : pc - 1, .module = "", .function = ""};
    Dwfl_Module *m = dwfl_addrmodule(w->s->dwfl, v->pc);
    if (!m) return DWARF_CB_OK;
    const char *name = dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL), *function = dwfl_module_addrname(m, v->pc);
    if (name) v->module = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (function) v->function = weft__demangle(function);
    return DWARF_CB_OK;
}
#endif

struct weft_stacks *weft__stacks_open(pid_t pid) {
    struct weft_stacks *s = weft__alloc(sizeof *s);
    (void)pid;
#if WEFT_HAVE_LIBDW
    s->dwfl = dwfl_begin(&callbacks);
    s->attached = s->dwfl && dwfl_linux_proc_report(s->dwfl, pid) == 0 && dwfl_report_end(s->dwfl, NULL, NULL) == 0 &&
                  dwfl_linux_proc_attach(s->dwfl, pid, false) == 0;
#endif
    return s;
}

void weft__stacks_close(struct weft_stacks *s) {
#if WEFT_HAVE_LIBDW
    if (s->dwfl) dwfl_end(s->dwfl);
#endif
    free(s);
}

size_t weft__stacks_read(struct weft_stacks *s, pid_t tid, struct weft_frame_view *frames, size_t most) {
#if WEFT_HAVE_LIBDW
    struct walk w = {s, frames, 0, most};
    if (s->attached) dwfl_getthread_frames(s->dwfl, tid, frame, &w); /* its end is an error where it cannot go on */
    return w.n;
#else
    (void)s;
    (void)tid;
    (void)frames;
    (void)most;
    return 0;
#endif
}
