// SPDX-License-Identifier: Apache-2.0
// What TwoSickbayds sees of its two, and what must hold of that: while it happens, and at the end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/ids.h"
#include "model/verbs.h"
#include "test/standby/two_sickbayds.h"

namespace sickbay {
namespace {

bool has_drain(const NodeInfo& node) {
  return std::ranges::find(node.flags, "DRAIN") != node.flags.end() && node.reason.starts_with("sickbay:");
}

}  // namespace

void TwoSickbayds::tell_event(int no, const Event& event) {
  if (last_acting_ != 0 && last_acting_ != no) ++take_overs;
  last_acting_ = no;
  // With the beginning of its term all that was in its journal before counts, too: of that nobody tells.
  if (event.kind == kTermBegan)
    SB_CHECK(daemon_of(no).controller.journal().read(0,
                                                     [&](const Event& before) {
                                                       if (before.seq < event.seq) counts(before);
                                                       return before.seq < event.seq;
                                                     }),
             "a journal of our own is read");
  counts(event);
}

void TwoSickbayds::counts(const Event& event) {
  const auto [known, is_new] = acknowledged_.try_emplace(event.seq, event.text());
  if (!is_new) {
    if (known->second != event.text())
      wrong(fmt::format("event {} was acknowledged and is another one now: {}", event.seq, known->second));
    return;
  }
  if (event.kind != kIntent) return;
  const Json& body = event.body;
  if (!intended_.insert(body["key"].as_string()).second)
    wrong(fmt::format("{} is intended a second time", body["key"].as_string()));
  const std::string& doing = body["verb"].as_string();
  if (doing == verb::kDrain || doing == verb::kUndrain)
    ++intents_[on(doing, body["args"]["node"].as_string())];
  if (doing == verb::kRequeueJob || doing == verb::kCancel)
    ++intents_[on(doing, std::to_string(body["args"]["job_id"].as_int()))];
}

void TwoSickbayds::watch_effects() {
  cluster_.on_job = [this](const JobInfo& job) { saw_job(job); };
  cluster_.on_node = [this](const NodeInfo& node) { saw_node(node); };
}

void TwoSickbayds::saw_job(const JobInfo& job) {
  const auto acted = [&](std::string_view did, const std::string& what) {
    ++effects;
    effect_moment_ = ++moments_;
    const std::string name = on(did, what);
    if (++done_[name] > intents_[name])
      wrong(fmt::format("'{}' is done {} times at Slurm, and intended {} times", name, done_[name],
                        intents_[name]));
  };
  const std::string key = sim::key_in_comment(job.comment), id = std::to_string(job.job_id);
  if (!key.empty() && jobs_of_key_[key].insert(job.job_id).second) {
    ++effects;
    effect_moment_ = ++moments_;
    if (jobs_of_key_[key].size() > 1) wrong(fmt::format("{} is submitted a second time", key));
    if (!intended_.contains(key + ":submit")) wrong(fmt::format("{} is submitted before that counts", key));
  }
  if (!key.empty() && job.state.starts_with("CANCELLED") && cancelled_.insert(job.job_id).second)
    acted(verb::kCancel, id);
  for (; restarts_[job.job_id] < job.restart_cnt; ++restarts_[job.job_id]) acted(verb::kRequeueJob, id);
}

void TwoSickbayds::saw_node(const NodeInfo& node) {
  const bool is = has_drain(node);
  if (std::exchange(drained_[node.name], is) == is) return;
  ++effects;
  effect_moment_ = ++moments_;
  const std::string name = on(is ? verb::kDrain : verb::kUndrain, node.name);
  if (++done_[name] > intents_[name]) wrong(fmt::format("'{}' is done before that counts", name));
}

// --- at the end

void TwoSickbayds::check_journals() {
  if (heads_.twice_active > 0) wrong(fmt::format("two acted, {} times", heads_.twice_active));
  for (const auto& [key, count] : cluster_.starts_by_key())
    if (count > 1) wrong(fmt::format("{} was started {} times", key, count));
  const std::vector<JournalRow> first = rows_of(heads_.folders().path(1)),
                                second = rows_of(heads_.folders().path(2));
  if (first != second) wrong("the two journals differ");
  for (const int no : {1, 2}) {
    const auto journal = open_journal_reader(heads_.folders().path(no));
    SB_CHECK(journal, "a journal of our own opens");
    std::set<std::int64_t> there;
    const Status read = (*journal)->read(0, [&](const Event& event) {
      if (const auto known = acknowledged_.find(event.seq);
          known != acknowledged_.end() && known->second == event.text())
        there.insert(event.seq);
      return true;
    });
    if (!read) wrong("a journal cannot be read: " + read.error().line());
    for (const auto& [seq, text] : acknowledged_)
      if (!there.contains(seq)) {
        wrong(fmt::format("event {} was acknowledged and is gone from head{}: {}", seq, no, text));
        break;
      }
  }
}

// Whoever is the standby has, and has removed, what the other has.
void TwoSickbayds::check_submissions() {
  if (cases_[1].kept != cases_[2].kept)
    wrong(fmt::format("{} submissions on head1, and others on head2, {}", cases_[1].kept.size(),
                      cases_[2].kept.size()));
}

TwoSickbayds::Ended TwoSickbayds::ended() {
  Ended ended;
  if (sim::SimDaemon* daemon = acting())
    for (const UserJob& job : jobs_)
      for (const auto& [no, subject] : daemon->seats.cases().state().cases)
        if (no == job.case_no || (subject.first != 0 && subject.first == job.case_no))
          ended.cases.push_back(
              fmt::format("{} {}", job.name, subject.verdict ? subject.verdict->sentence : "no verdict"));
  for (const std::string& name : cluster_.node_names())
    if (const auto node = cluster_.node(name); node && has_drain(*node)) ended.nodes.push_back(name);
  return ended;
}

}  // namespace sickbay
