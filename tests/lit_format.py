# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How a lit test of weft runs: see lit.cfg.py. A module of its own because lit hands it to worker processes.
import os
import shutil

import lit.formats
import lit.Test
import lit.TestRunner


class WeftTest(lit.formats.ShTest):
    def execute(self, test, litConfig):
        folder = lit.TestRunner.getTempPaths(test)[1] + ".tmp.dir"  # %t.dir
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, exist_ok=True)
        result = super().execute(test, litConfig)
        if result.code is lit.Test.FAIL and "\nExit Code: 77\n" in "\n" + result.output:
            result.code = lit.Test.UNSUPPORTED
        elif result.code is lit.Test.PASS and not os.environ.get("WEFT_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
        return result
