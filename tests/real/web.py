# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A web server that is asked for one file, again and again, by ab."""
import os
import re
import subprocess
import time

from case import Server


class WebServer(Server):
    size = 10000  # bytes of the file

    def prepare(self, work):
        os.mkdir(os.path.join(work, "www"))
        with open(os.path.join(work, "www", "file.bin"), "wb") as f:
            f.write(bytes(i * i % 251 for i in range(self.size)))
        # From yesterday, as what a web server serves. (What was written since the recording began may be written again, and if it is
        # mapped, that is memory which processes share: whether this file was would be a matter of chance.)
        os.utime(os.path.join(work, "www", "file.bin"), (time.time() - 86400,) * 2)
        with open(os.path.join(work, "conf"), "w", encoding="utf-8") as f:
            f.write(self.configuration(work))

    def configuration(self, work):
        raise NotImplementedError

    def load(self, pid):
        url = "http://127.0.0.1:%d/file.bin" % self.port
        command = ["ab", "-q", "-n", str(self.requests), "-c", "10", url]
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600).stdout
        found = {k: int(v) for k, v in re.findall(r"(?m)^([A-Z][A-Za-z0-9 -]+): +(\d+)", said)}
        if found.get("Complete requests") != self.requests or found.get("Failed requests") or "Non-2xx" in said:
            raise RuntimeError("ab: " + said)
        if found.get("HTML transferred") != self.requests * self.size:
            raise RuntimeError("ab: not all bytes came: " + said)
