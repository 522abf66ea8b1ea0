# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A build script that first applies the patch of the same name. The patch is a part of the script, so that programs are built
again when it changes."""
import os


def build(name, script):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".patch"), encoding="utf-8") as f:
        return "patch -p1 <<'END OF PATCH'\n%sEND OF PATCH\n%s" % (f.read(), script)
