// SPDX-License-Identifier: Apache-2.0
// stack_overflow [SECONDS=2] [RANK=1]: one rank calls itself without end and dies of SIGSEGV.
#include "stage.h"

/// Uses its frame after the call, so that no compiler turns the recursion into a loop.
__attribute__((noinline)) double descend(double depth) {  // NOLINT(misc-no-recursion): the fault on purpose
  volatile double frame[128];
  for (volatile double& cell : frame) cell = depth;
  if (depth < 0) return frame[0];
  return descend(depth + 1) + frame[static_cast<int>(depth) % 128];
}

int main(int argc, char** argv) {
  const demo::Stage stage("stack_overflow", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 1, 2));
  if (stage.rank == static_cast<int>(demo::number(argc, argv, 2, 1)) % stage.ranks) {
    stage.say("descends");
    stage.say("%f", descend(0));
  }
  demo::run_for(stage, 60);
  return stage.end();
}
