// SPDX-License-Identifier: Apache-2.0
#include "workload/read/hosts.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxHostNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '-' || c == '_' ||
                  c == '.';
         });
}

}  // namespace

void set_hosts(std::vector<std::string>& names, Arena& arena, Row& row) {
  std::erase_if(names, [](const std::string& name) { return !is_host_name(name); });
  if (names.empty()) return;
  if (names.size() == 1) {
    row.set(Num::nodes, 1);
    row.set(Text::node_list, arena.copy(names[0]));
    return;
  }
  names = sorted_hosts(std::move(names));
  row.set(Num::nodes, static_cast<std::int64_t>(names.size()));
  row.set(Text::node_list, arena.copy(compress_hostlist(names)));
}

}  // namespace sickbay::workload
