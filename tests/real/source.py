# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian source packages: fetched from the machine's own package sources, built unpatched by their own build systems,
once with clang alone and once with weft."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile


class Failed(Exception):
    pass


def tail(path, lines=15):
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-lines:]).rstrip()


def unpacked(place, name):
    found = glob.glob(os.path.join(place, "src", name, "*", "debian", "changelog"))
    return os.path.dirname(os.path.dirname(found[0])) if found else None


class Apt:
    """apt-get with a configuration of our own, deb-src only: nothing of the system's is changed."""

    def __init__(self):
        self.folder = None

    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        at = self.folder.name
        for sub in ("parts", "lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(at, sub))
        known = ""
        for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
            with open(path, encoding="utf-8") as f:
                text = re.sub(r"(?m)^Types:.*", "Types: deb-src", f.read())
            known += text
            with open(os.path.join(at, "parts", os.path.basename(path)), "w", encoding="utf-8") as f:
                f.write(text)
        lines = set()
        for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*.list")]:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    lines |= set(re.findall(r"(?m)^deb(?:-src)? (.*)", f.read()))
        with open(os.path.join(at, "parts", "lines.list"), "w", encoding="utf-8") as f:
            # One place twice, with a key and without, is an error.
            f.writelines("deb-src %s\n" % line for line in sorted(lines) if not set(line.split()[:2]) <= set(known.split()))
        self.run("update", "-o", "APT::Update::Error-Mode=any")

    def run(self, *words, cwd="/"):
        at = self.folder.name
        settings = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": at + "/parts",
            "Dir::State::Lists": at + "/lists",
            "Dir::Cache": at + "/cache",
            "APT::Sandbox::User": "root",
        }
        command = ["apt-get", "-q", *("-o%s=%s" % s for s in settings.items()), *words]
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failed("apt-get %s: %s" % (" ".join(words), done.stdout.strip().rpartition("\n")[2]))


APT = Apt()


@contextlib.contextmanager
def alone(place, name):
    """Tests run side by side; each program is fetched and built by one of them."""
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, name + ".lock"), "w", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def fetch(place, package, say):
    """PACKAGE or PACKAGE=VERSION: the version if it can be had, else what there is."""
    name, _, version = package.partition("=")
    with alone(place, name):
        fetch_alone(place, package, name, version, say)


def fetch_alone(place, package, name, version, say):
    if unpacked(place, name):
        return
    say("fetching the source package %s" % name)
    if not APT.folder:
        APT.start()
    folder = os.path.join(place, "src", name)
    for want in [package, name] if version else [name]:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        try:
            APT.run("source", want, cwd=folder)
        except Failed:
            if want == name:
                raise
        if unpacked(place, name):
            return
    raise Failed("apt-get source %s gave no sources" % name)


def weft_hash(build):
    """Of what goes into a program. The runtime does not: it is a shared library, found in the build folder."""
    files = glob.glob(build + "/bin/weft-c*") + glob.glob(build + "/lib/weft/**", recursive=True)
    h = hashlib.sha256()
    for path in sorted(files):
        if os.path.isfile(path) and not os.path.basename(path).startswith("libweft-rt.so"):
            with open(path, "rb") as f:
                h.update(f.read())
    return h.hexdigest()


def build(program, kind, place, weft_build, verify, say):
    """Builds a copy of the sources; kind is native or weft. Gives the folder."""
    name = "%s-%s" % (program.__name__, kind)
    with alone(place, name):
        return build_alone(program, name, kind, place, weft_build, verify, say)


def build_alone(program, name, kind, place, weft_build, verify, say):
    folder, log = os.path.join(place, name), os.path.join(place, name + ".log")
    env = dict(os.environ, LC_ALL="C", FOLDER=folder, SOURCES=os.path.join(place, "src"), REAL=os.path.dirname(__file__))
    if kind == "weft":
        env["CC"], env["CXX"] = "weft-cc", "weft-c++"
        if verify:
            env["CC"], env["CXX"] = "weft-cc -weft-verify", "weft-c++ -weft-verify"
        stamp = weft_hash(weft_build)
    else:
        env["CC"] = shutil.which("clang-19") or shutil.which("clang")
        env["CXX"] = shutil.which("clang++-19") or shutil.which("clang++")
        stamp = ""
    stamp += env["CC"] + program.BUILD
    stamp_file = os.path.join(folder, ".stamp")
    if os.path.exists(stamp_file):
        with open(stamp_file, encoding="utf-8") as f:
            if f.read() == stamp:
                return folder
    say("building %s with %s" % (program.__name__, env["CC"]))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(unpacked(place, program.PACKAGES[0].partition("=")[0]), folder, symlinks=True)
    with open(log, "w", encoding="utf-8") as f:
        script = ["bash", "-e", "-c", program.BUILD]
        done = subprocess.run(script, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=f, stderr=f)
    if done.returncode or not os.access(os.path.join(folder, program.PROGRAM), os.X_OK):
        raise Failed("%s does not build with %s: %s\n%s" % (program.__name__, env["CC"], log, tail(log)))
    with open(stamp_file, "w", encoding="utf-8") as f:
        f.write(stamp)
    return folder
