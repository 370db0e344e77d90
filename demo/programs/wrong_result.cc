// SPDX-License-Identifier: Apache-2.0
// wrong_result [SECONDS=2] [PROBABILITY=1]: ends well, with exit code 0, and prints a result that is off by
// one; only a check of the output can tell.
#include <random>

#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("wrong_result", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 1, 2));
  if (stage.rank == 0) {
    std::random_device dice;
    const bool wrong = dice() / 4294967296.0 < demo::number(argc, argv, 2, 1);
    stage.say("result %d", stage.ranks * (stage.ranks - 1) / 2 + wrong);
  }
  return stage.end();
}
