#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the nonstop protocol that shares nothing with ours: doc/formats/nonstop.md by sockets and the munge
program.  For test/slurm/raw_client.sh.

  raw_client.py HOST PORT ask PAYLOAD          prints the answer (PAYLOAD without VERSION:22.05:)
  raw_client.py HOST PORT say BODY             the same for a body without MUNGE, or under another version
  raw_client.py HOST PORT callback JOB PORT    asks for calls, prints ready, and the flags of the first one
  raw_client.py HOST PORT events JOB N         prints the answer and N events of the stream
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys

PATIENCE_S = 60


def credential(payload):
    return subprocess.run(["munge", "-S", os.environ["MUNGE_SOCKET"], "-s", payload], check=True, capture_output=True, text=True).stdout.strip()


def send(where, body):
    connection = socket.create_connection(where, PATIENCE_S)
    raw = body.encode() + b"\0"
    connection.sendall(b"%08d\n" % len(raw) + raw)
    return connection


def take(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("%d of %d bytes" % (len(data), size))
        data += piece
    return data


def message(connection):
    header = take(connection, 9)
    if not re.fullmatch(rb"\d{8}\n", header):
        raise ValueError("header %r" % header)
    body = take(connection, int(header))
    if body[-1:] != b"\0" or b"\0" in body[:-1] or b"\n" in body:
        raise ValueError("body %r" % body)
    return body[:-1].decode("ascii")


def main(host, port, verb, *words):
    where = (host, int(port))
    if verb == "ask":
        connection = send(where, credential("VERSION:22.05:" + words[0]))
        print(message(connection))
        if connection.recv(1):
            raise ValueError("more than one answer")
    elif verb == "say":
        print(message(send(where, words[0] if words[0] != "old" else credential(words[1]))))
    elif verb == "callback":
        listener = socket.create_server(("", int(words[1])))
        listener.settimeout(PATIENCE_S)
        answer = message(send(where, credential("VERSION:22.05:CALLBACK:JOBID:%s:PORT:%s" % words)))
        print(answer, flush=True)
        call = listener.accept()[0]
        call.settimeout(PATIENCE_S)
        length, flags = struct.unpack(">I", take(call, 4))[0], struct.unpack("<I", take(call, 4))[0]
        print("called:", length, flags)
    elif verb == "events":
        connection = send(where, credential("VERSION:22.05:EVENTS:JOBID:%s:AFTER:0" % words[0]))
        print(message(connection), flush=True)
        left = int(words[1])
        while left > 0:
            told = json.loads(message(connection))
            if "event" in told:  # the others are signs of life
                left -= 1
                print(json.dumps(told), flush=True)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
