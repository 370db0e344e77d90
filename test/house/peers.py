#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc/peers.md names scenarios and tests that are there, and each scenario that was written for it."""
import os
import re
import sys

source = os.environ["SICKBAY_SOURCE"]
scenarios = {name.removesuffix(".scenario") for name in os.listdir(f"{source}/test/scenarios")}
tests = set()
for folder in ("src", "test", "libsmd"):
    for path, _, files in os.walk(f"{source}/{folder}"):
        for name in files:
            if name.endswith(".cc"):
                with open(f"{path}/{name}", encoding="utf-8") as text:
                    tests |= {".".join(found) for found in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)", text.read(), re.M)}
with open(f"{source}/doc/peers.md", encoding="utf-8") as page:
    rows = [line for line in page if line.startswith("| [")]
wrong, named, sources = [], set(), set()
for row in rows:
    first, _, last = row.strip("|\n ").split(" | ")
    sources |= set(re.findall(r"\]\((https://[^)]*)\)", first))
    for word in re.findall(r"`([^`]*)`", last):
        if re.fullmatch(r"[A-Z]\w*\.[A-Z]\w*", word):
            if word not in tests:
                wrong.append(f"no test {word}")
        elif re.fullmatch(r"[a-z][a-z0-9_]*", word):
            named.add(word)
            if word not in scenarios:
                wrong.append(f"no scenario {word}")
for name in sorted(scenarios):
    if not name.startswith("peer_"):
        continue
    if name not in named:
        wrong.append(f"doc/peers.md does not name {name}")
    with open(f"{source}/test/scenarios/{name}.scenario", encoding="utf-8") as text:
        head = text.readline()
        if not any(url in head for url in sources):
            wrong.append(f"{name} does not begin with a source of doc/peers.md")
if len(rows) < 30:
    wrong.append(f"only {len(rows)} rows")
print("\n".join(wrong), file=sys.stderr)
sys.exit(1 if wrong else 0)
