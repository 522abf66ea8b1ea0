#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds bank.c, a small program with a data race, with weft-cc; records it until it fails; replays the failing run ten
# times. Says in plain words what happens.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$here/../$build ;; esac
PATH=$build/bin:$PATH
tries=${TRIES:-500}
replays=10

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && cp "$here/bank.c" . || exit 1
trace=$work/failing-run
say() { printf '\n%s\n' "$*"; }

say "1. Building examples/bank.c with weft-cc: two tellers move money between accounts without a lock."
echo "   \$ weft-cc -O1 -pthread bank.c -o bank"
weft-cc -O1 -pthread bank.c -o bank || exit 1

say "2. Recording it on all cores until a run fails."
echo "   \$ weft record --until-fail=$tries -o failing-run ./bank"
# The shell would report the abort in its own words: a subshell keeps it quiet.
status=$( (weft record --until-fail="$tries" -o "$trace" ./bank >out 2>err; echo $?) 2>/dev/null)
if [ "$status" -eq 0 ]; then
    echo "   $tries runs, and none failed. Try again, or with more: TRIES=1000 make demo"
    exit 1
fi
if [ "$status" -ne 134 ]; then
    echo "   weft record ended with status $status, which is not the failure that this program has:"
    sed 's/^/   | /' out err
    exit 1
fi
try=$(sed -n 's/^weft: run \([0-9]*\) failed.*/\1/p' err)
echo "   Run $try failed; the runs before it did not. What it printed, and what weft said:"
sed 's/^/   | /' out err

say "3. Replaying that run $replays times. Running the program again would most likely succeed; the replay has no choice."
echo "   \$ weft replay --times $replays failing-run"
status=$( (weft replay --times "$replays" "$trace" >replayed 2>replay-err; echo $?) 2>/dev/null)
sed 's/^/   | /' replayed replay-err

say "4. What happened"
if [ "$status" -eq 134 ] && grep -qx "$replays of $replays identical" replayed replay-err && cmp -s out <(grep -vx "$replays of .*" replayed | head -n "$(wc -l <out)"); then
    echo "   The run that failed once, by chance, after $((try - 1)) good ones was replayed $replays times: the same wrong total"
    echo "   ($(sed -n 's/^total: \([0-9]*\),.*/\1/p' out)) and the same failed assertion every time, byte for byte."
else
    echo "   The replay was not what was recorded (status $status)."
    exit 1
fi
