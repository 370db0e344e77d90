// SPDX-License-Identifier: Apache-2.0
// HttpRequestReader: bytes from a peer become requests.  No socket here, so that a fuzzer can drive it.
//
// Boost.Beast does the parsing; limits, targets and the answer to what is no request are ours.  Requests may
// follow one another without waiting (pipelining): what is left over after one starts the next.  A body must
// state its length: bodies in chunks are refused (411), since Beast 1.74 bounds neither their chunk lines nor
// their trailers, and no client of ours sends them.
// Source: RFC 9110, RFC 9112, RFC 3986.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ports/credentials.h"
#include "ports/http.h"

namespace sickbay {

struct HttpTarget {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// "/v1/nodes?all=1" taken apart and percent-decoded.  A '+' stands for itself (RFC 3986: forms are another
/// matter).  Errors: bad_input (no leading '/', a broken escape, a control character once decoded).
Result<HttpTarget> parse_target(std::string_view target);

struct HttpRequestLimits {
  std::size_t header_bytes = 16 << 10;
  std::size_t body_bytes = 8 << 20;
};

/// A request and what its connection has to know of it.
struct IncomingRequest {
  HttpRequest request;                        ///< without the caller
  std::string target;                         ///< as it came, percent-encoded
  std::string authorization;                  ///< of the header of that name; empty where there was none
  bool keep_alive = false;                    ///< the peer wants to use the connection again
  bool chunks = false;                        ///< the peer can read a chunked answer (HTTP/1.1)
  bool head = false;                          ///< HEAD: the answer has no body
  std::optional<Credential> credential = {};  ///< where it was decoded already, for the sake of a large body
};

class HttpRequestReader {
 public:
  enum class Progress {
    need_more,  ///< add() more bytes
    complete,   ///< take() the request
    failed,     ///< send failure() and close: what follows cannot be told apart
  };

  explicit HttpRequestReader(HttpRequestLimits limits);
  ~HttpRequestReader();
  HttpRequestReader(const HttpRequestReader&) = delete;

  void add(std::string_view bytes);
  /// Parses as far as the bytes go.  Repeats its answer until something changes.
  Progress step();
  /// The complete request; the reader then stands at the next one.
  IncomingRequest take();
  /// The answer for what is no request: 400, 411, 413 or 431 with our JSON error.
  const HttpResponse& failure() const;

  /// No byte of the next request is here.
  bool is_idle() const;
  bool has_header() const;
  /// Of a request whose header is here and whose body is not: the header Authorization, and how long its body
  /// is to be.
  struct Announced {
    std::string authorization;
    std::uint64_t body_bytes = 0;
  };
  Announced announced() const;
  /// How much has come of the body of the request under way, all of it once that is complete; what its header
  /// announces takes no room.
  std::size_t body_bytes() const;
  /// True once per request, when its sender waits for "100 Continue" before it sends the body.
  bool take_expectation();
  /// Bytes that are added and not yet parsed: a bound for the reader of the socket.
  std::size_t buffered() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sickbay
