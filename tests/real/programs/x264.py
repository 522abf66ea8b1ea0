# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x264 without assembly; a generated clip, moving stripes and noise, is encoded with 4 threads."""
import os
import random

from case import Case

PACKAGES = ["x264"]
BUILD = """CC="$CC" ./configure --disable-asm --disable-opencl --disable-avs --disable-swscale --disable-lavf \
--disable-ffms --disable-gpac --disable-lsmash
make -j2 x264"""
PROGRAM = "x264"
WIDTH, HEIGHT = 352, 288


class Encode(Case):
    def __init__(self, options):
        self.frames = 12 if options.quick else 150

    def prepare(self, work):
        r = random.Random(264)
        noise = [r.randrange(8) for _ in range(WIDTH * 8)]
        with open(os.path.join(work, "clip.yuv"), "wb") as f:
            for t in range(self.frames):
                for y in range(HEIGHT):
                    at = r.randrange(WIDTH * 7)
                    line = ((x * 2 + y * 3 + t * 5) % 200 + noise[at + x] for x in range(WIDTH))
                    f.write(bytes(line))
                f.write(bytes((x + t) % 256 for x in range(WIDTH // 2)) * HEIGHT)

    def command(self, program, work):
        size = "%dx%d" % (WIDTH, HEIGHT)
        return [program, "--threads", "4", "--input-res", size, "--fps", "25", "-o", "-", "clip.yuv"]

    def check(self, work, out):
        with open(out, "rb") as f:
            if not f.read(4) == b"\0\0\0\1":
                raise RuntimeError("what came out is not H.264")


def cases(options):
    return [Encode(options)]
