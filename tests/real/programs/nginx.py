# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nginx: a master and a worker whose files are read by a pool of 4 threads."""
from web import WebServer

PACKAGES = ["nginx"]
BUILD = """./configure --with-cc="$CC" --with-threads --without-http_rewrite_module --without-http_gzip_module
make -j2"""
PROGRAM = "objs/nginx"


class Load(WebServer):
    def __init__(self, options):
        super().__init__()
        self.requests = 1000 if options.quick else 10000

    def configuration(self, work):
        return """daemon off; pid %s/pid; error_log %s/errors; thread_pool default threads=4;
events { worker_connections 64; }
http { access_log %s/access; client_body_temp_path %s/body; proxy_temp_path %s/proxy; fastcgi_temp_path %s/fastcgi;
uwsgi_temp_path %s/uwsgi; scgi_temp_path %s/scgi; sendfile off; aio threads;
server { listen 127.0.0.1:%d; location / { root %s/www; } } }
""" % (*[work] * 8, self.port, work)

    def command(self, program, work):
        return [program, "-e", work + "/errors", "-p", work, "-c", work + "/conf"]


def cases(options):
    return [Load(options)]
