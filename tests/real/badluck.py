#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loaded memcached has bad luck, and its recording must still be good for a replay to its end: kill -9 at random moments;
a disk that fills up; 500 connections that come and go; clients that disconnect in the middle of a request or of an
answer."""
import argparse
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import run as real
import source

sys.path[:0] = [os.path.join(real.HERE, "programs")]
import memcached


PIECES = [b"se", b"set k 0 0 1000\r\nabc", b"get big\r\nget big\r\n", b"get k\r\nset k 0 0 5\r\n"]


def background(function, *arguments):
    """What the server does to it in the meantime is no error."""

    def quietly():
        try:
            function(*arguments)
        except (OSError, RuntimeError, ValueError, IndexError):
            pass

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    return thread


class Killed(memcached.Load):
    """kill -9 at a moment that the seed gives."""

    def __init__(self, options, seed):
        super().__init__(options)
        self.requests, self.after = 1000000, random.Random(seed).uniform(0, 1.5)

    def load(self, pid):
        self.clients = background(memcached.clients, self.port, self.requests)
        time.sleep(self.after)

    def stop(self, pid):
        os.kill(pid, signal.SIGKILL)
        self.clients.join()


class Connections(memcached.Load):
    """Come and go, some at the same time, some with a request, some without a word."""

    name, requests = "connections", 500

    def __init__(self, options):
        super().__init__(options)
        self.requests = 500

    def load(self, pid):
        r, open_ones = random.Random(500), []
        for i in range(self.requests):
            s = socket.create_connection(("127.0.0.1", self.port))
            open_ones.append(s)
            if r.random() < 0.7:
                s.sendall(b"set k%d 0 0 3\r\nabc\r\n" % (i % 17))
                if s.recv(100) != b"STORED\r\n":
                    raise RuntimeError("set failed")
            while len(open_ones) > r.randrange(1, 60):
                open_ones.pop(r.randrange(len(open_ones))).close()
        for s in open_ones:
            s.close()


class Disconnects(memcached.Load):
    """In the middle of a command, of a value, of an answer; closed or reset."""

    name = "disconnects"

    def __init__(self, options):
        super().__init__(options)
        self.requests = 200

    def load(self, pid):
        r = random.Random(200)
        big = b"x" * 500000
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(b"set big 0 0 %d\r\n%s\r\n" % (len(big), big))
            s.recv(100)
        other = background(memcached.clients, self.port, 2000)
        for i in range(self.requests):
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                if r.random() < 0.5:  # a reset instead of an end
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.sendall(PIECES[i % 4])
                if i % 4 == 2:
                    s.recv(1000)
        other.join()


def one(label, case, built, options, expected=0):
    """A recording and two replays."""
    place = real.fresh(os.path.join(options.place, "runs", "badluck-" + label.replace(" ", "-")))
    trace = os.path.join(place, "trace")
    what = "recording"
    try:
        record = ["weft", "record", "-o", trace, "--"]
        run = real.run_of(case, {"weft": built}, memcached, record, place, "weft", expected)
        what = "weft check %s" % trace
        subprocess.run(["weft", "check", trace], check=True, stdout=subprocess.DEVNULL)
        what = "weft replay %s" % trace
        for _ in range(2):
            real.replay(run, trace, place, options.alone)
    except (real.Wrong, subprocess.CalledProcessError) as e:
        options.failed.append("%s: %s: %s" % (label, what, e))
        real.say("FAILED: " + options.failed[-1])
        return
    shutil.rmtree(place)


def full_disk(built, options):
    """The recording stops with a message, the server goes on; what there is is replayed or refused by name."""
    place = real.fresh(os.path.join(options.place, "runs", "badluck-full"))
    small = os.path.join(place, "small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], stderr=subprocess.DEVNULL).returncode:
        real.say("may not mount a small file system: no full disk")
        return
    trace = os.path.join(small, "trace")
    case = memcached.Load(options)
    case.requests = 20000
    try:
        run = real.run_of(case, {"weft": built}, memcached, ["weft", "record", "-o", trace, "--"], place, "weft")
        with open(run.err, encoding="utf-8") as f:
            if "space" not in f.read():
                raise real.Wrong("weft record did not tell of the full disk: " + source.tail(run.err, 3))
        done = subprocess.run(["weft", "replay", trace], capture_output=True, text=True, timeout=600)
        if done.returncode not in (0, 125) or not done.stderr.startswith("weft: "):
            raise real.Wrong("replay: status %d: %s" % (done.returncode, done.stderr))
    except real.Wrong as e:
        options.failed.append("full disk: %s" % e)
        real.say("FAILED: " + options.failed[-1])
    finally:
        subprocess.run(["umount", small])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the moments (the time)")
    parser.add_argument("--verify", action="store_true", help="with a verify build")
    options = parser.parse_args()
    real.settle(options)
    options.quick = True
    source.fetch(options.place, memcached.PACKAGES[0], real.say)
    built = source.build(memcached, "weft", options.place, real.BUILD, options.verify, real.say)
    real.say("%d kills, seed %d" % (options.kills, options.seed))
    for i in range(options.kills):
        one("kill %d" % i, Killed(options, options.seed + i), built, options, -signal.SIGKILL)
    full_disk(built, options)
    one("connections", Connections(options), built, options)
    one("disconnects", Disconnects(options), built, options)
    if options.failed:
        sys.exit("badluck: %d failures, seed %d" % (len(options.failed), options.seed))
    print("badluck: all replayed to their ends")


if __name__ == "__main__":
    main()
