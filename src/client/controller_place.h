// SPDX-License-Identifier: Apache-2.0
// Where sickbayd is, in words of people, of the configuration and of Slurm, and which of several places is
// asked. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

/// What a sickbayd answers that is the standby of `other` (doc/design/standby.md), and whether it is that.
Error standby_answer(const std::string& name, const std::string& other);
bool is_standby_answer(const Error& error);

/// Several places, of which one is asked: the first that answers and is no standby.
///
/// Who has answered stays ours, also when it is away then: another host's sickbayd may be another cluster's,
/// and a POST that is repeated must meet the same journal.  A standby has the journal of the other, so it is
/// passed over at any time.
class ControllerRound {
 public:
  /// `places`: one at least.
  explicit ControllerRound(std::vector<ControllerPlace> places) : places_(std::move(places)) {}
  const ControllerPlace& at() const { return places_[at_]; }
  /// What the place at() came to for a question; null: its answer.  True: at() is another one now, and the
  /// same question is for that; false: that is how it ends.
  bool goes_on(const Error* error);
  /// What each place said for the last question, where none answered it; "" else.
  const std::string& said() const { return said_; }

 private:
  std::vector<ControllerPlace> places_;
  std::size_t at_ = 0, asked_ = 0;  ///< how many places were asked this question
  bool answered_ = false;
  std::string tried_, said_;
};

}  // namespace sickbay
