// SPDX-License-Identifier: Apache-2.0
// HttpClient: asks sickbayd from another host, without blocking.
//
// adapters/net does it over TCP, signed both ways (doc/design/decisions.md 4): an answer that is not signed
// by root over this very question is no answer.
#pragma once
#include <chrono>
#include <string>

#include "base/json.h"
#include "ports/loop.h"

namespace sickbay {

struct HttpQuestion {
  std::string method = "GET";
  std::string target;  ///< percent-encoded: "/v1/agent/tasks?node=n3&after=7"
  std::string body;    ///< of a POST
  std::string idempotency_key;
  std::chrono::milliseconds time_limit{30'000};  ///< for all of it
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// The JSON of the answer.  Errors: sickbayd's own, daemon_away (no connection, or it ended), timed_out,
  /// munge_away, denied (the answer is not signed, or not by root, or not for this question), bad_input (the
  /// answer is not HTTP or not JSON).
  virtual void ask(HttpQuestion question, Done<Json> done) = 0;
};

}  // namespace sickbay
