// SPDX-License-Identifier: Apache-2.0
// judge(): how much more likely the outcomes on one node are if it kills what starts on it than under the
// best other story.
//
// A Bayes factor, made anew from the kept outcomes each time, so that what is learned later (the same kind
// passes elsewhere AFTER it failed here) counts for failures that came before.  The other stories, and what
// each of them expects elsewhere:
//
//     its own rate     the kind fails like this anyway: Beta(1/2, 1/2) and what it did elsewhere;
//     broken just now  the user has just broken it: it fails elsewhere too, of what started since.  A priori
//                      one user in ten; all his failures are one voice, and no voice gives more than half of
//                      what convicts.  So one user never convicts a node, whatever he does;
//     a program broke  the same for a program, whoever runs it: one in fifty;
//     everywhere       something all depend on is away: others fail elsewhere too, of what started since.
//                      One in a hundred; as long as nobody has passed elsewhere since, it explains anything.
//
// That V, the verification program, failed on the node since speaks against the first three, for V is not
// theirs; against the fourth it says nothing.
//
// A node that kills all, or six of ten: both are tried.  Odds are natural logarithms in here.
// Source: doc/design/blackhole.md, "The test"; for sequential tests by likelihood ratios Wald 1945, for
// looking after every outcome Ville's inequality.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/blackhole/recent.h"

namespace sickbay::blackhole {

/// Odds at which a node is called a black hole.
inline constexpr double kConvicts = 1e5;
/// Odds at which it is under suspicion, with the story of "everywhere" left out: as long as nothing runs
/// elsewhere that story explains anything, and only an experiment can tell (engine/patrol makes one).
inline constexpr double kSuspects = 1e3;
/// Where all that failed is one user's, his word counts in full for that: he convicts no node, but an
/// experiment may.  Of the kinds that fail, so many jobs of his must have passed elsewhere meanwhile.
inline constexpr std::size_t kWitnesses = 4;
/// Failures of one user, one after the other and no pass of anybody between them, from which on that is
/// weighed.
inline constexpr std::int64_t kOfOneUser = 4;
/// Jobs of more nodes blame none of them: any other one may have been it.
inline constexpr std::size_t kNarrow = 8;
/// So many times as often V fails on a node that kills jobs as on one where the jobs are to blame.
inline constexpr double kVerificationSays = 20;
/// A running job counts as passed when it has lived for as long as any that failed here, and at least so
/// long; or, where all of those were gone at once, kTimesAsLong as long.
inline constexpr std::chrono::seconds kLives{10};
inline constexpr int kTimesAsLong = 5;
/// The age at which a running job has outlived failures of which the longest lived so long.
std::chrono::seconds outlives(std::chrono::seconds longest);

/// The jobs on one node that are weighed: those that started since the first of them that failed.
struct Series {
  static constexpr int kFields = 13;  ///< base/state_archive.h
  TimePoint start = kNoTime;          ///< of that job; kNoTime: there is no series
  TimePoint clean = kNoTime;          ///< jobs that started before are of a series that has ended
  TimePoint last = kNoTime;           ///< when the last failure was told
  /// Of jobs that failed or passed here since, at most kMostKindsOfNode -> when the first that failed had
  /// started; kNever: none has.  (What is kept of a kind forgets it, where a node eats many.)
  std::map<Kind, TimePoint> kinds;
  std::map<std::uint32_t, int> failed;        ///< by user, since the start
  std::map<std::uint32_t, int> passed;        ///< likewise
  std::map<std::uint32_t, int> passed_since;  ///< likewise, since the last failure
  TimePoint suspected = kNoTime;              ///< the journal has heard first that it is under suspicion
  std::int64_t in_row = 0;                    ///< failures since the last pass
  std::int64_t suspected_after = 0;           ///< so many failures, when it heard so last
  bool suspected_for_one = false;             ///< and these were one user's
  std::chrono::seconds longest{0};            ///< any of those that failed lived
  bool verification_failed = false;           ///< V's last word on it since, not for want of room

  bool open() const { return start != kNoTime; }
  /// One user's jobs die here, one after the other, and nobody's pass.
  bool is_of_one_user() const { return failed.size() == 1 && passed.empty() && in_row >= kOfOneUser; }
  std::int64_t failures() const;
};

/// What was found about one node.
struct Evidence {
  static constexpr int kFields = 15;  ///< base/state_archive.h
  double odds = 0;                    ///< natural logarithm; over ln(kConvicts) it is a black hole
  double odds_here =
      0;  ///< the same, if it is known that nothing is away everywhere; and of one user in full
  std::size_t jobs = 0;             ///< that failed early on it since
  std::size_t users = 0;            ///< whose they were
  std::size_t passed = 0;           ///< jobs that passed on it since
  std::vector<JobId> examples;      ///< of those that failed, the first ones, at most kMostExamples
  TimePoint since = kNoTime;        ///< start of the first of them
  std::chrono::seconds longest{0};  ///< any of them lived
  std::size_t kind_passed = 0, kind_failed = 0;    ///< elsewhere, of the kinds that failed here
  std::size_t since_passed = 0, since_failed = 0;  ///< and of those the jobs that started since
  std::size_t all_passed = 0, all_failed = 0;      ///< elsewhere since, of all kinds; of a sample
  bool verification_failed = false;                ///< on it, too

  bool convicts() const;
  /// Worth an experiment: it would be as good as convicted if others passed elsewhere, and few failed there.
  /// Of one user: as good as convicted if others than he said so.
  bool suspects() const;
  Json to_json() const;
  static Evidence from_json(const Json& json);
};
inline constexpr std::size_t kMostExamples = 10;

Evidence judge(const Recent& recent, const std::string& node, const Series& series);

}  // namespace sickbay::blackhole
