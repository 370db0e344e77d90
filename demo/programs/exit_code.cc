// SPDX-License-Identifier: Apache-2.0
// exit_code [CODE=1] [SECONDS=1]: all ranks end together with that exit code.
#include "stage.h"

int main(int argc, char** argv) {
  const demo::Stage stage("exit_code", &argc, &argv);
  demo::run_for(stage, demo::number(argc, argv, 2, 1));
  const int code = static_cast<int>(demo::number(argc, argv, 1, 1));
  stage.say("ends with %d", code);
  return stage.end(code);
}
