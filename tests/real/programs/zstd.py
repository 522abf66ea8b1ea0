# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from case import Packer

PACKAGES = ["libzstd"]
BUILD = 'make -j2 zstd CC="$CC" CXX="$CXX"'
PROGRAM = "programs/zstd"


def cases(options):
    small = ["-B524288"] if options.quick else []
    pack, unpack = ["-T4", "-q", "-k", "-c", *small, "input"], ["-T4", "-d", "-q", "-k", "-c", "packed.zst"]
    return Packer(options, pack, unpack, "packed.zst").cases
