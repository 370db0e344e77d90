# SPDX-License-Identifier: Apache-2.0
"""The tables of the corpus, cases.txt and subsets.txt: read and checked.  Their heads say what they hold."""
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("is", "ep", "lu", "bt", "sp")
CLASSES = ("program", "sometimes", "node", "random", "link", "gray", "site", "healthy")
VERBS = ("drain", "down", "restart", "burn", "write", "fill")
CAUSES = ("a", "b", "c", "d", "normal", "cancelled", "out_of_memory", "deadline", "non_deterministic", "inconclusive")

# "x1.5" as a limit: so many times what a healthy run of that program and size takes on this machine.
TIMES = re.compile(r"(^|=)x(\d+(?:\.\d+)?)$")
LEAST = 15  # seconds: a job of one second takes five where its lab was just made


class TableError(Exception):
    """A line that cannot be read: file, line and what is wrong with it."""


@dataclass(frozen=True)
class Step:
    """One thing that is broken: `after` seconds after the job began to run; None: before it is submitted."""

    after: float | None
    where: str  # A..D, Z, ALL, ctl
    words: tuple[str, ...]  # of `sickbay lab fault`; or "do", a verb, its argument


@dataclass(frozen=True)
class Case:
    kind: str
    cause_class: str
    program: str
    size: str
    nodes: int
    variables: tuple[tuple[str, str], ...]  # BLAME_*
    steps: tuple[Step, ...]
    options: tuple[str, ...]
    right: tuple[str, ...]
    not_here: str = ""  # why no lab can break it
    subset: str = ""  # "" for a case of cases.txt
    verify: str = "own"
    runs: int = 1

    @property
    def name(self) -> str:
        return f"{self.subset + ':' if self.subset else ''}{self.kind}.{self.program}"

    @property
    def alone(self) -> bool:
        """Whether it wants a lab to itself: what breaks a node, or the cluster, would reach other jobs; and with the time
        that healthy runs take the others are compared."""
        return bool(self.steps) or self.verify != "own" or self.cause_class == "healthy" and not self.kind.startswith("quiet")

    @property
    def by_usual_time(self) -> bool:
        """Whether its limits are multiples of what a healthy run takes here."""
        return any(TIMES.search(o) for o in self.options)

    @property
    def sick(self) -> tuple[str, ...]:
        """The places that are broken, as letters.  What operators and other jobs do is no fault of a node; what is
        away everywhere is one only where the verdict may say so."""
        broken = (s.where for s in self.steps if s.where != "ctl" and (s.words[0] != "do" or s.words[1] in ("burn", "write")))
        return tuple(dict.fromkeys(w for w in broken if w != "ALL" or "b:ALL" in self.right))


def _steps(text: str) -> tuple[Step, ...]:
    steps = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        when, where, *words = part.split()
        if when == "before":
            after = None
        elif found := re.fullmatch(r"run\+(\d+(?:\.\d+)?)", when):
            after = float(found[1])
        else:
            raise ValueError(f"'{when}' is no time: before, or run+SECONDS")
        if where not in ("A", "B", "C", "D", "Z", "ALL", "ctl"):
            raise ValueError(f"'{where}' is no place: A to D, Z, ALL or ctl")
        if not words or words[0] == "do" and (len(words) < 2 or words[1] not in VERBS):
            raise ValueError(f"'{part}' says nothing that can be done")
        steps.append(Step(after, where, tuple(words)))
    return tuple(steps)


def parse_case(line: str) -> list[Case]:
    """The cases of one line, one for each program.  Raises ValueError."""
    parts = [p.strip() for p in line.split("|")]
    if len(parts) != 5:
        raise ValueError(f"{len(parts)} columns, not 5")
    head = parts[0].split()
    if len(head) != 5:
        raise ValueError("the first column is KIND CLASS PROGRAMS SIZE NODES")
    kind, cause_class, programs, size, nodes = head
    if cause_class not in CLASSES:
        raise ValueError(f"there is no class '{cause_class}'")
    names = PROGRAMS if programs == "*" else tuple(programs.split(","))
    if unknown := [n for n in names if n not in PROGRAMS]:
        raise ValueError(f"there is no program '{unknown[0]}'")
    if size not in "TSMLH":
        raise ValueError(f"there is no size '{size}'")
    if nodes not in ("1", "2", "4"):
        raise ValueError("a job has 1, 2 or 4 nodes")
    not_here = parts[4][len("not here:"):].strip() if parts[4].startswith("not here:") else ""
    right = () if not_here else tuple(parts[4].split())
    if not not_here:
        if not right:
            raise ValueError("it says no verdict that is right")
        for token in right:
            if token.split(":")[0] not in CAUSES + ("link",):
                raise ValueError(f"'{token}' is no verdict")
    variables = []
    for word in parts[1].split():
        name, eq, value = word.partition("=")
        if not eq:
            raise ValueError(f"'{word}' is not NAME=VALUE")
        variables.append((name, value))
    options = tuple(parts[3].split())
    for before, option in zip(("", *options), options):
        if TIMES.search(option) and before != "-t" and not option.startswith("--expect-time="):
            raise ValueError(f"'{option}' is no limit: -t x2, --expect-time=x1.5")
    case = Case(kind, cause_class, "", size, int(nodes), tuple(variables), _steps(parts[2]), options, right,
                not_here)
    return [replace(case, program=name) for name in names]


@dataclass
class Tables:
    cases: list[Case] = field(default_factory=list)
    subsets: dict[str, list[Case]] = field(default_factory=dict)


def _lines(path: Path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def read_tables(folder: Path = HERE) -> Tables:
    """Both tables.  Raises TableError with the file and line."""
    tables = Tables()
    where = ""
    try:
        for number, line in _lines(folder / "cases.txt"):
            where = f"cases.txt:{number}"
            for case in parse_case(line):
                if case.name in {c.name for c in tables.cases}:
                    raise ValueError(f"there are two of {case.name}")
                tables.cases.append(case)
        by_name = {c.name: c for c in tables.cases}
        for number, line in _lines(folder / "subsets.txt"):
            where = f"subsets.txt:{number}"
            head, colon, rest = line.partition(":")
            words = head.split()
            if not colon or len(words) not in (1, 3):
                raise ValueError("it begins with NAME: or NAME RUNS V:")
            subset = tables.subsets.setdefault(words[0], [])
            if len(words) == 1:
                for name in rest.split():
                    if name not in by_name:
                        raise ValueError(f"there is no case {name}")
                    subset.append(by_name[name])
            else:
                if words[2] not in ("own", "bt"):
                    raise ValueError(f"V is own or bt, not {words[2]}")
                for case in parse_case(rest):
                    subset.append(replace(case, subset=words[0], runs=int(words[1]), verify=words[2]))
    except ValueError as error:
        raise TableError(f"{where}: {error}") from error
    return tables


def with_times(options: tuple[str, ...], usual: float) -> list[str]:
    """Limits that are multiples become times: of --expect-time minutes and seconds; -t has whole minutes, as Slurm's
    limits do."""
    said = []
    for before, option in zip(("", *options), options):
        if found := TIMES.search(option):
            seconds = max(LEAST, math.ceil(usual * float(found[2])))
            time = str(math.ceil(seconds / 60)) if before == "-t" else f"{seconds // 60}:{seconds % 60:02}"
            option = option[:found.start()] + found[1] + time
        said.append(option)
    return said


def resolve(text: str, places: dict[str, str]) -> str:
    """Letters in a verdict or a fault ("b:B", "link:A-B", "partition=B") become names of nodes."""
    head, mark, rest = re.match(r"([^:=]*)([:=]?)(.*)", text).groups()
    if not mark:
        return text
    if mark == "=":
        return f"{head}={places.get(rest, rest)}"
    return f"{head}:{re.sub(r'[A-Z]+', lambda m: places.get(m[0], m[0]), rest)}"
