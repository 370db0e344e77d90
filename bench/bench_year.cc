// SPDX-License-Identifier: Apache-2.0
// A year of a cluster of 10,000 nodes and 100,000 jobs a day, in one part of kScale: so many fewer nodes,
// jobs and faults, the same year.  The journal's size, what a start of it takes and holds, and how long
// sickbayd's loop waits for a portion of the archives.  Figures of the whole are those measured times kScale,
// which holds for what grows with jobs and faults, and the kilobytes of an empty sickbayd are not taken off.
//
// The story is made up: of 100 jobs two fail and have a case (two runs, a verification, a verdict), all are
// told of once, one node in a hundred has a fault that stands all year and is told once a day, and one in a
// hundred a day has a fault that is gone after an hour.  Portions are those of apps/daemon/archivist.cc.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "adapters/sim/past_journal.h"
#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "adapters/sqlite/journal.h"
#include "base/heap_test_parts.h"
#include "figure.h"
#include "model/job_outcome.h"
#include "service/case_store.h"
#include "service/controller.h"
#include "service/effects.h"

namespace {

using namespace sickbay;
using namespace std::chrono_literals;
using bench::figure;
using bench::require;
using Clock = std::chrono::steady_clock;

constexpr int kScale = 50, kNodes = 10'000 / kScale, kJobs = 100'000 / kScale, kDays = 365;
constexpr std::chrono::hours kDay{24}, kKeep{30 * 24};
constexpr std::int64_t kPortion = 100;  // events: about what ten milliseconds are enough for

struct NoStore : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, ""); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

// (Of what another start held before nothing is left in it.)
double held_mb() { return static_cast<double>(held_bytes()) / 1e6; }

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

class Year {
 public:
  explicit Year(SqliteJournal& journal) : journal_(journal) {}

  void day() {
    now_ += kDay;
    for (int i = 0; i < kJobs / 100; ++i) outcomes();
    for (int i = 0; i < kJobs / 50; ++i) a_case();
    for (int node = 1; node <= kNodes / 100; ++node) finding(node, "stands", "fault");
    for (int i = 0; i < kNodes / 100; ++i) {
      const int node = 1 + static_cast<int>(random_() % kNodes);
      finding(node, "passes", "fault");
      finding(node, "passes", "ok");
    }
    flush();
  }
  /// What the archivist does in a day; the longest portion in milliseconds.
  double archive() {
    double longest = 0;
    std::vector<std::string> subjects;
    for (; oldest_ < cases_.size() && cases_[oldest_] < now_ - kKeep - kDay; ++oldest_)
      subjects.push_back(case_name(static_cast<std::int64_t>(oldest_) + 1));
    while (!subjects.empty()) {
      const auto began = Clock::now();
      const auto done = journal_.compact(now_ - kKeep, subjects, kPortion);
      longest = std::max(longest, ms_since(began));
      require(done.has_value(), "cases are archived");
      subjects.erase(subjects.begin(), subjects.begin() + static_cast<std::ptrdiff_t>(done->looked_at));
    }
    if (now_ - kept_at_ >= kKeep) {
      kept_at_ = now_;
      say("jobs", kJobsKept, Json::object());
      flush();
    }
    for (bool more = true; more;) {
      const auto began = Clock::now();
      const auto done = journal_.compact_before(std::min(now_ - kKeep, kept_at_), "jobs", 20);
      longest = std::max(longest, ms_since(began));
      require(done.has_value(), "what jobs came to is archived");
      more = done->events == 20;
    }
    return longest;
  }
  std::int64_t written() const { return written_; }

 private:
  void say(const std::string& subject, std::string_view kind, Json body) {
    Event event = new_event(subject, kind, std::move(body));
    event.at = now_;
    batch_.push_back(std::move(event));
  }
  void flush() {
    written_ += static_cast<std::int64_t>(batch_.size());
    require(journal_.append(batch_).has_value(), "the journal takes a day");
    batch_.clear();
  }
  std::string node() { return fmt::format("n{}", 1 + random_() % kNodes); }

  void outcomes() {
    Json list = Json::array();
    for (int i = 0; i < 100; ++i) {
      JobOutcome o;
      o.job = ++last_job_;
      o.start = now_;
      o.uid = 60'000 + static_cast<std::uint32_t>(random_() % 200);
      o.program = fmt::format("sweep_{}", random_() % 20);
      o.nodes = {node()};
      o.lived = std::chrono::seconds(600);
      list.push(o.to_json());
    }
    say("jobs", kJobsEnded, Json::object({{"outcomes", std::move(list)}}));
  }

  JobInfo job(const std::string& state) {
    JobInfo info;
    info.job_id = ++last_job_;
    info.uid = 60'001;
    info.name = "sweep_0017";
    info.partition = "batch";
    info.state = state;
    info.submit = info.start = now_;
    info.nodes = node();
    info.num_nodes = 1;
    info.exit_code = state == "FAILED" ? 1 : 0;
    info.work_dir = "/home/alice/runs/0017";
    info.std_out = info.std_err = "/home/alice/runs/0017/slurm-1234567.out";
    return info;
  }

  void a_case() {
    cases_.push_back(now_);
    const std::string name = case_name(static_cast<std::int64_t>(cases_.size()));
    say(name, identify::kCaseOpened,
        Json::object(
            {{"owner", Owner{"alice", 60'001, 60'001}.to_json()}, {"work_dir", "/home/alice/runs"}}));
    const JobInfo first = job("RUNNING");
    say(name, identify::kJobBound, Json::object({{"job_id", first.job_id}}));
    for (const char* run : {".r1", ".v1", ".r2"}) {
      if (run != std::string_view(".r1")) {
        const std::string key = name + run + ".a1:submit";
        say(name, kIntent,
            Json::object({{"key", key}, {"verb", "submit_verification"}, {"args", Json::object()}}));
        say(name, kDone,
            Json::object(
                {{"key", key},
                 {"verb", "submit_verification"},
                 {"result", Json::object({{"job_id", last_job_ + 1}, {"submit", to_micros(now_)}})}}));
      }
      const JobInfo running = run == std::string_view(".r1") ? first : job("RUNNING");
      JobInfo over = running;
      over.state = run == std::string_view(".v1") ? "COMPLETED" : "FAILED";
      over.end = now_ + 600s;
      for (const JobInfo& seen : {running, over})
        say(name, kJobSeen, Json::object({{"run", name + run}, {"job", seen.to_json()}}));
    }
    identify::Verdict verdict;
    verdict.cause = identify::Cause::program;
    verdict.final = true;
    verdict.sentence =
        "The program is the cause: it failed alike on other nodes, which the verification found well.";
    verdict.why = {"r1 failed on n1 with exit code 1", "v1 passed on n1", "r2 failed on n2 with exit code 1"};
    say(name, kVerdict, verdict.to_json());
    say(name, kCaseClosed, Json::object());
  }

  void finding(int on, const char* rule, const char* result) {
    say(fmt::format("f{}", ++last_finding_), kFinding,
        Json::object({{"node", fmt::format("n{}", on)},
                      {"boot_id", "5f2b1c34-1f0e-4a44-9d0b-6f7c2b1a0e11"},
                      {"n", last_finding_},
                      {"at", to_micros(now_)},
                      {"specification", "node"},
                      {"rule", rule},
                      {"result", result},
                      {"action", "notify"},
                      {"text", "91 % of /var are in use, which is more than 90 %"},
                      {"values", Json::object({{"used", 91}})}}));
  }

  SqliteJournal& journal_;
  std::mt19937 random_{1};
  TimePoint now_ = from_unix_seconds(1'767'225'600), kept_at_ = now_;
  std::vector<Event> batch_;
  std::vector<TimePoint> cases_;  // by number - 1: when it was opened and closed
  std::size_t oldest_ = 0;        // of those in the journal
  JobId last_job_ = 0;
  std::int64_t last_finding_ = 0, written_ = 0;
};

// sickbayd, as far as a start is concerned.
struct Start {
  explicit Start(Journal& journal)
      : cluster(loop, {}),
        processes(loop, cluster),
        effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0}),
        seats(config),
        controller(loop, journal, cluster, effects, seats, config) {}
  sim::SimLoop loop;
  sim::SimCluster cluster;
  sim::SimProcesses processes;
  NoStore store;
  Config config;
  Effects effects;
  Seats seats;
  Controller controller;
};

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_year.XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  const std::string path = folder + "/journal.db";
  std::vector<double> portions;
  std::int64_t written = 0;
  {
    const auto journal = open_journal(path).value();
    Year year(*journal);
    for (int day = 0; day < kDays; ++day) {
      year.day();
      portions.push_back(year.archive());
    }
    written = year.written();
  }
  figure("scale", kScale, "x");
  figure("events_of_the_year", static_cast<double>(written), "events");
  std::ranges::sort(portions);
  figure("longest_portion_of_a_day_median", portions[portions.size() / 2], "ms");
  figure("longest_portion_of_a_day_p99", portions[portions.size() * 99 / 100], "ms");

  const auto journal = open_journal(path).value();
  // A snapshot of the day before, as sickbayd has it: what a start reads besides is one day.
  KeptState kept_state;
  {
    sim::PastJournal past(*journal, journal->last_seq() - written / kDays);
    const auto made = std::make_unique<Start>(past);
    require(made->controller.replay().has_value(), "the journal is replayed");
    const auto at = bench::ThreadTime::now();
    kept_state = {past.last_seq(), made->controller.save()};
    figure("snapshot_written", std::chrono::duration<double>(bench::ThreadTime::now() - at).count(), "s");
  }
  figure("snapshot", static_cast<double>(kept_state.bytes.size()) / 1e6, "MB");
  {
    const auto start = std::make_unique<Start>(*journal);
    const auto at = bench::ThreadTime::now();
    const auto replayed = start->controller.replay(&kept_state);
    require(replayed && !replayed->unreadable, "the snapshot is taken");
    const double took = std::chrono::duration<double>(bench::ThreadTime::now() - at).count();
    figure("start_with_snapshot", took, "s");
    figure("start_with_snapshot_of_the_whole", took * kScale, "s");
  }
  kept_state = {};
  const double before = held_mb();
  const auto start = std::make_unique<Start>(*journal);
  const auto began = bench::ThreadTime::now();
  require(start->controller.replay().has_value(), "the journal is replayed");
  const double start_s = std::chrono::duration<double>(bench::ThreadTime::now() - began).count();
  std::int64_t kept = 0;
  require(journal->read(0, [&](const Event&) { return ++kept > 0; }).has_value(), "it can be read");
  const double file_mb = static_cast<double>(journal->size_bytes()) / 1e6;
  figure("events_of_the_journal", static_cast<double>(kept), "events");
  figure("journal", file_mb, "MB");
  figure("replay", start_s, "s");
  figure("memory", held_mb() - before, "MB");
  figure("journal_of_the_whole", file_mb * kScale / 1000, "GB");
  figure("replay_of_the_whole", start_s * kScale, "s");
  figure("memory_of_the_whole", (held_mb() - before) * kScale / 1000, "GB");
  std::filesystem::remove_all(folder);
  return 0;
}
