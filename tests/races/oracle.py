#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the static answer against races that were seen: what ThreadSanitizer reports of a run must be among what `weft races`
names. Another implementation, which watches accesses while the program runs, can show what the analysis has missed; it
cannot show that nothing was.

    oracle.py [-O LEVEL] [--runs N] [--mutants] [--most PERCENT] [SOURCE...]

Without sources: tests/bugs, tests/programs and tests/races. A pair of source lines that was seen and is not named is a miss,
and the status is 1. With --mutants each call of a lock in the sources is left out in turn, with the unlocks of the same in
its function: the same holds for what comes out, and it is counted how many of them the analysis notices (it names a pair,
on some variable, that it did not name before). It must notice those in tests/races, but for locks that are marked
`// SPARE: WHY' there: without them nothing races that did not race with them, so these it must not notice. More accesses than --most percent may not be called racy, over all
programs: else `everything races' would do."""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
LOCK = re.compile(r"\b(pthread_mutex_lock|pthread_rwlock_wrlock|pthread_rwlock_rdlock|pthread_spin_lock|mtx_lock)\s*\(")
ASIDE = {"common.h", "dead.h"}


def command(source, static, level):
    cxx = source.endswith((".cc", ".cpp"))
    if static:
        cc = [os.path.join(BUILD, "bin", "weft-c++" if cxx else "weft-cc"), "-weft-races"]
    else:
        cc = ["clang++-19" if cxx else "clang-19", "-fsanitize=thread"]
    return cc + [level, "-g", "-w"]


def build(source, folder, static, level, text=None):
    """The program, or None if it cannot be built so."""
    out = os.path.join(folder, "static" if static else "tsan")
    args = command(source, static, level) + ["-I", os.path.dirname(source), "-o", out, "-pthread", "-lm", "-ldl"]
    if text is None:
        args.append(source)
    else:
        with open(os.path.join(folder, os.path.basename(source)), "w") as f:
            f.write(text)
        args.append(f.name)
    done = subprocess.run(args, capture_output=True, text=True, env=dict(os.environ, WEFT_QUIET="1"))
    return out if done.returncode == 0 else None


def static_pairs(program):
    out = subprocess.run([os.path.join(BUILD, "bin", "weft"), "races", "--json", program], capture_output=True, text=True)
    answer = json.loads(out.stdout)
    return {frozenset((os.path.basename(e["file"]), e["line"]) for e in race["ends"]) for race in answer["races"]}, answer


def seen_pairs(text):
    """Pairs of sets of lines. A set has one line, but for memory as it is allocated: the analysis names the call of whatever
    wrapper there is."""
    pairs = set()
    for report in text.split("=================="):
        if "WARNING: ThreadSanitizer: data race" not in report and "heap-use-after-free" not in report:
            continue
        ends, frames, allocates = [], None, False
        for line in report.splitlines() + [""]:
            if re.match(r"\s+(Previous )?(Atomic |atomic )?(Read|Write|read|write) of size", line):
                frames, allocates = [], False
            elif frames is not None and line.strip():
                m = re.match(r"\s+#\d+ .* (\S+?):(\d+)(?::\d+)? \(", line)
                if m and m.group(1).startswith("/") and "sanitizer" not in m.group(1):
                    frames.append((os.path.basename(m.group(1)), int(m.group(2))))
                elif not frames and re.search(r"\(lib\S+\.so", line):
                    break  # a library that it does not watch, whose own atomics may order this (the count of an exception_ptr)
                elif re.search(r"#0 (malloc|calloc|realloc|operator new)", line):
                    allocates = True
                elif re.search(r"#0 (mmap|munmap)", line):
                    break  # an address that is used again: the kernel orders that, which it does not know
            elif frames is not None:
                if frames:
                    ends.append(frozenset(frames if allocates else frames[:1]))
                frames = None
        if len(ends) == 2:
            pairs.add((ends[0], ends[1]))
    return pairs


def is_named(pair, named, stale):
    """Whose pointer may be stale may meet whatever is made there later: that race comes after a memory error, which is named."""
    return bool(pair[0] & stale or pair[1] & stale) or any(frozenset((a, b)) in named for a in pair[0] for b in pair[1])


def show(pair):
    return " and ".join("/".join("%s:%d" % e for e in sorted(end)) for end in pair)


def run(program, folder):
    """What is reported; nothing of programs that fork: processes share the symboliser there, and names are wrong."""
    log = os.path.join(folder, "log")
    env = dict(os.environ, TSAN_OPTIONS="report_signal_unsafe=0 report_thread_leaks=0 detect_deadlocks=0 exitcode=0 "
               "history_size=5 suppress_equal_addresses=0 report_mutex_bugs=0 log_path=" + log)
    try:
        subprocess.run(["setarch", "-R", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, cwd=folder,
                       env=env, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pass
    text = []
    for path in glob.glob(log + ".*"):
        with open(path, errors="replace") as f:
            text.append(f.read())
        os.remove(path)
    return text[0] if len(text) == 1 else ""


def one(source, level, runs, text=None, before=None, what=""):
    """(name, what it is, seen, missed, named, racy, accesses, noticed)"""
    with tempfile.TemporaryDirectory() as folder:
        static = build(source, folder, True, level, text)
        if not static:
            return None
        named, answer = static_pairs(static)
        ends = [(race["ends"], race["ends"][::-1]) for race in answer["races"]]
        stale = {(os.path.basename(a["file"]), a["line"]) for both in ends for a, b in both if b["frees"] and not a["frees"]}
        tsan = build(source, folder, False, level, text) if runs else None
        seen = set()
        for _ in range(runs if tsan else 0):
            seen |= seen_pairs(run(tsan, folder))
        now = {(r["variable"],) + tuple(sorted((os.path.basename(e["file"]), e["line"]) for e in r["ends"])) for r in answer["races"]}
        noticed = bool(now - before) if before is not None else None
        return os.path.basename(source), what, seen, [p for p in seen if not is_named(p, named, stale)], now, answer["racy"], answer["accesses"], noticed


def mutants(source):
    """To unlock what another thread has locked would break what the analysis assumes: so these go, too."""
    text = open(source).read()
    for m in LOCK.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        spare = re.search(r"//.*\bSPARE\b", text[m.end():text.find("\n", m.end())])
        close = m.end()
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[close], 0)
            close += 1
        arg = text[m.end():close - 1]
        end = text.find("\n}", close)
        begin = text.rfind("\n}", 0, m.start()) + 1
        body = text[begin:end]
        if re.search(r"(cond|cnd)_\w*wait\s*\([^;]*" + re.escape(arg), body) or len(LOCK.findall(body)) > 1 and body.count(arg + ")") > 2:
            continue
        unlock = re.compile(r"\w+_unlock\s*\(\s*" + re.escape(arg) + r"\s*\)")
        yield line, bool(spare), text[:m.start()] + "(void)0" + unlock.sub("(void)0", text[close:end]) + text[end:]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-O", default="0")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--mutants", action="store_true")
    p.add_argument("--most", type=float, default=100)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("sources", nargs="*")
    args = p.parse_args()
    level = "-O" + args.O
    sources = args.sources or sorted(s for d in ("bugs", "programs", "races") for e in ("c", "cpp")
                                     for s in glob.glob(os.path.join(TOP, "tests", d, "*." + e)))
    misses = seen = skipped = wrong = mistaken = caught = racy = accesses = 0
    pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
    for result in pool.map(lambda s: one(s, level, args.runs), sources):
        if result is None:
            skipped += 1
            continue
        seen += len(result[2])
        misses += len(result[3])
        racy += result[5]
        accesses += result[6]
        for pair in result[3]:
            print("%s: MISSED: %s" % (result[0], show(pair)), flush=True)
    if args.mutants:
        jobs = []
        for s in sources:
            base = one(s, level, 0)
            jobs += [(s, spare, pool.submit(one, s, level, args.runs, text, base[4], "without the lock at line %d" % line))
                     for line, spare, text in mutants(s)] if base else []
        for s, spare, job in jobs:
            result = job.result()
            if result is None:
                continue
            mistaken += result[7] == spare and os.path.dirname(s).endswith("races")
            if not spare:
                wrong += 1
                caught += result[7]
            seen += len(result[2])
            misses += len(result[3])
            if result[7] == spare:
                print("%s %s: %s" % (result[:2] + ("noticed, though it is spare" if spare else "not noticed",)), flush=True)
            for pair in result[3]:
                print("%s %s: MISSED: %s" % (result[0], result[1], show(pair)), flush=True)
    share = 100 * racy / accesses if accesses else 0
    print("%d programs (%d could not be built), %d racing pairs seen, %d missed; %.1f %% of accesses are called racy"
          % (len(sources), skipped, seen, misses, share))
    if args.mutants:
        print("%d mutants, %d noticed" % (wrong, caught))
    sys.exit(misses > 0 or mistaken > 0 or share > args.most)


if __name__ == "__main__":
    main()
