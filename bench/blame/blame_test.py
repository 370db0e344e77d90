#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus without a cluster: its tables, what a verdict is worth, and the report of a made ledger."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import blame_figures as figures  # noqa: E402
from blame_goals import ENOUGH, goals  # noqa: E402
from blame_table import PROGRAMS, TableError, parse_case, read_tables, resolve, with_times  # noqa: E402


def made(run, kind, cause_class, right, cause, nodes=(), faulty=(), **more):
    """A row; what is not said is as in an ordinary one."""
    row = {"run": run, "kind": kind, "class": cause_class, "right": right, "sick": [], "program": "sp", "size": "S", "nodes": 2,
           "subset": "", "first": "COMPLETED" if cause == "normal" else "FAILED", "seconds": 10.0, "to_verdict": 20.0, "from_fault": 25.0,
           "node_seconds": {"first": 20, "experiments": 40}, "died": False, "epilog": [],
           "verdict": {"cause": cause, "nodes": list(nodes), "faulty": list(faulty), "confidence": "high", "rule": "R"} if cause else None}
    return row | more


def faulty(node, peer=""):
    return {"node": node, "peer": peer}


class Tables(unittest.TestCase):
    def test_the_shipped_tables_can_be_read(self):
        tables = read_tables()
        kinds = {c.kind for c in tables.cases if not c.not_here}
        self.assertGreaterEqual(len(kinds), 24)
        full = [k for k in kinds if {c.program for c in tables.cases if c.kind == k} == set(PROGRAMS)]
        self.assertGreaterEqual(len(full), 24, "kinds with all five programs")
        self.assertLessEqual({"quick", "table3", "table4", "table5", "table6"}, set(tables.subsets))
        # A fault of the corpus that the programs do not have would measure nothing.
        offered = (HERE / "programs/faults.c").read_text()
        for case in tables.cases:
            for name, value in case.variables:
                if name == "FAULT":
                    self.assertIn(f'{{"{value}",', offered, case.name)

    def test_a_line(self):
        line = "k node sp,bt S 2 | SCRATCH=/tmp | before B disk-full ; run+3 A do drain | -t 3 | b:B normal"
        cases = parse_case(line)
        self.assertEqual([c.name for c in cases], ["k.sp", "k.bt"])
        case = cases[0]
        self.assertEqual(case.variables, (("SCRATCH", "/tmp"),))
        self.assertEqual([(s.after, s.where, s.words) for s in case.steps],
                         [(None, "B", ("disk-full",)), (3.0, "A", ("do", "drain"))])
        self.assertEqual((case.options, case.right, case.sick, case.alone), (("-t", "3"), ("b:B", "normal"), ("B",), True))
        self.assertEqual(parse_case("k site sp S 2 | | before ALL storage-away | | inconclusive")[0].sick, ())
        self.assertFalse(parse_case("k program sp S 2 | | | | a")[0].alone)
        self.assertEqual(parse_case("k gray sp S 2 | | | | not here: one bus")[0].not_here, "one bus")

    def test_lines_that_are_refused(self):
        for line, why in (("k node sp S 2 | | |", "4 columns"),
                          ("k node sp S | | | | a", "first column"),
                          ("k nothing sp S 2 | | | | a", "class 'nothing'"),
                          ("k node qq S 2 | | | | a", "program 'qq'"),
                          ("k node sp X 2 | | | | a", "size 'X'"),
                          ("k node sp S 3 | | | | a", "1, 2 or 4"),
                          ("k node sp S 2 | FAULT | | | a", "NAME=VALUE"),
                          ("k node sp S 2 | | later B crash | | a", "no time"),
                          ("k node sp S 2 | | before Q crash | | a", "no place"),
                          ("k node sp S 2 | | before B do dance | | a", "nothing that can be done"),
                          ("k node sp S 2 | | | -N x2 | a", "'x2' is no limit"),
                          ("k node sp S 2 | | | | ", "no verdict that is right"),
                          ("k node sp S 2 | | | | q:B", "is no verdict")):
            with self.subTest(line), self.assertRaisesRegex(ValueError, why):
                parse_case(line)

    def test_a_bad_table_says_where(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "cases.txt").write_text("# head\nk node sp S 2 | | | | a\nk node sp S 2 | | | | a\n")
            (Path(folder) / "subsets.txt").write_text("")
            with self.assertRaisesRegex(TableError, "cases.txt:3: there are two of k.sp"):
                read_tables(Path(folder))
            (Path(folder) / "cases.txt").write_text("k node sp S 2 | | | | a\n")
            for text, why in (("q: k.bt\n", "subsets.txt:1: there is no case k.bt"), ("q 3: x\n", "begins with"),
                              ("q 3 other: k node sp S 2 | | | | a\n", "own or bt")):
                (Path(folder) / "subsets.txt").write_text(text)
                with self.subTest(text), self.assertRaisesRegex(TableError, why):
                    read_tables(Path(folder))

    def test_limits_by_what_a_healthy_run_takes(self):
        case = parse_case("k gray sp S 2 | | | -t x2 --expect-time=x1.5 --check x | a")[0]
        self.assertTrue(case.by_usual_time)
        self.assertEqual(with_times(case.options, 45.0), ["-t", "2", "--expect-time=1:08", "--check", "x"])
        self.assertEqual(with_times(case.options, 3.0), ["-t", "1", "--expect-time=0:15", "--check", "x"])
        self.assertFalse(parse_case("k gray sp S 2 | | | -t 2 --expect-time=0:45 | a")[0].by_usual_time)

    def test_letters_become_nodes(self):
        places = {"A": "n3", "B": "n4", "ALL": "n3,n4"}
        for text, wanted in (("a", "a"), ("b:B", "b:n4"), ("link:A-B", "link:n3-n4"), ("partition=B", "partition=n4"),
                             ("loss=5%", "loss=5%"), ("b:ALL", "b:n3,n4"), ("rank-kill=SIGBUS", "rank-kill=SIGBUS"), ("normal", "normal")):
            self.assertEqual(resolve(text, places), wanted)


class Judgement(unittest.TestCase):
    base = {("", "sp", "S", 2): 10.0}

    def test_every_kind_of_answer(self):
        b, link = ["b:n4"], ["link:n3-n4"]
        for row, wanted in (
            (made("", "", "program", ["a"], "a"), "right"),
            (made("", "", "program", ["a"], "a", ["n4"]), "wrong"),
            (made("", "", "program", ["a"], "b", ["n4"]), "wrong"),
            (made("", "", "program", ["a"], "non_deterministic"), "undecided"),
            (made("", "", "program", ["a"], "normal"), "missed"),
            (made("", "", "program", ["a"], None), "undecided"),
            (made("", "", "sometimes", ["a", "c", "normal"], "c"), "right"),
            (made("", "", "sometimes", ["a", "c", "normal"], "normal"), "unshown"),
            (made("", "", "node", b, "b", ["n4"]), "right"),
            (made("", "", "node", b, "b", ["n3"]), "wrong"),
            (made("", "", "node", b, "b", ["n3", "n4"]), "wrong"),
            (made("", "", "node", b, "a"), "wrong"),
            (made("", "", "node", [*b, "normal"], "normal"), "unshown"),
            (made("", "", "node", [*b, "normal"], "normal", seconds=14.0), "unshown"),
            (made("", "", "node", [*b, "normal"], "normal", seconds=15.0), "missed"),
            (made("", "", "node", [*b, "normal"], "normal", size="L"), "missed"),  # no healthy run to compare with
            (made("", "", "node", [*b, "normal"], "normal", machine="other"), "missed"),  # none of this machine
            (made("", "", "link", link, "b", [], [faulty("n4", "n3")]), "right"),
            (made("", "", "link", link, "b", ["n3", "n4"], [faulty("n3", "n4")]), "right"),
            (made("", "", "link", link, "b", ["n4"], [faulty("n4")]), "wrong"),
            (made("", "", "link", link, "b", ["n4"], [faulty("n4"), faulty("n3", "n4")]), "wrong"),
            (made("", "", "link", link, "b", [], [faulty("n4", "n7")]), "wrong"),
            (made("", "", "site", ["normal"], "normal"), "right"),
            (made("", "", "site", ["cancelled"], "cancelled"), "right"),
            (made("", "", "site", ["inconclusive"], "inconclusive"), "right"),
            (made("", "", "healthy", ["normal"], "normal"), "right"),
            (made("", "", "healthy", ["normal"], "b", ["n4"]), "wrong"),
        ):
            with self.subTest(cause_class=row["class"], verdict=row["verdict"], seconds=row["seconds"]):
                self.assertEqual(figures.judge(row, self.base), wanted)

    def test_a_job_that_completed_and_was_held_up(self):
        for node, wanted in (("n4", "right"), ("n3", "missed")):
            row = made("", "", "node", ["b:n4", "normal"], "normal", seconds=15.0, sick=["n4"])
            row["verdict"]["sentence"] = f"The job completed, held up: sp waited 27 % of 30 s for a processor on {node}, on the other nodes 1 %."
            with self.subTest(node=node):
                self.assertEqual(figures.judge(row, self.base), wanted)
                self.assertTrue(figures.detected(row))
                self.assertEqual(figures.blamed_of(row), set())

    def test_a_job_that_completed_and_whose_network_lost_packets(self):
        for said, wanted in (
            ("lost on the link of n4, elsewhere 0.0 %; so were 41 of 4000 packets between it and hosts outside the job", "right"),
            ("lost on the link of n4", "right"),
            ("lost on the link of n3, elsewhere 0.0 %", "missed"),
            ("lost between n3 and n4, elsewhere 0.0 %; on whose link could not be told", "missed"),
        ):
            row = made("", "", "node", ["b:n4", "normal"], "normal", seconds=15.0, sick=["n4"])
            row["verdict"]["sentence"] = f"The job completed, held up: 1.1 % of 314192 TCP segments were {said}."
            with self.subTest(said=said):
                self.assertEqual(figures.judge(row, self.base), wanted)
                self.assertTrue(figures.detected(row))
                self.assertEqual(figures.blamed_of(row), set())

    def test_who_is_blamed_for_nothing(self):
        for row, wanted in (
            (made("", "", "program", ["a"], "a"), set()),
            (made("", "", "program", ["a"], "a", [], [faulty("n4")]), {"n4"}),
            (made("", "", "site", ["a"], "a", [], [faulty("n4")], sick=["n4"]), set()),
            (made("", "", "node", ["b:n4"], "b", ["n3"], [], sick=["n4"]), {"n3"}),
            (made("", "", "node", ["b:n4"], "b", ["n4"], [faulty("n4"), faulty("n3", "n4")], sick=["n4"]), set()),
            (made("", "", "node", ["b:n4"], "b", ["n4"], [faulty("n3"), faulty("n3", "n4")], sick=["n4"]), {"n3"}),
            (made("", "", "node", ["b:n4"], "b", ["n3", "n4"], [faulty("n3", "n4")], sick=["n4"]), {"n3"}),
            (made("", "", "node", ["b:n4"], "b", ["n4"], [faulty("n3", "n7")], sick=["n4"]), {"n3", "n7"}),
            (made("", "", "link", ["link:n3-n4"], "b", ["n3", "n4"], [faulty("n3", "n4")], sick=["n3"]), set()),
            (made("", "", "link", ["link:n3-n4"], "b", ["n4"], [faulty("n4")], sick=["n3"]), {"n4"}),
        ):
            with self.subTest(row["verdict"]):
                self.assertEqual(figures.falsely_blamed(row), wanted)

    def test_the_rule_of_slurm(self):
        for row, said, right in (
            (made("", "", "program", ["a"], "a"), "program", True),
            (made("", "", "program", ["a"], "a", epilog=["n1"]), "hardware", False),
            (made("", "", "node", ["b:n4"], "b", ["n4"]), "program", False),
            (made("", "", "node", ["b:n4"], "b", ["n4"], died=True), "hardware", True),
            (made("", "", "link", ["link:n3-n4"], "b"), "program", False),
            (made("", "", "healthy", ["normal"], "normal"), None, None),
            (made("", "", "site", ["inconclusive"], "inconclusive"), "program", None),
        ):
            with self.subTest(row["class"]):
                self.assertEqual((figures.slurm_rule(row), figures.slurm_right(row)), (said, right))


class Bounds(unittest.TestCase):
    def test_known_intervals(self):
        # Of no event in n the bound is 1 - 0.05^(1/n); two-sided 95 % as tables of Clopper and Pearson have it.
        self.assertAlmostEqual(figures.upper_bound(0, 10), 1 - 0.05 ** 0.1, 9)
        self.assertAlmostEqual(figures.upper_bound(0, 1000), 1 - 0.05 ** 0.001, 9)
        self.assertAlmostEqual(figures.lower_bound(2, 20, 0.975), 0.01235, 5)
        self.assertAlmostEqual(figures.upper_bound(2, 20, 0.975), 0.31698, 5)
        self.assertAlmostEqual(figures.lower_bound(5, 50, 0.975), 0.03328, 5)
        self.assertAlmostEqual(figures.upper_bound(5, 50, 0.975), 0.218135, 5)
        self.assertAlmostEqual(figures.lower_bound(10, 10), 0.05 ** 0.1, 9)
        self.assertEqual((figures.upper_bound(0, 0), figures.upper_bound(7, 7), figures.lower_bound(0, 7)), (1.0, 1.0, 0.0))

    def test_percentiles(self):
        self.assertEqual([figures.percentile([float(i) for i in range(1, 21)], p) for p in (0.5, 0.95, 1.0)], [10.0, 19.0, 20.0])
        self.assertEqual(figures.percentile([3.0], 0.95), 3.0)


class Goals(unittest.TestCase):
    def reached(self, rows):
        return [(g.runs, g.figure, g.reached) for g in goals(rows, figures.baselines(rows))]

    def test_each_goal(self):
        healthy = [made(f"h#{i}", "h", "healthy", ["normal"], "normal") for i in range(2)]
        nothing = (0, "-", "not run")
        self.assertEqual(self.reached([]), [nothing] * 5 + [(0, "0", "not run")] * 2 + [nothing])
        rows = [*healthy, made("p#0", "p", "program", ["a"], "a"), made("p#1", "p", "program", ["a"], "inconclusive"),
                made("s#0", "s", "sometimes", ["a", "normal"], "inconclusive"),  # of no goal but innocence
                made("n#0", "n", "node", ["b:n4"], "b", ["n4"], sick=["n4"]),
                made("n#1", "n", "node", ["b:n4", "normal"], "normal", sick=["n4"]),  # did not show
                made("l#0", "l", "link", ["link:n3-n4"], "b", [], [faulty("n3", "n4")], sick=["n3"]),
                made("g#0", "g", "gray", ["b:n4", "normal"], "b", ["n3"], sick=["n4"]),
                made("t#0", "t", "node", ["b:n4", "normal"], "normal", sick=["n4"], subset="table6"),
                made("t#1", "t", "node", ["b:n4", "normal"], "a", sick=["n4"], subset="table5"),
                made("t#2", "t", "node", ["b:n4", "normal"], "b", ["n4"], sick=["n4"], subset="table5_doubled")]
        self.assertEqual(self.reached(rows),
                         [(2, "50.0 %", "no"), (2, "100.0 %", "yes"), (2, "50.0 %", "no"), (1, "100.0 %", "yes"), (1, "0.0 %", "no"), (1, "1", "no"),
                          (5, "0", "not yet"), (10, "80.0 %", "no")])

    def test_no_innocent_may_be_blamed(self):
        many = [made(f"p#{i}", "p", "program", ["a"], "a") for i in range(ENOUGH)]
        self.assertEqual(self.reached(many)[6], (ENOUGH, "0", "yes"))
        self.assertEqual(self.reached(many[1:])[6], (ENOUGH - 1, "0", "not yet"))
        many[7]["verdict"]["faulty"] = [faulty("n2")]
        self.assertEqual(self.reached(many)[6], (ENOUGH, "1", "no"))


class Report(unittest.TestCase):
    def report(self, rows):
        with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as ledger:
            ledger.writelines(json.dumps(row) + "\n" for row in rows)
            ledger.flush()
            return subprocess.run([HERE / "report", ledger.name], capture_output=True, text=True, check=True).stdout

    def test_a_made_ledger(self):
        rows = [made(f"healthy.sp#{i}", "healthy", "healthy", ["normal"], "normal") for i in range(4)]
        rows += [made(f"bug.sp#{i}", "bug", "program", ["a"], "a") for i in range(3)]
        rows += [made("bug.sp#3", "bug", "program", ["a"], "b", ["n4"])]
        rows += [made("sick.sp#0", "sick", "node", ["b:n4"], "b", ["n4"], sick=["n4"], died=True, to_verdict=40.0)]
        rows += [made("sick.sp#1", "sick", "node", ["b:n4", "normal"], "normal", sick=["n4"])]
        rows += [made("sick.sp#2", "sick", "node", ["b:n4"], "inconclusive", sick=["n4"], epilog=["n4"], to_verdict=60.0)]
        # The first try failed, and the second is the one that counts; a run without an end counts for nothing.
        rows.insert(0, {"run": "bug.sp#0", "kind": "bug", "error": "lab up", "at": 0})
        rows.append({"run": "sick.sp#9", "kind": "sick", "error": "lab up", "at": 0})
        text = self.report(rows)
        for line in (
            "| faults of the program, in each run: identified | 100 % | 4 | 75.0 % | no |",
            "## Corpus: 11 runs",
            "| program | 4 | 3 |  | 1 |  |  |  |  |  |  |",
            "| node | 3 |  | 1 |  |  |  | 1 | 1 |  |  |",
            "| healthy | 4 |  |  |  |  |  |  | 4 |  |  |",
            "| program | bug | 4 |  | 4 | 3 |  |  | 1 | 20 |",
            "| node | sick | 3 | 1 | 2 | 1 | 1 |  |  | 50 |",
            "| program | 4 | 3 | 75.0 % | 24.9 % |",
            "| node | 2 | 1 | 50.0 % | 2.5 % |",
            "| the program's fault, healthy, or the site's doing | 8 | 1 | 1 | 12.5 % | 47.07 % |",
            "| a node or link was broken | 3 | 0 | 0 | 0.0 % | 63.16 % |",
            "| program | 4 | 3 | 4 | 75.0 % | 100.0 % |",
            "| node | 2 | 1 | 2 | 50.0 % | 100.0 % |",
            "| node | 3 | 40.0 | 60.0 | 25 | 40 | 2.00 | 0.03 |",
            "| high | 10 | 9 | 90.0 % | 55.5 to 99.7 % |",
            "### Not right: 2 of 11",
            "| bug.sp#3 | a | b n4 | R | high | wrong |",
            "| sick.sp#2 | b:n4 | inconclusive | R | high | undecided |",
        ):
            self.assertIn(line + "\n", text)
        self.assertEqual(text, self.report(rows), "the same ledger gives the same report")

    def test_ledgers_of_two_days(self):
        rows = [made("bug.sp#0", "bug", "program", ["a"], "b", ["n4"], at=1), made("bug.sp#0", "bug", "program", ["a"], "a", at=2)]
        text = self.report([*rows, rows[0]])
        self.assertIn("## Corpus: 2 runs\n", text)
        self.assertIn("| bug.sp#0 | a | b n4 | R | high | wrong |\n", text, "a better one does not hide it")

    def test_strict(self):
        good, bad = made("k.sp#0", "k", "program", ["a"], "a"), made("k.sp#1", "k", "program", ["a"], "inconclusive")
        for rows, wanted in (([good], 0), ([good, bad], 1)):
            with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as ledger:
                ledger.writelines(json.dumps(row) + "\n" for row in rows)
                ledger.flush()
                done = subprocess.run([HERE / "report", "--strict", ledger.name], capture_output=True, check=False)
                self.assertEqual(done.returncode, wanted)

    def test_a_table_of_the_paper(self):
        rows = [made(f"h#{i}", "healthy", "healthy", ["normal"], "normal", subset="table5") for i in range(2)]
        rows += [made("l1", "loss_5", "node", ["b:n4", "normal"], "b", ["n4"], sick=["n4"], subset="table5", seconds=60.0),
                 made("l2", "loss_5", "node", ["b:n4", "normal"], "normal", sick=["n4"], subset="table5", seconds=30.0),
                 made("l3", "loss_1", "node", ["b:n4", "normal"], "normal", sick=["n4"], subset="table5", seconds=11.0)]
        text = self.report(rows)
        for line in ("## table5: 5 runs", "| loss_5 | sp | 2 | 0 | 1 | 1 | 25 | 45 |", "| loss_1 | sp | 1 | 1 | 0 | 0 | - | 11 |",
                     "| all |  | 3 | 1 | 1 | 1 |  |  |",
                     "Identified of those that had an effect: 50.0 %; found or without effect, of all: 66.7 %.",
                     "| l2 | b:n4 or normal | normal | R | high | missed |"):
            self.assertIn(line + "\n", text)

    def test_pairs(self):
        pairs = [{"run": f"overhead.sp.S.2#{i}", "program": "sp", "size": "S", "nodes": 2, "pair": i, "load": 1.0,
                  "plain": {"run": 10.0, "wall": 12.0}, "watched": {"run": 10.0 + i, "wall": 15.0}} for i in range(3)]
        text = self.report(pairs)
        self.assertIn("| sp | S | 2 | 3 | 10.0 | 1.100 | 1.00 .. 1.20 | 1.250 | 1.25 .. 1.25 | 1.0 |\n", text)
        self.assertNotIn("## Corpus", text)


if __name__ == "__main__":
    unittest.main()
