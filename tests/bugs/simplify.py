#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far weft simplify cuts down failing runs of the programs of this folder: LEAN's tables 2 to 5. Each program is recorded
until it fails (with --chaos), simplified, and the result replayed; each replay must be identical and end as the first run did, or the
last status is 1. The tables go to stdout and to BUILD/bugs/simplify.md.

Events are the accesses and operations that are checked, and those of the trace before are the steered run's of the whole trace.
Threads, iterations and preemptions are compared with the program's LEAST line; `more` marks what stayed above it. Iterations are
compared by the thread that has most, without the main thread, whose loops create and join the others. Replay times are the best of three."""
import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import run
from run import WEFT, WORK, Bug, Wrong, say


def weft(arguments, limit):
    return subprocess.run([WEFT] + arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)


def catch(bug, large, limit):
    """A failing trace; None: it did not fail."""
    trace = os.path.join(WORK, "caught-%s%s" % (bug.name, "-large" if large else ""))
    shutil.rmtree(trace, ignore_errors=True)
    command = [bug.program("weft")] + (bug.said["LARGE"].split() if large else [])
    for chaos in ([], ["--chaos=1"], ["--chaos=2", "--strategy", "pct"]):
        p = weft(["record", "--until-fail=1000", "--for", str(limit), "--idle", "1", "-o", trace] + chaos + ["--"] + command, 10 * limit + 60)
        if os.path.exists(os.path.join(trace, "end")):
            return trace, run.ended(p.returncode)
    return None, ""


def replay_time(trace):
    best = float("inf")
    for _ in range(3):
        begun = time.monotonic()
        weft(["replay", trace], 600)
        best = min(best, time.monotonic() - begun)
    return best


def replay(trace, end, times):
    p = weft(["replay", "--times", str(times), trace], 600)
    if b"%d of %d identical" % (times, times) not in p.stdout + p.stderr:
        return "%s: %s" % (trace, p.stderr.decode(errors="replace").strip()[-300:])
    return "" if run.ended(p.returncode) == end else "%s: ended with %s, not with %s" % (trace, run.ended(p.returncode), end)


def dependences(trace, limit):
    """What of the trace its failure depends on (ER), as weft slice tells; or why that is not known."""
    try:
        p = weft(["slice", "--json", trace], limit)
    except subprocess.TimeoutExpired:
        return "too slow"
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr.decode(errors="replace").strip().rsplit(": ", 1)[-1][:60]


class Row:
    def __init__(self, bug):
        self.bug = bug
        self.problem = ""
        self.said = None

    def measure(self, options):
        trace, end = catch(self.bug, options.large, options.catch)
        if not trace:
            self.problem = "did not fail"
            return
        out = trace + "-simple"
        for d in (out, out + ".work"):
            shutil.rmtree(d, ignore_errors=True)
        begun = time.monotonic()
        p = weft(["simplify", "--budget", str(options.budget), "-o", out, trace], options.budget + 300)
        self.seconds = time.monotonic() - begun
        if p.returncode != 0:
            self.problem = p.stderr.decode(errors="replace").strip().splitlines()[-1][:200]
            return
        with open(os.path.join(out, "simplified"), encoding="utf-8") as f:
            self.said = json.load(f)
        self.times = replay_time(trace), replay_time(out)
        self.er = dependences(trace, options.slice)
        self.problem = replay(out, end, options.replays)

    def above(self):
        """What is more than the program's head says."""
        threads, iterations, preemptions = self.bug.least
        after, more = self.said["after"], []
        if threads != "all" and after["threads"] > int(threads):
            more.append("threads")
        if iterations != "all" and after["most_iterations"] > int(iterations):
            more.append("iterations")
        if after["preemptive"] > max(3, int(preemptions)):
            more.append("preemptions")
        return more


def less(before, after):
    return "%d → %d%s" % (before, after, " (−%.1f %%)" % (100 * (before - after) / before) if after < before else "")


def tables(rows):
    lines = ["| bug | least | events | threads | iterations | switches | preemptive | bytes | replay ms | above the least |", "|" + " --- |" * 10]
    for r in rows:
        if not r.said:
            lines.append("| %s | %s | %s ||||||||" % (r.bug.name, "/".join(r.bug.least), r.problem))
            continue
        b, s, a = r.said["before"], r.said["steered"], r.said["after"]
        cells = [r.bug.name, "/".join(r.bug.least), less(b["accesses"], a["accesses"]), less(b["threads"], a["threads"])]
        cells += [less(s["iterations"], a["iterations"]), less(b["switches"], a["switches"]), less(b["preemptive"], a["preemptive"])]
        cells += ["%d → %d" % (b["bytes"], a["bytes"])]
        cells += ["%d → %d" % tuple(1000 * t for t in r.times), ", ".join(r.above()) + ("" if r.said["whole"] else " (stopped)")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| bug | rounds | threads | s | iterations | s | switches | s | runs | s |", "|" + " --- |" * 10]
    for r in rows:
        if not r.said:
            continue
        cells = [r.bug.name, str(r.said["rounds"])]
        for t in ("threads", "iterations", "switches"):
            e = r.said["techniques"][t]
            cells += ["%d: %d/%d/%d" % (e["steps"], e["failed"], e["passed"], e["unresolved"]), "%.1f" % e["seconds"]]
        cells += [str(r.said["runs"]), "%.1f" % r.seconds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines + ["", "Candidates are steps: failed/passed/unresolved.", ""])


def er_table(rows):
    """Table 5: what dependences alone remove of the recorded run, what weft simplify removes, and what of its result is relevant."""
    lines = ["", "| bug | ER events | ER threads | ER switches | instructions | s | weft simplify: events | of these relevant | s |", "|" + " --- |" * 9]
    for r in rows:
        if not r.said:
            continue
        cells = [r.bug.name]
        if isinstance(r.er, str):
            cells += [r.er, "", "", "", ""]
        else:
            a, b = r.er["all"], r.er["relevant"]
            cells += [less(a[x], b[x]) for x in ("events", "threads", "switches", "instructions")] + ["%.1f" % r.er["seconds"]]
        x = r.said["relevant"]
        cells += [less(r.said["before"]["events"], r.said["after"]["events"]), "%d of %d" % (x["events"], x["of_events"]) if x else "not known"]
        lines.append("| " + " | ".join(cells + ["%.1f" % r.said["techniques"]["slice"]["seconds"]]) + " |")
    return "\n".join(lines + [""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BUG", help="all, without")
    parser.add_argument("--large", action="store_true", help="with the arguments under LARGE")
    parser.add_argument("--budget", type=int, default=600, help="seconds for each (600)")
    parser.add_argument("--slice", type=int, default=900, help="seconds for the dependences of each, or they count as too slow (900)")
    parser.add_argument("--skip", nargs="*", default=[], metavar="BUG", help="without these")
    parser.add_argument("--catch", type=int, default=60, help="seconds to wait for a failing run, in each of three ways (60)")
    parser.add_argument("--replays", type=int, default=50, help="of each result (50)")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bugs = [Bug(os.path.join(run.HERE, f)) for f in sorted(os.listdir(run.HERE)) if f.endswith((".c", ".cpp"))]
    unknown = set(options.names) - {b.name for b in bugs}
    if unknown:
        parser.error("no such bug: " + ", ".join(sorted(unknown)))
    rows, wrong = [], 0
    for bug in bugs:
        if (options.names and bug.name not in options.names) or bug.name in options.skip:
            continue
        bug.build("weft")
        row = Row(bug)
        row.measure(options)
        rows.append(row)
        wrong += bool(row.problem)
        with open(os.path.join(WORK, "simplify-rows.json"), "a", encoding="utf-8") as f:
            json.dump({"bug": bug.name, "said": row.said, "problem": row.problem, "er": getattr(row, "er", None), "times": getattr(row, "times", None), "seconds": getattr(row, "seconds", None)}, f)
            f.write("\n")
        say("%s: %s%s" % (bug.name, json.dumps(row.said["after"]) + " above: " + ", ".join(row.above()) if row.said else "", row.problem))
    result = tables(rows) + er_table(rows)
    print(result, end="")
    with open(os.path.join(WORK, "simplify.md"), "w", encoding="utf-8") as f:
        f.write(result)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Wrong, subprocess.CalledProcessError) as e:
        sys.exit("bugs: %s" % e)
