# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LevelDB (C++), with its own benchmark: 4 threads fill a database, read it, and read while one writes; compaction has a thread too."""
from case import Case

PACKAGES = ["leveldb"]
BUILD = """cmake -S . -B build -DCMAKE_CXX_COMPILER="${CXX%% *}" -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_BUILD_TYPE=Release \\
    -DHAVE_SNAPPY=0 -DHAVE_TCMALLOC=0 -DHAVE_CRC32C=0 -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF
make -C build -j2 leveldb
$CXX -O2 -g -DNDEBUG -DLEVELDB_PLATFORM_POSIX=1 -DLEVELDB_HAS_PORT_CONFIG_H=1 -I. -Iinclude -Ibuild/include benchmarks/db_bench.cc \\
    util/histogram.cc util/testutil.cc build/libleveldb.a -pthread -o db_bench"""
PROGRAM = "db_bench"


class Bench(Case):
    def __init__(self, options):
        self.entries = 500 if options.quick else 20000

    def command(self, program, work):
        what = "fillseq,fillrandom,readrandom,readwhilewriting,compact"
        return [program, "--db=database", "--num=%d" % self.entries, "--threads=4", "--benchmarks=" + what]

    def check(self, work, out):
        with open(out, encoding="utf-8") as f:
            said = f.read()
        if "readwhilewriting" not in said or "compact" not in said:
            raise RuntimeError(said)


def cases(options):
    return [Bench(options)]
