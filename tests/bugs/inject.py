#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random bug injection (LEAP, section 5.1.3): programs with a violation of an atomic set each, made from seeds. Every one is
recorded until it fails (weft record --until-fail, the last three quarters of the tries with --chaos), and that recording is
replayed; each replay must be identical. Beside it the same with -weft-plan=sync: the order of synchronisation alone, which is
what JaRec records. There a replay counts only if it fails as the recording did, with the same output.

A program has ten shared variables in five atomic sets of two, and ten threads that work on them. A unit of work is some
accesses of one set's variables, under the set's lock; but in one set some threads forget the lock. The units of that set are
those of one pattern. u and v are units of two threads, and no order of whole units has what a pattern has:

  one variable    u has two accesses, and between them comes one of v that conflicts with both: if v writes, u may do
                  anything (4 patterns); if v reads, both of u's are writes (1)
  two variables   u comes before v at one of them, and after v at the other. If u begins and goes from x to y, the orders
                  are ux vx vy uy, ux vy vx uy and ux vy uy vx; each with u and v both writing, only u, or only v (9)

Every access is noted in a history of the set: plain memory, read before the access and written after it. So what is found in
it has happened in that order, whatever else got lost; a thread that finds the pattern in it, with its own access last, says so
and aborts. The numbers of variables, threads, rounds and accesses, and what lies on a line with what, are the seed's."""
import argparse
import os
import random
import resource
import signal
import subprocess
import sys

import run

WORK = os.path.join(run.BUILD, "inject")
THREADS, VARIABLES, SETS = 10, 10, 5
# Of each access: whose, of which variable, and what. The order is that of the violation.
ONE = ["uxr vxw uxr", "uxr vxw uxw", "uxw vxw uxr", "uxw vxw uxw", "uxw vxr uxw"]
TWO = ["ux% vx& vy& uy%", "ux% vy& vx& uy%", "ux% vy& uy% vx&"]
PATTERNS = ONE + [t.replace("%", u).replace("&", v) for t in TWO for u, v in ("ww", "wr", "rw")]

PROGRAM = r"""/* Made by tests/bugs/inject.py from seed @SEED@: @PATTERN@ */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = @THREADS@, SETS = @SETS@, ROUNDS = @ROUNDS@, LENGTH = @LENGTH@, BAD = @BAD@ };
/* An access in a history: thread, which of its units, variable, whether it is a write. The last five, the latest lowest. */
enum { BITS = 12, UNITS = 64 };
#define ENTRY(me, unit, v, write) ((me) << 8 | (unit) << 2 | (unsigned)(v) << 1 | (unsigned)(write))
#define ADDED(h, e) (((h) << BITS | (e)) & ((1ull << 5 * BITS) - 1))

static struct set {
    pthread_mutex_t lock;
    volatile uint64_t history@ALIGN@;
    volatile unsigned x[2]@ALIGN@;
} sets[SETS];
/* Of the pattern, from its last access to its first. */
static const struct { int who, v, write; } pattern[LENGTH] = {@STEPS@};
static const unsigned char forgets[THREADS] = {@FORGETS@}; /* the lock, in so many of 8 units */
static unsigned sums[THREADS * 16];
static pthread_barrier_t start;

/* Whether steps k and on are in h, done by these (thread and unit, 0 while they are not known yet). */
static int found(uint64_t h, int k, unsigned u, unsigned v) {
    if (k == LENGTH) return 1;
    for (; h; h >>= BITS) {
        unsigned who = (unsigned)h >> 2 & 0x3ff, mine = pattern[k].who ? v : u, other = pattern[k].who ? u : v;
        if (((unsigned)h & 3) != (unsigned)(pattern[k].v << 1 | pattern[k].write)) continue;
        if ((mine && mine != who) || who >> 6 == other >> 6) continue;
        if (found(h >> BITS, k + 1, pattern[k].who ? u : who, pattern[k].who ? who : v)) return 1;
    }
    return 0;
}

static unsigned access_to(struct set *s, unsigned me, unsigned unit, int v, int write) {
    uint64_t h = s->history;
    unsigned got = 0, e = ENTRY(me, unit, v, write), who = e >> 2;
    if (write) s->x[v] = e;
    else got = s->x[v];
    s->history = ADDED(h, e);
    if (s == &sets[BAD] && (e & 3) == (unsigned)(pattern[0].v << 1 | pattern[0].write) &&
        found(h, 1, pattern[0].who ? 0 : who, pattern[0].who ? who : 0)) {
        fprintf(stderr, "thread %u, unit %u: @PATTERN@ in %015llx\n", me, unit, (unsigned long long)ADDED(h, e));
        abort();
    }
    return got;
}

static void *work(void *arg) {
    unsigned me = (unsigned)(uintptr_t)arg, sum = 0, unit = 0;
    uint64_t r = 0x9e3779b97f4a7c15ull * (me + @SEED@ * 64ull + 1);
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < ROUNDS && unit < UNITS; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        struct set *s = &sets[(r >> 32) % SETS];
        int locked = s != &sets[BAD] || (r >> 8 & 7) >= forgets[me - 1];
        if (locked) pthread_mutex_lock(&s->lock);
        if (s != &sets[BAD])
            for (unsigned n = 1 + (r >> 16) % 3; n > 0; n--) sum += access_to(s, me, unit, r >> n & 1, r >> (n + 4) & 1);
        else if (r >> 20 & 1) {
@UNIT_U@
        } else {
@UNIT_V@
        }
        if (locked) pthread_mutex_unlock(&s->lock);
        unit += s == &sets[BAD];
        for (unsigned n = (r >> 40) % @PAUSE@; n > 0; n--) sum = sum * 31 + n;
    }
    sums[(me - 1) * 16] = sum;
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    unsigned sum = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < SETS; i++) pthread_mutex_init(&sets[i].lock, NULL);
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL), sum += sums[i * 16];
    printf("%u\n", sum);
    return 0;
}
"""


def program(seed, locked):
    """The source. locked: nobody forgets the lock, so it never fails."""
    r = random.Random(seed)
    pattern = PATTERNS[seed % len(PATTERNS)]
    steps = pattern.split()
    x = r.randrange(2)  # which of the set's two variables is x
    index = {"x": x, "y": 1 - x}
    gap = r.choice([0, 10, 100])
    forgets = [0] * THREADS
    for t in r.sample(range(THREADS), r.randint(2, THREADS)):
        forgets[t] = r.randint(1, 8)

    def unit(who):
        lines = []
        for s in (s for s in steps if s[0] == who):
            if lines and gap:
                lines.append("            for (volatile int n = 0; n < %d; n++) {}" % gap)
            lines.append("            sum += access_to(s, me, unit, %d, %d);" % (index[s[1]], s[2] == "w"))
        return "\n".join(lines)

    values = {
        "SEED": seed, "PATTERN": pattern, "THREADS": THREADS, "SETS": SETS, "ROUNDS": r.choice([100, 200, 300]),
        "LENGTH": len(steps), "BAD": r.randrange(SETS), "ALIGN": r.choice(["", " __attribute__((aligned(64)))"]),
        "STEPS": ", ".join("{%d, %d, %d}" % (s[0] == "v", index[s[1]], s[2] == "w") for s in reversed(steps)),
        "FORGETS": ", ".join("0" if locked else str(f) for f in forgets),
        "UNIT_U": unit("u"), "UNIT_V": unit("v"), "PAUSE": r.choice([10, 100, 500]),
    }
    text = PROGRAM
    for name, value in values.items():
        text = text.replace("@%s@" % name, str(value))
    return pattern, text


def build(seed, kind, flags):
    source, out = os.path.join(WORK, "%d.c" % seed), os.path.join(WORK, "%d-%s" % (seed, kind))
    pattern, text = program(seed, kind == "locked")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    command = [run.WEFT_CC[0], "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"] + flags + [source, "-o", out]
    subprocess.run(command, check=True)
    return pattern, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="1 to 100, without")
    parser.add_argument("--tries", type=int, default=10000, help="runs until it has failed (10000)")
    parser.add_argument("--tries-sync", type=int, default=1000, help="the same with plan sync (1000)")
    parser.add_argument("--replays", type=int, default=10, help="of the failing run (10)")
    parser.add_argument("--replays-sync", type=int, default=5, help="of that with plan sync (5)")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a run may take (20)")
    parser.add_argument("--no-sync", action="store_true", help="without plan sync")
    parser.add_argument("--twins", type=int, default=0, metavar="N", help="record N times the twin in which nobody forgets the lock")
    parser.add_argument("--source", action="store_true", help="print the programs only")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(WORK, exist_ok=True)
    seeds = options.seeds or range(1, 101)
    if options.source:
        for seed in seeds:
            print(program(seed, False)[1])
        return 0

    errors, reproduced, chaos = [], 0, 0
    sync = {"caught": 0, "all": 0, "some": 0}
    for seed in seeds:
        pattern, out = build(seed, "weft", [])
        trace = os.path.join(WORK, "trace-%d" % seed)
        end, tries = run.catch([out], trace, options.tries, options.limit)
        said = "seed %d, %s: " % (seed, pattern)
        if end == "signal 6":
            same, problem = run.replay(trace, end, options.replays, options.limit)
            reproduced += same == options.replays
            chaos += tries.endswith("chaos")
            said += "run %s failed, %d of %d replays identical" % (tries, same, options.replays)
            if problem:
                errors.append("seed %d: replay: %s" % (seed, problem))
                run.keep(trace, errors)
        else:
            errors.append("seed %d: %s" % (seed, "ended with " + end if end else "did not fail in %s runs" % tries))
            said += errors[-1]
        if options.twins:
            end, tries = run.catch([build(seed, "locked", [])[1]], trace + "-locked", options.twins, options.limit)
            if end:
                errors.append("seed %d: its twin failed: %s" % (seed, end))
        if not options.no_sync:
            pattern, out = build(seed, "sync", ["-weft-plan=sync"])
            # Chaos would switch where there is synchronisation: not where the lock was forgotten.
            end, tries = run.catch([out], trace + "-sync", options.tries_sync, options.limit, False)
            replays = range(options.replays_sync if end else 0)
            same = sum(not run.replay_once(trace + "-sync", end, options.limit) for _ in replays)
            sync["caught"] += bool(end)
            sync["all"] += bool(end) and same == options.replays_sync
            sync["some"] += same > 0
            said += "; sync: " + ("run %s failed, %d of %d replays alike" % (tries, same, options.replays_sync) if end else "not caught")
        run.say(said)
    print("reproduced, %d of %d replays identical: %d of %d seeds (%d caught with --chaos)"
          % (options.replays, options.replays, reproduced, len(seeds), chaos))
    if not options.no_sync:
        print("plan sync: %(caught)d caught; %(all)d alike in all replays, %(some)d in some" % sync)
    for e in errors:
        run.say("error: " + e)
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (run.Wrong, subprocess.CalledProcessError) as e:
        sys.exit("inject: %s" % e)
