// SPDX-License-Identifier: Apache-2.0
// SlurmUser: whom slurmctld runs as.  He is an operator to us, as he is to Slurm.
#pragma once
#include <cstdint>
#include <optional>

#include "ports/http.h"
#include "ports/resource_manager.h"

namespace sickbay {

class SlurmUser {
 public:
  SlurmUser(Loop& loop, ResourceManager& manager) : loop_(loop), manager_(manager) {}
  /// Asks slurmctld, again every 30 s until it has answered.
  void learn() {
    manager_.slurm_user([this](Result<std::uint32_t> uid) {
      if (uid)
        uid_ = *uid;
      else
        loop_.at(loop_.now() + std::chrono::seconds(30), [this] { learn(); });
    });
  }
  /// Whether `caller` is that user; false while nobody knows.
  bool is(const Caller& caller) const { return is(caller.uid); }
  bool is(std::uint32_t uid) const { return uid_ && *uid_ == uid; }

 private:
  Loop& loop_;
  ResourceManager& manager_;
  std::optional<std::uint32_t> uid_;
};

}  // namespace sickbay
