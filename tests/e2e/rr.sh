#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds a program with weft, records it and holds every replay against its recording.
#
#   rr.sh SOURCE FOLDER [-r RECORDINGS] [-k REPLAYS] [-n] [-v] [FLAG…] [-- ARG…]
#
# Done twice, with a plain and with a verify build (-n: plain only, -v: verify only). The program must work on its own,
# without `weft record`. For each of R recordings (2): weft check of the trace; one replay whose stdout, stderr and exit
# status or signal must be the recorded ones, byte for byte (of a verify build, that replay also proves that the trace orders all
# accesses that conflict); then `weft replay --times K` (2) must say `K of K
# identical`. Everything is left in FOLDER.dir.FLAGS, which is removed on success; on failure the command that replays the
# trace is printed.
#
# A line `// FLAGS: …` in the source adds compiler flags, `// STATUS: n…` gives the exit statuses that are right (0; 128
# plus the signal, as in the shell). stdin is `// STDIN: file` beside the source, or empty.
# RR_REPLAYS and RR_RECORDINGS set other defaults, RR_TIMEOUT the seconds that one run may take (60).
set -u
die() { echo "rr.sh: $*" >&2; exit 1; }
[ $# -ge 2 ] || die "usage: rr.sh SOURCE FOLDER [-r N] [-k N] [-n] [-v] [FLAG…] [-- ARG…]"
here=$(cd "$(dirname "$0")" && pwd)
command -v weft > /dev/null || PATH=${BUILD:-$here/../../build}/bin:$PATH
source=$1 folder=$2; shift 2
recordings=${RR_RECORDINGS:-2} replays=${RR_REPLAYS:-2} seconds=${RR_TIMEOUT:-60} builds="plain verify"
flags=(-O2 -g -pthread)
while [ $# -gt 0 ]; do
    case $1 in
    -r) recordings=$2; shift ;;
    -k) replays=$2; shift ;;
    -n) builds=plain ;;
    -v) builds=verify ;;
    --) shift; break ;;
    *) flags+=("$1") ;;
    esac
    shift
done
said() { sed -n "s,^// $1: *,,p" "$source"; } # what the source says after `// FLAGS:` and the like
mapfile -t -d ' ' more < <(said FLAGS | tr '\n' ' ')
flags+=("${more[@]}")
status=$(said STATUS) stdin=$(said STDIN)
status=" ${status:-0} "
stdin=${stdin:+$(dirname "$source")/$stdin}; stdin=${stdin:-/dev/null}
cc=weft-cc; case $source in *.cpp | *.cc) cc=weft-c++ ;; esac
folder=$folder.dir.$(printf '%s' "${flags[*]}|$*" | cksum | cut -d' ' -f1)
rm -rf "$folder"; mkdir -p "$folder" || exit 1
ulimit -c 0

# A run in a shell of its own, so that a fatal signal is a status here and no message of the shell mixes with stderr.
run() { # OUT ERR COMMAND…
    local out=$1 err=$2; shift 2
    ( timeout -k 5 "$seconds" "$@" < "$stdin" > "$out" 2> "$err"; exit $? ) 2> /dev/null
}
# stderr without the lines that weft itself says.
# (A program may have ended in the middle of a line.)
theirs() { grep -a -v '^weft[ :]' "$1" | sed 's/weft: .*$//; $a\' > "$1.theirs"; true; }

for build in $builds; do
    extra=() prove=(); [ $build = verify ] && extra=(-weft-verify) prove=(WEFT_PROVE=1)
    program=$folder/$build
    "$cc" "${flags[@]}" "${extra[@]}" "$source" -o "$program" > "$folder/$build.log" 2>&1 || {
        cat "$folder/$build.log" >&2
        die "$source: does not build ($cc ${flags[*]} ${extra[*]})"
    }
    run "$program.out" "$program.err" "$program" "$@"; was=$?
    case $status in *" $was "*) ;; *)
        tail -n 5 "$program.err" >&2
        die "$build build of $source on its own ended with $was instead of$status: $program $*" ;;
    esac
    for ((r = 1; r <= recordings; r++)); do
        trace=$folder/$build.$r
        run "$trace.out" "$trace.err" weft record -o "$trace" -- "$program" "$@"; was=$?
        case $status in *" $was "*) ;; *)
            tail -n 5 "$trace.err" >&2
            die "$build recording $r of $source ended with $was instead of$status: weft record -o $trace -- $program $*" ;;
        esac
        theirs "$trace.err"
        weft check "$trace" > "$trace.check" 2>&1 || { cat "$trace.check" >&2; die "weft check $trace"; }
        run "$trace.again.out" "$trace.again.err" env ${prove[@]+"${prove[@]}"} weft replay "$trace"; is=$?
        theirs "$trace.again.err"
        problem=
        [ $is = $was ] || problem="status $is instead of $was"
        cmp -s "$trace.out" "$trace.again.out" || problem="$problem stdout differs"
        cmp -s "$trace.err.theirs" "$trace.again.err.theirs" || problem="$problem stderr differs"
        if [ -z "$problem" ] && [ "$replays" -gt 0 ]; then
            run "$trace.times.out" "$trace.times.err" weft replay --times "$replays" "$trace"; is=$?
            [ $is = $was ] || problem="status $is instead of $was with --times"
            cat "$trace.times.out" "$trace.times.err" | grep -a -q "$replays of $replays identical" ||
                problem="$problem --times $replays says otherwise"
            [ -z "$problem" ] || cp "$trace.times.err" "$trace.again.err"
        fi
        [ -z "$problem" ] || {
            grep -a '^weft' "$trace.again.err" | head -n 5 >&2
            die "$build replay of $source: $problem. Again: weft replay $trace"
        }
    done
done
rm -rf "$folder"
