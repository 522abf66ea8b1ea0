# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""xz with up to 24 threads that decompress a file of 26 blocks. The last but two is damaged, and larger than what is read at once; the
others are small and take long, so that there are many threads by then."""
import os
import random
import subprocess

import patched

PACKAGES = ["xz-utils"]
BUILD = patched.build(
    __name__,
    './configure CC="$CC" CXX="$CXX" --disable-shared --disable-nls --disable-xzdec --disable-lzmadec --disable-lzmainfo '
    "--disable-scripts --disable-doc; make -j2",
)
PROGRAM = "src/xz/xz"
RECORD = ["--ok", "1"]  # the file is damaged, and it says so
STATUS = [139]
BLOCK, BLOCKS, DAMAGED = 1 << 19, 26, 23


def data():
    r = random.Random(31115)
    words = [bytes(r.choices(b"abcdefghijklmnopqrstuvwxyz", k=r.randint(1, 11))) for _ in range(5000)]
    for i in range(BLOCKS):
        if i == DAMAGED:
            yield b" ".join(r.choices(words, k=BLOCK // 4))[:BLOCK]
        else:
            yield b"".join(r.choices([r.randbytes(32) for _ in range(2)], k=BLOCK // 32))


def prepare(place, work, program):
    plain, packed = os.path.join(work, "plain"), os.path.join(work, "damaged.xz")
    with open(plain, "wb") as f:
        f.writelines(data())
    with open(packed, "wb") as f:
        subprocess.run([program, "-T2", "--block-size=%d" % BLOCK, "-k", "-c", plain], stdout=f, check=True)
    said = subprocess.run([program, "--robot", "-lvv", packed], stdout=subprocess.PIPE, text=True, check=True).stdout
    blocks = [line.split("\t") for line in said.splitlines() if line.startswith("block\t")]
    with open(packed, "r+b") as f:
        f.seek(int(blocks[DAMAGED][4]) + 9000)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 0x55]))
    os.unlink(plain)


def command(program):
    return [program, "-T24", "-d", "-k", "-c", "damaged.xz"]
