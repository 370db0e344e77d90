// SPDX-License-Identifier: Apache-2.0
// The rules of further runs: what counts, how many there may be, and how an order for them begins.
#include "engine/identify/further.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "engine/identify/explains.h"
#include "engine/identify/fingerprints.h"
#include "engine/identify/open_cases.h"
#include "engine/identify/placement.h"
#include "engine/identify/rerun.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

using further::Evidence;

// Below this a run is not worth its node-hours: no set of nodes that can be had tells more.
constexpr double kLeastGain = 1e-3;  // nats

bool has_outcome(const Run& run) { return has_spoken(run.outcome) && !run.never_began() && !run.was_taken(); }

// A run that failed in another way has met something else.
bool counts(const Case& c, const Run& run) {
  if (!has_outcome(run) || run.nodes.empty() || standing(c, run.id.n) != Standing::counts) return false;
  // The first failure is what is to be explained, and what others are compared with.
  if (run.id.n == 1 || run.outcome == Outcome::ok) return true;
  // Until its output is read nobody knows which failure it was.
  return run.output_read && likeness_of(c.programs.front(), run) != Likeness::different;
}

// Places in `names` of the first run's nodes.
std::map<std::string, int> numbers_of(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers.emplace(names[i], static_cast<int>(i));
  return numbers;
}

double node_hours_spent(const Case& c) {
  double spent = 0;
  for (const Run& run : c.programs)
    if (is_chosen_run(c, run.id.n)) spent += node_hours_of(c, run);
  return spent;
}

}  // namespace

// Everything that the arithmetic of engine/further is fed with: which of the first run's nodes each run had,
// how it ended, and what else is known of them.  Names become numbers, by their place in `names`.
Suspicion suspicion_of(const Known& known, const Case& c) {
  Suspicion s;
  if (c.programs.empty()) return s;
  const Run& first = c.programs.front();
  s.names = sorted_hosts(first.nodes);
  const std::map<std::string, int> numbers = numbers_of(s.names);
  s.record.suspects = static_cast<int>(s.names.size());
  const auto add = [&](const std::string& node, Evidence e) {
    if (const auto it = numbers.find(node); it != numbers.end()) s.record.of_node[it->second].insert(e);
  };

  for (const Run& run : c.programs) {
    if (!counts(c, run)) continue;
    further::Trial trial;
    trial.failed = run.outcome == Outcome::failed;
    for (const std::string& node : run.nodes)
      if (const auto it = numbers.find(node); it != numbers.end()) trial.nodes.push_back(it->second);
    std::ranges::sort(trial.nodes);
    // went_down counts under a failed run only (further/posterior.h).
    if (trial.failed)
      for (const std::string& node : run.lost_nodes()) add(node, Evidence::went_down);
    s.record.trials.push_back(std::move(trial));
  }
  for (const Run& v : c.verifications) {
    // V convicts where it has shown that it can pass, and only of what can explain the failure.
    const bool convicts_here = c.check_of(v.checks) == &v && check_of(known, c, v.checks) == Check::failed;
    for (const NodeResult& r : v.results) {
      const bool bad = convicts_here && explains(r, first);
      if (!bad && r.result != "ok") continue;
      const Evidence e = !bad                 ? Evidence::verified_ok
                         : r.result == "slow" ? Evidence::verified_slow
                                              : Evidence::verified_failed;
      const auto a = numbers.find(r.node), b = numbers.find(r.peer);
      if (r.peer.empty())
        add(r.node, e);
      else if (a != numbers.end() && b != numbers.end() && a->second != b->second)
        s.record.of_link[std::minmax(a->second, b->second)].insert(e);
    }
  }
  // (What V said there for other cases is by something that was tried; an agent's finding is a reading.)
  for (const CaseSign& sign : c.signs)
    add(sign.node,
        sign.sign.rule == "verification" ? Evidence::finding_of_test : Evidence::finding_of_reading);
  return s;
}

bool is_chosen_run(const Case& c, int n) { return c.further && n >= c.further->first; }

bool is_settled(const Known& known, const Case& c, int n) {
  const Run* run = c.program(n);
  if (run == nullptr || !ended(run->outcome) || tries_again(known, c, *run)) return false;
  if (run->outcome == Outcome::failed && !run->output_read) return false;
  return standing(c, n) != Standing::open;
}

further::Room room_for(const Known& known, const Case& c) {
  const Run& first = c.programs.front();
  const auto size = static_cast<int>(std::max<std::size_t>(1, first.nodes.size()));
  return {size, static_cast<int>(others_for(known, c).size())};
}

std::string why_no_further(const Known& known, const Case& c) {
  if (time_is_over(known, c)) return "the time of the case is over";
  if (no_more_runs(c)) return why_no_rerun(c);
  const auto made = static_cast<int>(c.programs.size()) - c.further->first + 1;
  // One that gave no outcome would give none again: tries_again() has had its say.
  if (const Run& last = c.programs.back(); made > 0 && is_settled(known, c, last.id.n) && !has_outcome(last))
    return fmt::format("{} gave no outcome: {}{}", last.id.text(), to_string(last.outcome),
                       last.refusal.empty() ? "" : " (" + last.refusal + ")");
  if (made >= c.further->wanted)
    return fmt::format("{} further runs were made, as many as {} for", made,
                       c.further->by == kUntilVerdict ? "this site allows" : "were asked");
  if (c.programs.size() >= kMostProgramRuns)
    return fmt::format("the program ran {} times, as often as one case may let it", c.programs.size());
  if (const double ahead = node_hours_ahead(c); node_hours_spent(c) + ahead > c.further->node_hours)
    return fmt::format("one more run may take {:.1f} node-hours, and {:.1f} of {:.1f} are spent", ahead,
                       node_hours_spent(c), c.further->node_hours);
  // The bounds on re-runs in 24 h do not ask again here, but the one on node-hours still stops.
  if (const auto over = over_node_hours(known, c)) return over->text;
  if (!c.further->rotate) {
    const Suspicion s = suspicion_of(known, c);
    if (next_nodes(s.record, known.policy.prior, room_for(known, c)).gain < kLeastGain)
      return "no set of nodes that can be had would tell more";
  }
  return "";
}

bool begins_further(const Case& c, const Verdict& v) {
  return c.options.until_verdict && !c.further && v.final && v.cause == Cause::non_deterministic &&
         c.reruns.checked && !no_more_runs(c);
}

std::optional<Error> refuses_further(const Case& c) {
  const auto conflict = [&](std::string what) { return Error(ErrorCode::conflict, c.name() + " " + what); };
  if (c.array)
    return conflict("is the case of a job array, which has no run itself")
        .remedied_by("requeue the case of one of its tasks: 'sickbay why " + c.name() + "' lists them");
  if (!c.is_closed())
    return conflict("is still under way")
        .remedied_by("'sickbay why --wait " + c.name() + "' ends with its verdict");
  if (c.joined != 0)
    return conflict("has the experiment of " + case_name(c.joined))
        .remedied_by("requeue " + case_name(c.joined));
  const bool failed = !c.programs.empty() && c.programs.front().outcome == Outcome::failed;
  const bool undecided =
      c.verdict && (c.verdict->cause == Cause::non_deterministic || c.verdict->cause == Cause::inconclusive);
  if (!failed || !undecided)
    return conflict("has nothing that further runs could tell")
        .because(!failed ? "its job did not fail" : "its verdict stands: " + c.verdict->sentence)
        .remedied_by("submit the job again if you want it to run");
  if (!c.reruns.checked)
    return conflict("was opened by an older Sickbay").remedied_by("submit the job again");
  if (no_more_runs(c))
    return conflict("has no further run of the program").because(why_no_rerun(c)).remedied_by("submit again");
  if (c.programs.size() >= kMostProgramRuns)
    return conflict(fmt::format("has run its program {} times, as often as one case may", c.programs.size()))
        .remedied_by("submit the job again");
  return std::nullopt;
}

Json further_order(const std::string& by, int runs, bool rotate, double node_hours) {
  return Json::object({{"by", by}, {"runs", runs}, {"rotate", rotate}, {"node_hours", node_hours}});
}

Json further_view(const Case& c) {
  if (!c.further) return {};
  const FurtherRuns& f = *c.further;
  Json view = further_order(f.by, f.wanted, f.rotate, f.node_hours);
  view.set("first", RunId{c.no, RunKind::program, f.first}.text()).set("asked_at", to_micros(f.asked_at));
  return std::move(view.set("round", f.round));
}

void on_requeue_asked(State& s, Case& c, const Event& e) {
  if (c.array || c.programs.empty()) return;
  c.further = {.round = c.further ? c.further->round + 1 : 1,
               // Numbers of runs go on: r3, r4, ... stay what they are in the journal, whichever order they
               // belong to.
               .first = static_cast<int>(c.programs.size()) + 1,
               .wanted = static_cast<int>(e.body["runs"].as_int()),
               .rotate = e.body["rotate"].as_bool(),
               .node_hours = e.body["node_hours"].as_double(),
               .by = e.body["by"].as_string(),
               .asked_at = e.at};
  // The answer that was final stands until there is a better one.
  if (c.verdict) c.verdict->final = false;
  if (!c.is_closed()) return;
  c.closed = kNoTime;
  set_open(s, c);
  // What was copied went when the case was closed.
  c.reruns.copies.clear();
  c.reruns.cleaning = c.reruns.cleaned = false;
}

}  // namespace sickbay::identify
