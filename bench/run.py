#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recording and replay cost, against native, measured in turn: native, record, replay, native, record, replay, ...
Every native run takes at least a second (the number of rounds is found first); the table shows medians over the rounds.

Workloads: the racey-like worst case, LEAP's micro-benchmark, own parts, read-mostly; pbzip2, xz and zstd as built by
tests/real/run.py. A time is that of the whole command, `weft record` and `weft replay` themselves included. ns per access:
wall time times the cores that the threads can use, over the accesses to shared memory that the program says it made.
Part `calls` shows what recording adds to a system call. Part `parallel` shows CPU seconds per second, and how often reads see what the other thread has just written.

The result goes to bench/results.md (with --out elsewhere). What Chimera's evaluation has is measured by kernels.py."""
import argparse
import datetime
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(TOP, "bench")
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
WORK = os.path.join(BUILD, "bench")
CORES = len(os.sched_getaffinity(0))

# name: source, threads, arguments after the rounds, targets for record/native and replay/native
MICRO = {
    "racey, 2 threads": ("racey", 2, [], 2.5, 4.0),
    "LEAP, 100 variables, 10 threads": ("leap", 10, ["100"], 4.0, None),
    "LEAP, 1000 variables, 10 threads": ("leap", 10, ["1000"], 4.0, None),
    "own parts, 2 threads": ("own-parts", 2, [], 2.5, None),
    "read-mostly, 2 threads": ("read-mostly", 2, [], None, None),
}
# name: target for record/native; replay is measured against recording
REAL = {"pbzip2": 1.05, "xz": 2.2, "zstd": 2.2}
REAL_ARGS = {
    "pbzip2": ["-p4", "-k", "-c"],
    "xz": ["-T4", "-k", "-c", "-2", "--block-size=4MiB"],
    "zstd": ["-T4", "-q", "-k", "-c", "-12"],
}


def say(text):
    print(text, flush=True)


def timed(command, timeout=None):
    """Gives (wall seconds, CPU seconds, stdout, stderr). Beyond the timeout all that it has started is killed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t0 = time.monotonic()
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=timeout is not None)
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        raise
    wall = time.monotonic() - t0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if p.returncode:
        tail = err.decode(errors="replace").strip().splitlines()[-1:] or ["?"]
        raise RuntimeError("%s: status %d: %s" % (" ".join(command), p.returncode, tail[0]))
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall, cpu, out, err


def build(name):
    """bench/NAME.c, natively and with weft."""
    os.makedirs(WORK, exist_ok=True)
    source, out = os.path.join(BENCH, name + ".c"), os.path.join(WORK, name)
    clang = shutil.which("clang-19") or "clang"
    for cc, path in ((clang, out + ".native"), ("weft-cc", out + ".weft")):
        subprocess.run([cc, "-O2", "-g", "-pthread", source, "-o", path], check=True)
    return out + ".native", out + ".weft"


def number(out, word):
    found = re.search(rb"^%s (\d+)$" % word.encode(), out, re.M)
    return int(found.group(1)) if found else None


def calibrate(program, threads, more, seconds):
    """Rounds with which a native run takes at least `seconds`."""
    rounds = 10
    while True:
        wall = min(timed([program, str(threads), str(rounds), *more])[0] for _ in range(2))
        if wall >= seconds:
            return rounds
        rounds = int(rounds * min(20, max(1.3, 1.15 * seconds / max(wall, 0.001))))


def info(trace):
    return json.loads(subprocess.run(["weft", "info", "--json", trace], capture_output=True, check=True).stdout)


def in_turn(native, weft, rounds, label):
    """Medians of native, record, replay, in seconds and in CPU seconds, and the last trace's numbers."""
    trace = os.path.join(WORK, "trace")
    times = {"native": [], "record": [], "replay": []}
    cpu = {"native cpu": [], "record cpu": [], "replay cpu": []}
    for i in range(rounds):
        shutil.rmtree(trace, ignore_errors=True)
        n = timed(native)
        r = timed(["weft", "record", "-o", trace, "--", *weft])
        p = timed(["weft", "replay", trace])
        if p[2] != r[2]:
            raise RuntimeError("replay's output differs: weft replay " + trace)
        for kind, run in zip(times, (n, r, p)):
            times[kind].append(run[0])
            cpu[kind + " cpu"].append(run[1])
        say("  %s: round %d: native %.2f record %.2f replay %.2f s" % (label, i + 1, n[0], r[0], p[0]))
    numbers = info(trace)
    shutil.rmtree(trace, ignore_errors=True)
    return {kind: statistics.median(t) for kind, t in {**times, **cpu}.items()}, numbers, r[2]


def against(value, target):
    return "%.2f" % value if target is None else "%.2f (%s %.3g)" % (value, "≤" if value <= target else "**>**", target)


def micro(options, lines):
    lines += [
        "## Workloads in which the accesses are known",
        "",
        "Ratios are to native; in brackets the target. ns: per access to shared memory, wall time times cores used.",
        "",
        "| workload | native s | record | replay | native ns | record ns | replay ns | accesses | edges | log bytes | bytes per access |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for label, (source, threads, more, record_target, replay_target) in MICRO.items():
        try:
            native, weft = build(source)
            rounds = calibrate(native, threads, more, options.seconds)
            tail = [str(threads), str(rounds), *more]
            t, numbers, out = in_turn([native, *tail], [weft, *tail], options.rounds, label)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
            say("  FAILED %s: %s" % (label, e))
            options.failed.append(label)
            lines.append("| %s | failed | | | | | | | | | |" % label)
            continue
        accesses = number(out, "accesses")
        ns = lambda s: "%.2f" % (s * 1e9 * min(threads, CORES) / accesses)
        lines.append(
            "| %s | %.2f | %s | %s | %s | %s | %s | %d | %d | %d | %.4f |"
            % (
                label,
                t["native"],
                against(t["record"] / t["native"], record_target),
                against(t["replay"] / t["native"], replay_target),
                ns(t["native"]),
                ns(t["record"]),
                ns(t["replay"]),
                accesses,
                numbers["edges"],
                numbers["bytes"],
                numbers["bytes"] / accesses,
            )
        )
    lines.append("")


def real(options, lines):
    lines += [
        "## Real programs",
        "",
        "Compression with 4 threads of the file that `tests/real/run.py` makes. Record against native, replay against record.",
        "",
        "| program | native s | record s | replay s | record/native | replay/record | edges | inputs | log bytes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    place = os.path.join(BUILD, "real")
    binary = {"pbzip2": "pbzip2", "xz": "inst/bin/xz", "zstd": "programs/zstd"}
    files = sorted(
        (f for f in (os.listdir(os.path.join(place, "data")) if os.path.isdir(os.path.join(place, "data")) else [])),
        key=lambda f: os.path.getsize(os.path.join(place, "data", f)),
    )
    for name, target in REAL.items():
        native = os.path.join(place, name + "-native", binary[name])
        weft = os.path.join(place, name + "-weft", binary[name])
        if not (files and os.path.exists(native) and os.path.exists(weft)):
            say("  %s: not built; run tests/real/run.py --build-only" % name)
            options.failed.append(name)
            lines.append("| %s | not built | | | | | | | |" % name)
            continue
        tail = REAL_ARGS[name] + [os.path.join(place, "data", files[-1])]
        try:
            t, numbers, _ = in_turn([native, *tail], [weft, *tail], options.rounds, name)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
            say("  FAILED %s: %s" % (name, e))
            options.failed.append(name)
            lines.append("| %s | failed | | | | | | | |" % name)
            continue
        lines.append(
            "| %s | %.2f | %.2f | %.2f | %s | %s | %d | %d | %d |"
            % (
                name,
                t["native"],
                t["record"],
                t["replay"],
                against(t["record"] / t["native"], target),
                against(t["replay"] / t["record"], 1.2),
                numbers["edges"],
                numbers["inputs"],
                numbers["bytes"],
            )
        )
    lines.append("")


def parallel(options, lines):
    """CPU seconds per second on own parts, and reads that see the other thread's last write."""
    lines += ["## Really parallel", ""]
    trace = os.path.join(WORK, "trace")
    try:
        native, weft = build("own-parts")
        rounds = calibrate(native, 2, [], options.seconds)
        use = {"native": [], "record": [], "replay": []}
        for _ in range(options.rounds):
            shutil.rmtree(trace, ignore_errors=True)
            runs = (
                timed([native, "2", str(rounds)]),
                timed(["weft", "record", "-o", trace, "--", weft, "2", str(rounds)]),
                timed(["weft", "replay", trace]),
            )
            for kind, run in zip(use, runs):
                use[kind].append(run[1] / run[0])
        lines += [
            "Own parts, 2 threads on %d cores: CPU seconds per second (target 1.8), medians." % CORES,
            "",
            "| native | record | replay |",
            "| ---: | ---: | ---: |",
            "| %.2f | %.2f | %.2f |" % tuple(statistics.median(u) for u in use.values()),
            "",
        ]
        say("  own parts: CPU seconds per second: native %.2f record %.2f replay %.2f" % tuple(statistics.median(u) for u in use.values()))

        native, weft = build("alive")
        rounds = calibrate(native, 2, [], options.seconds)
        rate = {"native": [], "record": []}
        for _ in range(options.rounds):
            shutil.rmtree(trace, ignore_errors=True)
            for kind, command in (
                ("native", [native, "2", str(rounds)]),
                ("record", ["weft", "record", "-o", trace, "--", weft, "2", str(rounds)]),
            ):
                out = timed(command)[2]
                rate[kind].append(number(out, "fresh") / number(out, "reads"))
        n, r = (statistics.median(x) for x in rate.values())
        lines += [
            "Racey-like program, 2 threads: share of the reads that are the first to see a write of the other thread. The",
            "recording must have at least a tenth of what native has.",
            "",
            "| native | record | record/native |",
            "| ---: | ---: | ---: |",
            "| %.5f | %.5f | %.2f |" % (n, r, r / n if n else 0),
            "",
        ]
        say("  reads that see the other thread's write: native %.5f record %.5f" % (n, r))
    except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
        say("  FAILED parallel: %s" % e)
        options.failed.append("parallel")
        lines += ["Failed.", ""]
    shutil.rmtree(trace, ignore_errors=True)


def calls(options, lines):
    """What recording adds to a system call: bench/calls.c, natively and recorded in turn, the best of each."""
    lines += [
        "## System calls",
        "",
        "CPU nanoseconds per call, natively and recorded, the best of all rounds (target: at most 50 more). The kernel's check for",
        "Syscall User Dispatch, which every call of a recorded program passes, is part of it.",
        "",
        "| call | native | record | more |",
        "| --- | ---: | ---: | ---: |",
    ]
    trace = os.path.join(WORK, "trace")
    try:
        native, weft = build("calls")
        best = {}
        for _ in range(options.rounds):
            shutil.rmtree(trace, ignore_errors=True)
            for kind, command in (("native", [native]), ("record", ["weft", "record", "-o", trace, "--", weft])):
                for line in timed([*command, "10000", "3"])[2].decode().splitlines():
                    name, ns = line.split()
                    row = best.setdefault(name, {})
                    row[kind] = min(row.get(kind, float("inf")), float(ns))
        for name, row in best.items():
            lines.append("| %s | %.0f | %.0f | %.0f |" % (name, row["native"], row["record"], row["record"] - row["native"]))
    except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
        say("  FAILED calls: %s" % e)
        options.failed.append("calls")
        lines.append("| failed | | | |")
    lines.append("")
    shutil.rmtree(trace, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="of native, record, replay (9)")
    parser.add_argument("--seconds", type=float, default=1.1, help="that a native run takes at least (1.1)")
    parser.add_argument("--only", choices=("micro", "calls", "real", "parallel"), help="one part; prints, and writes no file")
    parser.add_argument("--out", help="file to write (bench/results.md)")
    options = parser.parse_args()
    options.failed = []
    os.environ["PATH"] = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
    if not shutil.which("weft-cc"):
        sys.exit("bench: no weft-cc in %s: run make first" % os.path.join(BUILD, "bin"))
    os.makedirs(WORK, exist_ok=True)
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` on %s, %d cores: medians of %d rounds of native, record, replay in turn; load average at the start %.1f."
        % (datetime.date.today().isoformat(), CORES, options.rounds, os.getloadavg()[0]),
        "",
    ]
    for name, part in (("micro", micro), ("calls", calls), ("real", real), ("parallel", parallel)):
        if options.only in (None, name):
            say("bench: %s" % name)
            part(options, lines)
    text = "\n".join(lines)
    print("\n" + text)
    out = options.out or (None if options.only else os.path.join(BENCH, "results.md"))
    if out:
        with open(out, "w", encoding="utf-8") as f:
            f.write(text)
    if options.failed:
        print("bench: failed: " + ", ".join(options.failed))
    return 1 if options.failed else 0


if __name__ == "__main__":
    sys.exit(main())
