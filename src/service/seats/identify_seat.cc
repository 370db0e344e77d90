// SPDX-License-Identifier: Apache-2.0
#include "service/seats/identify_seat.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/identify/array.h"
#include "engine/identify/join.h"
#include "model/verbs.h"

namespace sickbay {
namespace {

WatchedArray watched_array(const identify::TaskArray& array, std::int64_t longest_s) {
  WatchedArray watched{.tasks = array.tasks,
                       .left = array.left,
                       .told = array.is_seen(),
                       .begun = array.running > 0 || array.left.size() < array.tasks.size(),
                       .longest_s = longest_s};
  if (auto asked = TaskIds::parse(array.expression); asked && !watched.told)
    watched.tasks = std::move(*asked);
  return watched;
}

constexpr Micros kLookAtNodes = std::chrono::seconds(30);

std::vector<StarvedTold> starved_told(const identify::Run& run) {
  std::vector<StarvedTold> told;
  for (const identify::Starved& one : run.starved) told.push_back({one.node, one.lost(), one.apart});
  return told;
}

std::optional<LossyTold> lossy_told(const identify::Run& run) {
  if (!run.lossy) return std::nullopt;
  return LossyTold{run.lossy->node, run.lossy->lost};
}

// The verification that `event` is news of: it goes on, has ended, has been read, will say nothing.
std::optional<RunId> verification_of(const Event& event) {
  std::string_view name;
  if (event.kind == kJobSeen || event.kind == kJobLost) {
    name = event.body["run"].as_string();
  } else if (event.kind == kDone || event.kind == kFailed) {
    const std::string& verb = event.body["verb"].as_string();
    if (verb != verb::kReadOutput && verb != verb::kCancel && verb != verb::kSubmitVerification) return {};
    name = event.body["key"].as_string();
  }
  const auto id = parse_run_id(name.substr(0, name.rfind(".a")));
  return id && id->kind == RunKind::verification ? std::optional(*id) : std::nullopt;
}

}  // namespace

void IdentifySeat::apply(const Event& event) {
  identify::apply(state_, cluster_.view, event);
  const auto no = parse_case_name(event.subject);
  if (no && state_.open.contains(*no)) touch(event.subject);
  // The case of a job array waits for those of its tasks.
  if (no && (event.kind == kCaseClosed || event.kind == kVerdict))
    if (const auto it = state_.cases.find(*no); it != state_.cases.end() && it->second.parent != 0)
      touch(case_name(it->second.parent));
  for (const std::int64_t follower : identify::waiting_for(state_, event)) touch(case_name(follower));
  // A job that was put back into the queue gets a case of its own.
  if (event.kind == kRecoveryClosed)
    for (const std::int64_t resuming : state_.resuming) touch(case_name(resuming));
  if (const auto id = verification_of(event)) touch_on_nodes_of(*id);
  // What happens to nodes may matter to every open case, and so may the end of one, of whatever it had asked.
  // (Who waits for a claim that is given back is asked again by the controller.)
  if (event.kind == kNodesSeen || event.kind == kControllerSeen || event.kind == kCaseClosed) touch_all();
}

// What a verification says, or that it will say nothing, may be what another case on its nodes waits for.
// (With a thousand cases under way, to ask all of them each time would be most of what sickbayd does.)
void IdentifySeat::touch_on_nodes_of(const RunId& verification) {
  const auto it = state_.cases.find(verification.case_no);
  if (it == state_.cases.end()) return;
  const auto run = std::ranges::find(it->second.verifications, verification, &identify::Run::id);
  if (run == it->second.verifications.end() || run->nodes.empty()) return touch_all();
  const std::set<std::string_view> nodes(run->nodes.begin(), run->nodes.end());
  for (const std::int64_t no : state_.open)
    for (const identify::Run& of : state_.cases.at(no).programs)
      if (std::ranges::any_of(of.nodes, [&](const std::string& node) { return nodes.contains(node); })) {
        touch(case_name(no));
        break;
      }
}

void IdentifySeat::touch_all() {
  for (const std::int64_t no : state_.open) touch(case_name(no));
  for (const std::int64_t no : state_.resuming) touch(case_name(no));
}

Seat::Turn IdentifySeat::decide(const std::string& subject, TimePoint now) {
  const auto no = parse_case_name(subject);
  const auto it = no ? state_.cases.find(*no) : state_.cases.end();
  if (it == state_.cases.end()) return {};
  identify::Decision decision = identify::decide(cluster_, state_, policy_, it->second, now);
  // Numbers are given here, also to those whose POST is under way.
  for (Event& record : decision.records)
    if (record.kind == identify::kCaseOpened) identify::name_task_case(record, new_case_number());
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

// Nodes come with each look at jobs; where a case has none and waits for nodes to come back, they are wished
// for.
Wish IdentifySeat::wish() const {
  Wish wish;
  wish.jobs = identify::watches_jobs(state_);
  if (wish.jobs) return wish;
  const bool waits = std::ranges::any_of(state_.open, [this](std::int64_t no) {
    const auto& programs = state_.cases.at(no).programs;
    return !programs.empty() && programs.front().outcome == identify::Outcome::failed;
  });
  if (waits) wish.nodes_every = kLookAtNodes;
  return wish;
}

std::vector<WatchedJob> IdentifySeat::watched_jobs() const {
  std::vector<WatchedJob> jobs;
  for (identify::Watched& w : identify::watched(state_)) {
    jobs.push_back({w.job_id, w.uid, std::move(w.key), case_name(w.case_no), w.run.text()});
    if (w.array != nullptr) jobs.back().array = watched_array(*w.array, w.expect_time_s);
  }
  return jobs;
}

std::vector<RanksWatched> IdentifySeat::ranks_watched() const {
  std::vector<RanksWatched> list;
  for (const std::int64_t no : state_.open) {
    const identify::Case& c = state_.cases.at(no);
    const bool stacks = c.options.hang != HangMode::off;
    if (!stacks && !policy_.starved) continue;
    // Its re-runs, too: they would wait for the time limit as the first did.
    for (const identify::Run& run : c.programs)
      if (run.bound && run.outcome == identify::Outcome::running && !run.nodes.empty() && !run.cancel_wanted)
        list.push_back({run.job.job_id, c.owner.uid, run.nodes, c.name(), run.id.text(), run.hangs(), stacks,
                        policy_.starved, starved_told(run), run.hang_is_proven(), lossy_told(run)});
  }
  return list;
}

// A replay would find this one event in the place of the case.
void IdentifySeat::forget(const std::string& subject) {
  identify::apply(state_, cluster_.view, new_event(subject, kArchived, Json::object()));
}

std::int64_t IdentifySeat::new_case_number() {
  last_given_ = std::max(last_given_, state_.last_case) + 1;
  return last_given_;
}

}  // namespace sickbay
