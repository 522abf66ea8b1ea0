# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apache httpd with the worker MPM: one process of 4 worker threads, and its parent. apr and apr-util are built in."""
import os

from web import WebServer

PACKAGES = ["apache2=2.4.68-1~deb12u1", "apr", "apr-util"]
BUILD = r"""cp -a "$SOURCES"/apr/*/ apr
cp -a "$SOURCES"/apr-util/*/ apr-util
(cd apr; ./configure CC="$CC" --prefix="$FOLDER/inst" --disable-shared; make -j2; make install)
(cd apr-util; ./configure CC="$CC" --prefix="$FOLDER/inst" --with-apr="$FOLDER/inst" --disable-shared --disable-util-dso
make -j2; make install)
export CPPFLAGS="-DPLATFORM='\"Debian\"' -DBUILD_DATETIME='\"today\"'"  # as debian/rules does
./configure CC="$CC" --prefix="$FOLDER/inst" --with-apr="$FOLDER/inst" --with-apr-util="$FOLDER/inst" --with-mpm=worker \
--enable-mpms-shared=no --enable-modules=none --enable-mods-static="unixd authz_core log_config mime"
make -j2
make install"""
PROGRAM = "inst/bin/httpd"


class Load(WebServer):
    size = 100000

    def __init__(self, options):
        super().__init__()
        self.requests = 200 if options.quick else 2000

    def configuration(self, work):
        return """ServerName localhost
Listen 127.0.0.1:%d
PidFile %s/pid
ErrorLog %s/errors
CustomLog %s/access "%%h %%t \\"%%r\\" %%>s %%b"
DocumentRoot %s/www
<Directory />
Require all granted
</Directory>
TypesConfig /dev/null
ServerLimit 1
StartServers 1
ThreadsPerChild 4
MaxRequestWorkers 4
MinSpareThreads 1
MaxSpareThreads 4
User nobody
Group nogroup
""" % (self.port, *[work] * 4)

    def command(self, program, work):
        return [program, "-D", "FOREGROUND", "-f", os.path.join(work, "conf")]


def cases(options):
    return [Load(options)]
