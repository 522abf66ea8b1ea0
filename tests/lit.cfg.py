# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A test is one file with RUN lines. They run in bash, in a folder of the test's own (%t.dir, made fresh), with weft,
# weft-cc, weft-c++ and LLVM's FileCheck and not in front of PATH. A RUN line that exits with 77 skips the test; the
# reason is what it printed. tests/unit/ is CTest's.
import os
import shutil
import sys

sys.path.insert(0, os.path.join(config.weft_source, "tests"))
import lit_format

config.name = "weft"
config.test_format = lit_format.WeftTest(execute_external=True)
config.suffixes = [".c", ".cc", ".cpp", ".test", ".ll"]
config.excludes = ["unit", "analysis", "Inputs", "golden", "fuzz", "real", "bugs", "lit.cfg.py"]
config.test_source_root = os.path.join(config.weft_source, "tests")
config.test_exec_root = os.path.join(config.weft_build, "tests", "lit")

# A hung replay must not hang the suite. lit's own --timeout needs a Python module that Debian's lit does not bring, so
# the shell that runs a test is wrapped. timeout signals its whole process group.
shell = os.path.join(config.weft_build, "tests", "bash-with-timeout")
with open(shell + ".tmp", "w") as f:
    f.write('#!/bin/sh\nexec timeout -k 10 "${WEFT_TEST_TIMEOUT:-900}" bash "$@"\n')
os.chmod(shell + ".tmp", 0o755)
os.rename(shell + ".tmp", shell)
lit_config.bashPath = shell

bindir = os.path.join(config.weft_build, "bin")
libdir = os.path.join(config.weft_build, "lib", "weft")
config.environment["PATH"] = os.pathsep.join([bindir, config.llvm_bindir, os.environ["PATH"]])
for name in ("WEFT_KEEP", "WEFT_TEST_TIMEOUT", "WEFT_CLANG", "WEFT_PLAN", "WEFT_GRANULARITY", "TERM"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Traces without -o go into the build tree, not into the home of whoever runs the tests.
config.environment["WEFT_TRACE_DIR"] = os.path.join(config.test_exec_root, "traces")

config.substitutions += [
    ("%weft-cc", os.path.join(bindir, "weft-cc")),
    ("%weft-c[+][+]", os.path.join(bindir, "weft-c++")),
    ("%weft", os.path.join(bindir, "weft")),
    ("%clang[+][+]", config.clangxx),
    ("%clang", config.clang),
    ("%build", config.weft_build),
    ("%root", config.weft_source),
    ("%python", sys.executable),
]

for feature, path in (("weft", bindir + "/weft"), ("pass", libdir + "/weft-pass.so"), ("rt", libdir + "/libweft-rt.so")):
    if os.path.exists(path):
        config.available_features.add(feature)
for tool in ("cmake", "ninja", "make", "meson", "gdb", "gcc", "spin"):
    if shutil.which(tool):
        config.available_features.add(tool)
