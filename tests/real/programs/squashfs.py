# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mksquashfs: readers, compressors, an orderer and a writer, around queues and a cache; a folder becomes a file system."""
import os

from case import Case, mixed_data

PACKAGES = ["squashfs-tools"]
BUILD = 'make -j2 -C squashfs-tools CC="$CC" XZ_SUPPORT= ZSTD_SUPPORT= LZO_SUPPORT= LZ4_SUPPORT= mksquashfs'
PROGRAM = "squashfs-tools/mksquashfs"


class Make(Case):
    def __init__(self, options):
        self.data = mixed_data(options.place, options.megabytes)
        self.files = 40 if options.quick else 200

    def prepare(self, work):
        os.mkdir(os.path.join(work, "tree"))
        with open(self.data, "rb") as f:
            data = f.read()
        size = len(data) // self.files
        for i in range(self.files):
            with open(os.path.join(work, "tree", "file%d" % i), "wb") as f:
                f.write(data[i * size : (i + 1 + i % 3) * size])  # some begin alike

    def command(self, program, work):
        return [program, "tree", "made", "-no-progress", "-noappend", "-processors", "4"]

    def check(self, work, out):
        with open(os.path.join(work, "made"), "rb") as f:
            if f.read(4) != b"hsqs":
                raise RuntimeError("what was made is no file system")


def cases(options):
    return [Make(options)]
