// SPDX-License-Identifier: Apache-2.0
// Endpoints.  A new one is a row of kEndpoints, a function of Endpoints, and a paragraph in
// doc/formats/api.md.
#include "service/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/identify/case_view.h"
#include "model/slurm_state.h"
#include "service/agents.h"
#include "service/api_call.h"
#include "service/case_store.h"
#include "service/metrics.h"
#include "service/pending_api.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kNodesMaxAge{2};
constexpr std::size_t kScriptBound = 4 << 20;  // slurmctld's own MaxScriptSize
constexpr std::size_t kStreamBurst = 5000;     // events of the past given to a stream in one go

Error no_case(std::string_view name) {
  return Error(ErrorCode::not_found, fmt::format("no case '{}'", name))
      .remedied_by(
          "'sickbay cases --all' lists those there are; closed ones of long ago are in archives beside the "
          "journal: 'sickbay journal --file'");
}

}  // namespace

struct Api::Stream {
  std::shared_ptr<HttpReply> reply;
  Caller caller;
  std::string subject;
  std::int64_t after = 0;
  bool live = false;
};

struct Endpoints {
  using Call = Api::Call;

  static void open_case(Api& api, Call& c) {
    if (auto known = api.cases_by_key_.find(c.request.idempotency_key);
        !c.request.idempotency_key.empty() && known != api.cases_by_key_.end())
      return c.answer(201, Json::object({{"case", case_name(known->second)}}));
    auto body = Json::parse(c.request.body);
    if (!body) return c.refuse(body.error());
    auto submission = Submission::from_json((*body)["submission"]);
    if (!submission) return c.refuse(submission.error());
    if (submission->script.size() > kScriptBound)
      return c.refuse(Error(ErrorCode::bad_input, "the script is over 4 MiB"));
    for (const auto& [key, value] : (*body)["options"].members()) {
      static constexpr std::array<std::string_view, 6> kKnown{"deliver", "rerun",         "requeue",
                                                              "check",   "expect_time_s", "workdir"};
      if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
        return c.refuse(Error(ErrorCode::bad_input, fmt::format("unknown option '{}' of a case", key)));
    }
    // Who it belongs to is said by the socket, never by the request.
    submission->owner = {c.request.caller.user, c.request.caller.uid, c.request.caller.gid};
    const std::int64_t no = api.controller_.new_case_number();
    if (auto saved = api.cases_.save(no, *submission); !saved) return c.refuse(saved.error());
    Event event;
    event.subject = case_name(no);
    event.kind = identify::kCaseOpened;
    event.body =
        Json::object({{"owner", submission->owner.to_json()},
                      {"options", (*body)["options"]},
                      {"script_name", submission->script_name},
                      {"work_dir", submission->work_dir},
                      {"output_dir", fmt::format("{}/sickbay-{}", submission->work_dir, case_name(no))},
                      {"notes", (*body)["notes"]},
                      {"idempotency_key", c.request.idempotency_key}});
    if (!c.request.idempotency_key.empty()) api.cases_by_key_[c.request.idempotency_key] = no;
    keep(api, c, {std::move(event)}, 201, Json::object({{"case", case_name(no)}}));
  }

  static void bind_job(Api& api, Call& c) {
    auto body = Json::parse(c.request.body);
    if (!body) return c.refuse(body.error());
    const std::int64_t id = (*body)["job_id"].as_int();
    if (id <= 0 || id > UINT32_MAX)
      return c.refuse(Error(ErrorCode::bad_input, "'job_id' must be the number of a job"));
    const auto job_id = static_cast<JobId>(id);
    const Json answer = Json::object(
        {{"case", c.subject->name()}, {"run", RunId{c.subject->no, RunKind::program, 1}.text()}});
    if (const identify::Run* r1 = c.subject->program(1)) {
      if (r1->job.job_id == job_id) return c.answer(200, answer);
      return c.refuse(Error(ErrorCode::conflict,
                            fmt::format("{} is bound to job {} already", c.subject->name(), r1->job.job_id)));
    }
    if (c.subject->is_closed()) return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed"));
    if (auto other = api.controller_.state().by_job.find(job_id);
        other != api.controller_.state().by_job.end() && api.controller_.state().open.contains(other->second))
      return c.refuse(Error(ErrorCode::conflict,
                            fmt::format("job {} belongs to {} already", job_id, case_name(other->second))));
    Event event;
    event.subject = c.subject->name();
    event.kind = identify::kJobBound;
    event.body = Json::object({{"run", answer["run"]}, {"job_id", job_id}});
    keep(api, c, {std::move(event)}, 200, answer);
  }

  static void cancel_case(Api& api, Call& c) {
    const Json answer = Json::object({{"case", c.subject->name()}});
    if (c.subject->is_closed())
      return c.refuse(Error(ErrorCode::conflict, c.subject->name() + " is closed already"));
    Event event;
    event.subject = c.subject->name();
    event.kind = identify::kCancelRequested;
    event.body = Json::object({{"by", c.request.caller.user}});
    keep(api, c, {std::move(event)}, 200, answer);
  }

  static void list_cases(Api& api, Call& c) {
    const bool all = c.request.query_value("all").value_or("0") == "1";
    const std::string_view user = c.request.query_value("user").value_or("");
    if (!user.empty() && user != c.request.caller.user && !c.by_operator)
      return c.refuse(Error(ErrorCode::denied,
                            fmt::format("the cases of '{}' are for {} and operators to see", user, user)));
    Json items = Json::array();
    for (const auto& [no, subject] : api.controller_.state().cases) {
      if (!c.by_operator && subject.owner.uid != c.request.caller.uid) continue;
      if (!user.empty() && subject.owner.user != user) continue;
      if (!all && subject.is_closed()) continue;
      items.push(identify::case_summary(subject));
    }
    c.answer(200, Json::object({{"items", std::move(items)}, {"next", Json()}}));
  }

  static void show_case(Api&, Call& c) { c.answer(200, identify::case_view(*c.subject)); }

  static void list_nodes(Api& api, Call& c) {
    api.controller_.with_nodes(kNodesMaxAge, [&api, c](Status looked) {
      // Old news is better than none, as long as it is called old.
      if (!looked && api.controller_.nodes().empty()) return c.refuse(looked.error());
      Json items = Json::array();
      for (const auto& [name, node] : api.controller_.nodes()) {
        Json item = node.to_json();
        const auto state = parse_node_state(node.state, node.flags);
        item.set("usable", state && usable(*state));
        item.set("agent", api.agents_ != nullptr ? api.agents_->view(name) : Json());
        Json verdicts = Json::array();
        for (const auto& [no, subject] : api.controller_.state().cases)
          if (subject.verdict && subject.verdict->cause == identify::Cause::node &&
              std::find(subject.verdict->nodes.begin(), subject.verdict->nodes.end(), name) !=
                  subject.verdict->nodes.end())
            verdicts.push(case_name(no));
        item.set("verdicts", std::move(verdicts));
        item.set("service", drain::node_view(api.controller_.drains(), api.controller_.drain_policy(), name,
                                             api.controller_.now()));
        items.push(std::move(item));
      }
      c.answer(200,
               Json::object({{"items", std::move(items)}, {"next", Json()}, {"stale", !looked.has_value()}}));
    });
  }

  static void undo_drains(Api& api, Call& c) {
    auto body = Json::parse(c.request.body);
    if (!body) return c.refuse(body.error());
    const std::string& nodes = (*body)["nodes"].as_string();
    auto names = expand_hostlist(nodes);
    if (!names) return c.refuse(names.error());
    const drain::State& state = api.controller_.drains();
    for (const std::string& name : *names)
      if (!state.nodes.contains(name))
        return c.refuse(Error(ErrorCode::not_found, fmt::format("no node '{}'", name))
                            .remedied_by("'sickbay nodes' lists them"));
    const std::string& rule = (*body)["rule"].as_string();
    Json out = Json::array();
    for (const auto& [name, node] : state.nodes) {
      if (!names->empty() && std::find(names->begin(), names->end(), name) == names->end()) continue;
      const bool meant = std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
        return rule.empty() || entry.second.rule == rule;
      });
      if (meant) out.push(name);
    }
    Event event;
    event.subject = "cluster";
    event.kind = drain::kUndoDrains;
    event.body = Json::object(
        {{"by", c.request.caller.user},
         {"nodes", nodes},
         {"rule", rule},
         {"rest_until", to_micros(api.controller_.now() + api.controller_.drain_policy().undo_rest)}});
    keep(api, c, {std::move(event)}, 200, Json::object({{"nodes", std::move(out)}}));
  }

  static void status(Api& api, Call& c) {
    const Controller::Health& h = api.controller_.health();
    const auto& state = api.controller_.state();
    c.answer(200, Json::object(
                      {{"version", api.identity_.version},
                       {"pid", api.identity_.pid},
                       {"started", to_micros(api.identity_.started)},
                       {"journal", Json::object({{"seq", api.controller_.journal().last_seq()},
                                                 {"bytes", api.controller_.journal().size_bytes()},
                                                 {"state", h.journal ? "ok"
                                                           : h.journal.error().code == ErrorCode::storage_full
                                                               ? "full"
                                                               : "broken"},
                                                 {"error", h.journal ? "" : h.journal.error().line()}})},
                       {"slurm", Json::object({{"state", h.slurm ? "ok" : "away"},
                                               {"since", to_micros(h.slurm_since)},
                                               {"error", h.slurm ? "" : h.slurm.error().line()}})},
                       {"cases", Json::object({{"open", state.open.size()},
                                               {"closed", state.cases.size() - state.open.size()}})}}));
  }

  static void metrics(Api& api, Call& c) {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4";
    response.body = metrics_text(api.controller_, api.manager_, api.agents_);
    c.reply->respond(std::move(response));
  }

  static void events(Api& api, Call& c) {
    auto stream = std::make_shared<Api::Stream>();
    stream->reply = c.reply;
    stream->caller = c.request.caller;
    stream->subject = c.request.query_value("subject").value_or("");
    const std::string after(c.request.query_value("after").value_or("0"));
    for (char digit : after)
      if (digit < '0' || digit > '9' || after.size() > 18)
        return c.refuse(Error(ErrorCode::bad_input, "'after' must be a number"));
    stream->after = after.empty() ? 0 : std::stoll(after);
    const bool follow = c.request.query_value("follow").value_or("0") == "1";
    c.reply->begin_stream("application/x-ndjson");
    bool open = true;
    std::string chunk;
    std::size_t given = 0;
    std::int64_t shown = stream->after;
    auto each = [&](const Event& event) {
      if (api.may_see(stream->caller, event)) {
        chunk += event.text() + "\n";
        shown = event.seq;
      }
      stream->after = event.seq;
      if (chunk.size() > (64 << 10)) open = c.reply->write(std::exchange(chunk, {}));
      return open && ++given < kStreamBurst;
    };
    // A long past is given in parts: whoever wants more asks again with after=.
    const Status read = stream->subject.empty()
                            ? api.controller_.journal().read(stream->after, each)
                            : api.controller_.journal().read_subject(stream->subject, stream->after, each);
    // Behind a part that ends with events of others, the caller must still learn where to go on.
    if (read && given >= kStreamBurst && shown < stream->after)
      chunk += Json::object({{"position", stream->after}}).dump() + "\n";
    if (open && !chunk.empty()) open = c.reply->write(std::move(chunk));
    if (!read || !open || !follow || given >= kStreamBurst) return c.reply->end();
    stream->live = true;
    api.streams_.push_back(stream);
    c.reply->on_close([&api, stream] { api.streams_.remove(stream); });
  }

  static void lab_truth(Api& api, Call& c) {
    auto body = Json::parse(c.request.body);
    if (!body) return c.refuse(body.error());
    const std::string& kind = (*body)["kind"].as_string();
    if (kind != "lab_fault" && kind != "lab_heal")
      return c.refuse(Error(ErrorCode::bad_input, "'kind' must be lab_fault or lab_heal"));
    Event event;
    event.subject = (*body)["subject"].as_string();
    event.kind = kind;
    event.body = (*body)["body"];
    keep(api, c, {std::move(event)}, 200, Json::object());
  }

  // Answers when the events are durable, or with the reason why they are not.
  static void keep(Api& api, const Call& c, std::vector<Event> events, int status, Json answer) {
    api.controller_.take(std::move(events), [c, status, answer = std::move(answer)](Status kept) {
      if (!kept) return c.refuse(kept.error());
      c.answer(status, answer);
    });
  }

  static std::span<const Api::Row> rows();
};

std::span<const Api::Row> Endpoints::rows() {
  static constexpr auto kEndpoints = std::to_array<Api::Row>({
      {"POST", "/v1/cases", Role::anyone, open_case},
      {"POST", "/v1/cases/*/job", Role::owner, bind_job},
      {"POST", "/v1/cases/*/cancel", Role::owner, cancel_case},
      {"GET", "/v1/cases", Role::anyone, list_cases},
      {"GET", "/v1/cases/*", Role::owner, show_case},
      {"GET", "/v1/jobs/*/case", Role::owner, show_case},
      {"GET", "/v1/jobs/*/pending", Role::anyone, PendingEndpoints::explain},
      {"GET", "/v1/nodes", Role::anyone, list_nodes},
      {"POST", "/v1/undo-drains", Role::operators, undo_drains},
      {"POST", "/v1/nodes/*/diagnose", Role::operators, AgentEndpoints::order_diagnosis},
      {"GET", "/v1/tasks/*", Role::operators, AgentEndpoints::show_task},
      {"POST", "/v1/agent/hello", Role::agent, AgentEndpoints::hello},
      {"GET", "/v1/agent/tasks", Role::agent, AgentEndpoints::tasks},
      {"POST", "/v1/agent/findings", Role::agent, AgentEndpoints::findings},
      {"POST", "/v1/agent/results", Role::agent, AgentEndpoints::results},
      {"GET", "/v1/events", Role::anyone, events},
      {"GET", "/v1/status", Role::anyone, status},
      {"GET", "/metrics", Role::anyone, metrics},
      {"POST", "/v1/lab/truth", Role::root, lab_truth},
  });
  return kEndpoints;
}

namespace {

// True when `path` fits `pattern`; `part` gets what the * stood for.
bool fits(std::string_view pattern, std::string_view path, std::string& part) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == path;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  if (path.size() <= head.size() + tail.size() || !path.starts_with(head) || !path.ends_with(tail))
    return false;
  part = path.substr(head.size(), path.size() - head.size() - tail.size());
  return part.find('/') == std::string::npos;
}

}  // namespace

Api::Api(Controller& controller, CaseStore& cases, ResourceManager& manager, Identity identity,
         std::function<bool(const Caller&)> is_operator)
    : controller_(controller),
      cases_(cases),
      manager_(manager),
      identity_(std::move(identity)),
      is_operator_(std::move(is_operator)) {
  // The answers of earlier POSTs are in the journal (decisions.md 8).
  controller_.on_replayed([this](const Event& event) {
    if (event.kind == identify::kCaseOpened)
      if (const std::string& key = event.body["idempotency_key"].as_string(); !key.empty())
        cases_by_key_[key] = parse_case_name(event.subject).value_or(0);
  });
  controller_.on_committed([this](const Event& event) { publish(event); });
}
Api::~Api() = default;

void Api::serve(HttpRequest request, std::shared_ptr<HttpReply> reply) {
  Call call;
  call.request = std::move(request);
  call.reply = std::move(reply);
  call.by_operator = call.request.caller.uid == 0 || is_operator_(call.request.caller);
  bool path_known = false;
  for (const Row& row : Endpoints::rows()) {
    if (!fits(row.pattern, call.request.path, call.part)) continue;
    path_known = true;
    if (row.method != call.request.method) continue;
    if (row.role == Role::root && call.request.caller.uid != 0)
      return call.refuse(Error(ErrorCode::not_root, "this is for root only"));
    if (row.role == Role::operators && !call.by_operator)
      return call.refuse(
          Error(ErrorCode::denied, "this is for operators")
              .remedied_by("operators are root, SlurmUser and those whom the configuration names"));
    if (row.role == Role::agent) return AgentEndpoints::admit(*this, std::move(call), row.call);
    if (row.role == Role::owner) {
      const auto& state = controller_.state();
      auto no = parse_case_name(call.part);
      if (call.request.path.starts_with("/v1/jobs/")) {
        const bool digits =
            !call.part.empty() && call.part.size() < 10 &&
            std::all_of(call.part.begin(), call.part.end(), [](char d) { return d >= '0' && d <= '9'; });
        auto job = digits ? state.by_job.find(static_cast<JobId>(std::stoul(call.part))) : state.by_job.end();
        if (job == state.by_job.end())
          return call.refuse(Error(ErrorCode::not_found, fmt::format("no case knows job '{}'", call.part))
                                 .because("Sickbay follows the jobs that were submitted through it")
                                 .remedied_by("submit with 'sickbay submit' in place of sbatch"));
        no = job->second;
      }
      if (!no) return call.refuse(no.error());
      auto it = state.cases.find(*no);
      if (it == state.cases.end()) return call.refuse(no_case(call.part));
      if (!call.by_operator && it->second.owner.uid != call.request.caller.uid)
        return call.refuse(Error(ErrorCode::denied,
                                 fmt::format("{} belongs to {}", it->second.name(), it->second.owner.user)));
      call.subject = &it->second;
    }
    return row.call(*this, call);
  }
  if (path_known) {
    HttpResponse response = error_response(
        Error(ErrorCode::usage, fmt::format("{} does not take {}", call.request.path, call.request.method)));
    response.status = 405;
    return call.reply->respond(std::move(response));
  }
  call.refuse(
      Error(ErrorCode::not_found, fmt::format("no endpoint {} {}", call.request.method, call.request.path)));
}

bool Api::may_see(const Caller& caller, const Event& event) const {
  const auto no = parse_case_name(event.subject);
  if (!no) return true;  // of nodes and the cluster everybody may know
  if (caller.uid == 0 || is_operator_(caller)) return true;
  auto it = controller_.state().cases.find(*no);
  return it != controller_.state().cases.end() && it->second.owner.uid == caller.uid;
}

void Api::publish(const Event& event) {
  if (streams_.empty()) return;
  const std::string line = event.text() + "\n";
  const auto streams = streams_;  // a cut stream leaves the list while we walk
  for (const auto& stream : streams) {
    if (event.seq <= stream->after || (!stream->subject.empty() && stream->subject != event.subject) ||
        !may_see(stream->caller, event))
      continue;
    stream->after = event.seq;
    if (!stream->reply->write(line)) streams_.remove(stream);
  }
}

}  // namespace sickbay
