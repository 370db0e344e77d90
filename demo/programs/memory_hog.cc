// SPDX-License-Identifier: Apache-2.0
// memory_hog [MIB] [RANK=0]: one rank takes memory, 16 MiB at a time, until it is killed or holds MIB
// (default: four times what the job asked for per node, else 2048).  The bound is there because where nothing
// limits a job's memory it would otherwise bring down the machine.
#include <unistd.h>

#include <cstring>

#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("memory_hog", &argc, &argv);
  const char* request = std::getenv("SLURM_MEM_PER_NODE");
  const double asked = request ? std::atof(request) : 512;
  const long most = static_cast<long>(demo::number(argc, argv, 1, 4 * asked));
  if (stage.rank == static_cast<int>(demo::number(argc, argv, 2, 0)) % stage.ranks) {
    constexpr long kStep = 16;
    for (long held = kStep; held <= most; held += kStep) {
      auto* more = static_cast<char*>(std::malloc(kStep << 20));
      if (!more) {
        stage.say("no memory after %ld MiB", held);
        MPI_Abort(MPI_COMM_WORLD, 12);
      }
      std::memset(more, 1, kStep << 20);
      if (held % 256 == 0) stage.say("holds %ld MiB", held);
      ::usleep(5000);  // slow enough for a sampling accountant to see it
    }
    stage.say("holds %ld MiB and was not stopped", most);
  }
  demo::run_for(stage, 30);
  return stage.end();
}
