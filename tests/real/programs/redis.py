# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""redis with 2 io-threads, asked by its own benchmark, pipelined; it forks to save while it answers."""
import os
import subprocess
import time

from case import Server

PACKAGES = ["redis"]
BUILD = 'make -j2 -C src CC="$CC" CXX="$CXX" MALLOC=libc USE_SYSTEMD=no redis-server redis-cli redis-benchmark'
PROGRAM = "src/redis-server"
TESTS = ["set", "get", "incr", "lpush"]


class Load(Server):
    def __init__(self, options):
        super().__init__()
        self.requests = 4000 if options.quick else 20000
        self.tools = os.path.join(options.place, "redis-native", "src")

    def command(self, program, work):
        threads = ["--io-threads", "2", "--io-threads-do-reads", "yes"]
        return [program, "--port", str(self.port), *threads, "--save", "", "--dir", work]

    def tool(self, name, *words):
        command = [os.path.join(self.tools, name), "-p", str(self.port), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode or "rror" in done.stdout:
            raise RuntimeError("%s %s: %s" % (name, " ".join(words), done.stdout))
        return done.stdout

    def benchmark(self, tests):
        each = str(self.requests // len(TESTS))
        self.tool("redis-benchmark", "-n", each, "-P", "16", "-c", "10", "-r", "10000", "-q", "-t", ",".join(tests))

    def load(self, pid):
        self.benchmark(TESTS[:1])
        self.tool("redis-cli", "bgsave")
        self.benchmark(TESTS[1:])
        while "rdb_bgsave_in_progress:1" in self.tool("redis-cli", "info", "persistence"):
            time.sleep(0.05)
        if "rdb_last_bgsave_status:ok" not in self.tool("redis-cli", "info", "persistence"):
            raise RuntimeError("BGSAVE failed")

    def check(self, work, out):
        with open(os.path.join(work, "dump.rdb"), "rb") as f:
            if f.read(5) != b"REDIS":
                raise RuntimeError("dump.rdb is not one")


def cases(options):
    return [Load(options)]
