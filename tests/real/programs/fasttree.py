# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FastTree, whose threads are OpenMP's: loops that are shared out as they run, sections, critical parts, and races that its author lives with; it makes a
tree of sequences. Natively it is built with gcc, which brings an OpenMP library."""
import os
import random

from case import Case

PACKAGES = ["fasttree"]
BUILD = 'case $CC in weft-cc*) ;; *) CC=gcc ;; esac; $CC -O2 -g -DOPENMP -fopenmp fasttree.c -o FastTree -lm'
PROGRAM = "FastTree"


class Tree(Case):
    env = {"OMP_NUM_THREADS": "4"}

    def __init__(self, options):
        self.sequences = 60 if options.quick else 400

    def prepare(self, work):
        rng = random.Random(1)
        base = [rng.choice("ACGT") for _ in range(600)]
        with open(os.path.join(work, "input"), "w", encoding="ascii") as f:
            for k in range(self.sequences):
                one = list(base)
                for _ in range(60):
                    one[rng.randrange(600)] = rng.choice("ACGT")
                f.write(">s%d\n%s\n" % (k, "".join(one)))
                if k % 10 == 0:
                    base = one

    def command(self, program, work):
        return [program, "-nt", "-quiet", "input"]

    def check(self, work, out):
        with open(out, encoding="ascii") as f:
            tree = f.read()
        if any("s%d:" % k not in tree for k in range(self.sequences)) or not tree.endswith(";\n"):
            raise RuntimeError("that is no tree of all sequences")


def cases(options):
    return [Tree(options)]
