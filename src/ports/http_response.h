// SPDX-License-Identifier: Apache-2.0
// HttpResponseReader: bytes from a server become one answer.  No socket here, so that a fuzzer can drive it.
//
// Reads what HTTP/1.1 servers send: a head, then a body of a stated length, in chunks, or until the
// connection ends.  The body can be taken piece by piece while it comes, which is how streams are read.
// Stricter than the standard asks where leniency has led to two readings of the same bytes: line ends are
// CRLF, lengths are plain digits and stated once.  Source: RFC 9112 sections 2 to 7.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay {

class HttpResponseReader {
 public:
  static constexpr std::size_t kHeadLimit = 64 << 10;  ///< of head, or of trailers; beyond: bad_input

  /// Reads on.  Errors: bad_input (the bytes are no answer; more bytes do not help, and the error stays).
  Status add(std::string_view bytes);
  /// The connection has ended.  Errors: bad_input (in the middle of an answer).
  Status end();

  bool is_begun() const { return begun_; }  ///< any byte came
  bool has_head() const { return state_ > State::head; }
  bool is_complete() const { return state_ == State::complete; }
  int status() const { return status_; }  ///< 200 to 999 once has_head(); 1xx answers are skipped
  /// The first header `name` (any case), or "".
  std::string_view header(std::string_view name) const;
  /// The connection can carry another request after this answer.
  bool keeps_connection() const { return keeps_connection_; }
  /// The body that came since the last call.
  std::string take_body() { return std::exchange(body_, {}); }
  std::size_t body_size() const { return body_.size(); }
  /// What came after the answer: none of a server that answers only what it was asked.
  std::string_view rest() const { return is_complete() ? std::string_view(bytes_) : std::string_view(); }

 private:
  enum class State : std::uint8_t {
    head,
    until_length,
    chunk_size,
    chunk,
    chunk_end,
    trailers,
    until_end,
    complete
  };

  Status read_head(std::string_view head);
  Status read_header_line(std::string_view line);
  Status begin_body();
  Status read_chunk_size(std::string_view line);
  Result<bool> step();
  tl::unexpected<Error> broken(std::string why);

  State state_ = State::head;
  std::string bytes_;         // not yet read
  std::size_t searched_ = 0;  // of bytes_, without the end that is looked for
  std::string body_;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  int status_ = 0;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool begun_ = false, keeps_connection_ = false, old_ = false;
  std::string broken_;
};

}  // namespace sickbay
