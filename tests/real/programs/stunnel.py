# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stunnel in front of a server that echoes; 4 clients at a time connect with TLS, each connection sends a few messages."""
import os
import socket
import ssl
import subprocess
import threading

from case import Server, at_once

PACKAGES = ["stunnel4"]
BUILD = './configure CC="$CC" --with-threads=pthread --disable-systemd --disable-libwrap; make -j2 -C src'
PROGRAM = "src/stunnel"
CLIENTS, MESSAGES = 4, 10


class Echo(threading.Thread):
    """One thread per connection."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    @staticmethod
    def answer(connection):
        with connection:
            while True:
                data = connection.recv(65536)
                if not data:
                    return
                connection.sendall(data)


class Load(Server):
    def __init__(self, options):
        super().__init__()
        self.requests = 40 if options.quick else 400  # connections
        self.behind = Echo()

    def prepare(self, work):
        subject = ["-subj", "/CN=localhost", "-days", "3650", "-nodes", "-newkey", "rsa:2048"]
        command = ["openssl", "req", "-x509", *subject, "-keyout", work + "/key.pem", "-out", work + "/cert.pem"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        with open(work + "/conf", "w", encoding="utf-8") as f:
            f.write(
                "foreground = yes\npid =\nsyslog = no\ndebug = 5\n[echo]\naccept = 127.0.0.1:%d\nconnect = 127.0.0.1:%d\n"
                "cert = %s/cert.pem\nkey = %s/key.pem\n" % (self.port, self.behind.port, work, work)
            )

    def command(self, program, work):
        return [program, work + "/conf"]

    def client(self, number):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for i in range(self.requests // CLIENTS):
            with socket.create_connection(("127.0.0.1", self.port)) as plain, context.wrap_socket(plain) as s:
                for k in range(MESSAGES):
                    message = b"%d %d %d;" % (number, i, k) * (1 + 37 * k)
                    s.sendall(message)
                    got = b""
                    while len(got) < len(message):
                        more = s.recv(65536)
                        if not more:
                            raise RuntimeError("the connection was closed")
                        got += more
                    if got != message:
                        raise RuntimeError("something else came back")

    def load(self, pid):
        at_once(CLIENTS, self.client)


def cases(options):
    return [Load(options)]
