#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs people know, from their Debian source packages, nothing patched, built by their own build systems with
CC=weft-cc CXX=weft-c++ and run under load (programs/: one file each). Every run is recorded, and each recording is
replayed twice, without a network and with the files gone that the program had found: output and exit status must be the
same, byte for byte, and what the program did must have been right.

Natively, recorded and replayed runs take turns; the table has medians. record/native compares CPU seconds: for servers of
the server (its children included) while the load ran, per request, since the clients share the machine; otherwise of the whole command, `weft record` included. Order is the part of the log that is edges, uncompressed. Sources, builds and data are kept in BUILD/real; a
build is repeated when weft has changed. A source package that cannot be fetched is a failure, not a skip. The table goes
to stdout and to BUILD/real/table.md."""
import argparse
import importlib
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

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
sys.path[:0] = [HERE, os.path.join(HERE, "programs")]
import source
from case import same as same_file

ALL = "memcached apache redis lighttpd nginx civetweb stunnel unbound libuv sqlite leveldb x264 p7zip fasttree pbzip2 xz zstd".split()
HEAD = (
    "program|native s|record s|replay s|native us/request|record us/request|record/native|replay/record|processes|threads"
    "|events|edges|log MB|order MB|order MB/s|replays"
).split("|")


def say(text):
    print("real: " + text, file=sys.stderr, flush=True)


class Wrong(Exception):
    pass


# ---- processes -------------------------------------------------------------------------------------------------------
def children(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += [int(p) for p in f.read().split()]
    except OSError:
        pass
    return found


def cpu_seconds(pid):
    """Of a process, of those that it waited for, and of its living descendants."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    ticks = sum(int(x) for x in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(c) for c in children(pid))


def ended_cpu_seconds():
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def started(command, out, err, **more):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, **more)


def end_group(process):
    """Nothing of it is left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()


class Run:
    """One run of a case's command in its folder: status, seconds, and for a server CPU seconds under load."""

    def __init__(self, case, command, prefix, work, out):
        self.out, self.err, self.load_cpu, self.load_seconds = out + ".out", out + ".err", 0.0, 0.0
        start, before = time.monotonic(), ended_cpu_seconds()
        with open(self.out, "wb") as o, open(self.err, "wb") as e:
            process = started(prefix + command, o, e, cwd=work, env=dict(os.environ, **case.env))
        try:
            if case.requests:
                self.serve(case, process, bool(prefix))
            self.status = process.wait(timeout=3000)
        except subprocess.TimeoutExpired:
            raise Wrong("it did not end") from None
        finally:
            if process.returncode is None:
                end_group(process)
        self.seconds = time.monotonic() - start
        if not case.requests:
            self.load_cpu = ended_cpu_seconds() - before

    def serve(self, case, process, recorded):
        try:
            case.ready()
            pid = children(process.pid)[0] if recorded else process.pid
            before, start = cpu_seconds(pid), time.monotonic()
            case.load(pid)
            self.load_cpu, self.load_seconds = cpu_seconds(pid) - before, time.monotonic() - start
            case.stop(pid)
        except Exception as e:
            raise Wrong("%s: %s: %s" % (type(e).__name__, e, source.tail(self.err, 3))) from None

    def theirs(self):
        """Of stderr what the program wrote."""
        with open(self.err, "rb") as f:
            return OURS.sub(b"", f.read())


OURS = re.compile(rb"(?:(?<=[\r\n])|\A)weft[: ].*\n?")  # what weft itself wrote to stderr


def may_unshare():
    return subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode == 0


# ---- a case ----------------------------------------------------------------------------------------------------------
def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def run_of(case, built, program, prefix, place, kind, expected=0):
    work = fresh(os.path.join(place, "work"))
    case.prepare(work)
    command = case.command(os.path.join(built[kind], program.PROGRAM), work)
    run = Run(case, command, prefix, work, os.path.join(place, kind))
    if run.status not in (expected, 128 - expected):  # a signal is a status of 128 and more for weft record
        raise Wrong("status %d: %s" % (run.status, source.tail(run.err, 3)))
    case.check(work, run.out)
    return run


def numbers_of(trace):
    """Of a trace and the processes in it."""
    done = subprocess.run(["weft", "info", "--json", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Wrong(done.stderr.strip())
    sums = json.loads(done.stdout)
    for name in os.listdir(trace):
        if name.isdigit():
            part = numbers_of(os.path.join(trace, name))
            for key in ("threads", "edges", "inputs", "edge_bytes"):
                sums[key] += part[key]
    return sums


def replay(run, trace, place, alone):
    """Its files are moved out of the way and it has no network."""
    work, gone = os.path.join(place, "work"), os.path.join(place, "gone")
    shutil.rmtree(gone, ignore_errors=True)
    os.rename(work, gone)
    os.makedirs(work)
    command = [*(["unshare", "-n"] if alone else []), "weft", "replay", trace]
    start = time.monotonic()
    with open(os.path.join(place, "replay.out"), "wb") as o, open(os.path.join(place, "replay.err"), "wb") as e:
        process = started(command, o, e)
        try:
            status = process.wait(timeout=3000)
        except subprocess.TimeoutExpired:
            end_group(process)
            raise Wrong("the replay did not end") from None
    seconds = time.monotonic() - start
    os.rmdir(work)
    os.rename(gone, work)
    with open(os.path.join(place, "replay.err"), "rb") as f:
        err = f.read()
    said = b"".join(OURS.findall(err)).decode(errors="replace").strip()
    if status != run.status:
        raise Wrong("status %d instead of %d: %s" % (status, run.status, said))
    if not same_file(run.out, os.path.join(place, "replay.out")):
        raise Wrong("it wrote something else to stdout")
    if OURS.sub(b"", err) != run.theirs():
        raise Wrong("it wrote something else to stderr")
    return seconds


class Result:
    """What the rounds of a case gave; several can be one row, summed up."""

    def __init__(self):
        self.took = {"native": [], "record": [], "replay": []}
        self.cpu = {"native": [], "record": []}  # of servers, while the load ran; of others in all
        self.numbers = dict.fromkeys("processes threads inputs edges bytes edge_bytes".split(), 0)
        self.requests, self.seconds, self.same, self.replays = 0, 0.0, 0, 0

    def add(self, other):
        for mine, its in ((self.took, other.took), (self.cpu, other.cpu)):
            for k in mine:
                mine[k] = [x + y for x, y in zip(mine[k], its[k])] if mine[k] else its[k]
        for k in self.numbers:
            self.numbers[k] += other.numbers[k]
        self.requests += other.requests
        self.seconds += other.seconds
        self.same += other.same
        self.replays += other.replays

    def row(self, label):
        middle = {k: statistics.median(v) for k, v in self.took.items() if v}
        row = [label] + ["%.2f" % middle[k] if k in middle else "" for k in self.took]
        cost = {k: statistics.median(v) for k, v in self.cpu.items() if v}
        each = {k: v / self.requests * 1e6 for k, v in cost.items() if self.requests}
        row += ["%.0f" % each[k] if k in each else "" for k in self.cpu]
        if "record" in middle:
            cost = cost if cost.get("native") else middle
            row.append("%.2f" % (cost["record"] / cost["native"]))
        if "replay" in middle:
            n = self.numbers
            row += ["%.2f" % (middle["replay"] / middle["record"]), str(n["processes"]), str(n["threads"])]
            row += [str(n["inputs"] + n["edges"]), str(n["edges"]), "%.1f" % (n["bytes"] / 1e6)]
            row += ["%.2f" % (n["edge_bytes"] / 1e6), "%.2f" % (n["edge_bytes"] / 1e6 / self.seconds)]
        row += [""] * (len(HEAD) - 1 - len(row)) + ["%d of %d identical" % (self.same, self.replays)]
        return "| %s |" % " | ".join(row)


def measure(label, case, program, built, options):
    """All rounds of a case."""
    place = fresh(os.path.join(options.place, "runs", label.replace(" ", "-")))
    trace = os.path.join(place, "trace")
    result = Result()
    result.requests = case.requests
    for _ in range(options.rounds):
        what = "natively"
        try:
            run = run_of(case, built, program, [], place, "native")
            result.took["native"].append(run.seconds)
            result.cpu["native"].append(run.load_cpu)
            if options.native:
                continue
            result.replays += 2
            what = "recording"
            shutil.rmtree(trace, ignore_errors=True)
            run = run_of(case, built, program, ["weft", "record", "-o", trace, "--"], place, "weft")
            result.took["record"].append(run.seconds)
            result.cpu["record"].append(run.load_cpu)
            what = "weft info %s" % trace
            result.numbers, result.seconds = numbers_of(trace), run.load_seconds or run.seconds
            what = "weft replay %s" % trace
            for _ in range(2):
                result.took["replay"].append(replay(run, trace, place, options.alone))
                result.same += 1
        except Wrong as e:
            options.failed.append("%s: %s: %s" % (label, what, e))
            say("FAILED: " + options.failed[-1])
            return result
    shutil.rmtree(place)
    return result


def settle(options):
    """Where things are, and whether they are there."""
    options.place = os.path.join(BUILD, "real-verify" if options.verify else "real")
    options.failed = []
    options.alone = may_unshare()
    os.environ["PATH"] = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
    for tool in ("apt-get", "dpkg-source", "make", "clang-19", "weft-cc"):
        if not shutil.which(tool):
            sys.exit("real: %s is missing (make; scripts/setup.sh --real)" % tool)
    if not options.alone:
        say("may not unshare: the replays have a network")
    os.makedirs(os.path.join(options.place, "runs"), exist_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small loads, one round")
    parser.add_argument("--only", default=" ".join(ALL), help="names of programs")
    parser.add_argument("--rounds", type=int, help="how often each is run (3)")
    parser.add_argument("--megabytes", type=int, help="of data to compress (100)")
    parser.add_argument("--verify", action="store_true", help="with verify builds: every value is checked, no times")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--native", action="store_true", help="clang alone: do sources and loads work?")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick or options.verify else 3)
    options.megabytes = options.megabytes or (4 if options.quick else 100)
    settle(options)
    lines = ["| %s |" % " | ".join(HEAD), "| --- |" + " ---: |" * (len(HEAD) - 2) + " --- |"]
    for name in options.only.replace(",", " ").split():
        try:
            program = importlib.import_module(name)
            for package in program.PACKAGES:
                source.fetch(options.place, package, say)
            built = {
                kind: source.build(program, kind, options.place, BUILD, options.verify, say)
                for kind in (["native"] if options.native else ["native", "weft"])
            }
        except (source.Failed, OSError, ImportError) as e:
            options.failed.append("%s: %s" % (name, e))
            say("FAILED: " + options.failed[-1])
            continue
        if not options.build_only:
            rows = {}
            for case in program.cases(options):
                label = (name + " " + case.name).strip()
                result = measure(label, case, program, built, options)
                rows.setdefault(name if hasattr(program, "ONE_ROW") else label, Result()).add(result)
            lines += [result.row(label) for label, result in rows.items()]
            for line in lines[-len(rows) :]:
                say(line)
    if not options.build_only:
        with open(os.path.join(options.place, "table.md"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        print("\n".join(lines))
    if options.failed:
        sys.exit("real: %d failures" % len(options.failed))
    print("real: %s" % ("built" if options.build_only else "done" if options.native else "all identical"))


if __name__ == "__main__":
    main()
