// SPDX-License-Identifier: Apache-2.0
// HttpServer: requests that come in, and the one answer that each gets, whole or as a stream.
//
// adapters/net serves them on a Unix socket, where the kernel names the caller, and on TCP, where MUNGE does.
// Nothing here knows of an endpoint or a role: that is the service's table.  All calls and callbacks are on
// the loop's thread; the handler may keep its reply and answer later.  A reply that is dropped unanswered
// answers "internal", so that no caller waits for ever.  Source: doc/design/decisions.md 4, 8, 26;
// doc/formats/api.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace sickbay {

class Credentials;
class People;

/// Who is asking: on the Unix socket as the kernel knows it (SO_PEERCRED: the credentials at the time of
/// connect()), over TCP as the credential of the request says.
struct Caller {
  std::uint32_t uid = ~0U;  ///< nobody, until it is known
  std::uint32_t gid = ~0U;
  std::int32_t pid = 0;  ///< 0 over TCP
  std::string user;      ///< the name of uid, or its digits where it has none
  std::string address;   ///< over TCP the address it calls from, "10.0.0.7"; empty on the Unix socket
  std::vector<std::string> groups = {};  ///< of the groups that matter to us, those that it is in (people.h)
};

struct HttpRequest {
  std::string method;  ///< "GET", "POST"
  std::string path;    ///< percent-decoded, without the query: "/v1/cases/c17"
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order
  std::string body;
  std::string idempotency_key;  ///< of the header Idempotency-Key; empty where there was none
  Caller caller;

  /// The first value of query parameter `name`; nothing when it is not there ("?all" and "?all=" give "").
  std::optional<std::string_view> query_value(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  ///< further ones: {"Retry-After", "5"}
};

/// The answer with `body` as JSON.
HttpResponse json_response(int status, const Json& body);
/// The answer that tells `error`: the status of its code and {"code","what","cause","remedy"}; with
/// Retry-After where trying again helps (busy, slurm_away, ...: every 503).
HttpResponse error_response(const Error& error);
/// The reverse, for clients: the Error of an answer's body.  A body that is none of ours (a proxy's page)
/// becomes `internal` with the status in `what`.
Error error_from_response(int status, std::string_view body);

/// The way back to one caller.  Answered once: a second answer is a programmer's error.
class HttpReply {
 public:
  /// Bytes a stream may have unsent before it is cut (decisions.md 26: the client resumes by SEQ).
  static constexpr std::size_t kUnsentBound = std::size_t{1} << 20;

  virtual ~HttpReply() = default;

  /// Sends the whole answer.  Nothing happens when the peer is gone.
  virtual void respond(HttpResponse response) = 0;

  /// Starts an answer of unknown length (status 200, chunked); write() and end() follow.  Over TCP the
  /// peer gets one signed part: what is written in one go, and nothing where nothing comes for a while; from
  /// then on write() gives false, and the peer asks again.
  virtual void begin_stream(std::string content_type) = 0;
  /// Queues `chunk`.  False: the peer is gone, or so slow that more than kUnsentBound bytes are unsent and
  /// the stream has been cut; stop writing.
  virtual bool write(std::string chunk) = 0;
  /// Ends the stream in good order: what was written still goes out.
  virtual void end() = 0;

  /// Calls `closed` once when the answer can no longer reach the peer, or has been sent in full: the place to
  /// drop a subscription.  Never from inside a call made on this object; posted at once if that is so
  /// already.
  virtual void on_close(std::function<void()> closed) = 0;
  /// False as soon as nothing more can reach the peer.
  virtual bool is_open() const = 0;
};

class HttpServer {
 public:
  using Handler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;
  virtual ~HttpServer() = default;

  /// Listens on the Unix socket `path`, with `mode` as its rights.  A socket file that a dead server left is
  /// replaced.  Errors: conflict (a server answers there, or the path is no socket), denied, os.
  virtual Status listen_unix(const std::string& path, unsigned mode) = 0;
  /// Listens on TCP at a numeric `address` ("0.0.0.0", "::", "10.0.0.1") as well.  A request must carry a
  /// credential (doc/formats/api.md), and gets to the handler only when it holds; every answer to it is
  /// signed.  `credentials` must outlive the server.  The port that was taken comes back: `port` 0 lets the
  /// kernel choose.  Errors: bad_input (no address), conflict (somebody listens there), denied, os.
  virtual Result<std::uint16_t> listen_tcp(const std::string& address, std::uint16_t port,
                                           Credentials& credentials) = 0;
  /// Who knows the names of callers and their groups: asked once for each request, which waits for it.  It
  /// must outlive the server.  Without it callers are their numbers.
  virtual void name_callers_by(People& people) = 0;
  /// Who answers.  Set it before the first request can come; until then callers get "busy".
  virtual void on_request(Handler handler) = 0;
  /// Stops listening, removes the socket file, and closes every connection.
  virtual void close() = 0;
};

}  // namespace sickbay
