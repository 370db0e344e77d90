// SPDX-License-Identifier: Apache-2.0
// Does a program fail now and then by itself, or does one node (or one link) of its first run make it fail?
//
// A sequential test over repeated runs of one program on chosen sets of nodes.  Hypotheses:
//   c      each run fails with the same unknown probability, wherever it is
//   d_i    runs that include node i do; others fail with `stray` at most
//   d_ij   the same of runs that include both i and j: the link between them
// Each unknown probability is uniform before the first run (Beta(1, 1)), so that f failures and s successes
// weigh B(1+f, 1+s), B the Beta function; all is reckoned with logarithms.  Evidence of another kind (V, a
// finding) multiplies the weight of its node.  Suspects are the nodes of the first run, numbered from 0; who
// calls knows their names.
//
// This room is pure: values in, values out, the same each time.  What follows from it for a case stands in
// engine/identify.  Source: doc/design/identify.md, "Further identification".
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sickbay::further {

/// What is known of a suspect besides the runs.  Each kind counts once for a node, however often it was seen:
/// two verifications that pass are hardly two witnesses.
enum class Evidence : std::uint8_t {
  verified_failed,  ///< V failed there of something that can explain how the program fails
  verified_slow,    ///< V was slow there, where time is what is wrong
  went_down,        ///< Slurm lost it under a failed run
  finding_of_test,  ///< of node diagnosis, by something that was tried
  finding_of_reading,
  verified_ok,
};
inline constexpr std::size_t kEvidenceKinds = 6;

/// What is believed before the first run, and what evidence weighs.
struct Prior {
  /// Of a failure that does not repeat: that the system is its cause.  Published studies put system causes at
  /// 1.5 % of runs and 9 % of node-hours.
  double system = 0.1;
  /// The share of links in that; none where there is one suspect only.
  double links = 0.2;
  /// How often a run fails that does not include the guilty node.
  double stray = 0.001;
  /// By Evidence, in its order.
  std::array<double, kEvidenceKinds> weights{100, 20, 20, 10, 3, 0.5};
};

using Pair = std::pair<int, int>;  ///< two suspects, the lower number first

/// One run of the program.
struct Trial {
  std::vector<int> nodes;  ///< the suspects that it included, ascending; empty: none of them
  bool failed = false;
};

/// All that a posterior follows from.
struct Record {
  int suspects = 0;
  std::vector<Trial> trials;
  std::map<int, std::set<Evidence>> of_node;
  std::map<Pair, std::set<Evidence>> of_link;
};

/// Trials on so many different sets of suspects are heard, the first ones; repeats of a set are free.  It
/// bounds the cost at any number of suspects.
inline constexpr std::size_t kMostSets = 16;
/// Links that a posterior lists.
inline constexpr std::size_t kMostLinks = 8;

struct Link {
  Pair ends;
  double share = 0;
};

struct Posterior {
  double program = 1;         ///< P(c)
  std::vector<double> nodes;  ///< P(d_i), by suspect
  double links = 0;           ///< the sum of all P(d_ij)
  /// The likeliest ones, where they can be told apart from each other; the likeliest first.
  std::vector<Link> top_links;
  /// Of all hypotheses, in nats: how much is still open.
  double entropy = 0;
  /// ln P(outcomes of the trials): two records that differ in one trial are compared by it.
  double log_evidence = 0;

  double system() const { return 1 - program; }
};

/// Shares sum up to 1.  O(suspects * sets + sets * 2^sets), sets at most kMostSets, so 10,000 suspects take
/// milliseconds.  Pure.
Posterior posterior(const Record& record, const Prior& prior = {});

/// When something is said.  Measured with seeded simulations (posterior_test.cc): with 0.95 alone a program
/// that fails in 10 % of its runs had an innocent node or link named in 22 of 1,000 cases, since one failure
/// and many successes elsewhere look like a node that fails.  So a name that rests on the runs alone needs
/// `bare` and two failures.
struct Certainty {
  double sure = 0.95;
  double bare = 0.99;   ///< of a name without other evidence against it
  int failures = 2;     ///< in runs that include it; of "the program": in all runs
  double telling = 10;  ///< evidence of this weight or more is such evidence
};

enum class Answer : std::uint8_t {
  open,
  program,  ///< it fails now and then, wherever it runs
  node,     ///< first
  link,     ///< between first and second
  system,   ///< a node or link of the first run; none of them can be named
};
struct Finding {
  Answer answer = Answer::open;
  int first = -1, second = -1;
  double share = 0;  ///< of what is said
};

/// What may be said by now, or `open`: then another run may tell.
Finding finding(const Record& record, const Posterior& now, const Prior& prior, const Certainty& certainty);
/// The same when there will be no further run: also `system`, where that is as sure as a bare name.
Finding last_word(const Record& record, const Posterior& now, const Prior& prior, const Certainty& certainty);

/// Failures in runs that included all of `nodes`.
int failures_with(const Record& record, std::initializer_list<int> nodes);

}  // namespace sickbay::further
