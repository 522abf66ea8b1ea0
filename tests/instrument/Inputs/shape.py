# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads instrumented IR (text) and proves, function by function:

 - without the blocks that advance the clock, the control flow graph has no cycle;
 - a function with a check has a tick in every path from its entry to the check;
 - after a miss, and on the way around it, the next thing is the empty statement that clobbers memory, and then the access;
 - nothing of the runtime stands in a function that must be left alone (--alone NAME).

Prints one line with the counts; exit status 1 and a message per violation. `-` reads standard input."""
import re
import sys

ACCESS = re.compile(r"^(%\S+ = )?(tail |musttail |notail )?(load|store|atomicrmw|cmpxchg|va_arg|callbr|call void @llvm\.memset|call .*@llvm\.masked|call .*asm )")
CLOCK = re.compile(r"^store i64 %\S+, ptr @__weft_tls, align 8")
LABEL = re.compile(r'^("[^"]*"|[-\w$.]+):')


def functions(text):
    name, lines = None, []
    for line in text.splitlines():
        m = re.match(r"^define .*?@(\"[^\"]*\"|[-\w$.]+)\(", line)
        if m:
            name, lines = m.group(1), []
        elif line == "}" and name:
            yield name, lines
            name = None
        elif name:
            lines.append(line)


def blocks(lines):
    out, current = {}, "entry"
    body, joined = [], None
    for line in lines:
        m = LABEL.match(line)
        if m and not line.startswith(" "):
            if body or current != "entry":
                out[current] = body
            current, body = m.group(1), []
            continue
        line = line.strip()
        if not line or line.startswith(";") or line.startswith("#dbg"):
            continue
        # A switch, an invoke, a callbr and a landing pad go over several lines.
        if joined is not None:
            joined += " " + line
            if joined.count("[") == joined.count("]"):
                body.append(joined)
                joined = None
            continue
        if re.match(r"^(switch|indirectbr) ", line) and line.count("[") != line.count("]"):
            joined = line
            continue
        if line.startswith("to label") or line.startswith("unwind label"):
            body[-1] += " " + line
            continue
        if re.match(r"^(cleanup|catch|filter)\b", line) and body and "landingpad" in body[-1]:
            body[-1] += " " + line
            continue
        body.append(line)
    out[current] = body
    return out


def successors(body):
    last = body[-1] if body else ""
    if re.match(r"^(%\S+ = )?(br|switch|indirectbr|invoke|callbr|tail|call)", last) or " invoke " in last or " callbr " in last:
        return re.findall(r"label %(\"[^\"]*\"|[-\w$.]+)", last)
    return []


def cyclic(graph, without):
    state = {}
    for root in graph:
        if root in state or root in without:
            continue
        stack = [(root, iter(graph[root]))]
        state[root] = 1
        while stack:
            node, it = stack[-1]
            for to in it:
                if to in without or to not in graph:
                    continue
                if state.get(to) == 1:
                    return to
                if to not in state:
                    state[to] = 1
                    stack.append((to, iter(graph[to])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return None


def reachable(graph, start, without):
    seen, todo = set(), [start]
    while todo:
        n = todo.pop()
        if n in seen or n in without or n not in graph:
            continue
        seen.add(n)
        todo += graph[n]
    return seen


def main():
    args = sys.argv[1:]
    alone = []
    while args and args[0] == "--alone":
        alone.append(args[1])
        args = args[2:]
    text = sys.stdin.read() if not args or args[0] == "-" else open(args[0]).read()
    bad, ticks, checks, count = [], 0, 0, 0
    for name, lines in functions(text):
        count += 1
        b = blocks(lines)
        graph = {k: successors(v) for k, v in b.items()}
        ticking = {k for k, v in b.items() if any(CLOCK.match(i) for i in v)}
        ticks += len(ticking)
        if name in alone:
            if any("__weft" in i for v in b.values() for i in v):
                bad.append(f"{name}: not left alone")
            continue
        at = cyclic(graph, ticking)
        if at:
            bad.append(f"{name}: a cycle through %{at} has no tick")
        misses = [k for k, v in b.items() if any("__weft_miss" in i for i in v)]
        checks += len(misses)
        untouched = reachable(graph, next(iter(b)), ticking)
        for k in misses:
            if k in untouched:
                bad.append(f"{name}: check in %{k} can be reached without a tick")
            to = graph[k]
            if len(to) != 1:
                bad.append(f"{name}: %{k} does not end in a jump")
                continue
            rest = b[to[0]]
            if not rest or 'asm sideeffect "", "~{memory}"' not in rest[0]:
                bad.append(f"{name}: no barrier behind the check in %{k}: {rest[:1]}")
            elif len(rest) < 2 or not ACCESS.match(rest[1]):
                bad.append(f"{name}: no access behind the check in %{k}: {rest[1:2]}")
    for line in bad:
        print("shape: " + line)
    print(f"shape: {count} functions, {ticks} ticks, {checks} checks, {len(bad)} wrong")
    return 1 if bad or not count else 0


sys.exit(main())
