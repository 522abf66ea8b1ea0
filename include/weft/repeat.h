/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For programs: loops whose iterations `weft simplify` may leave out.
 *
 * weft finds loops that count by itself. WEFT_REPEAT, as the first statement of any other loop's body, says that each pass through the
 * body is a piece of work by itself, of which there may be fewer:
 *
 *     while ((request = next())) {
 *         WEFT_REPEAT;
 *         serve(request);
 *     }
 *
 * An iteration is left out as by `continue`. A program that was not built with weft-cc or weft-c++ never leaves one out. */
#ifndef WEFT_REPEAT_H
#define WEFT_REPEAT_H

/* weft-cc puts its own in place of this. */
#ifdef __GNUC__
__attribute__((unused))
#endif
static inline int __weft_repeat(int flags) {
    (void)flags;
    return 0;
}

#define WEFT_REPEAT                                                                                                    \
    if (__weft_repeat(4)) continue

#endif
