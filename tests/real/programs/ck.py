# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Concurrency Kit: its test of a lock-free stack, with exchanges of 16 bytes; every atomic operation is inline assembly."""
from case import Case

PACKAGES = ["ck"]
BUILD = """./configure --cores=4
make -j2 -C src
make -C regressions/ck_stack/validate mpmc_pair CORES=4"""
PROGRAM = "regressions/ck_stack/validate/mpmc_pair"


class Stack(Case):
    def command(self, program, work):
        return [program, "2", "1", "0"]


def cases(options):
    return [Stack()]
