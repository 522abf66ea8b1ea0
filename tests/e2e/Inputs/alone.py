# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For gdb scripts: alone(N, SECONDS) lets only thread N of gdb's run, for so long; until_waits(N) until it waits.
import os
import re
import threading

import gdb


def alone(number, seconds):
    gdb.execute("thread %d" % number, to_string=True)
    gdb.execute("set scheduler-locking on")
    timer = threading.Timer(seconds, os.kill, (gdb.selected_inferior().pid, 2))
    timer.start()
    gdb.execute("continue")
    timer.cancel()
    gdb.execute("set scheduler-locking off")


def until_waits(number):
    for _ in range(100):
        if re.search(r"\[%d\] .* waits until" % number, gdb.execute("weft-where", to_string=True)):
            return
        alone(number, 0.3)
    raise gdb.GdbError("thread %d does not wait" % number)
