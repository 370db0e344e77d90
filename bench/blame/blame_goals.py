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


def _share(what: str, wanted: float, right: int, runs: int) -> Goal:
    if runs == 0:
        return Goal(what, f"{wanted:.0f} %", 0, "-", "not run")
    return Goal(what, f"{wanted:.0f} %", runs, f"{100 * right / runs:.1f} %", "yes" if 100 * right >= wanted * runs else "no")


def _identified(rows: list[dict], base: dict, classes: tuple) -> tuple[int, int]:
    """Of the runs in which the fault showed: right ones, and all."""
    judged = [figures.judge(r, base) for r in rows if r["class"] in classes]
    return judged.count("right"), len(judged) - judged.count("unshown")


def goals(rows: list[dict], base: dict) -> list[Goal]:
    """Each goal, over all rows that speak of it, whatever part of the corpus they were run for."""
    # Tables 5 and 6 are of nodes that are slow, and have a goal of their own.
    slow = [r for r in rows if r.get("subset", "").startswith(("table5", "table6")) and r["class"] != "healthy"]
    others = [r for r in rows if not r.get("subset", "").startswith(("table5", "table6"))]
    found = [figures.judge(r, base) in ("right", "unshown") for r in slow]
    gray = [r for r in rows if r["class"] == "gray"]
    innocent = [r for r in rows if figures.innocent(r)]
    blamed = sum(1 for r in innocent if figures.falsely_blamed(r))
    sure = [r for r in rows if figures.verdict_of(r).get("confidence") == "high" and figures.cause_of(r) not in figures.UNDECIDED]
    return [
        _share("faults of the program, in each run: identified", 100, *_identified(others, base, ("program",))),
        _share("faults of a node or a link, in each run: identified", 100, *_identified(others, base, ("node", "link"))),
        _share("Tables 5 and 6 (the paper: 66.7 %): found, or without effect on the job", 95, sum(found), len(found)),
        _share("gray nodes: named, or without effect on the job", 95,
               sum(1 for r in gray if figures.judge(r, base) in ("right", "unshown")), len(gray)),
        Goal("gray nodes: others named", "at most 1 %", len(gray), str(sum(1 for r in gray if figures.falsely_blamed(r))),
             "not run" if not gray else
             "yes" if 100 * sum(1 for r in gray if figures.falsely_blamed(r)) <= len(gray) else "no"),
        Goal("nodes blamed where the program is at fault, the job healthy, or the site did it", f"0 in {ENOUGH}", len(innocent), str(blamed),
             "no" if blamed else "yes" if len(innocent) >= ENOUGH else "not yet" if innocent else "not run"),
        _share("verdicts of high confidence: right", 95,
               sum(1 for r in sure if figures.judge(r, base) in ("right", "unshown")), len(sure)),
    ]
