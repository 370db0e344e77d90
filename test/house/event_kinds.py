#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of event that sickbayd writes has a row in `sickbay journal` and stands in the page of the journal.

The truth is the code: all words of model/event_kinds.h, and the constants that a file of src/engine or src/service
puts into an event, compares a kind with, or has in its table of kinds.  They are compared with the rows of kKinds in
apps/cli/event_text.cc and with the words in backquotes in doc/formats/journal.md.

First it shows on texts of its own that a missing kind is found.
"""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["SICKBAY_SOURCE"])

CONSTANT = re.compile(r'constexpr\s+std::string_view\s+(k\w+)\s*=\s*"([a-z_]+)"')
NAME = r"(?:\w+::)*(k[A-Z]\w+)"
USES = [
    re.compile(r"\bkind\s*(?:=|==|!=)\s*" + NAME + r"\b"),  # event.kind = kParked
    re.compile(r"\b(?:record|new_event|about_\w+)\((?:[^;()]|\([^()]*\))*?\b" + NAME + r"\b"),  # record(subject, kOverdue, ...
    re.compile(r"\{\s*" + NAME + r",\s*on_\w+\}"),  # {kFinding, on_finding}
]
# What no engine names by a constant: the lab's own record, as it comes in (service/cluster_api.cc).
LITERALS = {"lab_fault", "lab_heal"}


def kinds_of(shared, files):
    """The kinds that the texts know: those of `shared`, and those used in `files`."""
    constants = dict(CONSTANT.findall(shared))
    kinds = set(constants.values())
    everywhere = dict(constants)
    for text in files:
        everywhere.update(CONSTANT.findall(text))
    for text in files:
        here = {**everywhere, **dict(CONSTANT.findall(text))}
        for use in USES:
            kinds |= {here[name] for name in use.findall(text) if name in here}
    return kinds


def rows_of(table):
    start = table.index("kKinds = ")
    return set(re.findall(r'^\s*\{"(\w+)",', table[start:table.index("});", start)], re.M))


def missing(kinds, table, page):
    words = set(re.findall(r"`([a-z_]+)`", page))
    rows = rows_of(table)
    return ([f"src/apps/cli/event_text.cc: kKinds has no row of {kind}" for kind in sorted(kinds - rows)]
            + [f"src/apps/cli/event_text.cc: nobody writes {kind}" for kind in sorted(rows - kinds - LITERALS)]
            + [f"doc/formats/journal.md: does not tell of {kind}" for kind in sorted(kinds - words)])


def self_test():
    shared = 'inline constexpr std::string_view kSeen =\n    "seen";  ///< x'
    engine = ('constexpr std::string_view kEnded = "ended", kRow = "row";\nconstexpr std::string_view kRow = "row";\n'
              "e.push_back(record(node_subject(name), kEnded, Json()));\n{kRow, on_row},\nevent.kind = kSeen;")
    kinds = kinds_of(shared, [engine])
    assert kinds == {"seen", "ended", "row"}, kinds
    table = 'kKinds = std::to_array<KindRow>({\n    {"seen", {}, ""},\n    {"ended", {}, ""},\n    {"past", {}, ""},\n});'
    found = missing(kinds, table, "`seen` `row`")
    assert len(found) == 3, found
    for word in ("no row of row", "nobody writes past", "not tell of ended"):
        assert any(word in line for line in found), (word, found)


def main():
    self_test()
    files = [path.read_text() for folder in ("engine", "service") for path in sorted((SOURCE / "src" / folder).rglob("*"))
             if path.suffix in (".h", ".cc") and not path.name.endswith("_test.cc")
             and "diagnose" not in path.parts and "agent" not in path.parts]  # those two run on nodes: no journal
    kinds = kinds_of((SOURCE / "src/model/event_kinds.h").read_text(), files)
    found = missing(kinds, (SOURCE / "src/apps/cli/event_text.cc").read_text(),
                    (SOURCE / "doc/formats/journal.md").read_text())
    print("\n".join(found) or f"{len(kinds)} kinds of events are all told")
    return 1 if found else 0


sys.exit(main())
