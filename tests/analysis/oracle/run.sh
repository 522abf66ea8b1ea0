#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs programs that check, while they run, what the analyses of the pass claim about them (oracle.c).
#
#   run.sh SOURCE.c...                 build each with clang -O2 as a whole program, run it, report broken claims
#   run.sh --bitcode FILE.bc [LIB...] -- ARG...   the same for a whole program in bitcode, with arguments
#
# Exit status 1 if a claim was broken. $WORK keeps what is built (default: a temporary folder), $OPT sets other options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../..
CC=${CC:-clang-19} WORK=${WORK:-$(mktemp -d)} OPT=${OPT:--O2} LIMIT=${LIMIT:-60}
libdir=$(llvm-config-19 --libdir) include=$(llvm-config-19 --includedir)
oracle=$WORK/oracle
[ -x "$oracle" ] && [ -z "$(find "$top/src/pass" "$here" -name '*.[chd]*' -newer "$oracle")" ] ||
    $CC -O2 -g -w -I"$include" "$here/oracle.c" "$top"/src/pass/analysis/*.c -o "$oracle" -L"$libdir" -lLLVM-19 \
        -Wl,-rpath,"$libdir" || exit 2
$CC -O2 -g -w -I"$include" -c "$here/oracle_rt.c" -o "$WORK/oracle_rt.o" || exit 2

build() { # bitcode, name, libraries
    local bc=$1 name=$2
    shift 2
    "$oracle" "$bc" "$WORK/$name.oracle.bc" "$WORK/$name.sites" &&
        $CC -O1 -w "$WORK/$name.oracle.bc" "$WORK/oracle_rt.o" -o "$WORK/$name.oracle" -pthread -ldl -lm -rdynamic -lstdc++ "$@"
}
explain() { # report, sites: the lines of the sites that a report names
    grep '^oracle:' "$1" | head -20
    grep -o 'site [0-9]*' "$1" | sort -u | head -20 | while read -r _ n; do sed -n "${n}p" "$2"; done
}

bad=0
if [ "${1:-}" = --bitcode ]; then
    shift
    bc=$1 name=$(basename "$1" .bc)
    shift
    libs=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do libs+=("$1"); shift; done
    shift
    build "$bc" "$name" "${libs[@]}" || exit 2
    timeout "$LIMIT" "$WORK/$name.oracle" "$@" 2> "$WORK/$name.report"
    echo "$name: exit $?: $(tail -1 "$WORK/$name.report")" >&2
    grep -q 'oracle: 0 broken' "$WORK/$name.report" || { bad=1; explain "$WORK/$name.report" "$WORK/$name.sites" >&2; }
    exit $bad
fi
for source in "$@"; do
    name=$(basename "${source%.*}")
    case $source in *.cpp) comp=${CXX:-clang++-19} ;; *) comp=$CC ;; esac
    $comp $OPT -g -w -flto -fuse-ld=lld -Wl,--save-temps -pthread "$source" -o "$WORK/$name" -lm 2> "$WORK/$name.log" ||
        { echo "$name: does not build"; continue; }
    build "$WORK/$name.0.4.opt.bc" "$name" || { echo "$name: oracle failed"; bad=1; continue; }
    timeout "$LIMIT" "$WORK/$name.oracle" > "$WORK/$name.out" 2> "$WORK/$name.report" < /dev/null
    echo "$name: exit $?: $(grep 'oracle: [0-9]* broken' "$WORK/$name.report" || tail -1 "$WORK/$name.report")"
    if grep -q 'oracle: .*: site' "$WORK/$name.report"; then
        bad=1
        explain "$WORK/$name.report" "$WORK/$name.sites"
    fi
done
exit $bad
