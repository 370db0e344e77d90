// SPDX-License-Identifier: Apache-2.0
// May the program run a second time, and if not yet, what does that wait for?
//
// A re-run must do no harm, or be asked for.  Before one starts: nobody has a question open (how large it is,
// what it costs, whether a copy protects the user's files), no job of the user's waits for the same folder,
// and what the first run read is still what it was.  Source: doc/design/identify.md, "A re-run is harmless or
// asked for".
#pragma once
#include <optional>
#include <string>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// No program run may be started any more for this case.
bool no_more_runs(const Case& subject);
/// A second run is not made because a person wanted none, and for no other reason.
bool rerun_declined(const Case& subject);
/// The folder that the first run was in: as Slurm says (--chdir), else the one that it was submitted from.
const std::string& run_folder(const Case& subject);

/// What a re-run is worth to the verdict table.
enum class Standing : std::uint8_t {
  counts,  ///< its outcome does
  open,    ///< not before its inputs were looked at
  never,   ///< it will not be, or it ran on other inputs than the first
};
Standing standing(const Case& subject, int n);

struct Question {
  std::string reason;  ///< a word: "asked_for", "large", "names_folder", "budget", ...
  std::string text;    ///< in a sentence
};
/// What must be asked before this case may have (another) re-run, from what is known without looking at its
/// folder.
std::optional<Question> question_before(const Known& known, const Case& subject);

/// What a run of P takes at most: its nodes times its limit, or the first run's time where it has none.
double node_hours_ahead(const Case& subject);
/// What a re-run has taken, or still may take.
double node_hours_of(const Case& subject, const Run& run);
/// One more re-run would take the re-runs of this user over the site's bound of node-hours in 24 h.
std::optional<Question> over_node_hours(const Known& known, const Case& subject);

/// Why there is no second run, for the list of what is missing; empty where nothing kept one away.
std::string why_no_rerun(const Case& subject);
/// Puts an open question, or who holds the re-run, into a verdict that is not final.
void add_rerun_words(const Case& subject, Verdict& verdict);
/// What can be said while the table says nothing because its re-run has not started.
std::optional<Verdict> verdict_while_waiting(const Case& subject);

/// For the view of a case; null of one that an older version opened.
Json reruns_view(const Case& subject);
/// What a case is waiting for that somebody else must do, in a few words; empty: nothing.
std::string waits_for(const Case& subject);
/// The rest of it, for the canonical text.
Json reruns_text(const Case& subject);
/// Copies that are to be removed when the case closes.  Where --deliver keeps a run elsewhere its folder is
/// the user's result, and stays.
std::vector<std::string> copies_to_clean(const Case& subject);

// --- for apply()

/// Reads what case_opened says of re-runs.
void open_reruns(Case& subject, const Json& body);
/// Takes in an intent, done or failed of the verbs that prepare re-runs; false: it is none of them.
bool take_preparation(Case& subject, const Event& event);
/// A re-run was intended: budgets count it.
void note_rerun(State& state, const Case& subject, const RunId& run, TimePoint at);
void on_rerun_asked(Case& subject, const Event& event);
void on_rerun_answered(Case& subject, const Event& event);
void on_rerun_given_up(Case& subject, const Event& event);

/// The reason of a question about what was spent in 24 h.
inline constexpr std::string_view kBudget = "budget";

// In the place of a row's id, for verdicts that the table did not give.
inline constexpr std::string_view kRuleAsk = "ask", kRuleHeld = "held", kRuleJoin = "join",
                                  kRuleNotStarted = "not_started";
/// A verdict that only said what is waited for: nothing of it stays when that is over.
inline bool is_waiting_rule(std::string_view rule) {
  return rule == kRuleAsk || rule == kRuleHeld || rule == kRuleJoin || rule == kRuleNotStarted;
}

inline constexpr std::string_view kRerunAsked = "rerun_asked";
inline constexpr std::string_view kRerunAnswered = "rerun_answered";
inline constexpr std::string_view kRerunGivenUp = "rerun_given_up";

}  // namespace sickbay::identify
