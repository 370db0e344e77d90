// SPDX-License-Identifier: Apache-2.0
// The rules: what is asked before a re-run, and what its absence means to the verdict.  Its commands:
// rerun_steps.cc; what events change: rerun_apply.cc.
#include "engine/identify/rerun.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/text.h"
#include "engine/identify/launch.h"

namespace sickbay::identify {
namespace {

constexpr std::chrono::hours kDay{24};
constexpr auto kWays = std::to_array<std::string_view>({"same", "copy", "ask", "never"});
static_assert(kWays.size() == static_cast<std::size_t>(RerunWay::never) + 1);

double hours(Micros time) { return std::chrono::duration<double, std::ratio<3600>>(time).count(); }

// What a run takes at most: Slurm ends it at its limit.  Without one the first run is all that is known.
double longest_hours(const Case& c) {
  const Run& first = c.programs.front();
  if (first.job.time_limit_s > 0) return hours(std::chrono::seconds(first.job.time_limit_s));
  return first.job.start == kNoTime ? 0 : hours(first.job.end - first.job.start);
}
// Re-runs of the last day, of this case's owner.
struct Spent {
  int by_user = 0, of_script = 0;
  double node_hours = 0;
};
Spent spent_lately(const Known& known, const Case& c) {
  Spent spent;
  for (const LateRerun& late : known.state.reruns) {
    // One that never started has taken nothing, and will not: Slurm refused it, or it was cancelled in the
    // queue.
    const auto never_started = [](const Run* run) {
      return run != nullptr && ended(run->outcome) && run->nodes.empty();
    };
    if (late.at + kDay <= known.now) continue;
    const auto it = known.state.cases.find(late.case_no);
    if (it == known.state.cases.end() || it->second.owner.uid != c.owner.uid) continue;
    const Case& other = it->second;
    const Run* run = other.program(late.n);
    if (never_started(run)) continue;
    ++spent.by_user;
    spent.of_script += !c.script_digest.empty() && other.script_digest == c.script_digest;
    if (run != nullptr) spent.node_hours += node_hours_of(other, *run);
  }
  return spent;
}

std::optional<Question> over_budget(const Known& known, const Case& c) {
  const Policy& p = known.policy;
  const Spent spent = spent_lately(known, c);
  // A bound of 0 is none.
  const auto over = [](int count, int bound) { return bound > 0 && count >= bound; };
  if (over(spent.by_user, p.reruns_per_user))
    return Question{std::string(kBudget),
                    fmt::format("{} has had {} re-runs in 24 h, as many as this site allows unasked",
                                c.owner.user, spent.by_user)};
  if (over(spent.of_script, p.reruns_per_script))
    return Question{std::string(kBudget),
                    fmt::format("this script has had {} re-runs in 24 h, as many as this site allows unasked",
                                spent.of_script)};
  return over_node_hours(known, c);
}

std::optional<Question> too_large(const Policy& p, const Case& c) {
  const std::size_t nodes = c.programs.front().nodes.size();
  if (p.ask_above_nodes > 0 && nodes > static_cast<std::size_t>(p.ask_above_nodes))
    return Question{"large", fmt::format("the job takes {} nodes, and over {} nothing runs again unasked",
                                         nodes, p.ask_above_nodes)};
  if (p.ask_above_node_hours > 0 && node_hours_ahead(c) > p.ask_above_node_hours)
    return Question{"large",
                    fmt::format("a second run may take {:.0f} node-hours, and over {} nothing runs again "
                                "unasked",
                                node_hours_ahead(c), p.ask_above_node_hours)};
  return std::nullopt;
}

// The ways that are of use as an answer.
std::string answers(const Case& c) {
  const std::string command = "sickbay rerun " + c.name();
  std::string text = fmt::format("{} --same: run it again in {}", command, run_folder(c));
  // It was tried: there is no room for one.
  if (c.reruns.reason != "too_large") text += "; --copy: in a copy of that folder";
  return text + "; --never: decide without a second run";
}

std::string holders_text(const Reruns& r) {
  std::string text;
  for (const Holder& h : r.holders)
    text += fmt::format("{}job {}{}", text.empty() ? "" : ", ", h.job_id,
                        h.name.empty() ? "" : " " + quote_for_message(h.name));
  return text;
}

}  // namespace

double node_hours_ahead(const Case& c) {
  return static_cast<double>(c.programs.front().nodes.size()) * longest_hours(c);
}

double node_hours_of(const Case& c, const Run& run) {
  // Under way it counts with the most that it may take, so that runs begun together cannot pass the bound.
  if (!ended(run.outcome) && run.outcome != Outcome::checking) return node_hours_ahead(c);
  if (run.job.start == kNoTime || run.job.end < run.job.start) return 0;
  return static_cast<double>(run.nodes.size()) * hours(run.job.end - run.job.start);
}

std::optional<Question> over_node_hours(const Known& known, const Case& c) {
  const int bound = known.policy.rerun_node_hours;
  if (bound == 0 || spent_lately(known, c).node_hours + node_hours_ahead(c) <= bound) return std::nullopt;
  return Question{
      std::string(kBudget),
      fmt::format("with it the re-runs of {} may take over {} node-hours in 24 h, this site's bound",
                  c.owner.user, bound)};
}

std::string_view to_string(RerunWay way) { return kWays[static_cast<std::size_t>(way)]; }
std::optional<RerunWay> rerun_way_from(std::string_view word) {
  for (std::size_t i = 0; i < kWays.size(); ++i)
    if (kWays[i] == word) return static_cast<RerunWay>(i);
  return std::nullopt;
}

const std::string& run_folder(const Case& c) {
  return c.programs.empty() || c.programs.front().job.work_dir.empty() ? c.work_dir
                                                                       : c.programs.front().job.work_dir;
}

bool no_more_runs(const Case& c) {
  if (!c.reruns.checked) return !c.options.rerun;
  return !c.reruns.given_up.empty() || c.reruns.way() == RerunWay::never;
}

bool rerun_declined(const Case& c) { return c.reruns.given_up.empty() && no_more_runs(c); }

Standing standing(const Case& c, int n) {
  const Run* run = c.program(n);
  if (run == nullptr) return no_more_runs(c) ? Standing::never : Standing::counts;
  const Reruns& r = c.reruns;
  // Its inputs changed while it waited or ran: it was a run of another job.
  if (r.disturbed.contains(run->key())) return Standing::never;
  // A run in the user's own folder counts only when its inputs were looked at again after its end.
  return has_spoken(run->outcome) && r.comparing.contains(run->key()) && !r.compared.contains(run->key())
             ? Standing::open
             : Standing::counts;
}

// Without a look at the folder: what that shows is asked later (rerun_apply.cc).
std::optional<Question> question_before(const Known& known, const Case& c) {
  // Whoever has answered knows what he wants, whatever there was to ask.
  if (c.reruns.answer) return std::nullopt;
  if (c.reruns.wish == RerunWay::ask)
    return Question{"asked_for", "this job is run again only when somebody says so (--rerun=ask)"};
  if (auto large = too_large(known.policy, c)) return large;
  if (c.reruns.wish == RerunWay::copy && c.names_folder)
    return Question{
        "names_folder",
        fmt::format("the script names {} or another place to write to by its whole path, which a copy "
                    "of the folder does not protect",
                    run_folder(c))};
  if (c.submits_jobs)
    return Question{"submits_jobs",
                    "the script submits jobs itself, and run again it would submit them again"};
  // Further runs were asked for, with a budget of their own (further.cc).
  return c.further ? std::nullopt : over_budget(known, c);
}

std::string why_no_rerun(const Case& c) {
  const Reruns& r = c.reruns;
  if (!r.given_up.empty()) return r.given_up;
  if (r.answer == RerunWay::never) return fmt::format("{} wanted none", r.answered_by);
  if (no_more_runs(c)) return r.checked ? "--rerun=never was given" : "--no-rerun was given";
  for (const auto& [key, what] : r.disturbed) return what;
  return "";
}

void add_rerun_words(const Case& c, Verdict& v) {
  if (v.final) return;
  const Reruns& r = c.reruns;
  if (r.asking) {
    v.missing.push_back("a second run of the program: " + r.question);
    v.next.push_back(answers(c));
  } else if (!r.holders.empty() && r.given_up.empty()) {
    v.missing.push_back(fmt::format(
        "a second run of the program, which waits until {} {} ended: {} may use the same files",
        holders_text(r), r.holders.size() == 1 ? "has" : "have", r.holders.size() == 1 ? "it" : "they"));
  }
}

std::optional<Verdict> verdict_while_waiting(const Case& c) {
  const Reruns& r = c.reruns;
  if (no_more_runs(c) || (!r.asking && r.holders.empty())) return std::nullopt;
  Verdict v;
  v.cause = Cause::inconclusive;
  v.confidence = Confidence::low;
  v.rule = r.asking ? kRuleAsk : kRuleHeld;
  v.sentence = r.asking ? "Not decided yet: may the program run a second time?"
                        : "Not decided yet: a second run waits for other jobs of the same user.";
  return v;
}

std::vector<std::string> copies_to_clean(const Case& c) {
  // The run that --deliver kept lies in its copy: that is the user's result.
  const bool keeps = c.options.deliver && c.verdict && c.verdict->cause == Cause::node;
  std::vector<std::string> folders;
  for (const auto& [key, folder] : c.reruns.copies) {
    bool kept = false;
    for (const Run& run : c.programs) kept |= keeps && run.key() == key && run.outcome == Outcome::ok;
    if (!kept) folders.push_back(folder);
  }
  return folders;
}

std::string waits_for(const Case& c) {
  if (c.is_closed()) return "";
  if (!c.programs.empty() && is_held_by_slurm(c.programs.front()))
    return fmt::format("a release: scontrol release {}", c.programs.front().job.job_id);
  // What holds the job itself is told before what would hold its re-run.
  if (c.joined != 0) return "the verdict of " + case_name(c.joined);
  if (!c.reruns.given_up.empty()) return "";
  if (c.reruns.asking) return "an answer: sickbay rerun " + c.name();
  return holders_text(c.reruns);
}

Json reruns_text(const Case& c) {
  const Reruns& r = c.reruns;
  Json copies = Json::array(), disturbed = Json::array();
  for (const auto& [key, folder] : r.copies) copies.push(Json::array({key, folder}));
  for (const auto& [key, what] : r.disturbed) disturbed.push(Json::array({key, what}));
  const std::vector<std::string> comparing(r.comparing.begin(), r.comparing.end());
  const std::vector<std::string> compared(r.compared.begin(), r.compared.end());
  return Json::object({{"asked", Json::array({r.asking, r.reason, r.question, to_micros(r.asked_at)})},
                       {"answer", r.answer ? Json(to_string(*r.answer)) : Json()},
                       {"looks", Json::array({r.looks, r.looking, r.look_failed, r.look_waived,
                                              to_micros(r.looked_at), to_micros(r.held_since)})},
                       {"place", Json::array({r.place.key, r.place.tries, static_cast<int>(r.place.stage),
                                              to_string(r.place.how), r.place.trouble, r.place.reason})},
                       {"copies", std::move(copies)},
                       {"comparing", comparing},
                       {"compared", compared},
                       {"disturbed", std::move(disturbed)},
                       {"cleaning", Json::array({r.cleaning, r.cleaned})},
                       {"script_digest", c.script_digest},
                       {"names_folder", c.names_folder},
                       {"submits_jobs", c.submits_jobs},
                       {"inputs", c.inputs}});
}

Json reruns_view(const Case& c) {
  const Reruns& r = c.reruns;
  if (!r.checked) return {};
  Json holders = Json::array();
  for (const Holder& h : r.holders)
    holders.push(Json::object({{"job_id", h.job_id}, {"name", h.name}, {"state", h.state}, {"why", h.why}}));
  std::string kept;  // the user's result
  const std::vector<std::string> cleaned = copies_to_clean(c);
  for (const auto& [key, folder] : r.copies)
    if (std::find(cleaned.begin(), cleaned.end(), folder) == cleaned.end()) kept = folder;
  return Json::object({{"how", to_string(r.way())},
                       {"question", r.asking ? Json::object({{"reason", r.reason},
                                                             {"text", r.question},
                                                             {"asked_at", to_micros(r.asked_at)},
                                                             {"answers", answers(c)}})
                                             : Json()},
                       {"answered_by", r.answered_by},
                       {"held_by", std::move(holders)},
                       {"folder", r.place.folder},
                       {"kept", kept},
                       {"given_up", r.given_up}});
}

}  // namespace sickbay::identify
