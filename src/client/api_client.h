// SPDX-License-Identifier: Apache-2.0
// ApiClient: asks sickbayd over its Unix socket, or over TCP from another host, for command-line tools.  It
// blocks, with limits.
//
// How TCP is spoken is not known here: a RemoteSickbayd does, one whole signed answer at a time.
// One connection, made when it is needed and again when sickbayd has closed it.  A request is repeated at
// most once, and only when a connection that was kept turned out to be closed without a byte of an answer;
// that is safe for POST too, because sickbayd knows the idempotency key again (doc/design/decisions.md 8).
// An error of sickbayd comes back as the Error it was.  Not safe for threads.  Source: doc/formats/api.md.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "ports/http_client.h"

namespace sickbay {

/// How long the client waits; beyond: timed_out.
struct ApiTimes {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds answer{60'000};     ///< from sending to the end of the answer
  std::chrono::milliseconds stream_silence{0};  ///< between two pieces of a stream; 0: for ever
};

/// sickbayd on another host.
class RemoteSickbayd {
 public:
  virtual ~RemoteSickbayd() = default;
  /// The text of the answer.  Errors: as ports/http_client.h says.
  virtual Result<std::string> ask(HttpQuestion question) = 0;
};

class ApiClient {
 public:
  /// Asks `remote`.
  explicit ApiClient(std::shared_ptr<RemoteSickbayd> remote, ApiTimes times = {});
  /// Connects.  Errors: daemon_away (nobody answers on `socket_path`, which cause and remedy name), denied,
  /// bad_input (no such path can be), timed_out.
  static Result<ApiClient> connect(std::string socket_path, ApiTimes times = {});
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;
  ~ApiClient();

  /// The JSON at `target` ("/v1/cases?all=1", percent-encoded).  Errors: sickbayd's own, daemon_away,
  /// timed_out, bad_input (no target; an answer that is not HTTP or not JSON).
  Result<Json> get(std::string_view target);
  /// The text at `target`: /metrics.
  Result<std::string> get_text(std::string_view target);
  /// Posts `body`.  The same key again is the same request again: make one with new_idempotency_key().
  Result<Json> post(std::string_view target, const Json& body, std::string_view idempotency_key);
  /// Calls `each` for every line of the stream, without its line end, until it returns false or the stream
  /// ends.  Errors: as get(); daemon_away also when the stream is cut in the middle (sickbayd stopped, or we
  /// read too slowly): go on after the last line seen.
  /// Of a remote sickbayd this is one part of a stream, which may be empty after a while in which nothing
  /// came.
  Status stream(std::string_view target, const std::function<bool(std::string_view line)>& each);
  bool is_remote() const { return remote_ != nullptr; }

 private:
  class Connection;
  ApiClient(std::string path, ApiTimes times, std::unique_ptr<Connection> connection);
  struct Answer;
  Result<Answer> ask(std::string_view method, std::string_view target, std::string_view body,
                     std::string_view idempotency_key);
  Status send_request(const std::string& request);

  Status part_of_stream(std::string_view target, const std::function<bool(std::string_view line)>& each);

  std::shared_ptr<RemoteSickbayd> remote_;  // null: the socket `path_`
  std::string path_;
  ApiTimes times_;
  std::unique_ptr<Connection> connection_;  // null: to be made again
};

/// 128 random bits in hexadecimal.
std::string new_idempotency_key();
/// `text` fit for a path segment or a query value of a target.
std::string percent_encoded(std::string_view text);

}  // namespace sickbay
