# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For the tests of this folder that are shell scripts: . Inputs/lib.sh FOLDER. Works in FOLDER, stops at the first
# command that fails.
set -eu -o pipefail
ulimit -c 0
programs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../programs" && pwd)
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../bench" && pwd)
command -v weft > /dev/null || PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/${BUILD:-build}/bin:$PATH
rm -rf "$1"
mkdir -p "$1"
cd "$1"
die() { echo "$*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
# The status of a command (128 plus the signal), with its output in out and err.
status_of() {
    local s=0
    ( timeout -k 5 "${limit:-60}" "$@" > out 2> err < "${stdin:-/dev/null}"; exit $? ) 2> /dev/null || s=$?
    echo $s
}
# Replay says no: status 125, and a message that starts with weft: and has these words.
refused() { # WORDS COMMAND…
    local words=$1 s; shift
    s=$(status_of "$@")
    [ "$s" = 125 ] || die "$*: status $s instead of 125: $(cat err)"
    grep -a -q '^weft: ' err || die "$*: no message: $(cat err)"
    grep -a -i -q -E "$words" err || die "$*: the message says nothing of '$words': $(cat err)"
}
