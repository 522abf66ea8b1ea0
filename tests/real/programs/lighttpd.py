# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import signal

from web import WebServer

PACKAGES = ["lighttpd"]
BUILD = """sh autogen.sh
./configure CC="$CC" --prefix="$FOLDER/inst" --without-pcre2 --without-zlib --without-bzip2 --disable-ipv6
make -j2
make install"""
PROGRAM = "inst/sbin/lighttpd"


class Load(WebServer):
    def __init__(self, options):
        super().__init__()
        self.requests = 1000 if options.quick else 10000

    def configuration(self, work):
        return (
            'server.modules = ("mod_accesslog")\nserver.document-root = "%s/www"\nserver.bind = "127.0.0.1"\n'
            'server.port = %d\naccesslog.filename = "%s/access"\n' % (work, self.port, work)
        )

    def command(self, program, work):
        return [program, "-D", "-f", work + "/conf"]

    def stop(self, pid):
        os.kill(pid, signal.SIGINT)  # after SIGTERM it exits with 1 if a connection is still open


def cases(options):
    return [Load(options)]
