/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern int known_to_it;
void touch(void);
void touch(void) {
    known_to_it++;
}
