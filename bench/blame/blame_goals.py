# SPDX-License-Identifier: Apache-2.0
"""The goals of the corpus beside what a ledger says of them: pure, as blame_figures.

Goals of other measurements (hangs, costs) are not of the ledger; README.md says where their figures stand.
"""
from typing import NamedTuple

import blame_figures as figures

ENOUGH = 1000  # innocent runs: fewer say too little of a rate that is to be 0


class Goal(NamedTuple):
    what: str
    wanted: str
    runs: int
    figure: str
    reached: str  # "yes", "no", "not yet" (not enough runs), "not run"


def _reached(runs: int, is_so: bool) -> str:
    return "not run" if runs == 0 else "yes" if is_so else "no"


def _share(what: str, wanted: int, right: int, runs: int) -> Goal:
    return Goal(what, f"{wanted} %", runs, f"{100 * right / runs:.1f} %" if runs else "-", _reached(runs, 100 * right >= wanted * runs))


def _good(what: str, wanted: int, rows: list[dict], base: dict) -> Goal:
    return _share(what, wanted, sum(figures.good(r, base) for r in rows), len(rows))


def _identified(what: str, rows: list[dict], base: dict, classes: tuple) -> Goal:
    """Of the runs in which the fault showed, all are to be right."""
    judged = [figures.judge(r, base) for r in rows if r["class"] in classes]
    return _share(what, 100, judged.count("right"), len(judged) - judged.count("unshown"))


def _blamed(rows: list[dict]) -> int:
    return sum(1 for r in rows if figures.falsely_blamed(r))


def goals(rows: list[dict], base: dict) -> list[Goal]:
    """Each goal, over all rows that speak of it, whatever part of the corpus they were run for."""
    # Tables 5 and 6 are of nodes that are slow, and have a goal of their own; with twice the limit most such jobs complete.
    slow = [r for r in rows if r.get("subset", "").startswith(("table5", "table6")) and r["class"] != "healthy"]
    as_it_is, doubled = ([r for r in slow if r["subset"].endswith("_doubled") == twice] for twice in (False, True))
    others = [r for r in rows if not r.get("subset", "").startswith(("table5", "table6"))]
    gray = [r for r in rows if r["class"] == "gray"]
    innocent = [r for r in rows if figures.innocent(r)]
    blamed = _blamed(innocent)
    innocent_reached = "not yet" if innocent and not blamed and len(innocent) < ENOUGH else _reached(len(innocent), blamed == 0)
    return [
        _identified("faults of the program, in each run: identified", others, base, ("program",)),
        _identified("faults of a node or a link, in each run: identified", others, base, ("node", "link")),
        _good("Tables 5 and 6 (the paper: 66.7 %): found, or without effect on the job", 95, as_it_is, base),
        _good("the same with the limit doubled (the paper: nothing seen)", 95, doubled, base),
        _good("gray nodes: named, or without effect on the job", 95, gray, base),
        Goal("gray nodes: others named", "at most 1 %", len(gray), str(_blamed(gray)), _reached(len(gray), 100 * _blamed(gray) <= len(gray))),
        Goal("nodes blamed where the program is at fault, the job healthy, or the site did it", f"0 in {ENOUGH}", len(innocent), str(blamed),
             innocent_reached),
        _good("verdicts of high confidence: right", 95, [r for r in rows if figures.decides(r, "high")], base),
    ]
