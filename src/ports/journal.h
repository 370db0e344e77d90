// SPDX-License-Identifier: Apache-2.0
// Journal: the one durable list of events.  Whatever is not in it did not happen.
//
// adapters/sqlite implements it; a test store that drops unsynced writes does too.  One writer.
// Source: doc/design/decisions.md 10-13.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace sickbay {

class Journal {
 public:
  virtual ~Journal() = default;

  /// Appends all of `events` in one transaction, durable on return, and fills in their seq (in order, from
  /// last_seq()+1).  `at` must be set by the caller and not before last_stamp().  All or nothing.
  /// Errors: storage_full, storage_broken; nothing was appended then and the call may be repeated.
  virtual Status append(std::vector<Event>& events) = 0;

  /// Calls `each` for events with seq > after, in order, until it returns false or the end.
  /// Bodies of old versions are raised to today's.  Errors: storage_broken, too_new.
  virtual Status read(std::int64_t after, const std::function<bool(const Event&)>& each) = 0;
  /// The same for one subject.
  virtual Status read_subject(const std::string& subject, std::int64_t after,
                              const std::function<bool(const Event&)>& each) = 0;

  virtual std::int64_t last_seq() const = 0;    ///< 0 when empty
  virtual TimePoint last_stamp() const = 0;     ///< kNoTime when empty
  virtual std::int64_t size_bytes() const = 0;  ///< on disk, for /metrics
};

}  // namespace sickbay
