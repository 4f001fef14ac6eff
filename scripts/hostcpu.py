#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/hostcpu.py JSON [WINDOWS [SECONDS]]: what queues cost the host that do nothing.

Two guests run at a time, one with queue_states (guest-userspace/bench), one without a GPU
and with nothing to do. For every state that queue_states comes to, the CPU time of both
QEMUs is read over the same window, so that whatever else the host does hits both. The
states take turns, WINDOWS (5) of SECONDS (10) each. A table on stdout; the figures are
added to the file JSON as "host_cpu". Options of the guests are VKFD_OPT_*, as for
scripts/boot. Status 0, or 1 when a guest did not do as it should.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

STATES = {
    "alone": "program asleep, no queue",
    "idle": "64 idle queues",
    "parked": "736 queues in a wait",
}
SETTLE = 2  # seconds
TICKS = os.sysconf("SC_CLK_TCK")
TOP = os.environ["VKFD_TOP"]


class Guest:
    """A guest whose command says a line when it is where it should be."""

    def __init__(self, name, command, options):
        self.dir = os.path.join(TOP, "build", "run", "bench-" + name)
        self.boot = subprocess.Popen(
            [os.path.join(TOP, "scripts", "boot"), "exec", *command],
            env=os.environ | options | {"VKFD_RUN_DIR": self.dir},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = None

    def line(self):
        line = self.boot.stdout.readline().rstrip("\n")
        if line and self.pid is None:
            with open(os.path.join(self.dir, "qemu.pid"), encoding="ascii") as f:
                self.pid = int(f.read())
        return line

    def go_on(self):
        self.boot.stdin.write("\n")
        self.boot.stdin.flush()

    def ticks(self):
        """User and system time of QEMU, all its threads."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            # What follows the name, in which anything may stand.
            words = f.read().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])

    def end(self):
        self.boot.stdin.close()
        self.boot.stdout.read()
        return self.boot.wait()


def window(guests, seconds):
    """Per cent of one CPU that each guest takes, once what led to the state is over."""
    time.sleep(SETTLE)
    start, before = time.monotonic(), [g.ticks() for g in guests]
    time.sleep(seconds)
    after, took = [g.ticks() for g in guests], time.monotonic() - start
    return [(a - b) / TICKS / took * 100 for a, b in zip(after, before)]


def measure(windows, seconds):
    """{state: [(with, without), ...]}, or None."""
    got = {s: [] for s in STATES}
    guests, ended = [], []
    try:
        guests.append(Guest("none", ["sh", "-c", "echo ready; read line; exit 0"],
                            {"VKFD_OPT_GPUS": "0", "VKFD_OPT_DRIVER": "none"}))
        guests.append(Guest("states", ["queue_states", *list(STATES) * windows], {}))
        none, states = guests
        ok = none.line() == "ready"
        while ok and (line := states.line()):
            got[line.removeprefix("state ")].append(window((states, none), seconds))
            states.go_on()
    finally:
        ended = [g.end() for g in guests]
    if not ok or any(ended) or any(len(v) != windows for v in got.values()):
        print(f"hostcpu: the guests ended with {ended}", file=sys.stderr)
        return None
    return got


def figures(pairs):
    base = [w for _, w in pairs]
    return {
        "cpu": statistics.median(g for g, _ in pairs),
        "none": statistics.median(base),
        "difference": statistics.median(g - w for g, w in pairs),
        "none_min": min(base),
        "none_max": max(base),
        "windows": len(pairs),
    }


def main():
    # An exception, so that the guests are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    path = sys.argv[1]
    windows = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    got = measure(windows, seconds)
    if not got:
        return 1
    rows = [{"state": s, **figures(p)} for s, p in got.items()]
    print(f"{'host CPU, % of one':26} {'with':>8} {'no GPU':>8} {'more':>8}   no GPU, range")
    for r in rows:
        print(f"{STATES[r['state']]:26} {r['cpu']:8.2f} {r['none']:8.2f} {r['difference']:8.2f}"
              f"   {r['none_min']:.2f} to {r['none_max']:.2f}")
    idle = next(r for r in rows if r["state"] == "idle")
    # What the guest without a GPU differs by from window to window cannot be told from it.
    spread = idle["none_max"] - idle["none_min"]
    met = idle["difference"] <= spread
    print(f"goal: host CPU with 64 idle queues, no more than the guest without a GPU varies by:"
          f" {idle['difference']:.2f} of {spread:.2f}, {'met' if met else 'not met'}")
    with open(path, encoding="utf-8") as f:
        out = json.load(f)
    out["host_cpu"] = {
        "unit": "% of one CPU", "seconds": seconds, "rows": rows,
        "goal": {"goal": "64 idle queues against no GPU", "at_most": spread,
                 "difference": idle["difference"], "met": met},
    }
    with open(path, "w", encoding="utf-8") as f:
        json.dump(out, f, indent=2)
        f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
