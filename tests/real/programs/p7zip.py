# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from case import Packer

PACKAGES = ["p7zip"]
BUILD = """make -j2 -C CPP/7zip/Bundles/Alone7z -f ../../cmpl_clang.mak CC="$CC" CXX="$CXX" \
CFLAGS_WARN=-Wall CFLAGS_WARN_WALL=-Wall DISABLE_RAR=1"""
PROGRAM = "CPP/7zip/Bundles/Alone7z/b/c/7zr"


def cases(options):
    level = ["-mx3", "-m0=lzma2:c512k"] if options.quick else ["-mx3"]
    pack, unpack = ["a", "-bd", "-mmt4", *level, "packed.7z", "input"], ["x", "-mmt4", "-so", "packed.7z"]
    return Packer(options, pack, unpack, "packed.7z", written=True).cases
