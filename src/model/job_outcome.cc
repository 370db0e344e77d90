// SPDX-License-Identifier: Apache-2.0
#include "model/job_outcome.h"

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "model/slurm_state.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostProgramBytes = 64;

// Jobs that run are told of at these ages; the last one is the one that always counts.  The young ones stand
// close: who sees a node eat jobs wants those elsewhere with the next look, also those that were of some
// seconds at this one, when nobody had asked.
constexpr auto kAges = std::to_array<std::chrono::seconds>(
    {std::chrono::seconds(5), std::chrono::seconds(6), std::chrono::seconds(7), std::chrono::seconds(8),
     std::chrono::seconds(9), std::chrono::seconds(10), std::chrono::seconds(30), std::chrono::seconds(60),
     kEarly});
// One that is first seen so much older began before anybody looked, and says nothing of today.
constexpr std::chrono::seconds kOld{300};

}  // namespace

Json JobOutcome::to_json() const {
  Json json = Json::object({{"job", job}, {"start", to_micros(start)}, {"uid", uid}, {"program", program}});
  if (!nodes.empty()) json.set("nodes", compress_hostlist(nodes));
  json.set("lived", static_cast<std::int64_t>(lived.count()));
  if (!ended) json.set("ended", false);
  if (failed) json.set("failed", true);
  if (neutral) json.set("neutral", true);
  if (!state.empty()) json.set("state", state);
  if (exit_code != 0) json.set("exit", exit_code);
  if (exit_signal != 0) json.set("signal", exit_signal);
  return json;
}

JobOutcome JobOutcome::from_json(const Json& json) {
  JobOutcome outcome;
  outcome.job = static_cast<JobId>(json["job"].as_int());
  outcome.start = from_micros(json["start"].as_int());
  outcome.uid = static_cast<std::uint32_t>(json["uid"].as_int());
  outcome.program = json["program"].as_string();
  if (auto nodes = expand_hostlist(json["nodes"].as_string(), kMostOutcomeNodes))
    outcome.nodes = sorted_hosts(std::move(*nodes));
  outcome.lived = std::chrono::seconds(json["lived"].as_int());
  outcome.ended = json["ended"].as_bool(true);
  outcome.failed = json["failed"].as_bool();
  outcome.neutral = json["neutral"].as_bool();
  outcome.state = json["state"].as_string();
  outcome.exit_code = static_cast<int>(json["exit"].as_int());
  outcome.exit_signal = static_cast<int>(json["signal"].as_int());
  return outcome;
}

std::string program_kind(std::string_view job_name) {
  std::string kind;
  for (std::size_t i = 0; i < job_name.size() && kind.size() < kMostProgramBytes; ++i) {
    if (!is_digit(job_name[i]))
      kind += job_name[i];
    else if (i == 0 || !is_digit(job_name[i - 1]))
      kind += '#';
  }
  return kind;
}

bool ToldLives::is_news(JobId job, TimePoint start, bool ended, std::chrono::seconds lived) {
  const auto age = static_cast<std::size_t>(
      std::ranges::count_if(kAges, [&](std::chrono::seconds bar) { return lived >= bar; }));
  auto [it, fresh] = jobs_.try_emplace(job);
  Told& told = it->second;
  // A requeued job begins anew under its number.
  if (told.start != start) fresh = true, told = {.start = start};
  told.seen = true;
  if (told.ended || (fresh && !ended && lived >= kOld)) {
    told.age = std::max(told.age, age);
    return false;
  }
  const bool news = ended || age > told.age;
  told.ended = ended;
  told.age = std::max(told.age, age);
  return news;
}

void ToldLives::end_look() {
  // Slurm has forgotten them, and so may we: memory is bounded by the jobs that a look shows.
  std::erase_if(jobs_, [](const auto& entry) { return !entry.second.seen; });
  for (auto& [job, told] : jobs_) told.seen = false;
}

std::optional<JobOutcome> outcome_of(const JobInfo& job, TimePoint now) {
  const auto state = parse_job_state(job.state, job.flags);
  if (!state || job.start == kNoTime) return std::nullopt;
  JobOutcome outcome;
  outcome.job = job.job_id;
  outcome.start = job.start;
  outcome.uid = job.uid;
  outcome.program = program_kind(job.name);
  outcome.ended = is_terminal(*state);
  // Slurm forgets the nodes of a job that it puts back into the queue: what the row says is of no run.
  if (!outcome.ended && state->base != JobBase::running) return std::nullopt;
  const TimePoint till = outcome.ended ? job.end : now;
  if (till == kNoTime) return std::nullopt;
  outcome.lived =
      std::max(std::chrono::seconds(0), std::chrono::floor<std::chrono::seconds>(till - job.start));
  if (outcome.ended) {
    const RunEnd end = run_end(*state);
    // (A limit of two minutes is no node's doing.)
    outcome.failed = end == RunEnd::failed && state->base != JobBase::timeout;
    const bool bounded = state->base == JobBase::timeout || state->base == JobBase::out_of_memory ||
                         state->base == JobBase::deadline;
    if (outcome.failed || bounded) {
      outcome.state = base_name(*state);
      outcome.exit_code = job.exit_code;
      outcome.exit_signal = job.exit_signal;
    }
    // Ended by people or by a bound before it was clear that it could live there: no word about a node.
    // Bounded ones are still kept, for whoever asks how the job ended.
    if (!outcome.failed && end != RunEnd::completed && outcome.lived <= kEarly) {
      if (!bounded) return std::nullopt;
      outcome.neutral = true;
    }
  }
  // (A text that names more than the bound is an error of the parser's: such a job speaks of no node.)
  if (auto nodes = expand_hostlist(job.nodes, kMostOutcomeNodes))
    outcome.nodes = sorted_hosts(std::move(*nodes));
  return outcome;
}

}  // namespace sickbay
