// SPDX-License-Identifier: Apache-2.0
// What the files of the API share: a request on its way, a row of the table of endpoints, and the functions
// behind the rows, by subject.
#pragma once
#include <string>
#include <string_view>

#include "service/api.h"

namespace sickbay {
namespace history {
struct Part;
}
namespace recover {
struct Fault;
}

/// Who may call.  `agent`: uid 0 over TCP, from the NodeAddr of the node it claims; uid 0 over TCP is nothing
/// else.  `root`: on this host.
enum class Role : std::uint8_t { anyone, owner, operators, agent, root };

/// One request on its way.
struct Api::Call {
  HttpRequest request;
  std::shared_ptr<HttpReply> reply;
  std::string part;                         // what the pattern's * matched
  const identify::Case* subject = nullptr;  // of the endpoints with role owner
  bool by_operator = false;
  std::string node;                      // of the endpoints with role agent
  Json body;                             // of a POST; null where there is none
  std::shared_ptr<PostBook::Post> post;  // of a POST of people with a key, else null; `reply` is it then

  void answer(int status, const Json& body_) const { reply->respond(json_response(status, body_)); }
  void refuse(const Error& error) const { reply->respond(error_response(error)); }
  /// Parses the body of a POST.  Errors: bad_input.
  Status take_body();
  /// Answers when `events` are durable and all that came before, or with the reason why they are not, after
  /// `refused`.
  void keep(Api& api, std::vector<Event> events, int status, Json answer,
            std::function<void()> refused = nullptr) const;
};

struct Api::Row {
  std::string_view method, pattern;  // "*" stands for one path segment
  Role role;
  void (*call)(Api&, Call&);
};

/// cases_api.cc.
struct CaseEndpoints {
  using Call = Api::Call;
  static void open_case(Api& api, Call& c);
  static void bind_job(Api& api, Call& c);
  static void cancel_case(Api& api, Call& c);
  static void answer_rerun(Api& api, Call& c);
  static void requeue(Api& api, Call& c);
  static void list_cases(Api& api, Call& c);
  static void show_case(Api& api, Call& c);

 private:
  static void bind(Api& api, Call& c, JobId job_id, bool is_its_owners);
  static void ask_whose_it_is(Api& api, Call& c, JobId job_id, bool is_confirmed);
};

/// cluster_api.cc.
struct ClusterEndpoints {
  using Call = Api::Call;
  static void list_nodes(Api& api, Call& c);
  static void show_node(Api& api, Call& c);
  static void undo_drains(Api& api, Call& c);
  static void status(Api& api, Call& c);
  static void metrics(Api& api, Call& c);
  static void lab_truth(Api& api, Call& c);
};

/// spares_api.cc.
struct SparesEndpoints {
  using Call = Api::Call;
  static void list(Api& api, Call& c);
  static void set(Api& api, Call& c);
};
/// patrol_api.cc.
struct PatrolEndpoints {
  using Call = Api::Call;
  static void ask(Api& api, Call& c);
  static void stop(Api& api, Call& c);
  static void show(Api& api, Call& c);

 private:
  static void plan(Api& api, Call& c, const std::vector<std::string>& nodes, int budget);
};

/// recover_api.cc.
struct RecoverEndpoints {
  using Call = Api::Call;
  static void ask(Api& api, Call& c);
  static void stop(Api& api, Call& c);
  static void list(Api& api, Call& c);
  static void tree(Api& api, Call& c);

 private:
  static void ask_for_job(Api& api, Call& c);
  static void open(Api& api, const Call& c, const recover::Fault& fault);
};

/// history_api.cc.
struct HistoryEndpoints {
  using Call = Api::Call;
  static void told(Api& api, Call& c);
  static void show(Api& api, Call& c);
  static void undo(Api& api, Call& c);
  static void acts(Api& api, Call& c);
  static void undo_act(Api& api, Call& c);

 private:
  static void repair(Api& api, Call& c, const history::Part& part);
};

/// The pools there are, or are to be (doc/formats/api.md).
Json spares_view(const Controller& controller);

/// Who may act on a node or a job at present (cluster_api.cc); null where nobody claims it.
Json claim_view(const Controller& controller, const std::string& on);

/// events_api.cc.
struct EventEndpoints {
  using Call = Api::Call;
  static void events(Api& api, Call& c);
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
  static void silent(Api& api, Call& c);
  static void ranks(Api& api, Call& c);
  static void peer(Api& api, Call& c);
  static void order_diagnosis(Api& api, Call& c);
  static void show_task(Api& api, Call& c);
  static void faults(Api& api, Call& c);
  /// How lost nodes of a running job are found: for its owner and operators.
  static void set_detect(Api& api, Call& c);
};

}  // namespace sickbay
