// SPDX-License-Identifier: Apache-2.0
// healthy [SECONDS=20]: computes, passes a token around the ring and sums, then says so.  The program that
// only fails when a node does.
#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("healthy", &argc, &argv);
  const double seconds = demo::number(argc, argv, 1, 20);
  if (!demo::run_for(stage, seconds)) {
    stage.say("wrong result");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (stage.rank == 0) stage.say("result %d", stage.ranks * (stage.ranks - 1) / 2);
  return stage.end();
}
