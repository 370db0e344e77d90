// SPDX-License-Identifier: Apache-2.0
// Following the journal over the API, across restarts of sickbayd.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace sickbay {
class ApiClient;
}

namespace sickbay::cli {

struct FollowOrder {
  std::string subject;                ///< "" = all that the caller may see
  std::int64_t after = 0;             ///< seq of the last event that is known
  std::chrono::milliseconds tick{0};  ///< calls `idle` when nothing came for so long; 0: never
  std::chrono::seconds patience{60};  ///< how long sickbayd may be away before that is an error
};

/// A line of GET /v1/events: an event, or, behind events that the caller may not see, only the place to go on
/// from.
struct StreamLine {
  std::optional<Event> event;
  std::int64_t seq = 0;
};
Result<StreamLine> parse_stream_line(std::string_view line);

/// Calls `each` for every event after `after` that is there now, in order.  `subject`: as in FollowOrder.
/// Errors: the API's.
Status past_events(ApiClient& api, const std::string& subject, std::int64_t after,
                   const std::function<void(const Event&)>& each);

/// Calls `each` for every event after `order.after`, in order and each once, until it returns false; `idle`
/// (may be empty) likewise.  A stream that breaks is taken up again behind the last event seen.
/// Errors: the API's; daemon_away after `patience`.
Status follow_events(FollowOrder order, const std::function<bool(const Event&)>& each,
                     const std::function<bool()>& idle = {});

/// The seq of the last event in the journal.
Result<std::int64_t> last_seq();

}  // namespace sickbay::cli
