#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a real slurmctld drains nodes, asked as sickbayd asks it: `change_nodes` of sickbay-slurm, 250 a call.

drain_rate.py SICKBAY-SLURM NODE...: prints a line for drains with a reason of its own for each node, for drains with one
reason, and for each of them lifted.  The protocol: doc/formats/slurm-child.md.
"""
import json
import os
import socket
import struct
import sys
import time

AT_ONCE = 250


class Child:
    def __init__(self, program):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            os.dup2(theirs.fileno(), 3)
            os.set_inheritable(3, True)
            os.execv(program, [program])
        theirs.close()
        self.socket, self.number = ours, 0
        assert self.read() == {"ready": True}

    def bytes(self, count):
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                sys.exit("drain_rate: sickbay-slurm has ended")
            got += more
        return got

    def read(self):
        return json.loads(self.bytes(struct.unpack(">I", self.bytes(4))[0]))

    def call(self, name, args):
        self.number += 1
        text = json.dumps({"id": self.number, "call": name, "args": args}).encode()
        self.socket.sendall(struct.pack(">I", len(text)) + text)
        answer = self.read()
        if "error" in answer:
            sys.exit(f"drain_rate: {name}: {answer['error']}")
        return answer["ok"]


def change(child, what, changes):
    """All of them, again where the child says `later`; prints how long it took."""
    began, calls, changed = time.monotonic(), 0, 0
    while changes:
        answers = child.call("change_nodes", {"changes": changes[:AT_ONCE]})
        calls += 1
        left = [c for c, a in zip(changes, answers) if a.get("later")]
        for a in answers:
            if "error" in a:
                sys.exit(f"drain_rate: {what}: {a['error']}")
            changed += a.get("changed", False)
        changes = left + changes[AT_ONCE:]
    took = time.monotonic() - began
    print(f"{what:34} {changed:6} nodes {calls:4} calls {took:8.2f} s {changed / took:8.0f} nodes/s", flush=True)


def main():
    child, nodes = Child(sys.argv[1]), sys.argv[2:]
    for turn in range(3):
        change(child, "drained, each for its own reason",
               [{"change": "drain", "node": n, "reason": f"sickbay:f{i} node/disk: bad"} for i, n in enumerate(nodes)])
        change(child, "lifted", [{"change": "undrain", "node": n, "prefix": "sickbay:"} for n in nodes])
        change(child, "drained for one reason",
               [{"change": "drain", "node": n, "reason": f"sickbay:gate {turn}"} for n in nodes])
        change(child, "lifted", [{"change": "undrain", "node": n, "prefix": "sickbay:"} for n in nodes])


main()
