// SPDX-License-Identifier: Apache-2.0
// The way of an agent to its sickbayd, both in one process and in virtual time.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ports/http.h"
#include "ports/http_client.h"
#include "ports/loop.h"

namespace sickbay {

// The way to sickbayd, which may not be there.
class Wire : public HttpClient {
 public:
  using Serve = std::function<bool(HttpRequest, std::shared_ptr<HttpReply>)>;
  /// Questions that do not come through; may be empty.
  std::function<bool(const HttpRequest&)> loses;
  Wire(Loop& loop, std::string address, Serve serve)
      : loop_(loop), address_(std::move(address)), serve_(std::move(serve)) {}
  void ask(HttpQuestion question, Done<Json> done) override {
    HttpRequest request;
    request.method = question.method;
    request.path = question.target.substr(0, question.target.find('?'));
    for (std::size_t at = question.target.find('?'); at != std::string::npos;) {
      const std::size_t equals = question.target.find('=', at), end = question.target.find('&', at + 1);
      request.query.emplace_back(question.target.substr(at + 1, equals - at - 1),
                                 question.target.substr(equals + 1, end - equals - 1));
      at = end;
    }
    request.body = question.body;
    if (loses && loses(request))
      return loop_.post(
          [done = std::move(done)] { done(fail(ErrorCode::timed_out, "the answer was lost")); });
    request.caller.user = "root";
    request.caller.uid = request.caller.gid = 0;
    request.caller.address = address_;
    auto reply = std::make_shared<Reply>(loop_, std::move(done));
    (void)serve_(std::move(request), reply);  // dropped, it says that nobody is there
  }

 private:
  struct Reply : HttpReply {
    Reply(Loop& l, Done<Json> d) : loop(l), done(std::move(d)) {}
    ~Reply() override { tell(fail(ErrorCode::daemon_away, "nobody is there")); }
    void respond(HttpResponse response) override {
      if (response.status >= 300) return tell(fail(error_from_response(response.status, response.body)));
      tell(Json::parse(response.body));
    }
    void tell(Result<Json> answer) {
      if (done) loop.post([done = std::exchange(done, nullptr), answer] { done(answer); });
    }
    void begin_stream(std::string) override {}
    bool write(std::string) override { return false; }
    void end() override {}
    void on_close(std::function<void()>) override {}
    bool is_open() const override { return true; }
    Loop& loop;
    Done<Json> done;
  };
  Loop& loop_;
  const std::string address_;
  const Serve serve_;
};

}  // namespace sickbay
