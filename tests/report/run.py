#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens reports in a real browser: pages of bugs that were just caught, and one with a million events.

    BUILD=build tests/report/run.py [BUG...]

Each page is opened headless, wide and light, dark, and as small as a telephone, with a script behind it that presses keys and looks at what is
there. It fails if the console has errors, the racing lines are not shown, or a key does nothing. Screenshots are left in BUILD/report, to be
looked at. Status 77 without chromium.
"""
import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(SOURCE, os.environ.get("BUILD", "build"))
BUGS = ["counter", "account", "use-after-free", "linked-list", "view-bind", "deadlock"]
# What must be on the page: the variable, and lines that may be the racing ones.
SHOWN = {"counter": ("handled", ["handled++"]), "account": ("accounts[", ["balance"]), "use-after-free": ("the heap", ["references", "memset", "state"]),
         "linked-list": ("", ["last"]), "view-bind": ("view.referenced", ["referenced"])}
SIZES = {"wide": ["--window-size=1300,1000"], "dark": ["--window-size=1300,1000", "--blink-settings=preferredColorScheme=0"], "small": ["--window-size=500,900"]}
PROBE = """<script>
const results = {}, press = k => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
function timed(f) { const a = performance.now(); f(); if (due) { cancelAnimationFrame(due); paint(); } return performance.now() - a; }
results.load = performance.now();
results.all = timed(() => press("a"));
results.end = timed(() => press("End")); results.last = chosen === n - 1;
results.left = timed(() => press("ArrowLeft")); results.moved = chosen === Math.max(0, n - 2);
const lane = slot[chosen]; press("ArrowUp"); press("ArrowDown"); results.detail = $("detail").textContent;
press("Home"); results.first = chosen === 0; press("]"); results.next = lanes.length < 2 || blockOf[chosen] === Math.min(1, blocks.slot.length - 1);
press("r"); results.raced = !race.length || race.some(r => r.at === chosen);
const before = scale; press("+"); results.zoomed = scale > before || scale === 80;
let painted = 0; const pixels = g.getImageData(0, 0, canvas.width, canvas.height).data; for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] > 0;
results.painted = painted > 500; results.wide = document.documentElement.scrollWidth <= innerWidth;
results.n = n; results.race = $("race").textContent; results.stuck = $("stuck").textContent;
results.dark = matchMedia("(prefers-color-scheme: dark)").matches;
document.body.dataset.result = JSON.stringify(results);
</script>
</body>"""


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def chromium(page, *options):
    return run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=10000",
               *options, "file://" + page, timeout=180)


def catch(bug, folder):
    binary, trace, page = (os.path.join(folder, bug + x) for x in ("", ".trace", ".html"))
    weft = os.path.join(BUILD, "bin", "weft")
    run(os.path.join(BUILD, "bin", "weft-cc"), "-g", "-O1", "-pthread", os.path.join(SOURCE, "tests", "bugs", bug + ".c"), "-o", binary, check=True)
    run(weft, "record", "--until-fail=3000", "--idle", "0.5", "-o", trace, "--", binary)
    done = run(weft, "report", "-o", page, trace)
    return page if done.returncode == 0 else sys.exit(f"{bug}: {done.stderr}")


def varint(out, v):
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)


def large(page, folder, events=1000000, threads=16):
    """The page with other events: as many blocks, each an edge from the one before."""
    out, tick = bytearray(), [0] * (threads + 1)
    for i in range(events):
        slot, before = 1 + i * 7 % threads, 1 + (i - 1) * 7 % threads
        for v in (slot, 1, 1, 0, 3, 0, before, tick[before], 0):
            varint(out, v)
        tick[slot] += 3
    text = open(page).read()
    text = re.sub(r'(id="events"[^>]*>)[^<]*', lambda m: m.group(1) + base64.b64encode(bytes(out)).decode(), text)
    name = os.path.join(folder, "large.html")
    open(name, "w").write(text)
    return name


def look(name, page, folder):
    bad = []
    probe = os.path.join(folder, name + "-probe.html")
    open(probe, "w").write(open(page).read().replace("</body>", PROBE))
    for size, options in SIZES.items():
        done = chromium(probe, "--dump-dom", *options)
        console = [l for l in done.stderr.splitlines() if "CONSOLE" in l]
        found = re.search(r'data-result="([^"]*)"', done.stdout)
        if console or not found:
            bad.append(f"{size}: {console or 'the script did not come to its end'}")
            continue
        r = json.loads(html.unescape(found.group(1)))
        bad += [f"{size}: {k}" for k in ("last", "moved", "first", "next", "raced", "zoomed", "painted", "wide") if not r[k]]
        bad += [f"{size}: not dark"] if size == "dark" and not r["dark"] else []
        bad += [f"{size}: no detail: {r['detail']}"] if not re.match(r"thread \d+, tick [\d,]+: ", r["detail"]) else []
        if name in SHOWN:
            variable, lines = SHOWN[name]
            bad += [f"{size}: the race is not shown: {r['race']}"] if variable not in r["race"] or not any(l in r["race"] for l in lines) else []
        if name == "deadlock":
            bad += [f"{size}: {r['stuck']}"] if "deadlock: thread" not in r["stuck"] else []
        if size == "wide":
            print(f"{name}: {r['n']:,} events, loaded in {r['load']:.0f} ms, painted in {r['all']:.0f} ms (all) and {r['left']:.0f} ms (near)", flush=True)
        chromium(page, f"--screenshot={os.path.join(folder, name + '-' + size)}.png", *options)
    for b in bad:
        print(f"{name}: {b}")
    return not bad


def main():
    if not shutil.which("chromium"):
        print("skipped: there is no chromium")
        return 77
    folder = os.path.join(BUILD, "report")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    begun, good, pages = time.time(), 0, []
    for bug in sys.argv[1:] or BUGS:
        pages.append((bug, catch(bug, folder)))
    pages.append(("large", large(pages[0][1], folder)))
    for name, page in pages:
        good += look(name, page, folder)
    print(f"{good} of {len(pages)} pages are as they should be, in {time.time() - begun:.0f} s; screenshots are in {folder}")
    return 0 if good == len(pages) else 1


if __name__ == "__main__":
    sys.exit(main())
