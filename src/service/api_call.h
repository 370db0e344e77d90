// SPDX-License-Identifier: Apache-2.0
// What the files of the API share: a request on its way, a row of the table of endpoints, and the functions
// for agents that stand in a file of their own.
#pragma once
#include <string>
#include <string_view>

#include "service/api.h"

namespace sickbay {

/// Who may call.  `agent`: uid 0 over TCP, from the NodeAddr of the node it claims.
enum class Role : std::uint8_t { anyone, owner, operators, agent, root };

/// One request on its way.
struct Api::Call {
  HttpRequest request;
  std::shared_ptr<HttpReply> reply;
  std::string part;                         // what the pattern's * matched
  const identify::Case* subject = nullptr;  // of the endpoints with role owner
  bool by_operator = false;
  std::string node;  // of the endpoints with role agent
  Json body;         // of these, parsed

  void answer(int status, const Json& body_) const { reply->respond(json_response(status, body_)); }
  void refuse(const Error& error) const { reply->respond(error_response(error)); }
};

struct Api::Row {
  std::string_view method, pattern;  // "*" stands for one path segment
  Role role;
  void (*call)(Api&, Call&);
};

/// agents_api.cc.
struct AgentEndpoints {
  using Call = Api::Call;
  /// Finds the node that the caller claims, checks the claim, and goes on with `then`.
  static void admit(Api& api, Call call, void (*then)(Api&, Call&));
  static void hello(Api& api, Call& c);
  static void tasks(Api& api, Call& c);
  static void findings(Api& api, Call& c);
  static void results(Api& api, Call& c);
  static void order_diagnosis(Api& api, Call& c);
  static void show_task(Api& api, Call& c);
};

}  // namespace sickbay
