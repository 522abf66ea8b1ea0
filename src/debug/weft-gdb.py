# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft's part in gdb, for `weft debug`.

All that this knows of the runtime is what include/weft/abi.h says under "debuggers", and the schedule that is described there:
struct weft_debug, weft_tls, weft_sched, weft_sched_slot and weft_sched_item. The schedule is read from the launcher's file, in
which items are as they were before the program met them.

weft_begin attaches. An internal breakpoint on __weft_debug_hook gets what the runtime has to tell. Faults (SIGSEGV and the like)
are the runtime's first: only it knows whether the program handles them. When it is sure that the process dies of one, and all other
threads are where they were then, the instruction is executed again, and then gdb stops at it as usual.
"""
import mmap
import os
import signal as signals
import struct

import gdb

VERSION = 1
ANY = (1 << 64) - 1
POISON = 0xFFFC  # WEFT_POISON
STOP, MISSED, END, EXEC, FAILED = 1, 2, 3, 4, 5
WAIT, REACHED, DONE = 1, 2, 3
END_SIGNAL = 2
FAULTS = {4: "SIGILL", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
RUNTIME = "libweft-rt.so"
LIBRARIES = ("libc.so", "libpthread.so", "ld-linux", "libgcc_s.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libm.so")


def read(address, form):
    values = struct.unpack("<" + form, gdb.selected_inferior().read_memory(address, struct.calcsize("<" + form)))
    return values[0] if len(values) == 1 else values


def write(address, form, *values):
    gdb.selected_inferior().write_memory(address, struct.pack("<" + form, *values))


def say(text):
    gdb.write(text + "\n")
    gdb.flush()


def symbol(name):
    return int(gdb.parse_and_eval("(unsigned long) &" + name)) & ANY


class Debug:
    """struct weft_debug of the selected process."""

    def __init__(self):
        try:
            self.address = symbol("__weft_debug")
            (self.version, self.state, self.message, self.launcher, self.fd, self.sched_off, self.file, self.tls, self.slot,
             self.alive, self.waiting, self.waiting_flag, self.waiting_site, self.items, self.scratch, _, self.mode,
             self.selector) = read(self.address, "QQQQQQQq8IQQ")
        except gdb.error:
            raise gdb.GdbError("weft: the runtime cannot be found in this process: is it alive, and does the kernel tell where "
                               "the program is (CONFIG_CHECKPOINT_RESTORE)?")
        self.calling = self.address + 92
        if self.version != VERSION:
            raise gdb.GdbError("weft: the program's runtime is of another version of weft")

    def stop_at(self, slot, tick, site):
        write(self.address + 128, "Q", slot)
        write(self.address + 120, "Q", site)
        write(self.address + 112, "Q", tick)


class Schedule:
    """The recorded order, by thread."""

    def __init__(self, debug):
        with open("/proc/%d/fd/%d" % (debug.launcher, debug.fd), "rb") as f:
            self.map = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        self.slots, self.flags_off = struct.unpack_from("<2Q", self.map, debug.sched_off)
        self.end_kind, self.end_code, self.end_slot = struct.unpack_from("<3I", self.map, debug.sched_off + 40)
        self.table = debug.sched_off + 56

    def list_of(self, slot):
        """Offset of the first item, and how many."""
        return struct.unpack_from("<2Q", self.map, self.table + 32 * slot) if slot < self.slots else (0, 0)

    def item(self, first, n):
        """tick, site, kind, a, item"""
        return struct.unpack_from("<2Q3I", self.map, first + 40 * n)

    def mark(self, slot, flag):
        """The position that a flag stands for: its tick, site and kind. A slot's flags rise with its marks."""
        first, n = self.list_of(slot)
        low, high = 0, n
        while low < high:
            middle = at = (low + high) // 2
            while at < high and self.item(first, at)[2] not in (REACHED, DONE):
                at += 1
            if at == high:
                high = middle
                continue
            tick, site, kind, a, _ = self.item(first, at)
            if a == flag:
                return tick, site, kind
            low, high = (at + 1, high) if a < flag else (low, middle)
        return None

    def waiters(self, flags):
        """Who waits for these flags: flag -> [(slot, tick, site)]."""
        found = {}
        for slot in range(1, self.slots):
            first, n = self.list_of(slot)
            with memoryview(self.map) as whole, whole[first:first + 40 * n] as part, part.cast("I") as words:
                for k, a in enumerate(words[5::10].tolist()):
                    if a in flags:
                        tick, site, kind, _, _ = self.item(first, k)
                        if kind == WAIT:
                            found.setdefault(a, []).append((slot, tick, site))
        return found


def place(symtab, line):
    name, here = symtab.filename, os.getcwd() + "/"
    return "%s:%d" % (name[len(here):] if name.startswith(here) else name, line)


def line_of(address):
    """file:line, as short as gdb shows it; - is a tick, which is a call into the runtime, a function's entry or a loop's turn."""
    if not address:
        return "-"
    found = gdb.find_pc_line(address)
    if not found.symtab or not found.line:
        return hex(address)
    return place(found.symtab, found.line)


def in_library(frame, names):
    return os.path.basename(gdb.solib_name(frame.pc()) or "").startswith(names)


def program_frame():
    """The newest frame of the selected thread that has source and is not weft's or libc's; None: there is none."""
    frame = gdb.newest_frame()
    for _ in range(200):
        if frame is None:
            return None
        if not in_library(frame, LIBRARIES + (RUNTIME,)) and frame.find_sal().symtab:
            return frame
        try:
            frame = frame.older()
        except gdb.error:
            return None
    return None


class Thread:
    """What the runtime knows of the selected thread. slot 0: it has not started."""

    def __init__(self, debug):
        self.fs = int(gdb.parse_and_eval("(unsigned long) $fs_base")) & ANY
        self.tls = self.fs + debug.tls
        self.clock, self.limit, self.me, self.outside, _, _ = read(self.tls, "QQHBBI")
        self.self = read(self.tls + 32, "Q")
        self.slot = self.alive = self.waiting = 0
        if self.self:
            self.slot = read(self.self + debug.slot, "I")
            self.alive = read(self.self + debug.alive, "i")
            self.waiting = read(self.self + debug.waiting, "i")
            self.waiting_flag = read(self.self + debug.waiting_flag, "I")
            self.waiting_site = read(self.self + debug.waiting_site, "Q")
            self.items = read(self.self + debug.items, "Q")


def all_threads(debug):
    """(gdb's thread, weft's), by slot; the selected thread is the same again afterwards."""
    chosen, frame, found = gdb.selected_thread(), gdb.selected_frame(), []
    for t in living():
        t.switch()
        found.append((t, Thread(debug)))
    chosen.switch()
    frame.select()
    return sorted(found, key=lambda pair: (pair[1].slot or ANY, pair[0].num))


def living():
    """gdb's threads that have not ended."""
    return [t for t in gdb.selected_inferior().threads() if t.is_valid() and not t.is_exited()]


def need_thread():
    """One is selected: another one, if the selected one has ended."""
    threads = living()
    if not threads:
        raise gdb.GdbError("weft: the replay has ended")
    try:
        if gdb.selected_thread() in threads:
            return
    except SystemError:  # it has ended
        pass
    threads[0].switch()


def position(tick, site):
    return "tick %d %s" % (tick, line_of(site))


def awaited(debug, schedule, thread):
    """In words, what a thread waits for at an edge. Who it is, the item says."""
    first, n = schedule.list_of(thread.slot)
    at = (thread.items - debug.file - first) // 40
    while at < n:
        tick, site, kind, a, other = schedule.item(first, at)
        if kind == WAIT and a == thread.waiting_flag and site == thread.waiting_site:
            mark = schedule.mark(other, a)
            if not mark:
                break
            over = read(debug.file + schedule.flags_off + 4 * a, "I") == 1
            return "%s until thread %d %s %s" % ("waited" if over else "waits", other,
                                                 "is past" if mark[2] == DONE else "gets to", position(*mark[:2]))
        at += 1
    return "waits"


class Where(gdb.Command):
    """Where the threads of the replay are: position, source line, and whom they wait for.
usage: weft-where

Threads have weft's numbers, as in weft dump; gdb's are in brackets. A tick is a step of a thread's own clock, which is the same in
every replay."""

    def __init__(self):
        super().__init__("weft-where", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        need_thread()
        debug = Debug()
        schedule = Schedule(debug)
        chosen, frame = gdb.selected_thread(), gdb.selected_frame()
        for t, w in all_threads(debug):
            t.switch()
            at = program_frame()
            sal = at.find_sal() if at else None
            line = place(sal.symtab, sal.line) if sal else "-"
            if not w.slot:
                state = "has not started"
            elif not w.alive:
                state = "has ended"
            else:
                state = {0: "runs", 1: None, 2: "stays here: nothing more of it was recorded",
                         3: "ends the process when the others are as far as they were",
                         4: "waits for a lock of libc or a library"}.get(w.waiting, "?")
                state = state or awaited(debug, schedule, w)
            say("%s %d [%d]  tick %d  %s%s  %s" % ("*" if t.num == chosen.num else " ", w.slot, t.num, w.clock,
                                                 at.name() + " " if at and at.name() else "", line, state))
        chosen.switch()
        frame.select()


class Edges(gdb.Command):
    """The edges of the selected thread around here: what its accesses come after, and who comes after them.
usage: weft-edges [N]

Shows N (8) of them before and after. A position is a tick and a source line; - stands for the tick itself."""

    def __init__(self):
        super().__init__("weft-edges", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        need_thread()
        try:
            count = int(argument) if argument.strip() else 8
        except ValueError:
            raise gdb.GdbError("usage: weft-edges [N]")
        debug = Debug()
        schedule, thread = Schedule(debug), Thread(debug)
        if not thread.slot:
            raise gdb.GdbError("weft: this thread has not started")
        first, n = schedule.list_of(thread.slot)
        here = (thread.items - debug.file - first) // 40
        # Items of this tick are met by site, in any order: the program's copy says which.
        while here < n and read(debug.file + first + 40 * here + 16, "I") == 0:
            here += 1
        edge = lambda k: schedule.item(first, k)[2] in (WAIT, REACHED, DONE)
        before, after, at = [], [], here - 1
        while at >= 0 and len(before) < count:
            if edge(at):
                before.insert(0, at)
            at -= 1
        at = here
        while at < n and len(after) < count:
            if edge(at):
                after.append(at)
            at += 1
        marks = {schedule.item(first, k)[3] for k in before + after if schedule.item(first, k)[2] != WAIT}
        waiters = schedule.waiters(marks) if marks else {}
        for k in before:
            self.show(schedule, schedule.item(first, k), waiters)
        say("> thread %d at tick %d" % (thread.slot, thread.clock))
        for k in after:
            self.show(schedule, schedule.item(first, k), waiters)

    def show(self, schedule, item, waiters):
        tick, site, kind, a, other = item
        if kind == WAIT:
            mark = schedule.mark(other, a)
            say("  %s  after thread %d %s" % (position(tick, site), other, position(*mark[:2]) if mark else "?"))
            return
        for slot, its_tick, its_site in waiters.get(a, []):
            say("  %s  before thread %d %s" % (position(tick, site), slot, position(its_tick, its_site)))


class RunTo(gdb.Command):
    """Goes on until a thread is at a position.
usage: weft-run-to THREAD:TICK[:SITE]

THREAD is weft's number, TICK as weft dump and weft-where show it, SITE is FILE:LINE or an address (0x...): an access in that tick.
All that comes before the position has happened then, the access or operation there has not. Other breakpoints stop as usual."""

    def __init__(self):
        super().__init__("weft-run-to", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        need_thread()
        parts = argument.strip().split(":", 2)
        try:
            slot, tick = int(parts[0]), int(parts[1])
            site = parts[2] if len(parts) > 2 else ""
            address = int(site, 16) if site.startswith("0x") else ANY if site else 0
            if slot < 1 or tick < 1:
                raise ValueError
        except (ValueError, IndexError):
            raise gdb.GdbError("usage: weft-run-to THREAD:TICK[:SITE]")
        debug = Debug()
        w = next((w for _, w in all_threads(debug) if w.slot == slot and w.alive), None)
        if w and (w.clock > tick or (w.clock == tick and not site)):
            raise gdb.GdbError("weft: thread %d is at tick %d already" % (slot, w.clock))
        hook.line = site if address == ANY else None
        debug.stop_at(slot, tick, address)
        if w and not w.outside:
            if w.clock == tick:
                write(w.tls + 16, "H", POISON)
                write(w.tls + 8, "Q", tick + 1)
            elif w.limit > tick:
                write(w.tls + 8, "Q", tick)
        go_on()
        if hook.event == STOP:
            show_program(hook.why)
        elif hook.event == MISSED:
            say("weft: thread %d is past tick %d, and was not at %s in it" % (slot, tick, site))
        if living():
            debug.stop_at(0, 0, 0)


def quietly(command):
    """Without the place where it stops."""
    try:
        gdb.execute("set suppress-cli-notifications on")
    except gdb.error:  # before gdb 12 it is shown
        return gdb.execute(command, to_string=True)
    try:
        return gdb.execute(command, to_string=True)
    finally:
        gdb.execute("set suppress-cli-notifications off")


def go_on():
    hook.event = None
    gdb.execute("continue")


def show_program(why):
    """Instead of the place in the runtime where a thread stopped."""
    if why:
        say(why)
    frame = program_frame()
    if frame:
        frame.select()
    gdb.execute("frame")


class NoRun(gdb.Command):
    """Of no use here: a replay begins with weft debug."""

    def invoke(self, argument, from_tty):
        raise gdb.GdbError("weft: a replay begins with weft debug: leave gdb, and say it again")


class Hook(gdb.Breakpoint):
    """__weft_debug_hook(event, slot, tick, site)"""

    event = line = None
    at_failure = False
    signal = None  # at which it stopped on the way to the failure: that is told afterwards

    def stop(self):
        event, slot, tick, site = (int(gdb.parse_and_eval("(unsigned long) $" + r)) & ANY for r in ("rdi", "rsi", "rdx", "rcx"))
        if event == STOP:
            if self.line and not (line_of(site) == self.line or line_of(site).endswith("/" + self.line)):
                return False
            self.why = "Thread %d is at %s." % (slot, position(tick, site))
        elif event == END:
            schedule = Schedule(Debug())
            signal = schedule.end_kind == END_SIGNAL and schedule.end_slot == slot and schedule.end_code
            if signal in FAULTS:
                gdb.execute("handle %s stop print pass" % FAULTS[signal], to_string=True)
            if schedule.end_kind == END_SIGNAL and not signal:  # from outside: it ends all there is, and gdb would stop once more
                gdb.execute("handle %s nostop noprint pass" % signals.Signals(schedule.end_code).name, to_string=True)
            if not self.at_failure or (signal and signal != 9):
                return False
            self.why = "The recorded run ended here: %s." % (
                {1: "exit %d", 2: "signal %d", 3: "stuck"}.get(schedule.end_kind, "cut short").replace("%d", str(schedule.end_code)))
        elif event == EXEC:
            self.why = ("weft: the process becomes another program of the trace here: `detach` lets it, and weft debug --process "
                        "looks at that one (its part is %d)." % site)
        elif event == FAILED:
            self.why = "weft: " + gdb.selected_inferior().read_memory(Debug().message, 4096).tobytes().split(b"\0")[0].decode()
        elif event != MISSED:
            return False
        self.event = event
        return True


class Call:
    """Around calls that gdb makes in the program: the thread runs alone, and the runtime lets all pass. What the program's memory
has become stays so."""

    def __init__(self, debug):
        self.debug, self.thread = debug, Thread(debug)
        t = self.thread
        self.words = [(a, gdb.selected_inferior().read_memory(a, n).tobytes())
                      for a, n in ((debug.calling, 4), (debug.mode, 4), (debug.selector, 1), (t.fs + debug.scratch, 8), (t.tls, 168))]
        self.locking = gdb.parameter("scheduler-locking")
        gdb.execute("set scheduler-locking on")
        write(debug.calling, "I", 1)
        write(debug.mode, "I", 0)
        write(debug.selector, "B", 0)
        write(t.tls + 8, "QHBB", ANY, 0, 0, 0)

    def end(self):
        for address, was in self.words:
            gdb.selected_inferior().write_memory(address, was)
        gdb.execute("set scheduler-locking " + self.locking)


calls = []


def on_call(event):
    if isinstance(event, gdb.InferiorCallPreEvent):
        calls.append(Call(Debug()))
    elif calls:
        call = calls.pop()
        if living():
            call.end()


def own_breakpoint():
    """The thread has executed a breakpoint instruction that is not gdb's: gdb would not let the program know of it."""
    need_thread()
    signal, code = (int(gdb.parse_and_eval("$_siginfo." + name)) for name in ("si_signo", "si_code"))
    return signal == 5 and (code <= 0 or (code == 0x80 and read(gdb.newest_frame().pc() - 1, "B") == 0xcc))


def on_stop(event):
    if type(event) is gdb.StopEvent and own_breakpoint():
        say("weft: a breakpoint instruction of the program's own: `signal SIGTRAP` goes on as recorded.")
    elif isinstance(event, gdb.SignalEvent) and hook.signal is not None:
        hook.signal = event.stop_signal
    elif isinstance(event, gdb.SignalEvent) and in_library(gdb.newest_frame(), LIBRARIES + (RUNTIME,)):
        # It came while the thread waited, or the runtime raises it, or a function of libc got a wrong pointer: the program's frame says more.
        frame = program_frame()
        if frame:
            frame.select()
            gdb.execute("frame")
    if hook.event in (EXEC, FAILED):
        say(hook.why)
        hook.event = None


def on_exit(event):
    for inferior in gdb.inferiors():
        if inferior.pid:
            gdb.execute("kill inferiors %d" % inferior.num, to_string=True)


class HideRuntime:
    """Frames of the runtime are not shown by backtrace, unless asked for (backtrace -no-filters)."""

    name, priority, enabled = "weft", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (f for f in frames if not in_library(f.inferior_frame(), RUNTIME))


def skip_runtime(hook_at):
    """`step` does not go into the runtime's code, for which there is source."""
    found = gdb.find_pc_line(hook_at)
    if found.symtab:
        source = os.path.dirname(os.path.dirname(found.symtab.fullname()))
        for pattern in ("runtime/*", "arch/*/*"):
            gdb.execute("skip -gfi %s/%s" % (source, pattern), to_string=True)


def weft_begin(pid, at_failure):
    global hook
    try:
        # All threads stop together, so that calls find them stopped.
        for setting in ("non-stop off", "unwindonsignal on"):
            gdb.execute("set " + setting)
        quietly("attach %d" % pid)
        debug = Debug()
        gdb.execute("handle SIGSYS SIGILL SIGBUS SIGFPE SIGSEGV nostop noprint pass", to_string=True)
        hook = Hook("*%d" % symbol("__weft_debug_hook"), internal=True)
        skip_runtime(symbol("__weft_debug_hook"))
        hook.silent = True
        hook.at_failure = at_failure
        write(debug.state, "I", 3)
    except (gdb.error, gdb.GdbError) as e:
        say("weft: gdb cannot be brought to the replay: %s" % e)
        gdb.execute("quit 125")
    gdb.events.inferior_call.connect(on_call)
    gdb.events.stop.connect(on_stop)
    if hasattr(gdb.events, "gdb_exiting"):
        gdb.events.gdb_exiting.connect(on_exit)
    HideRuntime(), Where(), Edges(), RunTo()
    for name in ("run", "start", "starti"):
        NoRun(name, gdb.COMMAND_RUNNING)
    gdb.execute("list main,main", to_string=True)  # `break LINE` means a line of the program's
    if at_failure:
        hook.event, hook.signal = None, ""
        told = quietly("continue")
        if hook.event == END:
            show_program(hook.why)
        elif hook.signal:
            show_program("")  # gdb has told of the signal
        elif not hook.event:
            say(told)
        hook.signal = None
    else:
        say("weft: the replay of %s begins. `continue` goes on; weft-where, weft-edges and weft-run-to are weft's commands."
            % gdb.current_progspace().filename)
        if program_frame():
            show_program("Here it was forked.")
