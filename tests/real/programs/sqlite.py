# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SQLite, as a library of a program of our own: 8 threads, each with its connection, on one database in WAL mode."""
from case import Case

PACKAGES = ["sqlite3"]
BUILD = """./configure CC="$CC" --disable-tcl --disable-shared --disable-readline --disable-load-extension
make -j2 libsqlite3.la
$CC -O2 -g -I. "$REAL/sqlite.c" .libs/libsqlite3.a -lm -pthread -o threads"""
PROGRAM = "threads"


class Threads(Case):
    def __init__(self, options):
        self.rounds = "10" if options.quick else "100"

    def command(self, program, work):
        return [program, "8", self.rounds, "database"]

    def check(self, work, out):
        with open(out, encoding="utf-8") as f:
            said = f.read()
        if not said.endswith("ok\n"):
            raise RuntimeError(said)


def cases(options):
    return [Threads(options)]
