# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memcached with 4 threads; 4 clients of our own set, get and increment, one request at a time."""
import random
import socket

from case import Server, at_once

PACKAGES = ["memcached"]
BUILD = './configure CC="$CC"; make -j2 memcached'
PROGRAM = "memcached"
CLIENTS = 4


def client(port, number, requests):
    """Values tell their key, so that an answer can be checked whoever set it."""
    r = random.Random(number)
    with socket.create_connection(("127.0.0.1", port)) as s, s.makefile("rb") as f:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(requests):
            key = b"key%d" % r.randrange(1000)
            what = r.random()
            if what < 0.3:
                value = (key + b"=") * r.randrange(1, 300)
                s.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
                answer = f.readline()
                if answer != b"STORED\r\n":
                    raise RuntimeError("set: %r" % answer)
            elif what < 0.35:
                s.sendall(b"incr counter 1\r\n")
                if not f.readline().strip().isdigit():
                    raise RuntimeError("incr: not a number")
            else:
                s.sendall(b"get %s\r\n" % key)
                answer = f.readline()
                if answer == b"END\r\n":
                    continue
                n = int(answer.split()[3])
                value = f.read(n + 2)[:-2]
                if value != (key + b"=") * (n // (len(key) + 1)) or f.readline() != b"END\r\n":
                    raise RuntimeError("get: another value than was set")


def clients(port, requests):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"set counter 0 0 1\r\n0\r\n")
        s.recv(100)
    at_once(CLIENTS, lambda number: client(port, number, requests // CLIENTS))


class Load(Server):
    def __init__(self, options):
        super().__init__()
        self.requests = 4000 if options.quick else 100000

    def command(self, program, work):
        return [program, "-u", "root", "-l", "127.0.0.1", "-p", str(self.port), "-t", "4"]

    def load(self, pid):
        clients(self.port, self.requests)


def cases(options):
    return [Load(options)]
