// SPDX-License-Identifier: Apache-2.0
// fixed_work [STEPS=5000]: the same work each time, however long it takes: on a slow node it runs into a
// time limit that fits good nodes (healthy, which runs for a given time, never does).
#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("fixed_work", &argc, &argv);
  const int steps = static_cast<int>(demo::number(argc, argv, 1, 5000));
  const double begun = MPI_Wtime();
  for (int step = 1; step <= steps; ++step) {
    demo::work();
    if (!demo::exchange(stage)) {
      stage.say("wrong result");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (stage.rank == 0 && step % 500 == 0)
      stage.say("step %d of %d after %.3f s", step, steps, MPI_Wtime() - begun);
  }
  if (stage.rank == 0) stage.say("done after %.3f s", MPI_Wtime() - begun);
  return stage.end();
}
