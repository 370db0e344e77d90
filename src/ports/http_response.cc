// SPDX-License-Identifier: Apache-2.0
// Answers out of bytes.  See http_response.h.
#include "ports/http_response.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::size_t kChunkLineLimit = 1024;  // a size and what extensions a server may add
constexpr std::size_t kLengthDigits = 15;      // fits 64 bits, in decimal and in hexadecimal

bool is_token_char(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_field_char(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }

// Digits only, no sign, no blank: what two readers could read in two ways is no length.
bool parse_length(std::string_view digits, int base, std::uint64_t& length) {
  if (digits.empty() || digits.size() > kLengthDigits) return false;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), length, base);
  return ec == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

tl::unexpected<Error> HttpResponseReader::broken(std::string why) {
  broken_ = std::move(why);
  return fail(Error(ErrorCode::bad_input, "the answer is not HTTP/1.1")
                  .because(broken_)
                  .remedied_by("check that it is sickbayd, of this version, that listens there"));
}

std::string_view HttpResponseReader::header(std::string_view name) const {
  for (const auto& [key, value] : headers_)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

Status HttpResponseReader::add(std::string_view bytes) {
  if (!broken_.empty()) return broken(std::move(broken_));
  if (!bytes.empty()) begun_ = true;
  bytes_.append(bytes);
  for (;;) {
    const auto went_on = step();
    if (!went_on) return fail(went_on.error());
    if (!*went_on) return {};
  }
}

Status HttpResponseReader::end() {
  if (!broken_.empty()) return broken(std::move(broken_));
  if (state_ == State::until_end) state_ = State::complete;
  if (state_ == State::complete) return {};
  return broken("the connection ended in the middle of the answer");
}

// One part of the answer; false: more bytes are needed, or all is read.
Result<bool> HttpResponseReader::step() {
  switch (state_) {
    case State::complete:
      return false;
    case State::until_end:
    case State::until_length:
    case State::chunk: {
      const std::size_t count = state_ == State::until_end
                                    ? bytes_.size()
                                    : static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes_.size()));
      body_.append(bytes_, 0, count);
      bytes_.erase(0, count);
      if (state_ == State::until_end) return false;
      left_ -= count;
      if (left_ > 0) return false;
      state_ = state_ == State::chunk ? State::chunk_end : State::complete;
      return true;
    }
    case State::chunk_end:
      if (bytes_.size() < 2) return false;
      if (!bytes_.starts_with("\r\n")) return broken("a chunk is longer than its size says");
      bytes_.erase(0, 2);
      state_ = State::chunk_size;
      return true;
    case State::head:
    case State::chunk_size:
    case State::trailers:
      break;
  }

  // What is left ends with a line end, the head with an empty line.
  const std::string_view mark = state_ == State::head ? "\r\n\r\n" : "\r\n";
  const std::size_t limit = state_ == State::chunk_size ? kChunkLineLimit : kHeadLimit;
  const std::size_t at = bytes_.find(mark, searched_);
  // The same verdict however the bytes were cut: a mark within the limit would be here by now.
  if (at == std::string::npos ? bytes_.size() >= limit + mark.size() : at > limit)
    return broken("a head or line is over " + std::to_string(limit) + " bytes");
  if (at == std::string::npos) {
    // The mark may lie across two pieces: its first bytes are looked at again.
    searched_ = bytes_.size() < mark.size() ? 0 : bytes_.size() - mark.size() + 1;
    return false;
  }
  const std::string text = bytes_.substr(0, at);
  bytes_.erase(0, at + mark.size());
  searched_ = 0;
  Status read;
  if (state_ == State::head)
    read = read_head(text);
  else if (state_ == State::chunk_size)
    read = read_chunk_size(text);
  else if (text.empty())
    state_ = State::complete;
  else if ((left_ += text.size()) > kHeadLimit)  // trailers are dropped
    read = broken("its trailers are over " + std::to_string(kHeadLimit) + " bytes");
  if (!read) return fail(read.error());
  return true;
}

Status HttpResponseReader::read_head(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  // "HTTP/1.1 200 OK"; the words may be missing, and so may the blank before them.
  const bool well_formed = line.size() >= 12 && line.starts_with("HTTP/1.") && is_digit(line[7]) &&
                           line[8] == ' ' && is_digit(line[9]) && is_digit(line[10]) && is_digit(line[11]) &&
                           (line.size() == 12 || line[12] == ' ') && line[9] != '0' &&
                           std::all_of(line.begin(), line.end(), is_field_char);
  if (!well_formed) return broken("it begins with " + quote_for_message(line));
  old_ = line[7] == '0';
  status_ = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  // Those of an interim answer before are not of this one.
  headers_.clear();
  for (head.remove_prefix(line.size()); !head.empty();) {
    head.remove_prefix(2);
    const std::string_view field = head.substr(0, head.find("\r\n"));
    if (Status read = read_header_line(field); !read) return read;
    head.remove_prefix(field.size());
  }
  if (status_ == 101) return broken("it changes the protocol, which nobody asked for");
  if (status_ < 200) return {};  // an interim answer: the real one follows
  return begin_body();
}

Status HttpResponseReader::read_header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || name.empty() ||
      !std::all_of(name.begin(), name.end(), is_token_char) ||
      !std::all_of(line.begin(), line.end(), is_field_char))
    return broken("it has the header line " + quote_for_message(line));
  headers_.emplace_back(name, trimmed(line.substr(colon + 1)));
  return {};
}

Status HttpResponseReader::begin_body() {
  const auto count = [this](std::string_view name) {
    return std::count_if(headers_.begin(), headers_.end(),
                         [name](const auto& field) { return equal_ignoring_case(field.first, name); });
  };
  const std::string_view connection = header("Connection");
  // The default changed: HTTP/1.0 closes, 1.1 stays open.
  keeps_connection_ =
      old_ ? equal_ignoring_case(connection, "keep-alive") : !equal_ignoring_case(connection, "close");

  const auto lengths = count("Content-Length"), codings = count("Transfer-Encoding");
  // Two readers could end it at two places, and take for the next answer what is none (RFC 9112, section
  // 6.3).
  if (lengths + codings > 1) return broken("it states its length more than once");
  if (codings == 1) {
    if (!equal_ignoring_case(header("Transfer-Encoding"), "chunked"))
      return broken("its coding is " + quote_for_message(header("Transfer-Encoding")));
    state_ = State::chunk_size;
  } else if (lengths == 1) {
    if (!parse_length(header("Content-Length"), 10, left_))
      return broken("its length is " + quote_for_message(header("Content-Length")));
    state_ = left_ > 0 ? State::until_length : State::complete;
  } else if (status_ == 204 || status_ == 304) {
    state_ = State::complete;
  } else {
    // No length: it ends with the connection, which then serves no other question.
    state_ = State::until_end;
    keeps_connection_ = false;
  }
  return {};
}

Status HttpResponseReader::read_chunk_size(std::string_view line) {
  const std::string_view digits = trimmed(line.substr(0, line.find(';')));
  if (!parse_length(digits, 16, left_)) return broken("a chunk has the size " + quote_for_message(line));
  state_ = left_ > 0 ? State::chunk : State::trailers;
  return {};
}

}  // namespace sickbay
