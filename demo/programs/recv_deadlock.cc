// SPDX-License-Identifier: Apache-2.0
// recv_deadlock [SECONDS=2]: after a healthy beginning every rank receives before it sends: nobody ever does.
// The ranks spin at full processor time, as MPICH waits.
#include "stage.h"

__attribute__((noinline)) void exchange_halo(const demo::Stage& stage) {
  const int next = (stage.rank + 1) % stage.ranks, last = (stage.rank + stage.ranks - 1) % stage.ranks;
  int mine = stage.rank, theirs = -1;
  MPI_Recv(&theirs, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&mine, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const demo::Stage stage("recv_deadlock", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 1, 2));
  stage.say("waits for its neighbour");
  exchange_halo(stage);
  stage.say("this line is never printed");
  return stage.end();
}
