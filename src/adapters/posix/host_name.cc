// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/host_name.h"

#include <unistd.h>

namespace sickbay {

std::string host_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string short_host_name() {
  const std::string name = host_name();
  return name.substr(0, name.find('.'));
}

}  // namespace sickbay
