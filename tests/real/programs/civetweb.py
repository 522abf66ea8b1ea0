# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""civetweb, a web server, with 6 threads: 8 clients at a time get files of several sizes, by a connection for each."""
import os
import urllib.request

from case import Server, at_once

PACKAGES = ["civetweb"]
BUILD = """mkdir made; cd made
cmake -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_C_FLAGS="${CC#"${CC%% *}"}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCIVETWEB_BUILD_TESTING=OFF -DCIVETWEB_ENABLE_SSL=OFF ..
make -j2"""
PROGRAM = "made/src/civetweb"
CLIENTS = 8
SIZES = [100, 10000, 300000]


def content(size):
    return b"".join(b"%07d\n" % i for i in range(size // 8 + 1))[:size]


class Load(Server):
    def __init__(self, options):
        super().__init__()
        self.requests = 200 if options.quick else 5000

    def prepare(self, work):
        for size in SIZES:
            with open(os.path.join(work, "%d.txt" % size), "wb") as f:
                f.write(content(size))

    def command(self, program, work):
        return [program, "-listening_ports", "127.0.0.1:%d" % self.port, "-document_root", work, "-num_threads", "6"]

    def client(self, _):
        for i in range(self.requests // CLIENTS):
            size = SIZES[i % len(SIZES)]
            with urllib.request.urlopen("http://127.0.0.1:%d/%d.txt" % (self.port, size), timeout=30) as answer:
                if answer.read() != content(size):
                    raise RuntimeError("the answer for %d.txt is wrong" % size)

    def load(self, pid):
        at_once(CLIENTS, self.client)


def cases(options):
    return [Load(options)]
