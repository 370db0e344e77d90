// SPDX-License-Identifier: Apache-2.0
// flaky [PROBABILITY=0.5] [SECONDS=2]: with that probability one rank dies of SIGABRT; a run draws once, in
// rank 0, so that the probability does not depend on the number of ranks.
#include <random>

#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("flaky", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 2, 2));
  int victim = -1;
  if (stage.rank == 0) {
    std::random_device dice;
    if (dice() / 4294967296.0 < demo::number(argc, argv, 1, 0.5))
      victim = static_cast<int>(dice() % static_cast<unsigned>(stage.ranks));
  }
  MPI_Bcast(&victim, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (victim == stage.rank) {
    stage.say("assertion failed: queue is not empty");
    std::abort();
  }
  if (victim >= 0) demo::run_for(stage, 30);  // the others find out as they do in real programs
  if (stage.rank == 0) stage.say("result %d", stage.ranks * (stage.ranks - 1) / 2);
  return stage.end();
}
