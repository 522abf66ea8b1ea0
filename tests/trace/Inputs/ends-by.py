# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ends-by.py SIGNAL [--send SIGNAL | --kill-child] COMMAND...: runs it, and fails unless that signal ends it. --send
sends it one when its child has printed its first line; --kill-child kills its child then."""
import os
import signal
import subprocess
import sys

want, command, send, child = int(sys.argv[1]), sys.argv[2:], 0, False
if command[0] == "--send":
    send, command = int(command[1]), command[2:]
elif command[0] == "--kill-child":
    child, command = True, command[1:]
p = subprocess.Popen(command, stdout=subprocess.PIPE if send or child else None)
if send or child:
    p.stdout.readline()
    if child:
        kids = open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read().split()
        os.kill(int(kids[0]), signal.SIGKILL)
    else:
        p.send_signal(send)
p.wait()
if p.returncode != -want:
    sys.exit("%s: ended with %d instead of signal %d" % (" ".join(command), p.returncode, want))
