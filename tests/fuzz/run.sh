#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tests/fuzz/run.sh SECONDS
# Builds the fuzzer of the trace reader and runs it on the seeds that lie beside it. Ends with 0 if nothing was found;
# what makes it crash is left in the work folder, whose name is printed. CC and BUILD can be set.
set -eu
seconds=${1:-60}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${BUILD:-$root/build}/fuzz
cc=${CC:-clang-19}
mkdir -p "$work/corpus"
dw=""
lib=""
if printf '#include <elfutils/libdwfl.h>\n' | $cc -E - >/dev/null 2>&1; then
    dw=-DWEFT_HAVE_LIBDW=1
    lib="-ldw -lelf"
fi
# shellcheck disable=SC2086
$cc -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -D_GNU_SOURCE $dw \
    -I"$root/include" -I"$root/src" "$root"/src/base/*.c "$root"/src/trace/*.c "$root"/src/replay/schedule.c \
    "$root/tests/fuzz/trace_fuzz.c" -o "$work/trace_fuzz" -lzstd -lstdc++ $lib
$cc -std=gnu11 -O1 -g -D_GNU_SOURCE -I"$root/include" -I"$root/src" "$root"/src/base/*.c "$root"/src/trace/*.c \
    "$root/tests/fuzz/seeds.c" -o "$work/seeds" -lzstd -lstdc++
rm -rf "$work/seed"
mkdir "$work/seed"
"$work/seeds" "$work/seed"
cd "$work"
if ! ./trace_fuzz -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
    corpus seed >log 2>&1; then
    tail -n 60 log
    echo "the trace reader failed on an input: see $work" >&2
    exit 1
fi
grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)|cov:' log | tail -n 4
