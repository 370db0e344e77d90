// SPDX-License-Identifier: Apache-2.0
// Further identification: a failure that does not repeat is the program's, a node's or a link's; which?
//
// After the verdict `non_deterministic` the program may run again on chosen sets of the first run's nodes,
// one run after the other, asked for by `sickbay requeue` or by `--until-verdict`.  Each run is a re-run like
// any other (rerun.h), with V on its nodes; only its nodes are chosen (placement.cc), and what is concluded
// comes from engine/further in the place of the verdict table.  Its steps: further_steps.cc; its words:
// further_verdict.cc.  Source: doc/design/identify.md, "Further identification".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/further/next_nodes.h"
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// The suspects of a case, by name, and what is known of them.
struct Suspicion {
  std::vector<std::string> names;  ///< the first run's nodes, sorted; their places are the suspects' numbers
  further::Record record;
};
Suspicion suspicion_of(const Known& known, const Case& subject);

/// Program run `n` is one of the further ones, whose nodes are chosen.
bool is_chosen_run(const Case& subject, int n);
/// Nothing more will come of program run `n` of the case, and all that it left was read.
bool is_settled(const Known& known, const Case& subject, int n);
/// What the next run can be on, where it is not rotated.
further::Room room_for(const Known& known, const Case& subject);
/// Why no further run is made; empty while one may be.
std::string why_no_further(const Known& known, const Case& subject);
/// The submission asked for further runs, and this verdict is what they are for.
bool begins_further(const Case& subject, const Verdict& verdict);
/// Why `sickbay requeue` can do nothing for this case; nothing: it can.  That its submission is there is
/// for the caller to see to.
std::optional<Error> refuses_further(const Case& subject);
/// The body of `requeue_asked`.
Json further_order(const std::string& by, int runs, bool rotate, double node_hours);

/// What is known by now.  `over`: why there will be no further run, empty while there may be; then the
/// verdict is final where something can be said.
Verdict further_verdict(const Known& known, const Case& subject, const std::string& over);

/// Null where there were none.
Json further_view(const Case& subject);

// --- for apply()
void on_requeue_asked(State& state, Case& subject, const Event& event);

/// Who asked, where the submission did.
inline constexpr std::string_view kUntilVerdict = "--until-verdict";
inline constexpr std::string_view kRequeueAsked = "requeue_asked";
/// Program runs of one case, by all orders.
inline constexpr std::size_t kMostProgramRuns = 64;
/// In the place of a row's id: further runs are under way.
inline constexpr std::string_view kRuleFurther = "F0";

}  // namespace sickbay::identify
