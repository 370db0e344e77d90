// SPDX-License-Identifier: Apache-2.0
#include "engine/blackhole/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/hostlist.h"
#include "base/robust.h"

namespace sickbay::blackhole {
namespace {

// A priori: how often each of the other stories begins just when this node is looked at.  That users break
// what they run is daily business; that all of a cluster breaks is a matter of weeks.
constexpr double kUserBroke = 0.1;
constexpr double kProgramBroke = 0.02;
constexpr double kAllBroke = 0.01;
// The chance with which a black hole kills: all but by accident, or only the jobs that need what it lacks.
constexpr std::array<double, 2> kKills{0.95, 0.6};
// Of one user no more than so many jobs here count, of each outcome: all else is the same again.
constexpr int kMostOfVoice = 8;

struct Counts {
  int failed = 0, passed = 0;
  Counts& operator+=(const Counts& other) {
    failed += other.failed, passed += other.passed;
    return *this;
  }
};

// How likely `here` is, in logarithms, for a chance of failure of which Beta(prior, prior) and `elsewhere`
// are all that is known.
double ln_expected(const Counts& here, const Counts& elsewhere, double prior) {
  const double a = prior + elsewhere.failed, b = prior + elsewhere.passed;
  return ln_beta(a + here.failed, b + here.passed) - ln_beta(a, b);
}

// ln(e^a + e^b) relative to the larger, so that neither vanishes.
double ln_sum(double a, double b) {
  const double most = std::max(a, b);
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

// What an outcome is to a judgement in which failures lived at most `bar`.
Counts count(const JobOutcome& outcome, std::chrono::seconds bar) {
  if (outcome.failed_early()) return {1, 0};
  // Cancelled, out of memory, at its limit: no word about a node (doc/design/blackhole.md).
  if (outcome.neutral) return {};
  return {0, outcome.ended || outcome.lived >= bar ? 1 : 0};
}

// A wide job that failed may have been killed by any of its nodes: it is no word about one of them.
bool is_failure_here(const JobOutcome& job) { return job.failed_early() && job.nodes.size() <= kNarrow; }

// What is known of one user's jobs.
struct Voice {
  Counts here;
  Counts since;                         // elsewhere, of the kinds that failed here, since each failed first
  double own_rate = 0;                  // ln: how likely `here` is by what each of his kinds did elsewhere
  std::map<std::string, int> programs;  // that failed here -> how often
};

struct Known {
  std::map<std::uint32_t, Voice> voices;  // by user
  std::map<std::string, Counts> since;    // elsewhere, by program, since the start of the series
  Counts all_since;                       // elsewhere, of anything
};

// Fills in what the outcomes of one kind say, of which one failed here that had started at `first`.
void add_kind(const Recent& recent, const std::string& node, const Series& series, const Kind& kind,
              TimePoint first, std::chrono::seconds bar, Known& known, Evidence& found) {
  Counts here, elsewhere, since, told;
  const auto is_here = [&](const Kept& kept) {
    return has_host(kept.outcome.nodes, node) && kept.outcome.start >= series.start;
  };
  // First the jobs here, which say since when it has failed; then those elsewhere, of which that time makes
  // two columns.
  for (const Kept& kept : recent.of(kind)) {
    if (!is_here(kept)) continue;
    const JobOutcome& job = kept.outcome;
    if (job.failed_early() && !is_failure_here(job)) continue;
    here += count(job, bar);
    if (!is_failure_here(job)) continue;
    first = std::min(first, job.start);
    found.examples.push_back(job.job);
  }
  for (const Kept& kept : recent.of(kind)) {
    const JobOutcome& job = kept.outcome;
    if (has_host(job.nodes, node)) continue;  // what it did here before is this node's past, good or bad
    const Counts one = count(job, bar);
    elsewhere += one;
    if (job.start >= first) since += one;
    if (job.start >= series.start) told += one;
  }
  found.jobs += static_cast<std::size_t>(here.failed);
  found.passed += static_cast<std::size_t>(here.passed);
  Voice& voice = known.voices[kind.uid];
  // Bounded for the weighing only: `found` has told the true numbers.
  here.failed = std::min(here.failed, kMostOfVoice);
  here.passed = std::min(here.passed, kMostOfVoice);
  voice.here += here;
  // Beta(1/2, 1/2) has most of its weight near 0 and 1: a kind fails nearly never or nearly always. Kinds
  // add up, each with its own rate.
  voice.own_rate += ln_expected(here, elsewhere, 0.5);
  // A kind that only passed here cannot be what a user has broken.
  if (here.failed == 0) return;
  voice.since += since;
  voice.programs[kind.program] += here.failed;
  found.kind_passed += static_cast<std::size_t>(elsewhere.passed);
  found.kind_failed += static_cast<std::size_t>(elsewhere.failed);
  found.since_passed += static_cast<std::size_t>(told.passed);
  found.since_failed += static_cast<std::size_t>(told.failed);
}

// Half of what convicts, and half of what the mean over kKills may take away: two users can, one cannot.
double half_of_what_convicts() { return (std::log(kConvicts) + std::log(2.0)) / 2 + 1e-6; }

struct Odds {
  double all;   // against each of the four stories
  double here;  // against three of them: that something is away everywhere is left out
};

// The odds for a black hole that kills with the chance `kills`; `said` is the logarithm of what V's word is
// worth against a story in which the node is sound; no voice gives more than `most_of_voice`.
Odds odds_of(const Known& known, double kills, double said, double most_of_voice) {
  double all = said;
  Counts here_all;
  struct Program {
    double odds = 0, if_hole = 0;
    Counts here;
  };
  std::map<std::string, Program> programs;
  double if_hole_all = 0;
  for (const auto& [uid, voice] : known.voices) {
    const double if_hole = voice.here.failed * std::log(kills) + voice.here.passed * std::log(1 - kills);
    // The two stories of a user exclude each other, so their chances add up.
    const double otherwise = ln_sum(std::log(1 - kUserBroke) + voice.own_rate,
                                    std::log(kUserBroke) + ln_expected(voice.here, voice.since, 1));
    // No voice gives more than half of what convicts (judge.h).
    const double odds = std::min(if_hole - otherwise, most_of_voice);
    if_hole_all += if_hole;
    here_all += voice.here;
    if (voice.programs.empty()) {
      all += odds;  // his jobs passed: that acquits, whatever program it was
      continue;
    }
    // A user of several programs stands with the one that failed most.
    Program& program = programs[std::ranges::max_element(voice.programs, {}, [](const auto& entry) {
                                  return entry.second;
                                })->first];
    program.odds += odds;
    program.if_hole += if_hole;
    program.here += voice.here;
  }
  for (const auto& [name, program] : programs) {
    const auto since = known.since.find(name);
    const double broke = std::log(kProgramBroke) +
                         ln_expected(program.here, since == known.since.end() ? Counts() : since->second, 1);
    // The best other story holds: where a broken program explains its users better than each by himself, it
    // counts.
    all += std::min(program.odds, program.if_hole - broke);
  }
  // Likewise for all together: one cause that is away everywhere.
  const double not_everywhere = if_hole_all - std::log(kAllBroke) - ln_expected(here_all, known.all_since, 1);
  return {std::min(all, not_everywhere), all};
}

}  // namespace

std::int64_t Series::failures() const {
  std::int64_t sum = 0;
  for (const auto& [uid, count] : failed) sum += count;
  return sum;
}

std::chrono::seconds outlives(std::chrono::seconds longest) {
  // (Slurm counts in whole seconds: 0 is a second, too.)
  return std::max(longest, std::min(kLives, kTimesAsLong * std::max(longest, std::chrono::seconds(1))));
}

bool Evidence::convicts() const { return odds >= std::log(kConvicts); }

bool Evidence::suspects() const {
  // Where others fail elsewhere, too, it is more than this node.
  if (all_failed * 4 > jobs) return false;
  return odds_here >= std::log(kSuspects) && (users > 1 || since_passed >= kWitnesses);
}

// Made anew each time from what is kept, for what is learned later counts for failures that came before.
// Three walks: how long the longest failure lived, then each kind here and elsewhere, then all else since.
Evidence judge(const Recent& recent, const std::string& node, const Series& series) {
  Evidence found;
  if (!series.open()) return found;
  found.since = series.start;
  for (const auto& [kind, first] : series.kinds)
    for (const Kept& kept : recent.of(kind))
      if (is_failure_here(kept.outcome) && kept.outcome.start >= series.start &&
          has_host(kept.outcome.nodes, node))
        found.longest = std::max(found.longest, kept.outcome.lived);
  // A running job has passed when it has outlived every failure here: so the others' passing is known before
  // a hole has eaten ten jobs.
  const std::chrono::seconds bar = outlives(found.longest);

  Known known;
  for (const auto& [kind, first] : series.kinds)
    add_kind(recent, node, series, kind, first, bar, known, found);
  for (const Kept& kept : recent.all()) {
    const JobOutcome& job = kept.outcome;
    if (job.start < series.start || has_host(job.nodes, node)) continue;
    const Counts one = count(job, bar);
    known.all_since += one;
    known.since[job.program] += one;
  }
  for (const auto& [uid, voice] : known.voices) found.users += voice.here.failed > 0 ? 1 : 0;
  found.all_passed = static_cast<std::size_t>(known.all_since.passed);
  found.all_failed = static_cast<std::size_t>(known.all_since.failed);
  std::ranges::sort(found.examples);
  if (found.examples.size() > kMostExamples) found.examples.resize(kMostExamples);
  found.verification_failed = series.verification_failed;
  const double said = series.verification_failed ? std::log(kVerificationSays) : 0;
  // Both kinds of black holes are as likely.
  const auto weigh = [&](double most_of_voice) {
    const Odds most = odds_of(known, kKills[0], said, most_of_voice);
    const Odds some = odds_of(known, kKills[1], said, most_of_voice);
    return Odds{ln_sum(most.all, some.all) - std::log(2.0), ln_sum(most.here, some.here) - std::log(2.0)};
  };
  const Odds odds = weigh(half_of_what_convicts());
  found.odds = odds.all;
  found.odds_here = found.users == 1 ? weigh(std::numeric_limits<double>::max()).here : odds.here;
  return found;
}

Json Evidence::to_json() const {
  Json jobs_json = Json::array();
  for (const JobId job : examples) jobs_json.push(job);
  // Whole numbers only: a text of the journal must be the same wherever it is written.
  Json json = Json::object({{"failed", jobs},
                            {"users", users},
                            {"passed", passed},
                            {"jobs", std::move(jobs_json)},
                            {"since", to_micros(since)},
                            {"longest", static_cast<std::int64_t>(longest.count())},
                            {"elsewhere", Json::object({{"passed", kind_passed},
                                                        {"failed", kind_failed},
                                                        {"passed_since", since_passed},
                                                        {"failed_since", since_failed}})},
                            {"all_since", Json::object({{"passed", all_passed}, {"failed", all_failed}})},
                            {"odds_milli", static_cast<std::int64_t>(std::lround(odds * 1000))},
                            {"odds_here_milli", static_cast<std::int64_t>(std::lround(odds_here * 1000))}});
  if (verification_failed) json.set("verification", "failed");
  return json;
}

Evidence Evidence::from_json(const Json& json) {
  const auto size = [](const Json& value) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, value.as_int()));
  };
  Evidence found;
  found.jobs = size(json["failed"]);
  found.users = size(json["users"]);
  found.passed = size(json["passed"]);
  for (const Json& job : json["jobs"].items()) found.examples.push_back(static_cast<JobId>(job.as_int()));
  found.since = from_micros(json["since"].as_int());
  found.longest = std::chrono::seconds(json["longest"].as_int());
  found.kind_passed = size(json["elsewhere"]["passed"]);
  found.kind_failed = size(json["elsewhere"]["failed"]);
  found.since_passed = size(json["elsewhere"]["passed_since"]);
  found.since_failed = size(json["elsewhere"]["failed_since"]);
  found.all_passed = size(json["all_since"]["passed"]);
  found.all_failed = size(json["all_since"]["failed"]);
  found.verification_failed = json["verification"].as_string() == "failed";
  found.odds = static_cast<double>(json["odds_milli"].as_int()) / 1000;
  found.odds_here = static_cast<double>(json["odds_here_milli"].as_int()) / 1000;
  return found;
}

}  // namespace sickbay::blackhole
