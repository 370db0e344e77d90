// SPDX-License-Identifier: Apache-2.0
// Where sickbayd is, in words of people, of the configuration and of Slurm.  Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

constexpr std::uint16_t kSickbaydPort = 6830;

struct ControllerPlace {
  std::string host;  ///< a name or an address
  std::uint16_t port = kSickbaydPort;

  /// "head1:6830", "[fd00::1]:6830".
  std::string text() const;
  friend bool operator==(const ControllerPlace&, const ControllerPlace&) = default;
};

/// "head1", "head1:7000", "10.0.0.1:7000", "fd00::1", "[fd00::1]:7000".  Errors: bad_input.
Result<ControllerPlace> parse_controller(std::string_view text, std::uint16_t port = kSickbaydPort);

/// The hosts of slurmctld in a slurm.conf, or in what `scontrol show config` prints, the first one first; by
/// their address where it has one.
std::vector<ControllerPlace> slurm_controllers(std::string_view configuration, std::uint16_t port);

}  // namespace sickbay
