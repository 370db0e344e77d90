// SPDX-License-Identifier: Apache-2.0
// endless_loop [SECONDS=2] [RANK=all]: a loop whose end is never reached: in one rank, while the others wait
// in MPI_Barrier, or in all.
#include "stage.h"

__attribute__((noinline)) void iterate() {
  volatile double residual = 1;
  while (residual > 0) residual = residual + demo::work() * 1e-9;
}

int main(int argc, char** argv) {
  const demo::Stage stage("endless_loop", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 1, 2));
  const int looping = static_cast<int>(demo::number(argc, argv, 2, -1));
  if (looping < 0 || stage.rank == looping) {
    stage.say("iterates until the residual is 0");
    iterate();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return stage.end();
}
