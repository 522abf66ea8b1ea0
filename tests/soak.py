#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records every program of tests/programs many times, with every number of threads that makes sense for it, as a plain
and as a verify build, and replays every recording several times. Every replay must do what the recording did.

A case is (program, threads, build). Cases take turns, a batch of recordings each, until all have their number or the
time is up; what was done is kept in BUILD/soak/state.json, so that the next call goes on where this one stopped (unless
weft or the program changed since: then the case starts again). A trace that does not replay is kept in
BUILD/soak/failed, and the command that replays it is printed. The table goes to bench/soak.md.

One replay of each recording is compared byte by byte (stdout, stderr, exit status or signal); the others run under
`weft replay --times`. Every seventh recording has one core only: threads are then cut off at other places."""
import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.path.join(TOP, "tests", "programs")
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
SOAK = os.path.join(BUILD, "soak")
BATCH = 10
LENGTHS = (1, 2, 1, 5, 1)  # times the program's usual number of rounds

# The programs that the claim is about; they come first, and --quick takes only these.
FIRST = """racey racey-plain sizes unaligned straddle bytes memsizes recursion comparators callbacks dead-stack pool ring
dead-spill arenas lfstack lfstack16 seqlock spin spin-bare dekker peterson ticket own-parts read-mostly leap dead-heap mallocs
jumps except mutexes cond atomics strings""".split()


def said(source, word):
    """What the source says after `// FLAGS:` and the like, as words."""
    with open(source, encoding="utf-8") as f:
        return " ".join(re.findall(r"^// %s:(.*)$" % word, f.read(), re.M)).split()


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def weft_digest():
    files = []
    for folder in ("bin", "lib"):
        for root, _, names in os.walk(os.path.join(BUILD, folder)):
            files += [os.path.join(root, n) for n in names]
    return digest(*sorted(f for f in files if os.path.isfile(f)))


class Case:
    def __init__(self, name, threads, build):
        self.name, self.threads, self.build = name, threads, build
        self.source = next(
            p for p in (os.path.join(PROGRAMS, name + e) for e in (".c", ".cpp")) if os.path.exists(p)
        )
        self.key = "%s/%d/%s" % (name, threads, build)
        self.program = os.path.join(SOAK, "bin", name + "." + build)
        self.statuses = [int(s) for s in said(self.source, "STATUS")] or [0]
        stdin = said(self.source, "STDIN")
        self.stdin = os.path.join(PROGRAMS, stdin[0]) if stdin else os.devnull

    def compile(self, weft):
        stamp = self.program + ".stamp"
        want = weft + digest(self.source, os.path.join(PROGRAMS, "common.h"))
        if os.path.exists(stamp) and open(stamp).read() == want:
            return want, None
        cc = "weft-c++" if self.source.endswith(".cpp") else "weft-cc"
        command = [cc, "-O2", "-g", "-pthread", *said(self.source, "FLAGS")]
        command += ["-weft-verify"] if self.build == "verify" else []
        done = subprocess.run(command + [self.source, "-o", self.program], capture_output=True, text=True)
        if done.returncode:
            return want, "does not build: " + (done.stderr.strip().splitlines() or ["?"])[-1]
        with open(stamp, "w") as f:
            f.write(want)
        return want, None


def run(command, stdin, one_core, seconds):
    """Gives (status, stdout, stderr); status is None when it took too long."""
    set_up = (lambda: os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})) if one_core else None
    with open(stdin, "rb") as f:
        p = subprocess.Popen(
            command, stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=set_up, start_new_session=True
        )
        try:
            out, err = p.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            out, err = p.communicate()
            return None, out, err
    return (p.returncode if p.returncode >= 0 else 128 - p.returncode), out, err


def theirs(err):
    return b"".join(l for l in err.splitlines(True) if not l.startswith((b"weft:", b"weft ")))


def last_line(err):
    lines = [l for l in err.decode(errors="replace").splitlines() if l.startswith("weft")] or ["?"]
    return lines[-1][:300]


def one_recording(case, row, options):
    """Records once and replays; counts in row; gives a message on failure."""
    number = row["recordings"]
    trace = os.path.join(SOAK, "traces", case.key.replace("/", "-"))
    shutil.rmtree(trace, ignore_errors=True)
    command = ["weft", "record", "-o", trace, "--", case.program, str(case.threads), "x%d" % LENGTHS[number % len(LENGTHS)]]
    status, out, err = run(command, case.stdin, number % 7 == 6, options.timeout)
    row["recordings"] += 1
    problem = None
    if status is None:
        problem = "recording hangs"
    elif status not in case.statuses:
        problem = "recording ends with %d: %s" % (status, last_line(err))
    if problem:
        row["replays"] += options.replays
        return keep(case, row, trace, problem)
    row.setdefault("outputs", {})
    row["outputs"][hashlib.sha256(out).hexdigest()[:12]] = 1
    if number < 40:
        info = subprocess.run(["weft", "info", "--json", trace], capture_output=True, text=True)
        try:
            info = json.loads(info.stdout)
            row["edges"].append(info["edges"])
            row["bytes"].append(info["bytes"])
        except (ValueError, KeyError) as e:
            problem = "weft info --json: %s" % e
        if subprocess.run(["weft", "check", trace], capture_output=True).returncode:
            problem = "weft check finds fault"
    row["replays"] += options.replays
    now, out2, err2 = run(["weft", "replay", trace], case.stdin, False, options.timeout)
    if now is None:
        problem = "replay hangs"
    elif (now, out2, theirs(err2)) != (status, out, theirs(err)):
        problem = "replay differs: status %s for %s, output %s: %s" % (
            now,
            status,
            "same" if (out2, theirs(err2)) == (out, theirs(err)) else "different",
            last_line(err2),
        )
    elif options.replays > 1:
        times = options.replays - 1
        now, out2, err2 = run(
            ["weft", "replay", "--times", str(times), trace], case.stdin, False, options.timeout * times
        )
        said_so = re.search(rb"(\d+) of %d identical" % times, out2 + err2)
        same = int(said_so.group(1)) if said_so else 0
        row["identical"] += 1 + same
        if same != times or now != status:
            problem = "--times %d: %s" % (times, "hangs" if now is None else last_line(err2))
    else:
        row["identical"] += 1
    if problem:
        return keep(case, row, trace, problem)
    shutil.rmtree(trace, ignore_errors=True)
    return None


def keep(case, row, trace, problem):
    kept = os.path.join(SOAK, "failed", "%s-%d" % (os.path.basename(trace), row["recordings"]))
    shutil.rmtree(kept, ignore_errors=True)
    if os.path.isdir(trace):
        os.rename(trace, kept)
        shutil.copy2(case.program, kept + ".program")
    row["problem"] = problem
    row["kept"] = os.path.relpath(kept, TOP)
    return "%s: %s\n  again: weft replay %s" % (case.key, problem, kept)


def table(rows, options, complete):
    lines = [
        "# The last soak",
        "",
        "Each program of `tests/programs` was recorded %d times or more, with each number of threads, as a plain and as a"
        % options.recordings,
        "verify build, and every recording was replayed %d times: same output bytes, same exit status or signal, and in"
        % options.replays,
        "the verify build the same hash over every checked access. Different outputs: how many different results the",
        "recordings themselves had. Edges and bytes: medians per recording. Written by `make soak`.",
        "",
        "%s, %d cores. %s"
        % (
            datetime.date.today().isoformat(),
            len(os.sched_getaffinity(0)),
            "Complete." if complete else "Not complete: stopped by its time limit; `make soak` goes on with it.",
        ),
        "",
        "Total: %d recordings, %d of %d replays identical."
        % (
            sum(r["recordings"] for _, r in rows),
            sum(r["identical"] for _, r in rows),
            sum(r["replays"] for _, r in rows),
        ),
        "",
        "| program | threads | build | recordings | replays identical | different outputs | edges | bytes |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case, r in rows:
        if not r["recordings"]:
            continue
        lines.append(
            "| %s | %d | %s | %d | %d of %d | %d | %s | %s |"
            % (
                case.name,
                case.threads,
                case.build,
                r["recordings"],
                r["identical"],
                r["replays"],
                len(r.get("outputs", {})),
                int(statistics.median(r["edges"])) if r["edges"] else "?",
                int(statistics.median(r["bytes"])) if r["bytes"] else "?",
            )
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a minute or two, for CI; writes no table")
    parser.add_argument("--seconds", type=float, help="stop after this time (default: when all is done; quick: 100)")
    parser.add_argument("--recordings", type=int, help="of each program, spread over its cases (200; quick: 2 of each case)")
    parser.add_argument("--replays", type=int, help="of each recording (5)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one run may take")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    parser.add_argument("--threads", help="only these numbers of threads: 2,16")
    parser.add_argument("--build", choices=("plain", "verify"), help="only this build")
    parser.add_argument("--all", action="store_true", help="all programs, not only those with racing accesses")
    parser.add_argument("names", nargs="*", help="only these programs")
    options = parser.parse_args()
    options.recordings = options.recordings or (2 if options.quick else 200)
    options.replays = options.replays or (2 if options.quick else 5)
    options.seconds = options.seconds or (100 if options.quick else float("inf"))
    os.environ["PATH"] = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
    if not shutil.which("weft-cc"):
        sys.exit("soak: no weft-cc in %s: run make first" % os.path.join(BUILD, "bin"))
    for folder in ("bin", "traces", "failed"):
        os.makedirs(os.path.join(SOAK, folder), exist_ok=True)

    have = sorted(f.rsplit(".", 1)[0] for f in os.listdir(PROGRAMS) if f.endswith((".c", ".cpp")))
    for name in options.names:
        if name not in have:
            sys.exit("soak: no program %s in tests/programs" % name)
    names = options.names or [n for n in FIRST if n in have]
    if options.all:
        names += [n for n in have if n not in names]
    cases = []
    for name in names:
        source = os.path.join(PROGRAMS, name + (".c" if os.path.exists(os.path.join(PROGRAMS, name + ".c")) else ".cpp"))
        threads = [int(t) for t in said(source, "SOAK")]
        if options.quick and not options.threads:
            threads = threads[:2]
        for t in threads:
            if options.threads and str(t) not in options.threads.split(","):
                continue
            for build in ("plain", "verify"):
                if options.build in (None, build):
                    cases.append(Case(name, t, build))

    for case in cases:
        of_program = sum(c.name == case.name for c in cases)
        case.wanted = options.recordings if options.quick else -(-options.recordings // of_program)

    state_path = os.path.join(SOAK, "quick.json" if options.quick else "state.json")
    state = {}
    if not (options.fresh or options.quick) and os.path.exists(state_path):
        with open(state_path) as f:
            state = json.load(f)
    weft = weft_digest()
    end = time.monotonic() + options.seconds
    failed = 0

    def save():
        with open(state_path + ".tmp", "w") as f:
            json.dump(state, f)
        os.rename(state_path + ".tmp", state_path)
        if not options.quick:
            rows = [(c, state[c.key]) for c in cases if c.key in state]
            done = all(c.key in state and state[c.key]["recordings"] >= c.wanted for c in cases)
            with open(os.path.join(TOP, "bench", "soak.md"), "w") as f:
                f.write(table(rows, options, done))

    most = max((c.wanted for c in cases), default=0)
    for target in list(range(BATCH, most, BATCH)) + [most]:
        for case in cases:
            if time.monotonic() > end:
                break
            stamp, problem = case.compile(weft)
            row = state.get(case.key)
            if not row or row["stamp"] != stamp:
                row = {"stamp": stamp, "recordings": 0, "replays": 0, "identical": 0, "edges": [], "bytes": []}
                state[case.key] = row
            if problem:
                if row.get("problem") != problem:
                    print("FAILED " + case.key + ": " + problem, flush=True)
                    failed += 1
                    row["problem"] = problem
                continue
            started, before = time.monotonic(), row["recordings"]
            while row["recordings"] < min(target, case.wanted) and time.monotonic() < end:
                message = one_recording(case, row, options)
                if message:
                    failed += 1
                    print("FAILED " + message, flush=True)
            if row["recordings"] > before:
                print(
                    "%-32s %4d recordings, %d of %d replays identical, %.1f s"
                    % (case.key, row["recordings"], row["identical"], row["replays"], time.monotonic() - started),
                    flush=True,
                )
                save()
    save()
    rows = [(c, state[c.key]) for c in cases if c.key in state]
    broken = [c.key for c, r in rows if r["identical"] != r["replays"] or r.get("problem")]
    print(
        "soak: %d recordings of %d cases, %d of %d replays identical"
        % (
            sum(r["recordings"] for _, r in rows),
            len(rows),
            sum(r["identical"] for _, r in rows),
            sum(r["replays"] for _, r in rows),
        )
    )
    if broken:
        print("soak: not identical: " + " ".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
