#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the unit tests (CTest) and the lit tests of a build, and ends with one line: `N passed, N failed`.

    scripts/test.py BUILD [TEST]

TEST is a path under tests/, with or without its ending (e2e/foo), or a folder (e2e), or unit/NAME.
"""
import glob
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_unit(build, pattern, count):
    report = os.path.join(build, "tests", "ctest.xml")
    if os.path.exists(report):
        os.remove(report)
    jobs = str(os.cpu_count() or 1)
    subprocess.run(["ctest", "--test-dir", build, "-R", pattern, "-j", jobs, "--output-on-failure", "--no-tests=ignore",
                    "--output-junit", report])
    if not os.path.exists(report):
        return
    for case in xml.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        by_choice = skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", "")
        count["passed" if case.get("status") == "run" else "skipped" if by_choice else "failed"] += 1


def run_lit(build, paths, count):
    report = os.path.join(build, "tests", "lit.json")
    if os.path.exists(report):
        os.remove(report)
    bindir = subprocess.run(["llvm-config-19", "--prefix"], capture_output=True, text=True, check=True).stdout.strip()
    command = [sys.executable, os.path.join(bindir, "build/utils/lit/lit.py"), "-sv", "--no-progress-bar",
               "--allow-empty-runs", "-o", report] + os.environ.get("LIT_OPTS", "").split() + paths
    done = subprocess.run(command)
    if not os.path.exists(report):
        print("lit did not run (exit status %d)" % done.returncode)
        count["failed"] += 1
        return
    with open(report) as f:
        for test in json.load(f)["tests"]:
            code = test["code"]
            count["passed" if code in ("PASS", "FLAKYPASS", "XFAIL") else
                  "skipped" if code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED") else "failed"] += 1


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    wanted = wanted.removeprefix("tests/").rstrip("/")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    # lit finds tests through the configured suite: paths are given below the build's copy of the tree.
    suite = os.path.join(build, "tests")
    sys.stdout.flush()
    if not wanted:
        run_unit(build, ".", count)
        run_lit(build, [suite], count)
    elif wanted == "analysis" or wanted.startswith("analysis/"):
        run_unit(build, "^unit/analysis_", count)  # its modules are the data of these
    elif wanted == "unit" or wanted.startswith("unit/"):
        name = os.path.splitext(wanted)[0]
        run_unit(build, "^unit/" if wanted == "unit" else "^%s$" % name, count)
    else:
        found = glob.glob(os.path.join(SOURCE, "tests", wanted)) or glob.glob(os.path.join(SOURCE, "tests", wanted + ".*"))
        if not found:
            sys.exit("no such test: " + wanted)
        run_lit(build, [os.path.join(suite, os.path.relpath(p, os.path.join(SOURCE, "tests"))) for p in found], count)
    if sum(count.values()) == 0:
        print("no tests were run")
    line = "%d passed, %d failed" % (count["passed"], count["failed"])
    print(line + (", %d skipped" % count["skipped"] if count["skipped"] else ""))
    sys.exit(1 if count["failed"] or sum(count.values()) == 0 else 0)


main()
