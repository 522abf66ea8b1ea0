#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often the programs of this folder fail: natively, and recorded. Every recording that failed is replayed; each replay
must be identical, or the last status is 1. The table goes to stdout and to BUILD/bugs/table.md.

Each program is built with clang and with weft-cc, and its runs of all ways (WAYS below: add a line for another one) take
turns, some at a time: natively, by `weft record`, and by `weft record --until-fail` (delays; with --chaos: random, pct). A run fails if it ends as the program's head says under SHOWS; any other end than status 0 is an error. It is
stuck if for half a second all its threads sleep and none has used the processor, or if it takes --limit seconds; then it
is killed. `low` marks a way that fails less than half as often as natively, where chance would give so few failures in
less than one of twenty measurements.

With --catch TRIES, each program is only recorded until it fails, by `weft record --until-fail`, and the one failing
recording replayed: it must be caught within TRIES runs, of which the last three quarters are with --chaos. With --sync
too, the same is tried with a build that has the order of synchronisation only (-weft-plan=sync: what JaRec records), and
the table says how many of its replays fail as the recording did, with the same output."""
import argparse
import glob
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
WORK = os.path.join(BUILD, "bugs")
WEFT = os.path.join(BUILD, "bin", "weft")
WEFT_CC = (os.path.join(BUILD, "bin", "weft-cc"), os.path.join(BUILD, "bin", "weft-c++"))
COMPILERS = {"native": ("clang-19", "clang++-19"), "weft": WEFT_CC, "sync": WEFT_CC}
PLAN = {"sync": ["-weft-plan=sync"]}
FIELDS = "KIND FAILS SHOWS LEAST NATIVE ARGS LARGE".split()
QUIET = 0.25  # seconds; a run that does nothing for twice that is stuck


class Way:
    """A way to run a program: a column of the table."""

    def __init__(self, name, build, record=None, until_fail=None):
        self.name, self.build, self.record, self.until_fail = name, build, record, until_fail


WAYS = [
    Way("native", "native"),
    Way("recorded", "weft", record=[WEFT, "record"]),
    Way("delays", "weft", until_fail=[]),
    Way("random", "weft", until_fail=["--chaos", "--strategy", "random"]),
    Way("pct", "weft", until_fail=["--chaos", "--strategy", "pct"]),
]
# The kernel's scheduler shares the processor out by sessions (sched_autogroup): on a busy machine the threads of a program that is alone in a
# new one wait for longer than those of one in a session where something has run already. weft record is there; so somebody is there natively.
PARENT = ["timeout", "--foreground", "0"]
BATCH = 25  # runs of one way before the next has its turn; pct learns from the runs before


class Wrong(Exception):
    pass


class Bug:
    def __init__(self, source):
        self.source = source
        self.name = os.path.splitext(os.path.basename(source))[0]
        with open(source, encoding="utf-8") as f:
            head = f.read()
        self.said = dict(re.findall(r"^// ([A-Z]+): (.*)$", head, re.M))
        missing = [f for f in FIELDS if f not in self.said]
        if missing:
            raise Wrong("%s: its head does not say %s" % (source, ", ".join(missing)))
        self.shows = self.said["SHOWS"].split(" or ")
        least = re.fullmatch(r"(\d+|all) threads, (\d+|all) iterations?, (\d+) preemptions?", self.said["LEAST"])
        if not least or not all(re.fullmatch(r"signal \d+|exit \d+|stuck", s) for s in self.shows):
            raise Wrong("%s: LEAST or SHOWS is not in the form that README.md says" % source)
        self.least = least.groups()

    def program(self, build):
        return os.path.join(WORK, build, self.name)

    def command(self, build, options):
        return [self.program(build)] + (self.said["LARGE"].split() if options.large else [])

    def build(self, build):
        out = self.program(build)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        compiler = COMPILERS[build][self.source.endswith(".cpp")]
        flags = ["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"] + self.said.get("FLAGS", "").split()
        flags += PLAN.get(build, [])
        subprocess.run([compiler] + flags + [self.source, "-o", out], check=True)


# ---- one run ---------------------------------------------------------------------------------------------------------
def descendants(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                for child in map(int, f.read().split()):
                    found += [child] + descendants(child)
    except OSError:
        pass
    return found


def activity(pids):
    """What the threads of these processes have used of the processor; None if one of them could go on."""
    used = []
    for pid in pids:
        try:
            for task in sorted(os.listdir("/proc/%d/task" % pid)):
                with open("/proc/%d/task/%s/stat" % (pid, task)) as f:
                    fields = f.read().rpartition(")")[2].split()
                if fields[0] == "R":
                    return None
                used.append((task, fields[11], fields[12]))
        except OSError:
            return None
    return used


def run(command, limit, out):
    """Runs it to its end, or until it is stuck. Gives `exit N`, `signal N` or `stuck`. Output is in out.out, out.err."""
    with open(out + ".out", "wb") as o, open(out + ".err", "wb") as e:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=o, stderr=e, start_new_session=True)
    handle = os.pidfd_open(process.pid)
    end, before, stuck = time.monotonic() + limit, None, False
    try:
        while not select.select([handle], [], [], QUIET)[0]:
            theirs = descendants(process.pid)
            now = activity(theirs) or None  # weft record still has work after the program's end
            stuck = (now is not None and now == before) or time.monotonic() > end
            if stuck:
                for pid in theirs:
                    os.kill(pid, signal.SIGKILL)
                break
            before = now
        status = process.wait(timeout=limit)
    finally:
        os.close(handle)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if stuck:
        return "stuck"
    return ended(status)


def ended(status):
    return "exit %d" % status if status >= 0 else "signal %d" % -status


def text(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as f:
        return f.read()


def theirs(path):
    """Of stderr what the program wrote: weft's line may come in the middle of one of a program that was cut off."""
    return re.sub(r"weft: .*\n", "", text(path))


def replay_once(trace, want, limit):
    """Replays a recording. What is not the same, or an empty string."""
    with open(trace + ".again.out", "wb") as o, open(trace + ".again.err", "wb") as e:
        command = [WEFT, "replay", trace]
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=o, stderr=e, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            return "it does not end"
    if ended(status) != want:
        return "%s instead of %s: %s" % (ended(status), want, text(trace + ".again.err"))
    if text(trace + ".again.out") != text(trace + ".out"):
        return "stdout differs"
    if theirs(trace + ".again.err") != theirs(trace + ".err"):
        return "stderr differs"
    return ""


def replay(trace, want, times, limit):
    """Gives the number of replays that were the same, and what was not; the first that differs is the last."""
    for n in range(times):
        problem = replay_once(trace, want, limit)
        if problem:
            return n, problem.strip()
    return times, ""


# ---- many runs -------------------------------------------------------------------------------------------------------
class Count:
    """The runs of a program in one way."""

    def __init__(self):
        self.runs = self.failed = self.replayed = self.identical = 0
        self.ends = {}

    def rate(self):
        return self.failed / self.runs if self.runs else 0.0


def say(text):
    print("bugs: " + text, file=sys.stderr, flush=True)


def ended_so(bug, way, count, end, trace, errors):
    """Counts a run. Whether it failed as it should."""
    count.runs += 1
    count.ends[end] = count.ends.get(end, 0) + 1
    if end == "exit 0":
        return False
    if end not in bug.shows:
        errors.append("%s, %s: ended with %s, which is not its failure; see %s.err" % (bug.name, way.name, end, trace))
        keep(trace, errors)
        return False
    count.failed += 1
    return True


def replays(bug, count, trace, options, errors, play):
    """Replays a recording that failed; play gives the number of identical ones and what was not."""
    if count.replayed >= options.traces * options.replays:
        return
    count.replayed += options.replays
    identical, problem = play()
    count.identical += identical
    if problem:
        errors.append("%s: replay: %s" % (bug.name, problem))
        keep(trace, errors)


def one(bug, way, count, options, errors):
    """One run, and the replays if it failed."""
    trace = os.path.join(WORK, "trace-" + bug.name)
    shutil.rmtree(trace, ignore_errors=True)
    command = bug.command(way.build, options)
    command = way.record + ["-o", trace, "--"] + command if way.record else PARENT + command
    end = run(command, options.limit, trace)
    if ended_so(bug, way, count, end, trace, errors) and way.record:
        want = "signal 9" if end == "stuck" else end
        replays(bug, count, trace, options, errors, lambda: replay(trace, want, options.replays, options.limit))


def times(trace, n, limit):
    """Replays by weft replay --times: what the program wrote is compared by weft only."""
    p = subprocess.run([WEFT, "replay", "--times", str(n), trace], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit * n)
    same = b"%d of %d identical" % (n, n) in p.stdout + p.stderr
    return n if same else 0, "" if same else p.stderr.decode(errors="replace").strip()


def batch(bug, way, runs, count, options, errors):
    """So many runs by weft record --until-fail, and the replays of those that failed."""
    trace = os.path.join(WORK, "trace-%s-%s" % (way.name, bug.name))
    for old in glob.glob(trace + "*"):
        if ".wrong" not in old:
            shutil.rmtree(old, ignore_errors=True)
    record = [WEFT, "record", "-o", trace, "--until-fail=%d" % runs, "--keep-going", "--idle", "0.5"] + way.until_fail
    record += ["--timeout", "%g" % options.limit, "--"] + bug.command(way.build, options)
    p = subprocess.run(record, stdin=subprocess.DEVNULL, capture_output=True)
    said = p.stderr.decode(errors="replace")
    with open(trace + ".err", "w", encoding="utf-8") as f:
        f.write(said)
    ends = re.findall(r"weft: run \d+ failed: (exit \d+|signal \d+|stuck)", said)
    if not re.search(r"^weft: (none|%d) of %d runs? failed" % (len(ends), runs), said, re.M):
        raise Wrong("%s: %s" % (" ".join(record), said))
    for n, end in enumerate(ends):
        name = trace if n == 0 else "%s-%d" % (trace, n + 1)
        if ended_so(bug, way, count, end, name, errors):
            replays(bug, count, name, options, errors, lambda: times(name, options.replays, options.limit))
    for _ in range(runs - len(ends)):
        ended_so(bug, way, count, "exit 0", trace, errors)


def keep(trace, errors):
    """Puts a trace and its output aside, and says where."""
    for n in range(1, 100):
        to = "%s.wrong%d" % (trace, n)
        if not os.path.exists(to) and not os.path.exists(to + ".err"):
            break
    for suffix in ("", ".out", ".err", ".again.out", ".again.err"):
        if os.path.exists(trace + suffix):
            os.rename(trace + suffix, to + suffix)
    errors[-1] += " [kept: weft replay %s]" % to
    say(errors[-1])


# ---- until it fails --------------------------------------------------------------------------------------------------
STUCK = "exit 124"  # of weft record and weft replay


def catch(command, trace, tries, limit, steered=True):
    """Records until it fails. Gives how it ended and `N` or `N chaos`, N the number of runs; (None, N) if it did not."""
    first = max(1, tries // 4) if steered else tries
    for runs, before, chaos in ((first, 0, []), (tries - first, first, ["--chaos"])):
        if runs == 0:
            break
        shutil.rmtree(trace, ignore_errors=True)
        record = [WEFT, "record", "-o", trace, "--until-fail=%d" % runs, "--idle", "0.5", "--timeout", "%g" % limit]
        with open(trace + ".out", "wb") as o, open(trace + ".err", "wb") as e:
            p = subprocess.run(record + chaos + ["--"] + command, stdin=subprocess.DEVNULL, stdout=o, stderr=e)
        caught = re.search(r"^weft: run (\d+) failed: ", text(trace + ".err"), re.M)
        if caught:
            return ended(p.returncode), "%d%s" % (before + int(caught.group(1)), " chaos" if chaos else "")
        if p.returncode:
            raise Wrong("%s: %s" % (" ".join(record + chaos + command), text(trace + ".err")))
    return None, "%d" % tries


def caught(bug, build, options, errors):
    """Catches one failure and replays it. Gives the end, in which run it was, and the number of identical replays."""
    trace = os.path.join(WORK, "trace-%s-%s" % (build, bug.name))
    end, run = catch(bug.command(build, options), trace, options.catch, options.limit)
    if end and ("stuck" if end == STUCK else end) not in bug.shows:
        errors.append("%s: ended with %s, which is not its failure; see %s.err" % (bug.name, end, trace))
        keep(trace, errors)
        return end, run, 0
    identical, problem = 0, ""
    if build == "sync":
        for _ in range(options.replays_sync if end else 0):
            identical += not replay_once(trace, end, options.limit)
    elif end:
        identical, problem = replay(trace, end, options.replays, options.limit)
    else:
        errors.append("%s: did not fail in %s runs" % (bug.name, run))
    if problem:
        errors.append("%s: replay: %s" % (bug.name, problem))
        keep(trace, errors)
    return end, run, identical


def catch_all(bugs, options, errors):
    head = ["bug", "shows", "caught in run", "replays identical"]
    if options.sync:
        head += ["plan sync: caught in run", "replays that fail alike"]
    rows = [head, ["---"] * len(head)]
    for bug in bugs:
        cells = [bug.name, bug.said["SHOWS"]]
        for build in ("weft", "sync") if options.sync else ("weft",):
            bug.build(build)
            end, run, identical = caught(bug, build, options, errors)
            of = options.replays_sync if build == "sync" else options.replays
            cells += [run, "%d of %d" % (identical, of)] if end else ["none of " + run, "-"]
        rows.append(cells)
        say(": ".join(cells[:1] + [", ".join(cells[2:])]))
    return "".join("| " + " | ".join(r) + " |\n" for r in rows)


# ---- the tables ------------------------------------------------------------------------------------------------------
def below_half(count, native):
    """Fails less than half as often as natively, and chance would hardly give that."""
    p = native.rate() / 2
    if count.rate() >= p:
        return False
    few = sum(math.comb(count.runs, k) * p**k * (1 - p) ** (count.runs - k) for k in range(count.failed + 1))
    return few < 0.05


def table(rows, ways):
    head = ["bug", "shows", "least"] + ["%s failed" % w.name for w in ways] + ["%s/native" % w.name for w in ways[1:]]
    lines = ["| " + " | ".join(head + ["replays"]) + " |", "|" + " --- |" * (len(head) + 1)]
    for bug, counts in rows:
        native = counts["native"]
        cells = [bug.name, bug.said["SHOWS"], "/".join(bug.least)]
        cells += ["%d of %d" % (counts[w.name].failed, counts[w.name].runs) for w in ways]
        for w in ways[1:]:
            ratio = "%.2f" % (counts[w.name].rate() / native.rate()) if native.failed else "-"
            cells.append(ratio + (" low" if below_half(counts[w.name], native) else ""))
        cells.append("%d of %d" % tuple(sum(getattr(c, f) for c in counts.values()) for f in ("identical", "replayed")))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BUG", help="all, without")
    parser.add_argument("-n", "--runs", type=int, default=100, help="of each way (100)")
    parser.add_argument("--ways", default="", help="only these, with commas: " + ", ".join(w.name for w in WAYS))
    parser.add_argument("--large", action="store_true", help="with the arguments under LARGE")
    parser.add_argument("--replays", type=int, default=5, help="of a failing recording (5)")
    parser.add_argument("--traces", type=int, default=20, help="failing recordings to replay, of each program (20)")
    parser.add_argument("--catch", type=int, metavar="TRIES", help="only record each until it fails")
    parser.add_argument("--sync", action="store_true", help="with --catch: what the order of synchronisation alone reproduces")
    parser.add_argument("--replays-sync", type=int, default=5, help="of such a recording (5)")
    parser.add_argument("--limit", type=float, default=30, help="seconds that a run may take (30)")
    parser.add_argument("--list", action="store_true", help="print the heads, as a table")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no program behind

    sources = sorted(f for f in os.listdir(HERE) if f.endswith((".c", ".cpp")))
    bugs = [Bug(os.path.join(HERE, f)) for f in sources]
    unknown = set(options.names) - {b.name for b in bugs}
    if unknown:
        parser.error("no such bug: " + ", ".join(sorted(unknown)))
    bugs = [b for b in bugs if not options.names or b.name in options.names]
    hidden = [b for b in bugs if os.environ.get("WEFT_PLAN") in b.said.get("HIDDEN", "").split()]
    for b in hidden:
        say("%s: does not show with plan %s" % (b.name, os.environ["WEFT_PLAN"]))
    bugs = [b for b in bugs if b not in hidden]
    if options.sync and not options.catch:
        parser.error("--sync needs --catch")
    if options.list:
        for b in bugs:
            print("\t".join([b.name] + [b.said[f] for f in FIELDS]))
        return 0
    ways = [w for w in WAYS if not options.ways or w.name in options.ways.split(",")]

    errors = []
    if options.catch:
        result = catch_all(bugs, options, errors)
    else:
        rows = []
        for bug in bugs:
            for build in sorted({w.build for w in ways}):
                bug.build(build)
            counts = {w.name: Count() for w in WAYS}
            for done in range(0, options.runs, BATCH):
                runs = min(BATCH, options.runs - done)
                for way in ways:
                    if way.until_fail is not None:
                        batch(bug, way, runs, counts[way.name], options, errors)
                    else:
                        for _ in range(runs):
                            one(bug, way, counts[way.name], options, errors)
            rows.append((bug, counts))
            say("%s: %s" % (bug.name, ", ".join("%s %s" % (w.name, counts[w.name].ends) for w in ways)))
        result = table(rows, ways)
    print(result, end="")
    with open(os.path.join(WORK, "table.md"), "w", encoding="utf-8") as f:
        f.write(result)
    for e in errors:
        say("error: " + e)
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Wrong, subprocess.CalledProcessError) as e:
        sys.exit("bugs: %s" % e)
