// SPDX-License-Identifier: Apache-2.0
// The client of sickbayd.  See api_client.h.
#include "client/api_client.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/descriptor.h"
#include "base/text.h"
#include "ports/http.h"
#include "ports/http_response.h"

namespace sickbay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAnswerLimit = 256 << 20;    // of one answer that is no stream
constexpr std::size_t kLineLimit = 16 << 20;       // of one line of a stream
constexpr std::chrono::seconds kShortestPart{10};  // of a remote stream, in which it may be silent
constexpr auto kForEver = Clock::time_point::max();
constexpr int kOk = 200;
constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string os_error(int code) { return std::strerror(code); }

Error away(const std::string& path, std::string why) {
  return Error(ErrorCode::daemon_away, "sickbayd does not answer on " + path)
      .because(std::move(why))
      .remedied_by(
          "start sickbayd on this host (systemctl start sickbayd); set SICKBAY_ROOT if it has another socket "
          "than " +
          path);
}

Status check_target(std::string_view target) {
  const bool plain = std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!target.starts_with('/') || !plain)
    return fail(Error(ErrorCode::bad_input, "no such target: " + quote_for_message(target))
                    .because("a target begins with '/' and is percent-encoded"));
  return {};
}

std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view idempotency_key) {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: sickbayd\r\n");
  if (!idempotency_key.empty()) text.append("Idempotency-Key: ").append(idempotency_key).append("\r\n");
  if (method == "POST")
    text.append("Content-Type: application/json\r\nContent-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n");
  return text.append("\r\n").append(body);
}

}  // namespace

// One connection: its descriptor, and the answer that is being read.
class ApiClient::Connection {
 public:
  explicit Connection(std::string path) : path_(std::move(path)) {}

  Status open(std::chrono::milliseconds patience) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.empty() || path_.size() >= sizeof address.sun_path)
      return fail(Error(ErrorCode::bad_input, "no path for a socket: " + quote_for_message(path_))
                      .because("it must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes")
                      .remedied_by("set SICKBAY_ROOT to a shorter path"));
    std::memcpy(address.sun_path, path_.data(), path_.size());
    fd_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd_) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error(errno)));
    // connect() waits for as long as the server's queue is full; SO_SNDTIMEO bounds that.
    const auto us = std::chrono::microseconds(patience).count();
    const timeval limit{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int error = 0;
    do {
      error =
          ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
    } while (error == EINTR);
    switch (error) {
      case 0:
        return {};
      case ENOENT:
      case ENOTDIR:
        return fail(away(path_, "there is no socket " + path_));
      case ECONNREFUSED:
        return fail(away(path_, "nobody listens there; the file is left from a sickbayd that has died"));
      case EACCES:
      case EPERM:
        return fail(Error(ErrorCode::denied, "may not use " + path_).because(os_error(error)));
      case EAGAIN:
        return fail(Error(ErrorCode::timed_out, "sickbayd does not take the connection on " + path_)
                        .because("its queue is full"));
      default:
        return fail(away(path_, os_error(error)));
    }
  }

  /// Errors: daemon_away (closed by the peer: an answer may be there all the same), timed_out.
  Status send(std::string_view bytes, Clock::time_point deadline) {
    while (!bytes.empty()) {
      // MSG_NOSIGNAL: a server that has gone is an error here, and no SIGPIPE that ends the command.
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (Status ready = wait(POLLOUT, deadline); !ready) return ready;
      } else if (errno != EINTR) {
        return fail(away(path_, os_error(errno)));
      }
    }
    return {};
  }

  /// Reads what there is.  Errors: daemon_away (the end came too early), bad_input, timed_out.
  Status receive(Clock::time_point deadline) {
    if (Status ready = wait(POLLIN, deadline); !ready) return ready;
    const ssize_t n = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n > 0) return answer.add(std::string_view(buffer_.data(), static_cast<std::size_t>(n)));
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return {};
    // The end of the connection ends an answer of no told length.
    if (n == 0 && answer.end()) return {};
    return fail(
        away(path_, n < 0 ? os_error(errno) : "it closed the connection in the middle of its answer"));
  }

  HttpResponseReader answer;

 private:
  Status wait(short events, Clock::time_point deadline) {
    for (;;) {
      int patience = -1;
      if (deadline != kForEver) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        patience = static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
      }
      pollfd look{fd_.get(), events, 0};
      const int n = ::poll(&look, 1, patience);
      if (n > 0) return {};
      if (n == 0)
        return fail(Error(ErrorCode::timed_out, "sickbayd takes too long to answer on " + path_)
                        .remedied_by("look at 'sickbay status' and at the log of sickbayd"));
      if (errno != EINTR)
        return fail(Error(ErrorCode::os, "cannot wait for " + path_).because(os_error(errno)));
    }
  }

  const std::string path_;
  Descriptor fd_;
  std::array<char, 64 << 10> buffer_;
};

struct ApiClient::Answer {
  int status = 0;
  std::string body;
};

ApiClient::ApiClient(std::string path, ApiTimes times, std::unique_ptr<Connection> connection)
    : path_(std::move(path)), times_(times), connection_(std::move(connection)) {}
ApiClient::ApiClient(std::shared_ptr<RemoteSickbayd> remote, ApiTimes times)
    : remote_(std::move(remote)), times_(times) {}
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;
ApiClient::~ApiClient() = default;

Result<ApiClient> ApiClient::connect(std::string socket_path, ApiTimes times) {
  auto connection = std::make_unique<Connection>(socket_path);
  if (Status opened = connection->open(times.connect); !opened) return fail(std::move(opened.error()));
  return ApiClient(std::move(socket_path), times, std::move(connection));
}

// Sends `request` and reads until the head of its answer is there; connection_ then holds that answer.
Status ApiClient::send_request(const std::string& request) {
  const auto deadline = Clock::now() + times_.answer;
  for (;;) {
    // A kept connection may have been closed by an idle server: then the request goes out a second time on a
    // new one. Its key makes that harmless; an answer that had begun is not asked for again.
    const bool kept = connection_ != nullptr;
    if (!kept) {
      connection_ = std::make_unique<Connection>(path_);
      if (Status opened = connection_->open(times_.connect); !opened) {
        connection_.reset();
        return opened;
      }
    }
    HttpResponseReader& answer = connection_->answer;
    answer = HttpResponseReader();
    // A server may refuse a request before it has all of it: then sending fails, and the answer says why.
    Status done = connection_->send(request, deadline);
    if (done || done.error().code == ErrorCode::daemon_away) {
      do done = connection_->receive(deadline);
      while (done && !answer.has_head());
    }
    if (done) return {};
    const bool was_closed = done.error().code == ErrorCode::daemon_away && !answer.is_begun();
    connection_.reset();
    if (!kept || !was_closed) return done;
  }
}

Result<ApiClient::Answer> ApiClient::ask(std::string_view method, std::string_view target,
                                         std::string_view body, std::string_view idempotency_key) {
  if (Status fit = check_target(target); !fit) return fail(std::move(fit.error()));
  if (remote_) {
    auto text = remote_->ask({std::string(method), std::string(target), std::string(body),
                              std::string(idempotency_key), times_.answer});
    if (!text) return fail(std::move(text.error()));
    // (The other side has turned bad answers into errors already.)
    return Answer{kOk, std::move(*text)};
  }
  const auto deadline = Clock::now() + times_.answer;
  if (Status sent = send_request(request_text(method, target, body, idempotency_key)); !sent)
    return fail(std::move(sent.error()));
  HttpResponseReader& answer = connection_->answer;
  while (!answer.is_complete()) {
    Status read = connection_->receive(deadline);
    if (read && answer.body_size() > kAnswerLimit)
      read = fail(ErrorCode::bad_input, "the answer is over " + std::to_string(kAnswerLimit) + " bytes");
    if (!read) {
      connection_.reset();
      return fail(std::move(read.error()));
    }
  }
  Answer whole{answer.status(), answer.take_body()};
  // Bytes behind the answer belong to no request of ours: the next answer could not be told from them.
  if (!answer.keeps_connection() || !answer.rest().empty()) connection_.reset();
  if (whole.status >= 300) return fail(error_from_response(whole.status, whole.body));
  return whole;
}

Result<std::string> ApiClient::get_text(std::string_view target) {
  auto answer = ask("GET", target, {}, {});
  if (!answer) return fail(std::move(answer.error()));
  return std::move(answer->body);
}

Result<Json> ApiClient::get(std::string_view target) {
  auto answer = ask("GET", target, {}, {});
  if (!answer) return fail(std::move(answer.error()));
  auto json = Json::parse(answer->body);
  if (!json)
    return fail(std::move(json.error()).in("reading sickbayd's answer to GET " + std::string(target)));
  return json;
}

Result<Json> ApiClient::post(std::string_view target, const Json& body, std::string_view idempotency_key) {
  if (!std::all_of(idempotency_key.begin(), idempotency_key.end(),
                   [](char c) { return c > 0x20 && c < 0x7f; }))
    return fail(ErrorCode::bad_input, "no such idempotency key: " + quote_for_message(idempotency_key));
  auto answer = ask("POST", target, body.dump(), idempotency_key);
  if (!answer) return fail(std::move(answer.error()));
  auto json = Json::parse(answer->body);
  if (!json)
    return fail(std::move(json.error()).in("reading sickbayd's answer to POST " + std::string(target)));
  return json;
}

Status ApiClient::stream(std::string_view target, const std::function<bool(std::string_view line)>& each) {
  if (Status fit = check_target(target); !fit) return fit;
  if (remote_) return part_of_stream(target, each);
  if (Status sent = send_request(request_text("GET", target, {}, {})); !sent) return sent;
  // However this ends, the connection is not used again: the rest of the stream may still be coming.
  const auto connection = std::move(connection_);
  HttpResponseReader& answer = connection->answer;
  // The body is then an error and not lines.
  const bool refused = answer.status() >= 300;
  std::string text;
  for (;;) {
    text += answer.take_body();
    std::size_t start = 0, end;
    while (!refused && (end = text.find('\n', start)) != std::string::npos) {
      if (!each(std::string_view(text).substr(start, end - start))) return {};
      start = end + 1;
    }
    text.erase(0, start);
    if (answer.is_complete()) break;
    if (text.size() > kLineLimit)
      return fail(ErrorCode::bad_input,
                  "a line of the stream is over " + std::to_string(kLineLimit) + " bytes");
    const auto deadline = refused                             ? Clock::now() + times_.answer
                          : times_.stream_silence.count() > 0 ? Clock::now() + times_.stream_silence
                                                              : kForEver;
    if (Status read = connection->receive(deadline); !read) {
      if (read.error().code == ErrorCode::daemon_away)
        return fail(Error(ErrorCode::daemon_away, "the stream from " + path_ + " was cut")
                        .because("sickbayd stopped, or the stream was read too slowly")
                        .remedied_by("ask again after the last line seen"));
      return read;
    }
  }
  if (refused) return fail(error_from_response(answer.status(), text));
  if (!text.empty()) each(text);  // a last line without its end
  return {};
}

Status ApiClient::part_of_stream(std::string_view target,
                                 const std::function<bool(std::string_view line)>& each) {
  HttpQuestion question;
  question.target = target;
  // Cut shorter, an answer on its way would be thrown away again and again.
  question.time_limit = times_.stream_silence.count() > 0
                            ? std::max<std::chrono::milliseconds>(times_.stream_silence, kShortestPart)
                            : times_.answer;
  auto text = remote_->ask(std::move(question));
  if (!text) return fail(std::move(text.error()));
  std::string_view left = *text;
  for (std::size_t end; (end = left.find('\n')) != left.npos; left.remove_prefix(end + 1))
    if (!each(left.substr(0, end))) return {};
  if (!left.empty()) each(left);
  return {};
}

std::string new_idempotency_key() {
  std::array<unsigned char, 16> random{};
  // 16 bytes come whole, once the kernel's pool is ready; it has been since boot.
  SB_CHECK(::getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()),
           "getrandom failed");
  std::string key;
  for (const unsigned char byte : random) {
    key += kHexDigits[byte >> 4];
    key += kHexDigits[byte & 15];
  }
  return key;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += static_cast<char>(to_upper(kHexDigits[static_cast<unsigned char>(c) >> 4]));
      encoded += static_cast<char>(to_upper(kHexDigits[static_cast<unsigned char>(c) & 15]));
    }
  }
  return encoded;
}

}  // namespace sickbay
