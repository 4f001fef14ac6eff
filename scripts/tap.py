#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tap.py LANE RESULTS: read framed TAP on stdin, report, append to RESULTS.

Each program's TAP stands between `# program NAME` and `# exit STATUS`. A line
of RESULTS is "pass|fail|skip TAB lane/program/test TAB reason". A program that
gives no plan, runs fewer or more tests than planned, bails out, exits non-zero
without a failed test, or never exits is a failure of its own, so that nothing
counts as passed by not having run.
"""
import re
import sys

LINE = re.compile(r"(not )?ok\b\s*(\d+)?\s*(?:- )?(.*)$")
DIRECTIVE = re.compile(r"(?:^|\s)#\s*(skip|todo)\S*\s*(.*)$", re.I)
PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.I)
CAUSE_LINES = 12  # of the output before a failure, shown with it


class Program:
    def __init__(self, name):
        self.name = name
        self.plan = None
        self.skip_all = None
        self.bail = None
        self.results = []   # (kind, test, reason)
        self.recent = []    # output since the last result
        self.seen = {}

    def add(self, kind, test, reason=""):
        n = self.seen[test] = self.seen.get(test, 0) + 1
        if n > 1:
            test = f"{test} ({n})"
        self.results.append((kind, test, reason))
        if kind == "fail":
            show(f"not ok {LANE}/{self.name}{'/' + test if test else ''}"
                 f"{': ' + reason if reason else ''}")
            for line in self.recent[-CAUSE_LINES:]:
                show(f"    {line}")
        self.recent = []

    def line(self, text):
        plan = PLAN.match(text)
        if plan:
            self.plan = int(plan[1])
            if self.plan == 0:
                self.skip_all = plan[2] or "no reason given"
            return
        if text.startswith("Bail out!"):
            self.bail = text[9:].strip() or "bailed out"
            return
        m = LINE.match(text)
        if not m:
            if text.strip():
                self.recent.append(text)
            return
        desc, kind, reason = m[3], "fail" if m[1] else "pass", ""
        d = DIRECTIVE.search(desc)
        if d:
            desc = desc[:d.start()]
            # What is known not to work yet is no pass and no failure.
            if d[1].lower() == "skip" or m[1]:
                kind, reason = "skip", d[2] or "no reason given"
        # A program that is one test needs no name beside its own.
        number = "" if self.plan == 1 else m[2] or str(len(self.results) + 1)
        self.add(kind, desc.strip() or number, reason)

    def end(self, status):
        ran = len(self.results)
        failed = any(r[0] == "fail" for r in self.results)
        if self.bail is not None:
            self.add("fail", "", self.bail)
        elif status is None:
            self.add("fail", "", "ended with the machine")
        elif self.plan is None:
            self.add("fail", "", f"gave no plan (exit status {status})")
        elif ran != self.plan:
            self.add("fail", "", f"planned {self.plan} tests, ran {ran} (exit status {status})")
        elif status != 0 and not failed:
            self.add("fail", "", f"exit status {status}")
        elif self.skip_all is not None:
            self.add("skip", "", self.skip_all)
        count = {k: sum(r[0] == k for r in self.results) for k in ("pass", "fail", "skip")}
        show(f"{LANE}/{self.name}: " + ", ".join(
            f"{n} {word}" for word, n in zip(("passed", "failed", "skipped"), count.values()) if n))
        for kind, test, reason in self.results:
            name = f"{LANE}/{self.name}{'/' + test if test else ''}"
            if kind == "skip":
                show(f"  skipped {name}: {reason}")
            OUT.write(f"{kind}\t{name}\t{reason}\n")
        OUT.flush()


def show(text):
    print(text, flush=True)


LANE = sys.argv[1]
with open(sys.argv[2], "a", encoding="utf-8") as OUT:
    program = None
    for raw in sys.stdin.buffer:
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        if text.startswith("# program "):
            if program:
                program.end(None)
            program = Program(text[10:])
        elif program and re.fullmatch(r"# exit \d+", text):
            program.end(int(text[7:]))
            program = None
        elif program:
            program.line(text)
    if program:
        program.end(None)
