#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: tests/model/run.sh [-o FOLDER] [quick|long [SECONDS]]
# Builds the explorer of the ownership protocol (explore.c) and runs its scenarios: sequentially consistent, with store
# buffers, with locks in detail, and with few places for readers; then puts one mistake after the other into a copy of
# owner.c and demands that each is found. quick (the default) takes about two minutes. long takes the large
# scenarios as well, then random ones for SECONDS (600). Ends with 0 if all is well; a wrong schedule is printed step by
# step.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${BUILD:-$root/build}/model
if [ "${1:-}" = -o ]; then
    work=$2
    shift 2
fi
how=${1:-quick}
seconds=${2:-600}
cc=${CC:-clang-19}
owner=$root/src/runtime/owner.c
mkdir -p "$work"

build() { # OWNER_C OUTPUT [OPTION]
    # event.c refers to the rest of the runtime in paths that are not taken here.
    "$cc" -std=gnu11 -O2 -g -w -fno-strict-aliasing -no-pie -Wl,--unresolved-symbols=ignore-all "-DOWNER_C=\"$1\"" ${3:+"$3"} \
        -I"$root/include" -I"$root/src" -I"$root/src/runtime" -I"$root/src/arch/x86_64" "$root/tests/model/explore.c" -o "$2"
}

# "NAME OPTIONS SCENARIO", as mutate.sh lists it: is the mistake found?
mistake() {
    name=$1
    options=$2
    few=
    case $options in
    -) options= ;;
    -a)
        options=
        few=-DREADERS=2
        ;;
    esac
    "$root/tests/model/mutate.sh" "$owner" "$name" >"$work/$name.c" || return 1
    build "$work/$name.c" "$work/$name" "$few"
    status=0
    # shellcheck disable=SC2086
    "$work/$name" -x $options "$3" >"$work/$name.out" 2>&1 || status=$?
    rm "$work/$name"
    if [ $status = 1 ]; then
        echo "mistake $name: $(sed -n 's/^  FOUND: //p' "$work/$name.out" | head -n 1)"
    else
        echo "mistake $name: NOT FOUND in $3"
    fi
}
if [ "$how" = mistakes ]; then # every second one, from number $2 on
    "$root/tests/model/mutate.sh" "$owner" list | sed -n "$2~2p" >"$work/list$2"
    while read -r name options scenario; do
        mistake "$name" "$options" "$scenario" || exit 1
    done <"$work/list$2"
    exit
fi

build "$owner" "$work/explore"
build "$owner" "$work/explore-few" -DREADERS=2
long=
[ "$how" = long ] && long=-l
bad=0
# shellcheck disable=SC2086
{ "$work/explore" -x $long && "$work/explore-few" -x $long && "$work/explore" -x -d $long; } >"$work/sc" 2>&1 &
sc=$!
# shellcheck disable=SC2086
"$work/explore" -x -t $long >"$work/tso" 2>&1 || bad=1
wait $sc || bad=1
cat "$work/sc" "$work/tso"
[ $bad = 0 ] || { echo "model: the protocol is wrong"; exit 1; }

"$0" -o "$work" mistakes 1 >"$work/mistakes1" 2>&1 &
one=$!
"$0" -o "$work" mistakes 2 >"$work/mistakes2" 2>&1 || bad=1
wait $one || bad=1
cat "$work/mistakes1" "$work/mistakes2"
all=$("$root/tests/model/mutate.sh" "$owner" list | wc -l)
found=$(cat "$work/mistakes1" "$work/mistakes2" | grep "^mistake " | grep -vc ": NOT FOUND in " || true)
echo "model: $found of $all mistakes found"
[ $bad = 0 ] && [ "$found" = "$all" ] || exit 1

if [ "$how" = long ]; then
    # Random scenarios; those with too many states are cut short.
    timeout "$seconds" "$work/explore" -x -s 60 -r 1 >"$work/random-sc" 2>&1 &
    one=$!
    two=0
    timeout "$seconds" "$work/explore" -x -t -s 60 -r 100001 >"$work/random-tso" 2>&1 || two=$?
    status=0
    wait $one || status=$?
    for r in $status $two; do
        [ "$r" = 124 ] || { cat "$work/random-sc" "$work/random-tso"; exit 1; }
    done
    echo "model: $(grep -c states "$work/random-sc") random scenarios SC, $(grep -c states "$work/random-tso") TSO, nothing found"
fi
echo "model: all is well"
