// SPDX-License-Identifier: Apache-2.0
// What a job's own checkpoint program tells of one checkpoint: POST /v1/checkpoints, and the event it
// becomes.
//
// It comes from a compute node, as the job's owner: a stranger's words, of which each has a bound.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace sickbay::history {

enum class ToldEvent : std::uint8_t { taken, restored, failed };
std::string_view to_string(ToldEvent event);

struct Told {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  JobId job = 0;
  std::uint32_t restart = 0;
  int checkpoint = 0;  ///< its number, from 1
  ToldEvent event = ToldEvent::taken;
  std::string folder;  ///< where its control file is
  std::int64_t bytes = 0, stored_bytes = 0;
  Micros took{0};
  int ranks = 0;
  std::string tier;           ///< "shared", "local", "memory"; empty: not said
  std::optional<int> parent;  ///< the checkpoint that it goes on from
  std::string why;            ///< of one that failed

  /// Errors: bad_input, with the member that is wrong.
  static Result<Told> from_request(const Json& body);
  Json to_json() const;
  static Told from_json(const Json& json);  ///< of an event of ours
  friend bool operator==(const Told&, const Told&) = default;
};

}  // namespace sickbay::history
