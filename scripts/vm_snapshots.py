#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vm_snapshots.py QEMU ARGS...: in the place of QEMU (scripts/boot), run it and, each
time the VM stops at a counted point (injection action pause), save and move it.

The environment says what and where to:
  VKFD_SNAP_KINDS   what to do at the stops, in this order, words of:
        save    savevm into a scratch qcow2, loadvm of it
        fresh   savevm, loadvm of it in another QEMU
        file    migrate to a file, and from it in another QEMU
        live    start a migration to another QEMU through a socket; the VM runs on, over
                many stops, and the migration completes at one near the end of the first
                pass over memory
  VKFD_SNAP_LOG     a line for each: what, where the VM stood, what was under way
  VKFD_SNAP_DIR     for scratch files

After the last one nothing is armed any more. Ends with the last QEMU, and no QEMU outlives
it.
"""
import ctypes
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

LIMIT_S = 120   # for one job or migration on a busy machine
END_S = 10      # for a QEMU to end after its monitor did
# A live migration ends at a stop when no more than this part of memory was not sent yet.
# The largest block, VRAM, was by then, and what the device wrote since is sent again.
LIVE_LEFT = 0.3
PR_SET_PDEATHSIG = 1


class Gone(Exception):
    """QEMU has ended."""


class Qemu:
    def __init__(self, args):
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        os.set_inheritable(fd, True)
        self.process = subprocess.Popen(
            args + ["-chardev", f"socket,id=snapshots,fd={fd}",
                    "-mon", "chardev=snapshots,mode=control"],
            pass_fds=[fd], preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        theirs.close()
        self.socket = ours
        self.buffer = b""
        self.events = []
        self.read()
        self.do("qmp_capabilities")
        self.do("migrate-set-capabilities",
                capabilities=[{"capability": "events", "state": True}])

    def read(self, timeout=LIMIT_S):
        """One message: an answer, or None for an event, which is kept."""
        self.socket.settimeout(timeout)
        while b"\n" not in self.buffer:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Gone()
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        if "event" in message:
            self.events.append(message)
            return None
        return message

    def do(self, command, **arguments):
        request = {"execute": command, "arguments": arguments}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            answer = self.read()
            if answer and "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if answer:
                return answer["return"]

    def event(self, wanted, timeout=LIMIT_S):
        """The first event for which wanted(event) holds; those before it are dropped."""
        while True:
            while self.events:
                event = self.events.pop(0)
                if wanted(event):
                    return event
            self.read(timeout)

    def job(self, command, **arguments):
        """A job to its end."""
        self.do(command, **{"job-id": "job", **arguments})
        self.event(lambda e: e["event"] == "JOB_STATUS_CHANGE" and
                   e["data"]["status"] == "concluded")
        error = self.do("query-jobs")[0].get("error")
        self.do("job-dismiss", id="job")
        if error:
            raise RuntimeError(f"{command}: {error}")

    def migrated(self):
        """Waits until a migration in either direction is over. True: on this side the VM
        was started by it."""
        resumed = False
        while True:
            event = self.event(lambda e: e["event"] in ("MIGRATION", "RESUME"))
            resumed |= event["event"] == "RESUME"
            status = event.get("data", {}).get("status")
            if status == "failed":
                raise RuntimeError(f"migration: {self.do('query-migrate').get('error-desc')}")
            if status == "completed":
                return resumed

    def status(self):
        return self.do("query-status")["status"]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.socket.close()


class Session:
    def __init__(self, args):
        self.args = args
        self.dir = os.environ["VKFD_SNAP_DIR"]
        self.kinds = os.environ["VKFD_SNAP_KINDS"].split()
        self.log = open(os.environ["VKFD_SNAP_LOG"], "a", encoding="utf-8", buffering=1)
        self.vm = Qemu(args)
        self.to = None      # where a live migration goes, since:
        self.live_where = self.last_where = None
        self.stops = 0
        self.fired = {}

    def path(self, name):
        return os.path.join(self.dir, name)

    def device(self):
        """All that can be seen of the device from outside."""
        return {name: self.vm.do("qom-get", path="gpu0", property=name)
                for name in ("inject-status", "queues", "counters", "unmodelled-accesses")}

    def check(self, before, kind):
        for name, now in self.device().items():
            if now != before[name]:
                lines = [f"{a} -> {b}" for a, b in itertools.zip_longest(before[name], now)
                         if a != b]
                raise RuntimeError(f"{kind}: {name} changed: {'; '.join(lines)}")

    def where(self):
        """What pauses there are of this stop, and what stands how in the device."""
        device = self.device()
        points = []
        for line in device["inject-status"]:
            m = re.match(r"(\S+?):pause\S* passages (\d+) fired (\d+)", line)
            if m and self.fired.get(line.split()[0], "0") != m[3]:
                self.fired[line.split()[0]] = m[3]
                points.append(f"{m[1]} {m[2]}")
            held = re.match(r"held back (\d+)", line)
        queues = [line.rsplit(" ", 1)[1] for line in device["queues"]]
        states = " ".join(f"{s} {queues.count(s)}" for s in sorted(set(queues)))
        self.last_where = (f"at {' and '.join(points)}: held {held[1]} mapped {len(queues)} "
                           f"{states}")
        return device

    def say(self, *words):
        print(*words, file=self.log)

    # --- what is done at a stop; the VM is stopped before and after -------------

    def scratch(self, add):
        """The disk that takes a snapshot: a node that no device uses."""
        path = self.path("scratch.qcow2")
        if add and not os.path.exists(path):
            self.vm.job("blockdev-create", options={
                "driver": "file", "filename": path, "size": 0})
            self.vm.do("blockdev-add", **{"driver": "file", "node-name": "file",
                                          "filename": path})
            self.vm.job("blockdev-create", options={
                "driver": "qcow2", "file": "file", "size": 1 << 20})
            self.vm.do("blockdev-del", **{"node-name": "file"})
        if add:
            self.vm.do("blockdev-add", **{
                "driver": "qcow2", "node-name": "scratch",
                "file": {"driver": "file", "filename": path}})
        else:
            self.vm.do("blockdev-del", **{"node-name": "scratch"})

    def snapshot(self, verb):
        self.vm.job(f"snapshot-{verb}", tag="midflight", devices=["scratch"],
                    **({} if verb == "delete" else {"vmstate": "scratch"}))

    def save(self):
        self.scratch(True)
        self.snapshot("save")
        self.snapshot("load")
        self.snapshot("delete")
        self.scratch(False)

    def fresh(self):
        self.scratch(True)
        self.snapshot("save")
        self.vm.end()
        self.vm = Qemu(self.args + ["-S"])
        self.scratch(True)
        self.snapshot("load")
        self.snapshot("delete")
        self.scratch(False)

    def incoming(self, uri):
        to = Qemu(self.args + ["-incoming", "defer"])
        to.do("migrate-incoming", uri=uri)
        return to

    def file(self):
        uri = "file:" + self.path("state")
        self.vm.do("migrate", uri=uri)
        self.vm.migrated()
        self.vm.end()
        self.vm = self.incoming(uri)
        self.vm.migrated()
        os.unlink(self.path("state"))

    def live(self):
        """Precopy that hardly ever finds little enough left to stop a running VM, and
        waits when it does."""
        self.live_where = self.last_where
        uri = "unix:" + self.path("live")
        self.to = self.incoming(uri)
        self.vm.do("migrate-set-parameters", **{
            "max-bandwidth": 1 << 28, "avail-switchover-bandwidth": 1, "downtime-limit": 0})
        self.vm.do("migrate-set-capabilities", capabilities=[
            {"capability": "pause-before-switchover", "state": True}])
        self.vm.do("migrate", uri=uri)

    def live_state(self):
        state = self.vm.do("query-migrate")
        if state["status"] == "failed":
            raise RuntimeError(f"migration: {state.get('error-desc')}")
        ram = state.get("ram", {"remaining": 1, "total": 1, "dirty-sync-count": 0})
        return state["status"], ram["remaining"] / ram["total"], ram["dirty-sync-count"]

    def live_goes_on(self):
        """At a stop that comes too early: the VM runs on, unless that cannot be any more."""
        status, left, rounds = self.live_state()
        if status == "pre-switchover" or (rounds and left < LIVE_LEFT):
            return False
        try:
            self.vm.do("cont")
        except RuntimeError:
            return False
        return True

    def live_ends(self, device):
        """True if the VM runs already: the migration found nothing left to send for a
        moment, and the stop was its own."""
        while self.live_state()[0] != "pre-switchover":
            self.vm.event(lambda e: e["event"] == "MIGRATION")
        self.vm.do("migrate-continue", state="pre-switchover")
        self.vm.migrated()
        rounds = self.live_state()[2]
        runs = self.to.migrated()
        self.vm.end()
        self.vm, self.to = self.to, None
        end = "between points" if runs else self.last_where
        if not runs:
            self.check(device, "live")
        self.say("done live", self.live_where, f"and ended {end}; memory looked through {rounds} times")
        return runs

    # --- all of it ----------------------------------------------------------------

    def stopped(self):
        self.stops += 1
        device = self.where()
        if self.to and (self.live_goes_on() or self.live_ends(device)):
            return
        kind = self.kinds.pop(0) if self.kinds else "cont"
        if kind == "cont":
            self.vm.do("qom-set", path="gpu0", property="inject", value="")
        start = time.monotonic()
        getattr(self, kind, lambda: None)()
        if kind not in ("live", "cont"):
            self.check(device, kind)
            self.say("done", kind, self.last_where, f"in {time.monotonic() - start:.1f} s")
        if self.vm.status() not in ("paused", "prelaunch"):
            raise RuntimeError(f"after {kind} the VM is {self.vm.status()}")
        self.vm.do("cont")

    def run(self):
        try:
            while True:
                self.vm.event(lambda e: e["event"] == "STOP", None)
                self.stopped()
        except Gone:
            try:
                self.vm.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.say("failed: the QEMU that was to go on has ended")
                self.vm.end()
        except (RuntimeError, OSError, TimeoutError) as e:
            self.say("failed:", str(e) or type(e).__name__)
            self.vm.end()
        self.say("ended after", self.stops, "stops,", len(self.kinds), "kinds not done")
        return self.vm.process.wait()

    def end(self, *_):
        """Asked to end: so are the QEMUs."""
        self.vm.process.kill()
        if self.to:
            self.to.process.kill()


def main():
    session = Session(sys.argv[1:])
    signal.signal(signal.SIGTERM, session.end)
    sys.exit(min(session.run() & 0xff, 125))


LIBC = ctypes.CDLL(None)
if __name__ == "__main__":
    main()
