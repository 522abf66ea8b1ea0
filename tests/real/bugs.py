#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs people know, from their Debian source packages, each with one fix of a known concurrency bug taken back (bugs/: a patch that says
which, and how the program is built and run). Each is recorded until it fails, that trace is replayed, cut down by weft
simplify, and the result is replayed: status and output must be the same every time, or the last status is 1. What weft report
says of the result is shown. The tables go to stdout and to BUILD/real/bugs.md."""
import argparse
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import run as real
import source

sys.path[:0] = [os.path.join(real.HERE, "bugs")]
ALL = ["pbzip2_join", "xz_buffer"]
TECHNIQUES = ["threads", "iterations", "switches"]


class Ended:
    """A command of weft's: status, seconds, and what the program wrote."""

    def __init__(self, command, work, limit):
        begun = time.monotonic()
        try:
            done = subprocess.run(["weft"] + command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            raise real.Wrong("weft %s did not end" % command[0]) from None
        self.seconds = time.monotonic() - begun
        self.status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        lines = done.stderr.splitlines(keepends=True)
        self.said = b"".join(x for x in lines if x.startswith(b"weft")).decode(errors="replace").strip()
        self.wrote = done.stdout, b"".join(x for x in lines if not x.startswith(b"weft"))


def replays(trace, place, times, status):
    """The same each time; gives the first."""
    first = None
    for i in range(times):
        done = Ended(["replay", trace], place, 600)
        if done.status != status:
            raise real.Wrong("weft replay %s: status %d, not %d: %s" % (trace, done.status, status, done.said))
        first = first or done
        if done.wrote != first.wrote:
            raise real.Wrong("weft replay %s: replay %d wrote something else" % (trace, i + 1))
        first.seconds = min(first.seconds, done.seconds)
    return first


def measure(name, options):
    """Its line in each table, and what weft report says."""
    program = importlib.import_module(name)
    for package in program.PACKAGES:
        source.fetch(options.place, package, real.say)
    binary = os.path.join(source.build(program, "weft", options.place, real.BUILD, False, real.say), program.PROGRAM)
    place = real.fresh(os.path.join(options.place, "runs", name))
    work, trace, simple = (os.path.join(place, x) for x in ("work", "trace", "simple"))
    os.mkdir(work)
    program.prepare(options.place, work, binary)
    limits = ["--until-fail=%d" % options.tries, "--for", str(options.catch)]
    caught = Ended(["record", *limits, *program.RECORD, "-o", trace, "--", *program.command(binary)], work, options.catch + 60)
    if caught.status not in program.STATUS:
        raise real.Wrong("status %d, not one of %s: %s" % (caught.status, program.STATUS, caught.said[-300:]))
    runs = caught.said.splitlines()[-1].partition("of ")[2].partition(" run")[0]
    real.say("%s: failed in %s runs, %.1f s" % (name, runs, caught.seconds))
    os.rename(work, work + ".away")  # no replay needs it
    before = replays(trace, place, 10, caught.status)
    os.rename(work + ".away", work)  # weft simplify reads on in files where the trace ends
    if before.wrote != caught.wrote:
        raise real.Wrong("weft replay %s: it wrote something else than in the recording" % trace)
    done = Ended(["simplify", "--budget", str(options.budget), "-o", simple, trace], place, options.budget + 300)
    if done.status:
        raise real.Wrong("weft simplify %s: status %d: %s" % (trace, done.status, done.said))
    shutil.rmtree(work)
    after = replays(simple, place, options.replays, caught.status)
    with open(os.path.join(simple, "simplified"), encoding="utf-8") as f:
        said = json.load(f)
    was, now = said["before"], said["after"]
    sizes = ["%d → %d" % (was[k], now[k]) for k in ("threads", "events", "switches", "preemptive", "bytes")]
    sizes.append("%.0f → %.0f" % (1000 * before.seconds, 1000 * after.seconds))
    efforts = [str(said["rounds"])]
    for technique in TECHNIQUES:
        e = said["techniques"][technique]
        efforts.append("%d: %d/%d/%d, %.1f s" % (e["steps"], e["failed"], e["passed"], e["unresolved"], e["seconds"]))
    efforts += [str(said["runs"]), "%.1f%s" % (said["seconds"], "" if said["whole"] else " (stopped)")]
    report = Ended(["report", "--text", simple], place, 600).wrote[0].decode(errors="replace")
    return [name, runs] + sizes, [name] + efforts, report


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)] + rows
    return "\n".join("| %s |" % " | ".join(line) for line in lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BUG", help="all, without: " + " ".join(ALL))
    parser.add_argument("--tries", type=int, default=1000, help="runs, until it fails (1000)")
    parser.add_argument("--catch", type=int, default=300, help="and seconds (300)")
    parser.add_argument("--budget", type=int, default=600, help="seconds to simplify each (600)")
    parser.add_argument("--replays", type=int, default=50, help="of each result (50)")
    options = parser.parse_args()
    options.verify = False
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    real.settle(options)
    sizes, efforts, reports = [], [], []
    for name in options.names or ALL:
        try:
            size, effort, report = measure(name, options)
        except (real.Wrong, source.Failed, OSError, ImportError) as e:
            options.failed.append("%s: %s" % (name, e))
            real.say("FAILED: " + options.failed[-1])
            continue
        sizes.append(size)
        efforts.append(effort)
        reports.append("%s\n\n%s" % (name, report))
    said = table("bug|runs until it fails|threads|events|switches|preemptive|bytes|replay ms".split("|"), sizes)
    said += "\n" + table(["bug", "rounds", *TECHNIQUES, "runs", "s"], efforts)
    said += "\nCandidates are steps: failed/passed/unresolved.\n\n" + "\n".join(reports)
    print(said, end="")
    with open(os.path.join(options.place, "bugs.md"), "w", encoding="utf-8") as f:
        f.write(said)
    if options.failed:
        sys.exit("bugs: %d failures" % len(options.failed))


if __name__ == "__main__":
    main()
