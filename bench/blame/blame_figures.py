# SPDX-License-Identifier: Apache-2.0
"""What a row of the ledger is worth, and the figures over many: pure, with no clock, file or cluster.

A row is what bench/blame/run writes: `class`, `right` (verdicts that are right, with names of nodes), `sick` (nodes
that were broken), `verdict` (as `sickbay why --json` has it, or null), `seconds` (of the first run), `first` (Slurm's
state of it), `epilog` (nodes of it on which our agent had a finding against the node), `died` (nodes that went down).
"""
import re
from statistics import median

UNDECIDED = ("non_deterministic", "inconclusive", "expired")
INNOCENT = ("program", "sometimes", "healthy")


def verdict_of(row: dict) -> dict:
    return row.get("verdict") or {}


def cause_of(row: dict) -> str:
    return verdict_of(row).get("cause") or "none"


def links_of(row: dict) -> set[frozenset]:
    return {frozenset((f["node"], f["peer"])) for f in verdict_of(row).get("faulty", []) if f.get("peer")}


def blamed_of(row: dict) -> set[str]:
    """All nodes that the verdict speaks against: as cause, as found faulty besides, as ends of a link."""
    v = verdict_of(row)
    blamed = set(v.get("nodes", []))
    for f in v.get("faulty", []):
        blamed.add(f["node"])
        if f.get("peer"):
            blamed.add(f["peer"])
    return blamed


def faulty_alone(row: dict) -> set[str]:
    """Nodes found faulty by themselves, and not as the end of a link."""
    return {f["node"] for f in verdict_of(row).get("faulty", []) if not f.get("peer")}


def fits(row: dict, token: str) -> bool:
    """Whether the verdict is the one that `token` says."""
    kind, _, nodes = token.partition(":")
    named = set(verdict_of(row).get("nodes", []))
    if kind == "link":
        ends = frozenset(nodes.split("-"))
        return cause_of(row) in ("b", "d") and links_of(row) == {ends} and named <= ends and not faulty_alone(row)
    if cause_of(row) != kind:
        return False
    return named == set(filter(None, nodes.split(",")))


def alike(row: dict) -> tuple:
    """What takes the same time where nothing is wrong: rows of one machine, program, size and number of nodes."""
    return row.get("machine", ""), row["program"], row["size"], row["nodes"]


def baselines(rows: list[dict]) -> dict[tuple, float]:
    """Median seconds of healthy runs, by what they are alike in.  Programs that were told to keep quiet for a while say
    nothing of that."""
    seen: dict[tuple, list[float]] = {}
    for row in rows:
        if row["class"] == "healthy" and cause_of(row) == "normal" and not row["kind"].startswith("quiet"):
            seen.setdefault(alike(row), []).append(row["seconds"])
    return {key: median(values) for key, values in seen.items()}


def effect(row: dict, base: dict[tuple, float]) -> bool:
    """Whether a run that completed with the right result took longer than healthy ones do: by a quarter, and by more
    than the whole seconds of Slurm's stamps.  Where no healthy run is known it counts as having had one."""
    usual = base.get(alike(row))
    return usual is None or row["seconds"] > 1.25 * usual + 2


def held_up_by(row: dict) -> str:
    """The node that is told to have held up a job that completed; "" where none is.  It is named, and not blamed."""
    found = re.match(r"The job completed, held up: .*? on (?:the link of )?(\S+?)[,;.]", held_up(row))
    return found[1] if found and not held_up(row).endswith("could not be told.") else ""


def held_up(row: dict) -> str:
    """What is said of a job that completed and was held up, whether a node is named for it or not; "" where nothing is."""
    said = verdict_of(row).get("sentence") or ""
    return said if said.startswith("The job completed, held up: ") else ""


def judge(row: dict, base: dict[tuple, float]) -> str:
    """right; unshown (a fault that did not show, rightly called normal); missed; undecided; wrong."""
    cause = cause_of(row)
    for token in row["right"]:
        if not fits(row, token):
            continue
        if token != "normal" or row["class"] == "healthy":
            return "right"
        if row["class"] in ("node", "random", "link", "gray") and effect(row, base):
            return "right" if held_up_by(row) in row.get("sick", []) else "missed"
        # A site's doing that a job survives is a healthy run; a bug that did not show is none of its faults.
        return "right" if row["class"] == "site" else "unshown"
    if cause == "normal":
        return "missed"
    return "undecided" if cause in UNDECIDED + ("none",) else "wrong"


def good(row: dict, base: dict[tuple, float]) -> bool:
    """Nothing to complain of: right, or the fault did not show."""
    return judge(row, base) in ("right", "unshown")


def decides(row: dict, level: str) -> bool:
    """Whether the verdict says what it was, with this confidence."""
    return verdict_of(row).get("confidence") == level and cause_of(row) not in UNDECIDED


def detected(row: dict) -> bool:
    """The paper's FDT: something was seen, whatever was made of it."""
    return cause_of(row) not in ("normal", "none") or held_up(row) != ""


def falsely_blamed(row: dict) -> set[str]:
    """Nodes that the verdict speaks against and that nobody had broken.  Where what failed was between a good node and a
    broken one, the good one is not blamed by that alone; nor are the ends of a broken link where it is told as a link."""
    sick, links = set(row.get("sick", [])), links_of(row)
    if row["class"] == "link":
        excused = set().union(*links)
    else:
        excused = set().union(*(link for link in links if link & sick)) - set(verdict_of(row).get("nodes", [])) - faulty_alone(row)
    return blamed_of(row) - sick - excused


def innocent(row: dict) -> bool:
    """Whether no node has anything to do with how the job ended."""
    return row["class"] in INNOCENT or row["class"] == "site" and not any(t[:2] in ("b:", "d:") for t in row["right"])


def answer_of(row: dict) -> str:
    """The column of the confusion matrix."""
    cause = cause_of(row)
    if cause in ("a", "c"):
        return "program"
    if cause in ("b", "d"):
        if links_of(row) and not faulty_alone(row):
            return "link"
        named = set(verdict_of(row).get("nodes", []))
        return "node" if named and named <= set(row.get("sick", [])) else "wrong node"
    if cause in ("cancelled", "out_of_memory", "deadline"):
        return "ended"
    if cause == "expired":
        return "inconclusive"
    return cause


def slurm_rule(row: dict) -> str | None:
    """What Slurm 25.11's rule says of a job that failed: a node died, or an epilog failed: hardware; else program.
    None where it says nothing: the job completed, or a person ended it."""
    if row.get("first") in (None, "", "COMPLETED", "CANCELLED"):
        return None
    return "hardware" if row.get("died") or row.get("epilog") else "program"


def slurm_right(row: dict) -> bool | None:
    """Whether that rule is right; None where there is no such question."""
    said = slurm_rule(row)
    if said is None:
        return None
    kinds = {t.partition(":")[0] for t in row["right"]}
    if kinds & {"b", "d", "link"}:
        return said == "hardware"
    if kinds & {"a", "c"}:
        return said == "program"
    return None


# --- exact binomial bounds (Clopper and Pearson 1934) -------------------------------------------------------------


def _log_binomial(n: int, k: int) -> float:
    from math import lgamma

    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) of n trials with probability p."""
    from math import exp, log

    if p <= 0:
        return 1.0
    if p >= 1:
        return 1.0 if k >= n else 0.0
    return min(1.0, sum(exp(_log_binomial(n, i) + i * log(p) + (n - i) * log(1 - p)) for i in range(k + 1)))


def _bisect(holds) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def upper_bound(k: int, n: int, sure: float = 0.95) -> float:
    """The largest rate that k of n do not contradict, one-sided."""
    if n == 0 or k >= n:
        return 1.0
    return _bisect(lambda p: at_most(k, n, p) > 1 - sure)


def lower_bound(k: int, n: int, sure: float = 0.95) -> float:
    """The smallest, likewise."""
    if n == 0 or k == 0:
        return 0.0
    return _bisect(lambda p: 1 - at_most(k - 1, n, p) < 1 - sure)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all is not above (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]
