#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs people know, from their Debian source packages, nothing patched, built by their own build systems with
# CC=weft-cc CXX=weft-c++: pbzip2, xz (with its liblzma.so), zstd. Each compresses and decompresses a file with 4 threads
# under `weft record`; every recording is replayed twice and must be identical, and what was compressed must come out
# again byte for byte.
#
#   tests/real.sh [--quick] [--size MB] [--only NAME] [--build-only] [--native]
#
# --quick: 4 MB instead of 50. --native: build and run with clang alone, to see that the sources and this script work.
# Sources, builds and data are kept under $BUILD/real; a build is repeated when weft has changed. A source package that
# cannot be fetched is a failure, not a skip. The table goes to stdout and to $BUILD/real/table.md.
set -u -o pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-build}; case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
real=$BUILD/real
size=50 names="pbzip2 xz zstd" build_only= native_only= quick=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 size=4 ;;
    --size) size=$2; shift ;;
    --only) names=$2; shift ;;
    --build-only) build_only=1 ;;
    --native) native_only=1 ;;
    *) sed -n '3,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift
done
PATH=$BUILD/bin:$PATH
failures=0
say() { echo "real: $*" >&2; }
die() { say "$*"; exit 1; }
fail() { say "FAILED: $*"; failures=$((failures + 1)); }

clang=$(command -v clang-19 || command -v clang) clangxx=$(command -v clang++-19 || command -v clang++)
for tool in apt-get dpkg-source make python3 "${clang:-clang-19}"; do
    command -v "$tool" > /dev/null || die "$tool is missing (scripts/setup.sh --real installs it)"
done
[ -e /usr/include/bzlib.h ] || die "libbz2-dev is missing (scripts/setup.sh --real installs it)"
[ "$native_only" ] || command -v weft-cc > /dev/null || die "no weft-cc in $BUILD/bin: run make first"
mkdir -p "$real/src" "$real/data" "$real/runs" || exit 1

# ---- sources ---------------------------------------------------------------------------------------------------------
# The machine's own package sources, as deb-src, in a configuration of our own: nothing of the system's is changed.
fetch() { # PACKAGE
    compgen -G "$real/src/$1/*/debian/changelog" > /dev/null && return 0
    say "fetching the source package $1"
    if [ -z "${apt_dir:-}" ]; then
        apt_dir=$(mktemp -d)
        trap 'rm -rf "$apt_dir"' EXIT
        mkdir -p "$apt_dir/parts" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
        for f in /etc/apt/sources.list.d/*.sources; do
            [ -e "$f" ] && sed 's/^Types:.*/Types: deb-src/' "$f" > "$apt_dir/parts/$(basename "$f")"
        done
        cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null |
            sed -n 's/^deb\(-src\)\{0,1\} /deb-src /p' | sort -u > "$apt_dir/parts/lines.list"
        apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt_dir/parts"
            -o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" -o APT::Sandbox::User=root
            -o APT::Update::Error-Mode=any)
        "${apt[@]}" update > "$apt_dir/log" 2>&1 || { tail -n 5 "$apt_dir/log" >&2; apt_dir=; return 1; }
    fi
    rm -rf "$real/src/$1"; mkdir -p "$real/src/$1"
    (cd "$real/src/$1" && "${apt[@]}" source "$1") > "$real/src/$1.log" 2>&1 || {
        tail -n 5 "$real/src/$1.log" >&2
        return 1
    }
    compgen -G "$real/src/$1/*/debian/changelog" > /dev/null
}
package_of() { case $1 in xz) echo xz-utils ;; zstd) echo libzstd ;; *) echo "$1" ;; esac; }

# ---- builds ----------------------------------------------------------------------------------------------------------
# What a build depends on: the wrappers, the pass and whatever is linked in.
weft_hash() { find "$BUILD/bin" "$BUILD/lib" -type f \( -name 'weft-c*' -o -name '*.so*' -o -name '*.a' -o -name '*.bc' -o -name '*.o' \) 2> /dev/null | sort | xargs -r cat | cksum; }
binary_of() { case $1 in pbzip2) echo "$real/$1-$2/pbzip2" ;; xz) echo "$real/$1-$2/inst/bin/xz" ;; zstd) echo "$real/$1-$2/programs/zstd" ;; esac; }

build() { # NAME weft|native
    local name=$1 kind=$2 dir=$real/$1-$2 log=$real/$1-$2.log stamp cc cxx
    if [ "$kind" = weft ]; then cc=weft-cc cxx=weft-c++ stamp=$(weft_hash); else cc=$clang cxx=$clangxx stamp=$clang; fi
    [ -x "$(binary_of "$name" "$kind")" ] && [ "$(cat "$dir/.stamp" 2> /dev/null)" = "$stamp" ] && return 0
    say "building $name with $cc"
    rm -rf "$dir"
    cp -a "$(dirname "$(dirname "$(compgen -G "$real/src/$(package_of "$name")/*/debian/changelog" | head -n 1)")")" "$dir" || return 1
    (
        cd "$dir" || exit 1
        case $name in
        pbzip2) CC="$cc" CXX="$cxx" CXXFLAGS="-O2 -std=gnu++98" make -j2 ;;
        xz) ./configure CC="$cc" CXX="$cxx" --prefix="$dir/inst" --disable-nls && make -j2 && make install ;;
        zstd) CC="$cc" CXX="$cxx" make -j2 ;;
        esac
    ) > "$log" 2>&1 || { tail -n 15 "$log" >&2; return 1; }
    [ -x "$(binary_of "$name" "$kind")" ] || { say "no program came out: $log"; return 1; }
    echo "$stamp" > "$dir/.stamp"
}

# ---- the input: text, records, noise, zeros and repeats, the same on every machine ----------------------------------------
data=$real/data/$size.bin
[ -e "$data" ] || python3 - "$data.tmp" "$size" << 'PY' || die "cannot write the input file"
import random, struct, sys
path, megabytes = sys.argv[1], int(sys.argv[2])
r = random.Random(20100918)
words = [bytes(r.choices(b"abcdefghijklmnopqrstuvwxyz", k=r.randint(1, 11))) for _ in range(5000)]
weights = [1 / (i + 3) for i in range(5000)]
blocks = []
with open(path, "wb") as f:
    left = megabytes << 20
    while left > 0:
        kind = r.randrange(10)
        if kind < 5:
            block = b" ".join(r.choices(words, weights, k=12000))
        elif kind < 7:
            x = r.randrange(1 << 20)
            block = b"".join(struct.pack("<IHHd", x + i, i * 7 & 0xFFFF, r.randrange(16), i / 3) for i in range(4000))
        elif kind < 8:
            block = r.randbytes(60000)
        elif kind < 9:
            block = bytes(r.randrange(1000, 50000))
        else:
            block = blocks[r.randrange(len(blocks))][: r.randrange(1, 60000)] if blocks else b"weft"
        if len(blocks) < 50:
            blocks.append(block)
        block = block[:left]
        f.write(block)
        left -= len(block)
PY
[ -e "$data" ] || mv "$data.tmp" "$data"

# ---- runs ------------------------------------------------------------------------------------------------------------
threads=4
command_of() { # NAME compress|decompress: arguments; the file name follows, the result goes to stdout
    local small=; [ "$size" -lt 20 ] && small=1 # enough blocks for all threads in a small file too
    case $1.$2 in
    pbzip2.compress) echo "-p$threads -k -c ${small:+-b2}" ;;
    pbzip2.decompress) echo "-p$threads -d -k -c" ;;
    xz.compress) echo "-T$threads -k -c ${small:+--block-size=524288}" ;;
    xz.decompress) echo "-T$threads -d -k -c" ;;
    zstd.compress) echo "-T$threads -q -k -c ${small:+-B524288}" ;;
    zstd.decompress) echo "-T$threads -d -q -k -c" ;;
    esac
}
# Tells seconds in $took.
timed() { # OUT ERR COMMAND…
    local out=$1 err=$2 t0 t1 status; shift 2
    t0=$(date +%s.%N); timeout -k 5 3000 "$@" > "$out" 2> "$err"; status=$?; t1=$(date +%s.%N)
    took=$(awk "BEGIN { printf \"%.2f\", $t1 - $t0 }")
    return $status
}
field() { weft info --json "$2" 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1], "?"))' "$1" 2> /dev/null || echo "?"; }

table=$real/table.md
{
    echo "| program | native s | record s | replay s | record/native | replay/record | threads | edges | inputs | trace bytes | replays |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
} > "$table"

job() { # NAME compress|decompress INPUT OUTPUT
    local name=$1 what=$2 in=$3 out=$4 run=$real/runs/$1-$2 n r p same=0 k
    read -r -a args <<< "$(command_of "$name" "$what")"
    rm -rf "$run"; mkdir -p "$run"
    timed "$run/native.out" "$run/native.err" "$(binary_of "$name" native)" "${args[@]}" "$in" ||
        { fail "$name $what natively: $(tail -n 1 "$run/native.err")"; return 1; }
    n=$took
    if [ "$native_only" ]; then
        mv "$run/native.out" "$out"
        echo "| $name $what | $n | | | | | | | | | |" >> "$table"
        return 0
    fi
    local trace=$run/trace
    timed "$run/record.out" "$run/record.err" weft record -o "$trace" -- "$(binary_of "$name" weft)" "${args[@]}" "$in" ||
        { fail "$name $what: recording: status $?, $(tail -n 1 "$run/record.err"): weft record -- $(binary_of "$name" weft) ${args[*]} $in"; return 1; }
    r=$took
    weft check "$trace" > "$run/check" 2>&1 || fail "$name $what: weft check $trace: $(tail -n 1 "$run/check")"
    for k in 1 2; do
        if ! timed "$run/replay.out" "$run/replay.err" weft replay "$trace"; then
            fail "$name $what: replay $k: $(tail -n 1 "$run/replay.err"). Again: weft replay $trace"
        elif ! cmp -s "$run/record.out" "$run/replay.out"; then
            fail "$name $what: replay $k wrote something else. Again: weft replay $trace"
        else
            same=$((same + 1))
        fi
        p=$took
    done
    mv "$run/record.out" "$out"
    cmp -s "$out" "$run/native.out" || say "note: $name $what: recorded and native output differ"
    echo "| $name $what | $n | $r | $p | $(awk "BEGIN { printf \"%.2f\", $r / $n }") | $(awk "BEGIN { printf \"%.2f\", $p / $r }") | $(field threads "$trace") | $(field edges "$trace") | $(field inputs "$trace") | $(field bytes "$trace") | $same of 2 identical |" >> "$table"
    rm -f "$run/native.out" "$run/replay.out"
    if [ $same = 2 ]; then rm -rf "$trace"; fi
}

for name in $names; do
    fetch "$(package_of "$name")" || { fail "the Debian source package $(package_of "$name") could not be fetched: $name is not shown"; continue; }
    build "$name" native || { fail "$name does not build with clang alone: $real/$name-native.log"; continue; }
    [ "$native_only" ] || build "$name" weft || { fail "$name does not build with weft: $real/$name-weft.log"; continue; }
    [ "$build_only" ] && continue
    job "$name" compress "$data" "$real/runs/packed.${name/pbzip2/bz2}" || continue
    packed=$real/runs/packed.${name/pbzip2/bz2}; [ "$name" = zstd ] && mv "$packed" "${packed/%zstd/zst}" && packed=${packed/%zstd/zst}
    job "$name" decompress "$packed" "$real/runs/unpacked" || continue
    cmp "$data" "$real/runs/unpacked" || fail "$name: what was compressed did not come out again"
    rm -f "$real/runs/unpacked" "$packed"
done
[ "$build_only" ] || cat "$table"
[ $failures = 0 ] || { say "$failures failures"; exit 1; }
[ "$build_only$native_only" ] || echo "real: ${quick:+(quick) }all identical"
