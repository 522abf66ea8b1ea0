# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from case import Packer

PACKAGES = ["xz-utils"]
BUILD = './configure CC="$CC" CXX="$CXX" --prefix="$FOLDER/inst" --disable-nls; make -j2; make install'
PROGRAM = "inst/bin/xz"


def cases(options):
    small = ["--block-size=524288"] if options.quick else []
    pack, unpack = ["-T4", "-k", "-c", *small, "input"], ["-T4", "-d", "-k", "-c", "packed.xz"]
    return Packer(options, pack, unpack, "packed.xz").cases
