# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unbound, a DNS server, with 4 threads and libevent: 4 clients at a time ask by UDP for names of a zone of its own."""
import os
import socket
import struct

from case import Server, at_once

PACKAGES = ["unbound"]
BUILD = './configure CC="$CC" --with-pthreads --with-libevent --disable-shared --disable-flto; make -j2 unbound'
PROGRAM = "unbound"
CLIENTS = 4
NAMES = {"a.example": 0, "b.example": 0, "nobody.example": 3}  # and what is to be answered

CONFIGURATION = """server:
  num-threads: 4
  interface: 127.0.0.1
  port: %d
  do-daemonize: no
  use-syslog: no
  logfile: ""
  chroot: ""
  username: ""
  pidfile: ""
  directory: "%s"
  statistics-interval: 1
  module-config: "iterator"
  local-zone: "example." static
  local-data: "a.example. A 10.0.0.1"
  local-data: "b.example. A 10.0.0.2"
remote-control:
  control-enable: no
"""


def question(number, name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", number, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


class Load(Server):
    def __init__(self, options):
        super().__init__()
        self.requests = 400 if options.quick else 20000

    def prepare(self, work):
        with open(os.path.join(work, "conf"), "w", encoding="utf-8") as f:
            f.write(CONFIGURATION % (self.port, work))

    def command(self, program, work):
        return [program, "-d", "-c", os.path.join(work, "conf")]

    def ask(self, s, number, name):
        s.send(question(number, name))
        answer = s.recv(512)
        if answer[:2] != struct.pack(">H", number) or answer[3] & 15 != NAMES[name]:
            raise RuntimeError("the answer for %s is wrong: %s" % (name, answer.hex()))

    def client(self, _):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", self.port))
            s.settimeout(30)
            for i in range(self.requests // CLIENTS):
                self.ask(s, i & 0xFFFF, list(NAMES)[i % len(NAMES)])

    def load(self, pid):
        at_once(CLIENTS, self.client)


def cases(options):
    return [Load(options)]
