#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stream.py TOKEN: copy stdin to stdout as it comes, until TOKEN.

The guest closes each output stream with the run's random token. Exit status 0
says that it came, so that nothing was cut off; 3 that the input ended without.
Bytes that may be the token's beginning are held back until the next ones show.
"""
import os
import sys


def write_all(data):
    """A reader that went away (SIGPIPE semantics are Python's EPIPE) ends only
    our output: the input is still read, so that the guest can finish."""
    global writable
    while data and writable:
        try:
            data = data[os.write(1, data):]
        except BrokenPipeError:
            writable = False


def held(buf, token):
    """Length of the longest tail of buf that begins token."""
    for n in range(min(len(buf), len(token) - 1), 0, -1):
        if token.startswith(buf[-n:]):
            return n
    return 0


writable = True
token = sys.argv[1].encode()
buf = b""
while True:
    chunk = os.read(0, 1 << 16)
    if not chunk:
        write_all(buf)
        sys.exit(3)
    buf += chunk
    end = buf.find(token)
    if end >= 0:
        write_all(buf[:end])
        sys.exit(0)
    n = held(buf, token)
    write_all(buf[:len(buf) - n])
    buf = buf[len(buf) - n:]
