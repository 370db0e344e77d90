// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/job_here.h"

#include <string>

#include "adapters/node/tree.h"
#include "base/text.h"

namespace sickbay {

std::optional<bool> a_step_runs_here(std::string_view root) {
  using namespace std::string_view_literals;
  const node::Tree tree(root);
  bool any = false;
  std::string text;
  for (const std::string& name : tree.list("/proc")) {
    if (!is_digit(name[0])) continue;
    any = true;
    if (!tree.read_into("/proc/" + name + "/comm", text, 64) || !text.starts_with("slurmstepd")) continue;
    // Its arguments, each with a NUL behind it.  Of one that has vanished there are none: it was a step.
    if (!tree.read_into("/proc/" + name + "/cmdline", text, 4096) ||
        text.find("\0infinity\0"sv) == std::string::npos)
      return true;
  }
  if (!any) return std::nullopt;
  return false;
}

}  // namespace sickbay
