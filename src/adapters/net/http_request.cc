// SPDX-License-Identifier: Apache-2.0
// Requests out of bytes.  See http_request.h.  The one file that includes Beast: it takes its time to
// compile.
#include "adapters/net/http_request.h"

#include <utility>  // before Asio: Boost 1.74 leaves it out under GCC 12

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>

#include "base/text.h"

namespace sickbay {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

/// A body that takes the memory of what has come of it.  (http::string_body takes, at the first byte, what
/// the header announces: 8 MiB from each of thousands of strangers.)
struct ArrivingBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, std::string& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, error_code& ec) { ec = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& ec) {
      ec = {};
      const std::size_t before = body_.size();
      for (auto it = boost::asio::buffer_sequence_begin(buffers);
           it != boost::asio::buffer_sequence_end(buffers); ++it) {
        const boost::asio::const_buffer piece(*it);
        body_.append(static_cast<const char*>(piece.data()), piece.size());
      }
      return body_.size() - before;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    std::string& body_;
  };
};
using Parser = http::request_parser<ArrivingBody>;

constexpr std::string_view kHeadEnd = "\r\n\r\n";

constexpr std::size_t kLongestKey = 200;  // of an idempotency key; the journal keeps it

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return fail(Error(ErrorCode::bad_input, "broken escape in " + quote_for_message(text))
                        .because("'%' must be followed by two hexadecimal digits")
                        .remedied_by("write '%' itself as %25"));
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    // A control character in a name would end up in logs and on terminals.
    if (is_control(c))
      return fail(Error(ErrorCode::bad_input, "control character in the target " + quote_for_message(text))
                      .remedied_by("leave it out: no name has one"));
    decoded += c;
  }
  return decoded;
}

}  // namespace

Result<HttpTarget> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return fail(Error(ErrorCode::bad_input, "no such target: " + quote_for_message(target))
                    .because("a target begins with '/'")
                    .remedied_by("send a target of doc/formats/api.md"));
  target = target.substr(0, target.find('#'));  // a fragment is the client's own business
  const std::size_t mark = target.find('?');
  HttpTarget parts;
  auto path = percent_decoded(target.substr(0, mark));
  if (!path) return fail(std::move(path.error()));
  parts.path = std::move(*path);
  if (mark == std::string_view::npos) return parts;

  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t amp = rest.find('&');
    const std::string_view pair = rest.substr(0, amp);
    rest = amp == std::string_view::npos ? std::string_view() : rest.substr(amp + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = percent_decoded(pair.substr(0, equals));
    if (!name) return fail(std::move(name.error()));
    auto value =
        percent_decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (!value) return fail(std::move(value.error()));
    parts.query.emplace_back(std::move(*name), std::move(*value));
  }
  return parts;
}

struct HttpRequestReader::Impl {
  HttpRequestLimits limits;
  std::string bytes;         // added, not yet parsed
  std::size_t searched = 0;  // of them, without the end of the head
  std::optional<Parser> parser;
  bool expectation_taken = false;
  std::optional<IncomingRequest> ready;
  std::optional<HttpResponse> failure;
  int refusal_status = 0;  // where the error's own is not the one that HTTP has for it

  void begin() {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes + kHeadEnd.size()));
    parser->body_limit(limits.body_bytes);
    expectation_taken = false;
    ready.reset();
  }

  // Reads on; true once the request is whole.
  Result<bool> parse() {
    error_code ec;
    if (!parser->is_header_done()) {
      // Beast gets the head in one piece, and none that is too long: its own limit holds for each line, not
      // for their sum (Boost 1.74), and what it says of half a head depends on where the head was cut.
      const std::size_t at = bytes.find(kHeadEnd, searched);
      const bool too_long = at == std::string::npos ? bytes.size() >= limits.header_bytes + kHeadEnd.size()
                                                    : at > limits.header_bytes;
      if (too_long) return refuse(http::error::header_limit);
      if (at == std::string::npos) {
        // Three bytes back: the end of the head may be cut between two pieces.
        searched = bytes.size() < kHeadEnd.size() ? 0 : bytes.size() - kHeadEnd.size() + 1;
        return false;
      }
      const std::size_t used = parser->put(boost::asio::const_buffer(bytes.data(), at + kHeadEnd.size()), ec);
      if (ec) return refuse(ec);
      // Neither happens with a head that is whole; a loop that waits for it to get better would never end.
      if (!parser->is_header_done() || used != at + kHeadEnd.size()) return refuse(http::error::bad_field);
      bytes.erase(0, used);
      searched = 0;
      if (parser->chunked()) {
        refusal_status = 411;
        return fail(Error(ErrorCode::bad_input, "the request's body comes in chunks")
                        .because("sickbayd wants to know its length first")
                        .remedied_by("send Content-Length"));
      }
    }
    while (!parser->is_done() && !bytes.empty()) {
      const std::size_t used = parser->put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
      bytes.erase(0, used);
      if (ec && ec != http::error::need_more) return refuse(ec);
      if (used == 0) break;
    }
    return parser->is_done();
  }

  tl::unexpected<Error> refuse(const error_code& ec) {
    refusal_status = ec == http::error::header_limit ? 431 : ec == http::error::body_limit ? 413 : 400;
    if (refusal_status == 431)
      return fail(Error(ErrorCode::bad_input,
                        "the request's header is over " + std::to_string(limits.header_bytes) + " bytes")
                      .remedied_by("send fewer and shorter header fields"));
    if (refusal_status == 413)
      return fail(Error(ErrorCode::bad_input,
                        "the request's body is over " + std::to_string(limits.body_bytes) + " bytes")
                      .remedied_by("send less: a script that large belongs into a file"));
    return fail(Error(ErrorCode::bad_input, "the request is not HTTP/1.1")
                    .because(ec.message())
                    .remedied_by("send what doc/formats/api.md describes"));
  }

  Result<IncomingRequest> read_message() {
    http::request<ArrivingBody> message = parser->release();
    IncomingRequest incoming;
    incoming.keep_alive = message.keep_alive();
    incoming.chunks = message.version() >= 11;
    incoming.head = message.method() == http::verb::head;
    incoming.request.method = std::string(message.method_string());
    const auto key = message["Idempotency-Key"];
    if (key.size() > kLongestKey)
      return fail(
          Error(ErrorCode::bad_input, "the Idempotency-Key is over " + std::to_string(kLongestKey) + " bytes")
              .remedied_by("send a random one of 32 digits"));
    incoming.request.idempotency_key = std::string(key);
    incoming.target = std::string(message.target());
    incoming.authorization = std::string(message[http::field::authorization]);
    auto target = parse_target(incoming.target);
    if (!target) return fail(std::move(target.error()));
    incoming.request.path = std::move(target->path);
    incoming.request.query = std::move(target->query);
    incoming.request.body = std::move(message.body());
    return incoming;
  }
};

HttpRequestReader::HttpRequestReader(HttpRequestLimits limits) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  impl_->begin();
}
HttpRequestReader::~HttpRequestReader() = default;

void HttpRequestReader::add(std::string_view bytes) { impl_->bytes.append(bytes); }

HttpRequestReader::Progress HttpRequestReader::step() {
  Impl& s = *impl_;
  // Once failed it stays so: nobody knows where the next request would begin.
  if (s.failure) return Progress::failed;
  if (s.ready) return Progress::complete;
  Result<bool> whole = s.parse();
  if (whole && !*whole) return Progress::need_more;
  auto incoming = whole ? s.read_message() : Result<IncomingRequest>(fail(std::move(whole.error())));
  if (!incoming) {
    s.failure = error_response(incoming.error());
    if (s.refusal_status != 0) s.failure->status = s.refusal_status;
    return Progress::failed;
  }
  s.ready = std::move(*incoming);
  return Progress::complete;
}

IncomingRequest HttpRequestReader::take() {
  SB_CHECK(impl_->ready.has_value(), "take() only after step() gave complete");
  IncomingRequest incoming = std::move(*impl_->ready);
  impl_->begin();
  return incoming;
}

const HttpResponse& HttpRequestReader::failure() const {
  SB_CHECK(impl_->failure.has_value(), "failure() only after step() gave failed");
  return *impl_->failure;
}

bool HttpRequestReader::is_idle() const {
  return !impl_->ready && !impl_->parser->is_header_done() && impl_->bytes.empty();
}
bool HttpRequestReader::has_header() const { return impl_->ready || impl_->parser->is_header_done(); }
HttpRequestReader::Announced HttpRequestReader::announced() const {
  const auto& parser = *impl_->parser;
  if (impl_->ready || !parser.is_header_done()) return {};
  const auto length = parser.content_length();
  return {std::string(parser.get()[http::field::authorization]), length ? *length : 0};
}
std::size_t HttpRequestReader::body_bytes() const {
  return impl_->ready ? impl_->ready->request.body.size() : impl_->parser->get().body().size();
}
std::size_t HttpRequestReader::buffered() const { return impl_->bytes.size(); }

bool HttpRequestReader::take_expectation() {
  Impl& s = *impl_;
  if (s.expectation_taken || s.ready || !s.parser->is_header_done()) return false;
  s.expectation_taken = true;
  const auto& message = s.parser->get();
  const auto expect = message[http::field::expect];
  return equal_ignoring_case(std::string_view(expect.data(), expect.size()), "100-continue");
}

}  // namespace sickbay
