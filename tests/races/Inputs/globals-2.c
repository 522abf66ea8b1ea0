/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern int unlocked;
void add(void);
void add(void) {
    unlocked++; // RACE a
}
