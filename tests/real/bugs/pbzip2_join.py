# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pbzip2 with 24 threads that compress 7 blocks."""
import os

import case
import patched

PACKAGES = ["pbzip2"]
BUILD = patched.build(__name__, 'make -j2 CC="$CC" CXX="$CXX" CXXFLAGS="-O2 -std=gnu++98"')
PROGRAM = "pbzip2"
RECORD = []
STATUS = [139, 248, 251]  # or exit(-5) after "pthread_mutex_lock error [22]!", exit(-8) after "pthread_cond_wait error [22]!"


def prepare(place, work, program):
    with open(case.mixed_data(place, 2), "rb") as f, open(os.path.join(work, "input"), "wb") as g:
        g.write(f.read(650000))


def command(program):
    return [program, "-p24", "-b1", "-q", "-k", "-c", "input"]
