/* Proves: one command compiles and links; the result runs by itself, carries weft's note and names the runtime before
 * every other library. */
// RUN: cd %t.dir && %weft-cc -O2 %s -o prog
// RUN: ./prog | FileCheck %s
// RUN: llvm-readelf -S prog | FileCheck --check-prefix=NOTE %s
// RUN: llvm-readelf -d prog | FileCheck --check-prefix=NEEDED %s
// RUN: %weft-cc -O0 %s -o prog0 && ./prog0 | FileCheck %s
// RUN: llvm-readelf -S prog0 | FileCheck --check-prefix=NOTE %s
// RUN: %weft-cc -Os -fPIE -pie %s -o prog1 && ./prog1 | FileCheck %s
// RUN: %weft-cc -O3 -no-pie %s -o prog2 && ./prog2 | FileCheck %s
// RUN: %weft-cc %s && ./a.out | FileCheck %s
#include <stdio.h>

int main(void) {
    puts("it runs");
    return 0;
}
// CHECK: it runs
// NOTE: .note.weft
// NEEDED: RUNPATH
// NEEDED-NOT: Shared library
// NEEDED: Shared library: [libweft-rt.so]
// NEEDED: Shared library: [libc.so.6]
// NEEDED: NOW
