// SPDX-License-Identifier: Apache-2.0
// What cases of this cluster came to, as it is counted for an answer that is not decided yet.
#include "engine/identify/provisional.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

Case failed(std::int64_t no, Cause cause = Cause::none, bool final = true) {
  Case c;
  c.no = no;
  Run& run = c.programs.emplace_back();
  run.id = {no, RunKind::program, 1};
  run.outcome = Outcome::failed;
  run.symptom = Symptom::abnormal_exit;
  run.job.exit_code = 1;
  run.nodes = {"n1"};
  if (cause != Cause::none) {
    c.verdict.emplace();
    c.verdict->cause = cause;
    c.verdict->final = final;
  }
  return c;
}

TEST(Provisional, CountsWhatEndsNowAndThenWithItsCause) {
  cluster::View view;
  State state;
  const Policy policy;
  std::int64_t no = 0;
  for (const Cause cause : {Cause::program, Cause::sometimes_program, Cause::sometimes_program, Cause::node,
                            Cause::sometimes_node, Cause::inconclusive, Cause::non_deterministic})
    ++no, state.cases[no] = failed(no, cause);
  ++no;
  const Case mine = state.cases[no] = failed(no);
  const Known known{view, state, policy, from_unix_seconds(1'800'000'000)};
  EXPECT_THAT(provisional_verdict(known, mine).why,
              Contains("of the last 7 cases of this kind (exit code 1) here, 3 were the program's and 2 a "
                       "node's"));

  for (std::int64_t other = 1; other <= 3; ++other) state.cases[other].verdict->final = false;
  EXPECT_THAT(provisional_verdict(known, mine).why, Not(Contains(StartsWith("of the last"))))
      << "of four nothing is said";
}

}  // namespace
}  // namespace sickbay::identify
