/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libweft-inst.a: functions of libc that call back, walk memory in a way that cannot be taken beforehand, or give out
 * memory of their own, as bitcode under their own names. The linker extracts a member only if the program refers to it and
 * does not define it; the pass then instruments it with the program, so comparators are ordinary calls inside the module.
 *
 * Rules: one family of functions per file, since a file is what is extracted. All definitions are hidden: a shared library
 * and the program each have a copy of their own, neither is seen from outside, and code not built with weft goes on using
 * libc's. So state that copies must share (strtok, hsearch) lives in the runtime. Names that the compiler may bring in by
 * itself while it links (memcpy, strcpy, __atomic_load) do not belong here: it is too late then to extract bitcode. Those
 * are in the runtime, as __weft_NAME where the pass renames calls of them. */
#ifndef WEFT_INST_H
#define WEFT_INST_H

#include <stddef.h>

#define WEFT_INST __attribute__((visibility("hidden")))

/* src/runtime/lc_string.c: one of each in a process */
extern char *__weft_strtok_save;
extern void *__weft_hsearch_data[2];
struct tm;
extern struct tm __weft_tm;
extern char __weft_asctime[114]; /* what libc has */

/* src/runtime/wrap_sys.c: whether the thread is to be woken just in time when it waits with a limit */
void __weft_exact(int on);

#endif
