#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a program with -weft-races and compares what `weft races` says with the comments in it.

    check.py SOURCE [SOURCE...] [-- OPTION...]

In comments at the end of lines: `RACE a` on two or more lines: each two of these are a pair that must be named; on one line
only: that line with itself. `RACE a*`: with itself, too. Several labels may stand there. `MAY`: pairs with this line may be
named, though they cannot happen: a limit that is known. All other pairs are mistakes. Built with -O0, -O1 and -O2; a head
`LEVELS: -O2` means only these, and `VARIABLES: a b` that pairs on others are not looked at. Without optimisation, more may be named: `MAY0` is MAY for -O0 only."""
import itertools
import json
import os
import re
import subprocess
import sys


def expected(paths, level):
    lines, may = {}, set()
    for path in paths:
        for number, line in enumerate(open(path), 1):
            comment = line.partition("//")[2]
            if not comment:
                continue
            place = (os.path.basename(path), number)
            m = re.match(r"\s*RACE ((?:[a-z]\w*\*? ?)+)", comment)
            for label in m.group(1).split() if m else []:
                lines.setdefault(label.rstrip("*"), []).append((place, label.endswith("*")))
            if re.search(r"\bMAY\b", comment) or (level == "-O0" and "MAY0" in comment):
                may.add(place)
    pairs = set()
    for places in lines.values():
        if len(places) == 1:
            pairs.add(frozenset([places[0][0]]))
        for (a, _), (b, _) in itertools.combinations(places, 2):
            pairs.add(frozenset([a, b]))
        for a, itself in places:
            if itself:
                pairs.add(frozenset([a]))
    return pairs, may


def show(pair):
    places = sorted(pair)
    return " and ".join("%s:%d" % p for p in (places if len(places) == 2 else places * 2))


def main():
    args = sys.argv[1:]
    options = []
    if "--" in args:
        options = args[args.index("--") + 1:]
        args = args[:args.index("--")]
    head = open(args[0]).read()
    m = re.search(r"LEVELS: (.*)", head)
    wrong = 0
    for level in m.group(1).split() if m else ["-O0", "-O1", "-O2"]:
        cc = "weft-c++" if args[0].endswith((".cc", ".cpp")) else "weft-cc"
        subprocess.run([cc, level, "-weft-races"] + args + ["-o", "program", "-pthread"] + options, check=True,
                       env=dict(os.environ, WEFT_QUIET="1"))
        answer = json.loads(subprocess.run(["weft", "races", "--json", "program"], check=True, capture_output=True).stdout)
        pairs, may = expected(args, level)
        found = {}
        only = re.search(r"VARIABLES: (.*)", head)
        for race in answer["races"]:
            if only and race["variable"] not in only.group(1).split():
                continue
            ends = [(os.path.basename(e["file"]), e["line"]) for e in race["ends"]]
            found.setdefault(frozenset(ends), race)
        for pair in pairs - set(found):
            print("%s: missed: %s" % (level, show(pair)))
            wrong = 1
        for pair in set(found) - pairs:
            if pair & may:
                continue
            race = found[pair]
            print("%s: no race, but named: %s: %s [%s] [%s]" % (level, show(pair), race["variable"], race["ends"][0]["locks"],
                                                              race["ends"][1]["locks"]))
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
