#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chimera's evaluation (section 7) with bench/kernels: table 2, figures 5 to 8, and how fast profiles saturate.

Everything is measured in turn, in rounds: native, each kind of recording, replays. Rounds are repeated until --minutes are over; there is at least one.
Those that wait (WAITING) get --waiting rounds more, of what table 2 needs. What tests/real/run.py has measured last of PROGRAMS is added as it is.
Numbers are CPU seconds of the whole command, `weft record` itself included, medians over the rounds; ratios are medians of the ratios within a round.

The result goes to bench/kernels.md and bench/plots/*.svg (with --out DIR elsewhere), the numbers to BUILD/bench/kernels.json. The plots are drawn by
bench/plots.py, which needs python3-matplotlib; without it there are the tables alone."""
import argparse
import collections
import datetime
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from run import BENCH, BUILD, CORES, WORK, say, timed

# name: the size that is measured, and those with which it is profiled: others, and small. The last one is also that of the naive way, and of --quick.
KERNELS = {
    "radix": (1 << 22, 1 << 14, 1 << 16, 1 << 18),
    "fft": (1024, 64, 128, 256),
    "ocean": (800, 50, 100, 200),
    "water": (6000, 200, 400, 1000),
    "lu": (3072, 128, 256, 512),
    "barnes": (20000, 500, 1000, 2000),
    "scan": (48, 2, 4, 8),
    "load": (256, 4, 8, 16),
    "serve": (2000, 50, 100, 200),
}
SCIENTIFIC = ("radix", "fft", "ocean", "water", "lu", "barnes")
WAITING = ("scan", "load", "serve")
PROGRAMS = ("pbzip2", "xz", "zstd", "memcached", "apache")  # tests/real has them
# what is built: options of weft-cc, and whether it takes the profile
BUILDS = {
    "sync": (["-weft-plan=sync"], False),
    "shared": (["-weft-plan=shared"], False),
    "instr": (["-weft-plan=races", "-weft-granularity=access"], False),
    "instr+func": (["-weft-plan=races", "-weft-granularity=access"], True),
    "instr+loop": (["-weft-plan=races"], False),
    "all": (["-weft-plan=races"], True),
}
FIGURE5 = ("instr", "instr+func", "instr+loop", "all")
PLANS = ("shared", "all")
NAIVE = "naive"
CLANG = shutil.which("clang-19") or "clang"
FLAGS = ["-O2", "-g", "-pthread"]


def sources(name):
    return [os.path.join(BENCH, "kernels", name + ".c"), "-lm"]


def path(name, build):
    return os.path.join(WORK, "%s.%s" % (name, build))


def profile(name, runs):
    out = path(name, "weft-profile")
    subprocess.run(["weft-cc", "-weft-plan=races", "-weft-profile", *FLAGS, *sources(name), "-o", path(name, "profiled")], check=True)
    if os.path.exists(out):
        os.remove(out)
    for i in range(runs):
        size, threads = KERNELS[name][1 + i % 3], 2 + i // 3 % 3
        timed(["weft", "profile", "-o", out, "--", path(name, "profiled"), "-n", str(size), "-t", str(threads)])
    with open(out, encoding="utf-8") as f:
        text = f.read()
    added = [int(n) for n in re.findall(r"^added (\d+)$", text, re.M)]
    entered = [int(n) for n in re.findall(r"^region (\d+) ", text, re.M)]
    return {"added": added, "regions": len(entered), "entered": sum(n > 0 for n in entered)}


def build(name):
    """All programs of a kernel. Gives what -weft-stats says of each."""
    stats = {}
    subprocess.run([CLANG, *FLAGS, *sources(name), "-o", path(name, "native")], check=True)
    for kind, (flags, profiled) in BUILDS.items():
        flags = flags + (["-weft-profile=" + path(name, "weft-profile")] if profiled else [])
        subprocess.run(["weft-cc", *flags, "-weft-stats=" + path(name, "json"), *FLAGS, *sources(name), "-o", path(name, kind)], check=True)
        with open(path(name, "json"), encoding="utf-8") as f:
            stats[kind] = json.load(f)
        if kind in FIGURE5:
            counts = os.path.join(BENCH, "counts.c")
            subprocess.run(["weft-cc", *flags, *FLAGS, *sources(name), counts, "-o", path(name, kind) + ".counted"], check=True)
    return stats


class Bench:
    def __init__(self, options):
        self.options, self.failed = options, []
        self.trace = os.path.join(WORK, "trace")

    def command(self, name, kind, threads, size):
        return [path(name, kind), "-t", str(threads), "-n", str(size)]

    def size(self, name):
        return KERNELS[name][-1 if self.options.quick else 0]

    def record(self, command):
        shutil.rmtree(self.trace, ignore_errors=True)
        return timed(["weft", "record", "-o", self.trace, "--", *command], self.options.timeout)

    def replay(self, recorded):
        p = timed(["weft", "replay", self.trace], self.options.timeout)
        if p[2] != recorded[2]:
            raise RuntimeError("replay's output differs: weft replay " + self.trace)
        return p

    def attempt(self, what, do):
        try:
            return do()
        except (RuntimeError, subprocess.SubprocessError, OSError) as e:
            say("  FAILED %s: %s" % (what, e))
            self.failed.append(what)
            return None

    def round(self, name):
        """One of each kind, at 4 threads: kind -> (seconds, CPU seconds). "X alone" is the program without `weft record`."""
        t, tail = {}, (4, self.size(name))
        t["native"] = timed(self.command(name, "native", *tail))[:2]
        for kind in ("sync", "all"):
            t[kind + " alone"] = timed(self.command(name, kind, *tail))[:2]
        for kind in BUILDS:
            r = self.record(self.command(name, kind, *tail))
            t[kind] = r[:2]
            if kind in PLANS:
                t[kind + " replay"] = self.replay(r)[:2]
        return t

    def short_round(self, name):
        command = lambda kind: self.command(name, kind, 4, self.size(name))
        return {"native": timed(command("native"))[:2], **{kind: self.record(command(kind))[:2] for kind in PLANS}}

    def by_threads(self, name, threads):
        tail = (threads, self.size(name))
        native = timed(self.command(name, "native", *tail))[1]
        return {kind: self.record(self.command(name, kind, *tail))[1] / native for kind in PLANS}

    def naive(self, name):
        """A lock for each word, taken at each access that may race; small, since it takes long. Against native, and what `instr` takes with that size."""
        tail, t = (4, KERNELS[name][-1]), {}
        t["native"] = statistics.median(timed(self.command(name, "native", *tail))[1] for _ in range(3))
        t["instr"] = self.record(self.command(name, "instr", *tail))[1] / t["native"]
        os.environ["WEFT_OPTIONS"] = "words"
        try:
            t[NAIVE] = self.record(self.command(name, "instr", *tail))[1] / t["native"]
        except subprocess.TimeoutExpired:
            t[NAIVE] = None
        finally:
            del os.environ["WEFT_OPTIONS"]
        return t

    def counts(self, name):
        """Of each build, how often it does what."""
        all_of = {}
        for kind in FIGURE5:
            err = self.record(self.command(name, kind + ".counted", 4, KERNELS[name][-1]))[3]
            found = re.search(rb"counts: memory (\d+) check (\d+) range (\d+) weak (\d+)", err)
            all_of[kind] = dict(zip(("memory", "check", "range", "weak"), map(int, found.groups())))
        return all_of

    def logs(self, name, kind):
        """What is in a recording, by kind. Where an edge comes from is told by the entry of the runtime that the code in front of its site jumps to."""
        self.record(self.command(name, kind, 4, self.size(name)))
        info = json.loads(subprocess.run(["weft", "info", "--json", self.trace], capture_output=True, check=True).stdout)
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path(name, kind)], capture_output=True, check=True, text=True).stdout
        entry = {}
        for what, site in re.findall(r"jmp .*<__weft_(miss|range|weak)\b.*\n\s*([0-9a-f]+):", code):
            entry[int(site, 16)] = what
        n, base = collections.Counter(), 0
        dump = subprocess.Popen(["weft", "dump", "--sites", self.trace], stdout=subprocess.PIPE, text=True)
        for line in dump.stdout:
            word = line.split()
            if len(word) < 3 or not word[0].isdigit():
                continue
            if word[1] == "edge":
                n["sync" if word[2] == "-" else entry.get(int(word[2], 16) - base, "miss")] += 1
            elif word[1] == "input":
                n["inputs"] += 1
            elif word[1] == "loop":
                n["range"] += 1
            elif word[1] == "module" and word[2] == path(name, kind):
                base = int(re.search(r" at 0x([0-9a-f]+)", line).group(1), 16)
        dump.wait()
        return {**n, "order_bytes": info["edge_bytes"], "input_bytes": info["stream_bytes"] - info["edge_bytes"], "bytes": info["bytes"]}


def table(head, rows):
    align = ["---"] + ["---:"] * (len(head) - 1)
    return ["| %s |" % " | ".join(map(str, row)) for row in (head, align, *rows)] + [""]


def ratios(rounds, kind, to="native"):
    return [r[kind][1] / r[to][1] for r in rounds if r]


def middle(rounds, kind, to="native"):
    return statistics.median(ratios(rounds, kind, to))


def around_middle(ordered):
    """Between which two the median of what they are drawn from lies, with a probability of 95 %: each is below it as likely as not."""
    n, k, below = len(ordered), 0, 0.5 ** len(ordered)
    while 2 * (below + math.comb(n, k + 1) * 0.5**n) <= 0.05:
        k += 1
        below += math.comb(n, k) * 0.5**n
    return ordered[k], ordered[n - 1 - k]


def programs():
    """Of the table of tests/real/run.py."""
    try:
        with open(os.path.join(BUILD, "real", "table.md"), encoding="utf-8") as f:
            head, line, *rest = f.read().splitlines()
    except (OSError, ValueError):
        return []
    rest = [row for row in rest if row.split()[1] in PROGRAMS]
    return ["Programs people know, plan shared, as `tests/real/run.py --only '%s'` measured them last, 3 rounds unless told otherwise (two replays of each): CPU seconds, of servers per request." % " ".join(PROGRAMS), "", head, line, *rest, ""] if rest else []


def mean(values):
    values = [v for v in values if v is not None]
    return statistics.mean(values) if values else 0


def seconds(rounds, kind):
    return statistics.median(r[kind][1] for r in rounds if r)


def sources_of_overhead(rounds):
    """Parts of native, that add up to what recording adds to it."""
    s = {k: seconds(rounds, k) for k in ("native", "sync alone", "sync", "all alone", "all")}
    parts = {
        "ticks": s["sync alone"] - s["native"],
        "inputs, synchronisation": s["sync"] - s["sync alone"],
        "checks, looks": s["all alone"] - s["sync alone"],
        "hand-overs, their log": s["all"] - s["all alone"] - (s["sync"] - s["sync alone"]),
    }
    return {what: v / s["native"] for what, v in parts.items()}


def kib(n):
    return "%.1f" % (n / 1024)


def write(data):
    """The text. Data is as it is in kernels.json."""
    rounds, names = data["rounds"], [n for n in data["names"] if any(data["rounds"][n])]
    most = max(len(r) for r in rounds.values())
    lines = [
        "# Kernels",
        "",
        "Chimera's evaluation (table 2, figures 5 to 8, section 7.3) with `bench/kernels`. Written by `make bench-kernels` on %s, %d cores, load average %.1f at the start and %.1f at the end;"
        % (data["date"], data["cores"], data["load"][0], data["load"][1]),
        "4 threads, %d rounds in turn%s. Ratios are of CPU seconds of the whole command, medians over the rounds; the mean is of the six in the manner of SPLASH-2."
        % (most, ", small sizes (--quick)" if data["quick"] else ""),
        "Of each recording with plan shared, and with all, there was a replay; all outputs were the same.%s" % (" FAILED: %s." % ", ".join(data["failed"]) if data["failed"] else ""),
        "",
        "## Table 2: logs and overhead",
        "",
        "all: plan races with loops looked at before, and weak locks by a profile. Edges: order of synchronisation, of accesses, of what is looked at before loops (and where a loop was left), of weak",
        "locks. In brackets the lowest and the highest of the rounds. KiB before compression.",
        "",
    ]
    rows = []
    for name in names:
        for kind in PLANS:
            n, rs = collections.Counter(data["logs"][name][kind]), ratios(rounds[name], kind)
            rows.append(
                [name, kind, "%.2f" % seconds(rounds[name], "native"), "%.2f" % seconds(rounds[name], kind), "**%.2f** (%.2f to %.2f)" % (statistics.median(rs), min(rs), max(rs))]
                + ["%.2f" % middle(rounds[name], kind + " replay", to) for to in ("native", kind)]
                + [n["inputs"], n["sync"], n["miss"], n["range"], n["weak"], kib(n["input_bytes"]), kib(n["order_bytes"]), kib(n["bytes"])]
            )
    for kind in PLANS:
        some = [n for n in names if n in SCIENTIFIC]
        rows.append(["mean of %d" % len(some), kind, "", "", "**%.2f**" % mean([middle(rounds[n], kind) for n in some])] + ["%.2f" % mean([middle(rounds[n], kind + " replay", to or kind) for n in some]) for to in ("native", None)] + [""] * 8)
    lines += table(["kernel", "plan", "native s", "record s", "record/native", "replay/native", "replay/record", "inputs", "synchronisation", "accesses", "loops", "weak locks", "inputs, loops KiB", "edges KiB", "on disk KiB"], rows)

    rows = []
    for name in (n for n in names if data.get("waiting", {}).get(n)):
        for kind in PLANS:
            rs = sorted(ratios(data["waiting"][name], kind))
            rows.append([name, kind, len(rs), "**%.3f**" % statistics.median(rs), "%.3f to %.3f" % around_middle(rs), "%.3f to %.3f" % (rs[0], rs[-1])])
    if rows:
        lines += ["Programs that wait, in rounds of their own. The interval has the median with a probability of 95 %, whatever the distribution.", ""]
        lines += table(["program", "plan", "rounds", "record/native", "interval", "lowest to highest"], rows)
    lines += programs()

    lines += [
        "## Figure 5: what each refinement is worth",
        "",
        "Record/native. instr: every access that may race is checked by itself (`-weft-granularity=access`); func: with weak locks by a profile; loop: what a loop touches is looked at before it. naive: as instr, but each",
        "access takes a lock for its word and notes who had it last (`WEFT_OPTIONS=words`), with small sizes, and beside it instr with these.",
        "",
        "![Record/native by what is used](plots/figure5.svg)",
        "",
    ]
    rows = [[n, *("%.2f" % middle(rounds[n], k) for k in FIGURE5), *small(data, n)] for n in names]
    some = [n for n in names if n in SCIENTIFIC]
    rows.append(["mean of %d" % len(some), *("%.2f" % mean([middle(rounds[n], k) for n in some]) for k in FIGURE5)] + ["%.1f" % mean([data["naive"][n][k] for n in some if data["naive"].get(n)]) for k in ("instr", NAIVE)])
    lines += table(["kernel", *FIGURE5, "instr, small", "naive, small"], rows)

    lines += [
        "## Figure 6: how often the recorder is asked",
        "",
        "Of 100 accesses to memory that the program makes: checks of an access (and takes for a call), ranges looked at before loops, looks at weak locks where regions begin and end. Counted while recording, with small sizes.",
        "",
        "![Checks and weak locks for 100 accesses](plots/figure6.svg)",
        "",
    ]
    share = lambda n, k, what: 100.0 * data["counts"][n][k][what] / data["counts"][n][k]["memory"]
    rows = []
    for n in names:
        if data["counts"].get(n):
            cells = [" + ".join("%.3g" % share(n, k, what) for what in ("check", "range", "weak")) for k in FIGURE5]
            rows.append([n, "%.1f" % (data["counts"][n]["all"]["memory"] / 1e6), *cells])
    known = [n for n in names if data["counts"].get(n)]
    rows.append(["mean of %d" % len(known), ""] + [" + ".join("%.3g" % mean([share(n, k, what) for n in known]) for what in ("check", "range", "weak")) for k in FIGURE5])
    lines += table(["kernel", "million accesses", *FIGURE5], rows)

    lines += [
        "## Figure 7: where the time goes",
        "",
        "In parts of native, with all. ticks: the program with plan sync by itself; inputs, synchronisation: what recording adds to that; checks, looks: the program with all by itself, beyond its ticks; hand-overs: the rest, waiting and",
        "logging of memory's order included.",
        "",
        "![Sources of overhead](plots/figure7.svg)",
        "",
    ]
    parts = {n: sources_of_overhead(rounds[n]) for n in names}
    lines += table(["kernel", *next(iter(parts.values()))], [[n, *("%.2f" % v for v in p.values())] for n, p in parts.items()])

    counts = sorted({4, *map(int, next((d for d in data["threads"].values() if d), {}))})
    lines += [
        "## Figure 8: by the number of threads",
        "",
        "Record/native, one round beside those of 4 threads. There are %d cores: more threads than that take turns." % data["cores"],
        "",
        "![Record/native by the number of threads](plots/figure8.svg)",
        "",
    ]
    rows = []
    for n in names:
        for kind in PLANS:
            one = lambda c: middle(rounds[n], kind) if c == 4 else (data["threads"][n].get(str(c)) or {}).get(kind)
            rows.append([n, kind] + ["%.2f" % one(c) if one(c) else "failed" for c in counts])
    lines += table(["kernel", "plan", *("%d threads" % c for c in counts)], rows)

    lines += [
        "## Profiles",
        "",
        "Pairs of regions that had run beside each other after so many runs. Sizes are smaller than those that are measured, with 2 to 4 threads.",
        "",
        "![Pairs of regions by runs](plots/profiles.svg)",
        "",
    ]
    steps = [s for s in (1, 2, 3, 5, 10, 20, 50, 100) if s <= max(len(p["added"]) for p in data["profiles"].values())]
    rows = []
    for n, p in data["profiles"].items():
        last = max((i + 1 for i, a in enumerate(p["added"]) if a), default=0)
        rows.append([n, p["regions"], p["entered"], *(sum(p["added"][:s]) for s in steps), last])
    lines += table(["kernel", "regions", "entered", *("%d run%s" % (s, "s"[: s > 1]) for s in steps), "last run that added some"], rows)

    lines += ["## In the code", "", "Accesses with a check, of all.", ""]
    lines += table(["kernel", *BUILDS], [[n, *("%d of %d" % (data["stats"][n][k]["ordered"], data["stats"][n][k]["accesses"]) for k in BUILDS)] for n in names])
    return "\n".join(lines)


def small(data, name):
    t = data["naive"].get(name)
    return ["%.1f" % t["instr"], "%.1f" % t[NAIVE] if t[NAIVE] else "too long"] if t else ["failed"] * 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=25, help="in all, about; at least one round is made (25)")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round, three runs of profiles: to see that it works")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="only these, with commas between")
    parser.add_argument("--threads", default="2,8", help="beside 4 (2,8)")
    parser.add_argument("--waiting", type=int, default=15, help="rounds more for %s (15)" % ", ".join(WAITING))
    parser.add_argument("--profile-runs", type=int, default=20, help="of each kernel (20)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds, of one recording (120)")
    parser.add_argument("--out", default=BENCH, help="folder for kernels.md and plots (bench)")
    parser.add_argument("--write", action="store_true", help="measure nothing: text and plots once more, from kernels.json")
    options = parser.parse_args()
    os.environ["PATH"] = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
    if not shutil.which("weft-cc"):
        sys.exit("bench: no weft-cc in %s: run make first" % os.path.join(BUILD, "bin"))
    os.makedirs(WORK, exist_ok=True)
    kept = os.path.join(WORK, "kernels.json")
    if options.write:
        with open(kept, encoding="utf-8") as f:
            data = json.load(f)
    else:
        data = measure(options)
        with open(kept, "w", encoding="utf-8") as f:
            json.dump(data, f, indent=1)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "kernels.md"), "w", encoding="utf-8") as f:
        f.write(write(data))
    # Debian's package is for Debian's python
    drawn = subprocess.run(["/usr/bin/python3", os.path.join(BENCH, "plots.py"), kept, os.path.join(options.out, "plots")])
    if drawn.returncode:
        say("bench: no plots: is python3-matplotlib installed?")
    if data["failed"]:
        say("bench: failed: " + ", ".join(data["failed"]))
    return 1 if data["failed"] else 0


def measure(options):
    started, b = time.monotonic(), Bench(options)
    names = options.kernels.split(",")
    data = {"date": datetime.date.today().isoformat(), "cores": CORES, "quick": options.quick, "names": names, "load": [os.getloadavg()[0]]}
    runs = 3 if options.quick else options.profile_runs
    data["profiles"] = {n: profile(n, runs) for n in names}
    say("bench: profiled, %.0f s" % (time.monotonic() - started))
    data["stats"] = {n: build(n) for n in names}
    say("bench: built, %.0f s" % (time.monotonic() - started))
    for part, do in (("naive", b.naive), ("counts", b.counts), ("logs", lambda n: {k: b.logs(n, k) for k in PLANS})):
        data[part] = {n: b.attempt("%s of %s" % (part, n), lambda: do(n)) for n in names}
        say("bench: %s, %.0f s" % (part, time.monotonic() - started))
    data["rounds"] = {n: [] for n in names}
    data["threads"] = {}
    while True:
        t0 = time.monotonic()
        for n in names:
            r = b.attempt("a round of " + n, lambda: b.round(n))
            data["rounds"][n] += [r] if r else []
            if r:
                say("  %s: native %.2f, record/native: %s" % (n, r["native"][1], ", ".join("%s %.2f" % (k, r[k][1] / r["native"][1]) for k in BUILDS)))
        took = time.monotonic() - t0
        if not data["threads"]:
            data["threads"] = {
                n: {str(c): b.attempt("%s, %d threads" % (n, c), lambda: b.by_threads(n, c)) for c in map(int, options.threads.split(","))} for n in names
            }
        say("bench: round %d took %.0f s, %.0f s in all" % (max(map(len, data["rounds"].values())), took, time.monotonic() - started))
        if options.quick or time.monotonic() - started + took > 60 * options.minutes:
            break
    data["waiting"] = {}
    for n in (n for n in names if n in WAITING):
        rounds = (b.attempt("a short round of " + n, lambda: b.short_round(n)) for _ in range(1 if options.quick else options.waiting))
        data["waiting"][n] = [r for r in rounds if r]
    say("bench: those that wait, %.0f s" % (time.monotonic() - started))
    shutil.rmtree(b.trace, ignore_errors=True)
    data["load"].append(os.getloadavg()[0])
    data["failed"] = b.failed
    return data


if __name__ == "__main__":
    sys.exit(main())
