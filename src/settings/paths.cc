// SPDX-License-Identifier: Apache-2.0
#include "settings/paths.h"

#include <cstdlib>

namespace sickbay {

Paths Paths::from_environment() {
  const char* root = std::getenv("SICKBAY_ROOT");
  Paths paths{root ? root : ""};
  while (!paths.root.empty() && paths.root.back() == '/') paths.root.pop_back();
  return paths;
}

}  // namespace sickbay
