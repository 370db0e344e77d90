// SPDX-License-Identifier: Apache-2.0
// UserList: users that an operation leaves alone, by name or number.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "adapters/node/process_table.h"

namespace sickbay::node {

class UserList {
 public:
  /// Names or numbers, parted by commas.
  explicit UserList(std::string_view names);
  bool has(ProcessTable& table, std::int64_t uid) const {
    return names_.contains(std::to_string(uid)) || names_.contains(table.user(uid));
  }

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace sickbay::node
