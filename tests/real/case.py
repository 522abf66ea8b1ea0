# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program is made to do: a command, the files that it finds, and for a server the load. A file of programs/ says
which source packages it needs (PACKAGES), how these are built (BUILD, a script that runs in the sources with CC and CXX
set), what comes out (PROGRAM) and gives a list of cases (cases)."""
import os
import random
import shutil
import signal
import socket
import struct
import threading
import time


class Case:
    name = ""  # in the table, after the program's name
    requests = 0  # of a server: how many its load makes
    env = {}

    def prepare(self, work):
        """Fills the folder that the program runs in. It is empty, and its files are gone in replay."""

    def command(self, program, work):
        raise NotImplementedError

    def ready(self):
        """Of a server: waits until it answers."""

    def load(self, pid):
        """Of a server: the requests, while it runs as process PID. Raises if an answer is wrong."""

    def stop(self, pid):
        os.kill(pid, signal.SIGTERM)

    def check(self, work, out):
        """After a run: OUT is the file with its standard output. Raises if something is wrong."""


class Server(Case):
    def __init__(self):
        self.port = free_port()

    def ready(self):
        wait_port(self.port)


def at_once(n, client):
    """client(0) to client(n - 1), each in a thread. Raises what one of them raised."""
    failed = []

    def one(number):
        try:
            client(number)
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port, seconds=30):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise RuntimeError("nobody listens on port %d" % port) from None
            time.sleep(0.02)


class Packer:
    """Compresses a file of mixed data to stdout, or to the file that the command names, and decompresses it again."""

    def __init__(self, options, pack, unpack, packed="packed", written=False):
        self.data = mixed_data(options.place, options.megabytes)
        self.kept = os.path.join(options.place, "runs", packed)
        outer = self

        class Pack(Case):
            name = "compress"

            def prepare(self, work):
                os.link(outer.data, os.path.join(work, "input"))

            def command(self, program, work):
                return [program, *pack]

            def check(self, work, out):
                shutil.copyfile(os.path.join(work, packed) if written else out, outer.kept)

        class Unpack(Case):
            name = "decompress"

            def prepare(self, work):
                shutil.copyfile(outer.kept, os.path.join(work, packed))

            def command(self, program, work):
                return [program, *unpack]

            def check(self, work, out):
                if not same(out, outer.data):
                    raise RuntimeError("what was compressed did not come out again")

        self.cases = [Pack(), Unpack()]


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        while True:
            x, y = f.read(1 << 20), g.read(1 << 20)
            if x != y or not x:
                return x == y


def mixed_data(place, megabytes):
    """Text, records, noise, zeros and repeats, the same on every machine."""
    path = os.path.join(place, "data", "%d.bin" % megabytes)
    if os.path.exists(path):
        return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = "%s.%d" % (path, os.getpid())
    r = random.Random(20100918)
    words = [bytes(r.choices(b"abcdefghijklmnopqrstuvwxyz", k=r.randint(1, 11))) for _ in range(5000)]
    weights = [1 / (i + 3) for i in range(5000)]
    blocks = []
    with open(temporary, "wb") as f:
        left = megabytes << 20
        while left > 0:
            kind = r.randrange(10)
            if kind < 5:
                block = b" ".join(r.choices(words, weights, k=12000))
            elif kind < 7:
                x = r.randrange(1 << 20)
                block = b"".join(
                    struct.pack("<IHHd", x + i, i * 7 & 0xFFFF, r.randrange(16), i / 3) for i in range(4000)
                )
            elif kind < 8:
                block = r.randbytes(60000)
            elif kind < 9:
                block = bytes(r.randrange(1000, 50000))
            else:
                block = blocks[r.randrange(len(blocks))][: r.randrange(1, 60000)] if blocks else b"weft"
            if len(blocks) < 50:
                blocks.append(block)
            block = block[:left]
            f.write(block)
            left -= len(block)
    os.rename(temporary, path)
    return path
