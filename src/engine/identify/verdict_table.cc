// SPDX-License-Identifier: Apache-2.0
// The verdict table itself.  test/verdicts shows what it answers to every combination of its columns, and
// holds it to the rules that must be true of any such table.
//
// The order is part of the table: within a block, a row with a sure answer stands above those that fit the
// same facts with less.  The blocks go by A1 and C1: how the user's job ended, and what V says of its nodes.
#include <array>

#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using enum Confidence;

// V has looked, and found nothing that could explain the failure.
constexpr std::uint8_t kClear = c_ok | c_unrelated | c_full;
// V convicts.
constexpr std::uint8_t kGuilty = c_failed | c_named;
constexpr std::uint8_t kNotGuilty = kClear | c_unknown;
constexpr std::uint8_t kSpoken = kNotGuilty | kGuilty;
constexpr std::uint8_t kAlike = l_same | l_unclear;
constexpr std::uint8_t kCompared = kAlike | l_different;
// (A node that went down under a re-run convicts itself: facts_of() makes its C failed.)
constexpr std::uint8_t kFailDown = a_fail | a_down;

// (A call, so that a row is two lines and not eight.)
constexpr Row row(std::string_view rule, When when, Cause cause, Blame blame, Confidence confidence,
                  Stage stage, std::string_view why, Lack lack = Lack::nothing) {
  return {rule, when, cause, blame, confidence, stage, why, lack};
}

constexpr auto kRows = std::to_array<Row>({
    // --- the job did not fail
    row("ok", {.a1 = a_ok}, Cause::normal, Blame::nobody, high, Stage::final, "the job completed"),
    // (A re-run that a person ended so is "none", and goes again: verdict.cc.)
    row("taken", {.a1 = a_taken}, Cause::cancelled, Blame::nobody, high, Stage::final,
        "a person set a node of the job DOWN, and Slurm ended the job for it"),

    // --- N: it never began.  A folder that is not there and a node that lost its storage look alike, and a
    // second run, which writes elsewhere, does not tell them apart.
    row("N1", {.a1 = a_never, .c1 = kGuilty, .a2 = a_open}, Cause::node, Blame::s1, low, Stage::open,
        "the job never began, and the known-good program fails on these nodes; the program is being run on "
        "others"),
    row("N2", {.a1 = a_never, .c1 = kGuilty, .a2 = a_ok | a_none}, Cause::node, Blame::s1, low, Stage::final,
        "the job never began, and the known-good program fails on these nodes"),
    row("N3", {.a1 = a_never, .c1 = kNotGuilty, .a2 = a_ok}, Cause::inconclusive, Blame::nobody, low,
        Stage::final, "the failed run never began, and the second one, with its output elsewhere, did",
        Lack::output_place),
    row("N4", {.a1 = a_never, .c1 = kSpoken, .a2 = a_fail, .c2 = kSpoken}, Cause::inconclusive, Blame::nobody,
        low, Stage::final,
        "the failed run never began; with its output elsewhere the program began, and failed once",
        Lack::output_place),
    row("N5", {.a1 = a_never, .c1 = kSpoken, .a2 = a_down}, Cause::inconclusive, Blame::nobody, low,
        Stage::final, "the failed run never began; the second one did, and lost a node", Lack::output_place),
    row("N6", {.a1 = a_never, .c1 = kNotGuilty, .a2 = a_none}, Cause::inconclusive, Blame::nobody, low,
        Stage::final, "the failed run never began, and there is no second one that did", Lack::output_place),

    // --- D: it lost a node.  Slurm's word is enough for that; but only a second run shows that P was not
    // what took it down (decisions.md 22).
    row("D1", {.a1 = a_down, .a2 = a_ok}, Cause::node, Blame::s1, high, Stage::final,
        "the node went down during the run, and the same program completed on other nodes"),
    row("D2", {.a1 = a_down, .a2 = a_down}, Cause::inconclusive, Blame::nobody, medium, Stage::final,
        "nodes went down in two runs on different nodes: the program may be what takes them down",
        Lack::safe_place),
    // High at once: the node is lost, the output names it, and V fails there. D4 has Slurm's word alone.
    row("D3", {.a1 = a_down, .c1 = c_named, .a2 = a_open}, Cause::node, Blame::s1, high, Stage::final,
        "a node went down during the run, and the known-good program fails on the node that the output "
        "names"),
    row("D4", {.a1 = a_down, .a2 = a_open}, Cause::node, Blame::s1, medium, Stage::open,
        "the node went down during the run; the program is being run on other nodes to confirm"),
    row("D5", {.a1 = a_down, .a2 = a_none}, Cause::node, Blame::s1, medium, Stage::final,
        "the node went down during the run, and there is no second run that says otherwise"),
    row("D6", {.a1 = a_down, .a2 = a_fail, .c2 = c_open}, Cause::node, Blame::s1, medium, Stage::open,
        "the node went down during the run; the nodes of the second run, which failed, are being verified"),
    row("D7", {.a1 = a_down, .a2 = a_fail, .c2 = kGuilty}, Cause::node, Blame::s1, medium, Stage::final,
        "the node went down during the run; the second run failed on nodes that are faulty, too"),
    // What the second run met on good nodes is told apart by its likeness: another failure leaves the lost
    // node as the cause of the first, the same one makes the program a suspect as well.
    row("D8", {.a1 = a_down, .a2 = a_fail, .c2 = kClear, .l12 = l_different}, Cause::node, Blame::s1, low,
        Stage::final,
        "the node went down during the run; the second run failed on good nodes, but in another way: what "
        "the "
        "first one left behind is suspected"),
    row("D9", {.a1 = a_down, .a2 = a_fail, .c2 = kClear, .l12 = kAlike}, Cause::inconclusive, Blame::nobody,
        low, Stage::final,
        "a node went down with the first run, and the program failed on good nodes as well: program and node "
        "are both suspected",
        Lack::node_kept),
    row("D10", {.a1 = a_down, .a2 = a_fail, .c2 = c_unknown, .l12 = l_different}, Cause::node, Blame::s1, low,
        Stage::waits,
        "the node went down during the run; the second run failed in another way, on nodes that could not be "
        "verified"),
    row("D11", {.a1 = a_down, .a2 = a_fail, .c2 = c_unknown, .l12 = kAlike}, Cause::inconclusive,
        Blame::nobody, low, Stage::waits,
        "a node went down with the first run, and the second failed on nodes that could not be verified",
        Lack::verification),

    // --- G: V convicts its nodes of what can explain the failure (paper 000, 2.4, item 2, which stops here;
    // but a program with a bug meets faulty nodes as well, so P's second run is heard).
    row("G1", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_ok}, Cause::node, Blame::s1, high, Stage::final,
        "the known-good program fails on these nodes too, and the program completed on others"),
    // Final without a second run: V and P's own output name the same node.
    row("G2", {.a1 = a_fail, .c1 = c_named, .a2 = a_open | a_none}, Cause::node, Blame::s1, high,
        Stage::final, "the known-good program fails on the node that the output names"),
    row("G3", {.a1 = a_fail, .c1 = c_failed, .a2 = a_open}, Cause::node, Blame::s1, medium, Stage::open,
        "the known-good program fails on these nodes too; the program is being run on others to confirm"),
    row("G4", {.a1 = a_fail, .c1 = c_failed, .a2 = a_none}, Cause::node, Blame::s1, medium, Stage::final,
        "the known-good program fails on these nodes too, and there is no second run that says otherwise"),
    row("G5", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_down}, Cause::node, Blame::s1, medium, Stage::final,
        "the known-good program fails on these nodes too; the second run lost a node"),
    row("G6", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = c_open}, Cause::node, Blame::s1, medium,
        Stage::open,
        "the known-good program fails on these nodes too; those of the second run, which failed, are being "
        "verified"),
    row("G7", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kGuilty}, Cause::node, Blame::s1, medium,
        Stage::final, "the known-good program fails on the nodes of both runs"),
    // But not one that did not get the processors that it asked for: on those nodes any program is too slow.
    row("T3",
        {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kNotGuilty, .l12 = kAlike, .starved = s_rerun},
        Cause::node, Blame::s1, medium, Stage::final,
        "the known-good program fails on these nodes too; the second run was too slow as well, but other "
        "work "
        "took the processors that it asked for, so it does not say otherwise"),
    // The second run turns the conviction around: alike on good nodes is a bug, and the faulty nodes of the
    // first run were met besides.
    row("G8", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kClear, .l12 = l_same}, Cause::program,
        Blame::nobody, medium, Stage::final,
        "it fails in the same way on nodes on which the known-good program passes; the nodes of the first "
        "run "
        "are faulty besides"),
    row("G9", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kClear, .l12 = l_unclear}, Cause::program,
        Blame::nobody, low, Stage::final,
        "it fails on nodes on which the known-good program passes, it seems in the same way; the nodes of "
        "the "
        "first run are faulty besides"),
    row("G10", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = c_unknown, .l12 = kAlike}, Cause::node,
        Blame::s1, low, Stage::waits,
        "the known-good program fails on these nodes too; the second run failed on nodes that could not be "
        "verified"),
    // Different failures: the first may be the node's and the second the program's, so a third run decides.
    row("G11",
        {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kNotGuilty, .l12 = l_different, .a3 = a_open},
        Cause::node, Blame::s1, low, Stage::third,
        "the known-good program fails on these nodes too; the second run failed in another way, so a third "
        "run "
        "decides"),
    row("G12",
        {.a1 = a_fail,
         .c1 = kGuilty,
         .a2 = a_fail,
         .c2 = kNotGuilty,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = c_open},
        Cause::node, Blame::s1, low, Stage::third,
        "the known-good program fails on these nodes too; the second run failed in another way, and the "
        "nodes "
        "of the third are being verified"),
    row("G13", {.a1 = a_fail, .c1 = kGuilty, .a2 = a_fail, .c2 = kNotGuilty, .l12 = l_different, .a3 = a_ok},
        Cause::node, Blame::s1, medium, Stage::final,
        "the known-good program fails on these nodes too; the second run failed in another way, and the "
        "third "
        "completed"),
    row("G14",
        {.a1 = a_fail,
         .c1 = kGuilty,
         .a2 = a_fail,
         .c2 = kNotGuilty,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_same},
        Cause::program, Blame::nobody, medium, Stage::final,
        "the third run failed as the first did, on nodes on which the known-good program passes; the nodes "
        "of "
        "the first run are faulty besides"),
    row("G15",
        {.a1 = a_fail,
         .c1 = kGuilty,
         .a2 = a_fail,
         .c2 = kNotGuilty,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_unclear},
        Cause::program, Blame::nobody, low, Stage::final,
        "the third run failed, it seems as the first did, on nodes on which the known-good program passes; "
        "the "
        "nodes of the first run are faulty besides"),
    row("G16",
        {.a1 = a_fail,
         .c1 = kGuilty,
         .a2 = a_fail,
         .c2 = kNotGuilty,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kSpoken,
         .l13 = kCompared},
        Cause::node, Blame::s1, low, Stage::final,
        "the known-good program fails on these nodes too; later runs failed in other ways: what the first "
        "one "
        "left behind is suspected"),
    row("G17",
        {.a1 = a_fail,
         .c1 = kGuilty,
         .a2 = a_fail,
         .c2 = kNotGuilty,
         .l12 = l_different,
         .a3 = a_down | a_none},
        Cause::node, Blame::s1, low, Stage::final,
        "the known-good program fails on these nodes too; the second run failed in another way, and there is "
        "no "
        "third that decides: what the first one left behind is suspected"),

    // --- P: V clears its nodes (item 3, its good half).
    row("P1", {.a1 = a_fail, .c1 = c_ok, .a2 = a_fail, .c2 = c_ok, .l12 = l_same}, Cause::program,
        Blame::nobody, high, Stage::final,
        "it fails on two sets of nodes on which the known-good program passes"),
    row("P2", {.a1 = a_fail, .c1 = kClear, .a2 = a_fail, .c2 = kClear, .l12 = l_same}, Cause::program,
        Blame::nobody, medium, Stage::final,
        "it fails in the same way on two sets of nodes, and what the known-good program found there does not "
        "explain it"),
    row("P3", {.a1 = a_fail, .c1 = c_ok, .a2 = a_fail, .c2 = c_unknown, .l12 = l_same}, Cause::program,
        Blame::nobody, medium, Stage::final,
        "it fails on nodes on which the known-good program passes, and on others that could not be verified"),
    row("P4", {.a1 = a_fail, .c1 = c_ok, .a2 = a_fail, .c2 = c_ok, .l12 = l_unclear}, Cause::program,
        Blame::nobody, medium, Stage::final,
        "it fails on two sets of nodes on which the known-good program passes, but not clearly in the same "
        "way"),
    // Takes what the four sure rows above leave of alike failures.
    row("P5", {.a1 = a_fail, .c1 = kClear, .a2 = a_fail, .c2 = kClear | c_unknown, .l12 = kAlike},
        Cause::program, Blame::nobody, low, Stage::final,
        "it fails on nodes where the known-good program found nothing that explains it, and on others; not "
        "all "
        "of them are acquitted, or the failures are not clearly alike"),
    // Time was what was wrong, and one node was seen to withhold it.  Above P6 to P8: what V finds
    // afterwards,
    // or does not find, says nothing of a time that is over.  Never of high confidence for that reason.
    row("T1", {.a1 = a_fail, .c1 = kClear, .a2 = a_ok, .starved = s_yes}, Cause::node, Blame::s1_starved,
        medium, Stage::final,
        "it was too slow while its processes on one node did not get the processor that they asked for, and "
        "completed on other nodes; the known-good program finds nothing there that explains it now"),
    // Item 4, and the one fault that does not explain the failure and may be the cause all the same.
    row("P6", {.a1 = a_fail, .c1 = c_ok, .a2 = a_ok}, Cause::non_deterministic, Blame::nobody, high,
        Stage::final,
        "it failed once and completed once, and the known-good program passes on the nodes where it failed"),
    row("P7", {.a1 = a_fail, .c1 = c_full, .a2 = a_ok}, Cause::node, Blame::s1_full, medium, Stage::final,
        "the program completed on other nodes, and nothing else is wrong with these than that a file system "
        "there is full"),
    row("P8", {.a1 = a_fail, .c1 = c_unrelated, .a2 = a_ok}, Cause::non_deterministic, Blame::nobody, medium,
        Stage::final,
        "it failed once and completed once, and what the known-good program found where it failed does not "
        "explain it"),
    row("P9", {.a1 = a_fail, .c1 = kClear, .a2 = a_none}, Cause::inconclusive, Blame::nobody, medium,
        Stage::final,
        "nothing was found on the nodes of the failed run that explains it, but the program was not run a "
        "second time",
        Lack::second_run),
    // Two failures that differ are not one cause.
    row("P10",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the second run failed in another way than the first, so a third run decides", Lack::third_run),
    row("P11",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = c_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the second run failed in another way than the first; the nodes of the third are being verified",
        Lack::third_run),
    row("P12",
        {.a1 = a_fail, .c1 = kClear, .a2 = a_fail, .c2 = kClear | c_unknown, .l12 = l_different, .a3 = a_ok},
        Cause::non_deterministic, Blame::nobody, medium, Stage::final,
        "it failed twice, each time in another way, and completed once"),
    row("P13",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_same},
        Cause::program, Blame::nobody, medium, Stage::final,
        "the third run failed as the first did, and the known-good program passes on the nodes of both; the "
        "second failed in another way"),
    row("P14",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_unclear},
        Cause::program, Blame::nobody, low, Stage::final,
        "the third run failed, it seems as the first did, and the known-good program passes on the nodes of "
        "both; the second failed in another way"),
    // Below P13 and P14: the third run's nodes are not acquitted, so only a failure that is clearly the same
    // counts.
    row("P15",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kGuilty | c_unknown,
         .l13 = l_same},
        Cause::program, Blame::nobody, low, Stage::final,
        "the third run failed as the first did, on nodes that are not acquitted; those of the first are"),
    // Twice alike on good nodes is a bug, if only of what becomes of a folder in which a run has died.
    row("P19",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = c_ok,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = c_ok,
         .l13 = l_different,
         .l23 = l_same},
        Cause::program, Blame::nobody, low, Stage::final,
        "the second and third run failed alike, on nodes on which the known-good program passes; the first "
        "failed in another way, and something that it left behind may be why the later ones fail",
        Lack::one_way),
    row("P16",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kSpoken,
         .l13 = l_unclear | l_different,
         .l23 = kAlike},
        Cause::inconclusive, Blame::nobody, low, Stage::final,
        "the second and third run failed alike, but in another way than the first: what the first one left "
        "behind is suspected",
        Lack::one_way),
    row("P17",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kSpoken,
         .l13 = l_unclear | l_different,
         .l23 = l_different},
        Cause::inconclusive, Blame::nobody, low, Stage::final, "the runs failed each in another way",
        Lack::one_way),
    row("P18",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = a_fail,
         .c2 = kClear | c_unknown,
         .l12 = l_different,
         .a3 = a_down | a_none},
        Cause::inconclusive, Blame::nobody, low, Stage::final,
        "the second run failed in another way than the first, and there is no third that decides",
        Lack::one_way),
    // S2 is convicted, or lost a node (item 3, its bad half: the paper blames S2, where the user's job never
    // ran).  A1 is still unexplained.
    row("P20", {.a1 = a_fail, .c1 = kClear, .a2 = a_down, .a3 = a_down}, Cause::inconclusive, Blame::nobody,
        medium, Stage::final,
        "nodes went down in two runs on different nodes: the program may be what takes them down",
        Lack::safe_place),
    row("P21", {.a1 = a_fail, .c1 = kClear, .a2 = kFailDown, .c2 = kGuilty, .a3 = a_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the nodes of the second run are faulty, those of the first are not: a third run decides",
        Lack::third_run),
    row("P22", {.a1 = a_fail, .c1 = kClear, .a2 = kFailDown, .c2 = kGuilty, .a3 = a_fail, .c3 = c_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the nodes of the second run are faulty, those of the first are not: the third run's nodes are being "
        "verified",
        Lack::third_run),
    row("P23", {.a1 = a_fail, .c1 = kClear, .a2 = kFailDown, .c2 = kGuilty, .a3 = a_ok},
        Cause::non_deterministic, Blame::nobody, medium, Stage::final,
        "it failed on nodes where nothing explains it, and completed on others; the second run met faulty "
        "nodes"),
    row("P24",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = kFailDown,
         .c2 = kGuilty,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_same},
        Cause::program, Blame::nobody, medium, Stage::final,
        "it fails on two sets of nodes on which the known-good program passes; the nodes of the second run "
        "are "
        "faulty besides"),
    row("P25",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = kFailDown,
         .c2 = kGuilty,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = l_unclear},
        Cause::program, Blame::nobody, low, Stage::final,
        "it fails on two sets of nodes on which the known-good program passes, but not clearly in the same "
        "way; "
        "the nodes of the second run are faulty besides"),
    row("P26",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = kFailDown,
         .c2 = kGuilty,
         .a3 = a_fail,
         .c3 = c_unknown,
         .l13 = l_same},
        Cause::program, Blame::nobody, low, Stage::waits,
        "the third run failed as the first did, on nodes that could not be verified; those of the first are "
        "acquitted"),
    row("P27", {.a1 = a_fail, .c1 = kClear, .a2 = kFailDown, .c2 = kGuilty, .a3 = a_fail, .c3 = kGuilty},
        Cause::inconclusive, Blame::nobody, low, Stage::final,
        "it failed on good nodes and then twice on faulty ones: the program is suspected", Lack::good_nodes),
    row("P28",
        {.a1 = a_fail,
         .c1 = kClear,
         .a2 = kFailDown,
         .c2 = kGuilty,
         .a3 = a_fail,
         .c3 = kNotGuilty,
         .l13 = kCompared},
        Cause::inconclusive, Blame::nobody, low, Stage::final,
        "it failed on good nodes, then on faulty ones, and then in another way than at first", Lack::one_way),
    // Above P30, which takes all else that has no third run.
    row("P29", {.a1 = a_fail, .c1 = kClear, .a2 = a_fail, .c2 = kGuilty, .l12 = l_same, .a3 = a_none},
        Cause::program, Blame::nobody, low, Stage::final,
        "it fails in the same way on good nodes and on faulty ones, and there is no third run that decides"),
    row("P30", {.a1 = a_fail, .c1 = kClear, .a2 = kFailDown, .c2 = kGuilty, .a3 = a_down | a_none},
        Cause::inconclusive, Blame::nobody, low, Stage::final,
        "nothing explains the failure on the nodes of the first run; those of the second are faulty, and "
        "there "
        "is no third run that decides",
        Lack::good_nodes),

    // --- U: V could not say.  The paper has no unknown C.  V may only have found no room, so most of these
    // wait for it; one set that V acquits is enough to say something.
    row("U1", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_fail, .c2 = c_ok, .l12 = l_same}, Cause::program,
        Blame::nobody, medium, Stage::final,
        "it fails on nodes on which the known-good program passes; the nodes of the first run could not be "
        "acquitted"),
    row("U2", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_fail, .c2 = kClear, .l12 = kAlike}, Cause::program,
        Blame::nobody, low, Stage::final,
        "it fails on nodes where the known-good program found nothing that explains it; the nodes of the "
        "first "
        "run could not be acquitted, and the failures are not clearly alike or the nodes not clearly good"),
    // As P10 to P18, but never more than low: of the nodes of the first run nothing is known.
    row("U3", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_fail, .c2 = kClear, .l12 = l_different, .a3 = a_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the second run failed in another way than the first, so a third run decides", Lack::third_run),
    row("U4",
        {.a1 = a_fail,
         .c1 = c_unknown,
         .a2 = a_fail,
         .c2 = kClear,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = c_open},
        Cause::inconclusive, Blame::nobody, low, Stage::third,
        "the second run failed in another way than the first; the nodes of the third are being verified",
        Lack::third_run),
    row("U5",
        {.a1 = a_fail,
         .c1 = c_unknown,
         .a2 = a_fail,
         .c2 = kClear,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kClear,
         .l13 = kAlike},
        Cause::program, Blame::nobody, low, Stage::final,
        "the third run failed as the first did, on nodes on which the known-good program passes; the nodes "
        "of "
        "the first run could not be acquitted, and the second run failed in another way"),
    row("U6",
        {.a1 = a_fail,
         .c1 = c_unknown,
         .a2 = a_fail,
         .c2 = kClear,
         .l12 = l_different,
         .a3 = a_ok | a_down | a_none},
        Cause::inconclusive, Blame::nobody, low, Stage::waits,
        "the nodes of the failed run could not be verified, and the second run failed in another way",
        Lack::verification),
    row("U7",
        {.a1 = a_fail,
         .c1 = c_unknown,
         .a2 = a_fail,
         .c2 = kClear,
         .l12 = l_different,
         .a3 = a_fail,
         .c3 = kSpoken,
         .l13 = kCompared},
        Cause::inconclusive, Blame::nobody, low, Stage::waits,
        "the nodes of the failed run could not be verified, and later runs failed in other ways",
        Lack::verification),
    // Only nodes of the first run can be the cause of the user's job; those of the second are told as
    // faulty.
    row("U8", {.a1 = a_fail, .c1 = c_unknown, .a2 = kFailDown, .c2 = kGuilty}, Cause::inconclusive,
        Blame::nobody, low, Stage::waits,
        "the nodes of the second run are faulty, which does not explain the first: its nodes could not be "
        "verified",
        Lack::verification),
    row("U9", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_fail, .c2 = c_unknown}, Cause::inconclusive,
        Blame::nobody, low, Stage::waits, "the nodes of neither run could be verified", Lack::verification),
    row("T2", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_ok, .starved = s_yes}, Cause::node, Blame::s1_starved,
        low, Stage::waits,
        "it was too slow while its processes on one node did not get the processor that they asked for, and "
        "completed on other nodes; the nodes of the failed run could not be verified"),
    row("U10", {.a1 = a_fail, .c1 = c_unknown, .a2 = a_ok | a_none}, Cause::inconclusive, Blame::nobody, low,
        Stage::waits, "the nodes of the failed run could not be verified", Lack::verification),
});

bool fits(const When& when, const Facts& f) {
  return (when.a1 & f.a1) && (when.c1 & f.c1) && (when.a2 & f.a2) && (when.c2 & f.c2) && (when.l12 & f.l12) &&
         (when.a3 & f.a3) && (when.c3 & f.c3) && (when.l13 & f.l13) && (when.l23 & f.l23) &&
         (when.starved & f.starved);
}

}  // namespace

std::span<const Row> verdict_rows() { return kRows; }

const Row* row_for(const Facts& facts) {
  for (const Row& row : kRows)
    if (fits(row.when, facts)) return &row;
  return nullptr;
}

}  // namespace sickbay::identify
