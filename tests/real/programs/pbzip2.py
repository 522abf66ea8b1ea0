# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from case import Packer

PACKAGES = ["pbzip2"]
BUILD = 'make -j2 CC="$CC" CXX="$CXX" CXXFLAGS="-O2 -std=gnu++98"'
PROGRAM = "pbzip2"


def cases(options):
    small = ["-b2"] if options.quick else []  # enough blocks for all threads in a small file too
    pack, unpack = ["-p4", "-k", "-c", *small, "input"], ["-p4", "-d", "-k", "-c", "packed.bz2"]
    return Packer(options, pack, unpack, "packed.bz2").cases
