// SPDX-License-Identifier: Apache-2.0
// The verdict table: from the outcomes of P and V to a cause.
//
// The facts are reduced to ten small columns; the first row that fits wins (verdict_table.cc), and its id
// goes into the verdict.  Rows that are not final are what can be said while an experiment is still under
// way.  The id is for people and for the journal only: what the engine or the words must know of a row is a
// column of its own.  test/verdicts has the answer for every combination of the columns.
//
// There are two answers: the cause of the user's job, which the table gives, and which nodes were found
// faulty, which follows from V and Slurm alone (faulty.cc).  Only the second takes nodes out of service.
// Source: paper 000, 2.4, and doc/design/identify.md, "Flow" 4.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Columns of the table as bits, so that a row may accept several values.
/// A(n): what became of a run of P.
enum A : std::uint8_t {
  a_open = 1,    ///< not over, or not begun
  a_ok = 2,      ///< completed
  a_fail = 4,    ///< failed on its own account
  a_down = 8,    ///< lost a node to Slurm's word
  a_none = 16,   ///< there will be no outcome
  a_never = 32,  ///< never began: its output could not be opened
  a_taken = 64,  ///< a person set its node DOWN
  a_any = 127
};
/// C(n): what V says of the nodes of a run, held against how P failed there.
enum C : std::uint8_t {
  c_open = 1,
  c_unknown = 2,
  c_ok = 4,
  c_unrelated = 8,  ///< a fault that cannot explain the failure
  c_full = 16,      ///< a file system is full, and P does not say that it could not write
  c_failed = 32,    ///< a fault that can explain it
  c_named = 64,     ///< and P's output names the node
  c_any = 127
};
/// S: whether processes did not get the processors that they asked for, and what that explains (starved.h).
enum S : std::uint8_t {
  s_no = 1,
  s_yes = 2,    ///< on a node of the first run, which explains that it was slow
  s_rerun = 4,  ///< in the second run, whose failure by its time so says nothing
  s_any = 7
};
/// L(n, m): how alike two failures are.
enum L : std::uint8_t { l_open = 1, l_same = 2, l_unclear = 4, l_different = 8, l_any = 15 };

struct Facts {
  A a1 = a_open;
  C c1 = c_open;
  A a2 = a_open;
  C c2 = c_open;
  L l12 = l_open;
  A a3 = a_open;
  C c3 = c_open;
  L l13 = l_open, l23 = l_open;
  S starved = s_no;
};

/// Who is the cause.  Only nodes of the first run can be: on no others did the user's job run.
enum class Blame : std::uint8_t {
  nobody,
  s1,          ///< nodes of the first run that were lost, or that V convicts of what can explain the failure
  s1_full,     ///< those without room
  s1_starved,  ///< the one whose processes got no processor
};

/// What a row is in want of.  Of one that decides nothing the words and the advice follow from that.
enum class Lack : std::uint8_t {
  nothing,
  verification,  ///< V's word on the nodes of the failed run
  second_run,    ///< a second outcome of P
  third_run,     ///< a third one, which is under way
  one_way,       ///< runs that all fail alike
  node_kept,     ///< a first run that lost no node: the second failed on good ones, too
  good_nodes,    ///< a run on nodes that are well
  safe_place,    ///< P seems to take nodes down: a run where it can do no harm
  output_place,  ///< the first run never began: whether its output folder was there
};

/// What follows on a row.
enum class Stage : std::uint8_t {
  final,
  waits,  ///< final, unless a verification may be tried again
  open,   ///< what can be said meanwhile
  third,  ///< the same, and a third run of P is wanted
};

/// The facts that a row accepts.
struct When {
  std::uint8_t a1 = a_any, c1 = c_any, a2 = a_any, c2 = c_any, l12 = l_any;
  std::uint8_t a3 = a_any, c3 = c_any, l13 = l_any, l23 = l_any;
  std::uint8_t starved = s_any;
};

struct Row {
  std::string_view rule;  ///< its id
  When when;
  Cause cause;
  Blame blame;
  Confidence confidence;
  Stage stage;
  std::string_view why;  ///< the reasoning, in words for the user
  Lack lack = Lack::nothing;
};

/// All rows, the first that fits wins.
std::span<const Row> verdict_rows();
/// The first row that fits, or null while nothing can be said.
const Row* row_for(const Facts& facts);
/// True when a program run that said nothing (lost, preempted, refused) is to be submitted once more.
bool tries_again(const Known& known, const Case& subject, const Run& run);
/// True where V may still say more about the runs of this case: it may be tried again, or a node that it left
/// out may come back into service, and the case's time is not over.
bool may_verify_more(const Known& known, const Case& subject);
/// Time is what is wrong with P's run, so V's word `slow` convicts a node of it (decisions.md 22).
bool time_matters(const Run& program);
/// C(n) as a column: check_of(), and whether what V found can explain how P failed.
C check_column(const Known& known, const Case& subject, int program_run);
/// The columns of a case.
Facts facts_of(const Known& known, const Case& subject);
/// A third run of P is what the table waits for.
bool wants_third(const Known& known, const Case& subject);
/// The nodes and links that were found faulty by now, and which of them are a reason to drain: `cause` is the
/// first answer.
std::vector<Faulty> faulty_of(const Known& known, const Case& subject, const Verdict& cause);
/// The verdict that the facts of a case allow now, or nothing.  It is not final where its row is not, nor
/// where the row waits for a verification that may still come.
std::optional<Verdict> judge(const Known& known, const Case& subject);

}  // namespace sickbay::identify
