// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/process_identity.h"

#include <fmt/format.h>

#include "adapters/node/process_table.h"

namespace sickbay {

std::string process_identity(std::string_view pid, std::string_view root) {
  const node::Tree tree(root);
  const auto boot = tree.word("/proc/sys/kernel/random/boot_id");
  const auto stat = node::process_stat(tree, pid);
  // A zombie has its number still, but does nothing more.
  if (!boot || !stat || stat->state == 'Z') return "";
  return fmt::format("{}/{}/{}", *boot, stat->pid, stat->started);
}

bool process_lives(std::string_view identity, std::string_view root) {
  const std::size_t first = identity.find('/');
  const std::size_t second = first == std::string_view::npos ? first : identity.find('/', first + 1);
  if (second == std::string_view::npos) return false;
  const std::string_view pid = identity.substr(first + 1, second - first - 1);
  // It becomes a part of a path: the note on disk may hold anything.
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return process_identity(pid, root) == identity;
}

}  // namespace sickbay
