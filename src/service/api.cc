// SPDX-License-Identifier: Apache-2.0
// The table of endpoints, and how a request finds its row.  A new endpoint is a row of kEndpoints, a function
// in the file of its subject (cases_api.cc, cluster_api.cc, spares_api.cc, patrol_api.cc, recover_api.cc,
// history_api.cc, events_api.cc, agents_api.cc), and a paragraph in doc/formats/api.md.
#include "service/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/state_archive.h"
#include "base/text.h"
#include "engine/identify/array.h"
#include "engine/identify/open_cases.h"
#include "service/api_call.h"
#include "service/failures_api.h"
#include "service/pending_api.h"

namespace sickbay {
namespace {

Error no_case(std::string_view name) {
  return Error(ErrorCode::not_found, fmt::format("no case '{}'", name))
      .remedied_by(
          "'sickbay cases --all' lists those there are; closed ones of long ago are in archives beside the "
          "journal: 'sickbay journal --file'");
}

// The case of a job, by its number or, of a task of a job array, as "1234_7".
Result<std::int64_t> case_of_job(const identify::State& state, const std::string& word) {
  if (const auto task = parse_task_name(word)) {
    const identify::Case* of = identify::case_of_task(state, *task);
    if (of != nullptr) return of->no;
  } else if (const auto id = parse_job_id(word)) {
    const auto job = state.by_job.find(*id);
    if (job != state.by_job.end()) return job->second;
  }
  return fail(ErrorCode::not_found, "no case");
}

// The root of one host is not the root of the cluster (decisions.md 4).
bool is_remote_root(const Caller& caller) { return caller.uid == 0 && !caller.address.empty(); }

Error not_for_remote_root() {
  return Error(ErrorCode::denied, "root of another host may not ask this")
      .because(
          "over TCP root may do what the agent of its node does, and no more: else the root of a sick "
          "node could lift its drain")
      .remedied_by("use your own account; as root ask on the controller's host");
}

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

std::span<const Api::Row> Api::rows() {
  static constexpr auto kEndpoints = std::to_array<Api::Row>({
      {"POST", "/v1/cases", Role::anyone, CaseEndpoints::open_case},
      {"POST", "/v1/cases/*/job", Role::owner, CaseEndpoints::bind_job},
      {"POST", "/v1/cases/*/cancel", Role::owner, CaseEndpoints::cancel_case},
      {"POST", "/v1/cases/*/rerun", Role::owner, CaseEndpoints::answer_rerun},
      {"POST", "/v1/cases/*/requeue", Role::owner, CaseEndpoints::requeue},
      {"GET", "/v1/cases", Role::anyone, CaseEndpoints::list_cases},
      {"GET", "/v1/cases/*", Role::owner, CaseEndpoints::show_case},
      {"GET", "/v1/jobs/*/case", Role::owner, CaseEndpoints::show_case},
      {"GET", "/v1/jobs/*/pending", Role::anyone, PendingEndpoints::explain},
      {"GET", "/v1/jobs/*/failure", Role::anyone, FailureEndpoints::explain},
      {"GET", "/v1/nodes", Role::anyone, ClusterEndpoints::list_nodes},
      {"GET", "/v1/nodes/*", Role::anyone, ClusterEndpoints::show_node},
      {"POST", "/v1/undo-drains", Role::operators, ClusterEndpoints::undo_drains},
      {"GET", "/v1/spares", Role::anyone, SparesEndpoints::list},
      {"POST", "/v1/spares", Role::operators, SparesEndpoints::set},
      {"GET", "/v1/patrol", Role::anyone, PatrolEndpoints::show},
      {"POST", "/v1/patrol", Role::operators, PatrolEndpoints::ask},
      {"POST", "/v1/patrol/stop", Role::operators, PatrolEndpoints::stop},
      {"GET", "/v1/tree", Role::anyone, RecoverEndpoints::tree},
      {"GET", "/v1/recoveries", Role::anyone, RecoverEndpoints::list},
      {"POST", "/v1/recoveries", Role::operators, RecoverEndpoints::ask},
      {"POST", "/v1/recoveries/*/stop", Role::operators, RecoverEndpoints::stop},
      {"POST", "/v1/checkpoints", Role::anyone, HistoryEndpoints::told},
      {"GET", "/v1/history", Role::anyone, HistoryEndpoints::show},
      {"POST", "/v1/undo", Role::anyone, HistoryEndpoints::undo},
      {"GET", "/v1/acts", Role::operators, HistoryEndpoints::acts},
      {"POST", "/v1/acts/undo", Role::operators, HistoryEndpoints::undo_act},
      {"GET", "/v1/faults", Role::anyone, AgentEndpoints::faults},
      {"POST", "/v1/nodes/*/diagnose", Role::operators, AgentEndpoints::order_diagnosis},
      {"GET", "/v1/tasks/*", Role::operators, AgentEndpoints::show_task},
      {"POST", "/v1/agent/hello", Role::agent, AgentEndpoints::hello},
      {"GET", "/v1/agent/tasks", Role::agent, AgentEndpoints::tasks},
      {"POST", "/v1/agent/findings", Role::agent, AgentEndpoints::findings},
      {"POST", "/v1/agent/results", Role::agent, AgentEndpoints::results},
      {"POST", "/v1/agent/silent", Role::agent, AgentEndpoints::silent},
      {"POST", "/v1/agent/ranks", Role::agent, AgentEndpoints::ranks},
      {"POST", "/v1/agent/peer", Role::agent, AgentEndpoints::peer},
      {"POST", "/v1/jobs/*/detect", Role::anyone, AgentEndpoints::set_detect},
      {"GET", "/v1/events", Role::anyone, EventEndpoints::events},
      {"GET", "/v1/status", Role::anyone, ClusterEndpoints::status},
      {"GET", "/metrics", Role::anyone, ClusterEndpoints::metrics},
      {"POST", "/v1/lab/truth", Role::root, ClusterEndpoints::lab_truth},
  });
  return kEndpoints;
}

Status Api::Call::take_body() {
  if (request.method != "POST" || request.body.empty()) return {};
  auto parsed = Json::parse(request.body);
  if (!parsed) return fail(std::move(parsed.error()));
  body = std::move(*parsed);
  return {};
}

void Api::Call::keep(Api& api, std::vector<Event> events, int status, Json answer_,
                     std::function<void()> refused) const {
  if (post && !post->mark(events, status, answer_)) return;
  api.controller_.take(std::move(events), [c = *this, status, answer_ = std::move(answer_),
                                           refused = std::move(refused)](Status kept) {
    if (kept) return c.answer(status, answer_);
    if (refused) refused();
    c.refuse(kept.error());
  });
}

Api::Api(Controller& controller, CaseStore& cases, ResourceManager& manager, Identity identity,
         std::function<bool(const Caller&)> is_operator)
    : controller_(controller),
      cases_(cases),
      manager_(manager),
      identity_(std::move(identity)),
      is_operator_(std::move(is_operator)),
      nodes_(controller) {
  // The answers of earlier POSTs are in the journal (decisions.md 8).
  controller_.on_replayed({"posts", [this](const Event& event) { posts_.apply(event); },
                           [this](StateWriter& out) { out(posts_); },
                           [this](StateReader& in) { in(posts_); }});
  controller_.on_committed([this](const Event& event) {
    posts_.apply(event);
    publish(event);
  });
}
Api::~Api() = default;

bool Api::is_operator(const Caller& caller) const {
  // (SlurmUser may be root: that makes no operator of the root of another host.)
  return caller.uid == 0 ? !is_remote_root(caller) : is_operator_(caller);
}

// Asked before the body is read: to look into eight megabytes takes its time, too.
Status Api::may_post(const Row& row, const Call& call) {
  if (!quotas_ || row.method != "POST") return {};
  // What begins something, and what comes without end.  All else ends what is open.
  if (row.call == CaseEndpoints::open_case || row.call == AgentEndpoints::findings ||
      row.call == HistoryEndpoints::told)
    if (auto room = quotas_->has_room(); !room) return room;
  const std::uint32_t uid = call.request.caller.uid;
  if (row.role != Role::agent)
    if (auto may = quotas_->take(uid, call.request.body.size(), controller_.now()); !may) return may;
  if (row.call != CaseEndpoints::open_case) return {};
  return quotas_->may_open(uid, identify::open_cases_of(controller_.seats().cases().state(), uid));
}

void Api::serve(HttpRequest request, std::shared_ptr<HttpReply> reply) {
  Call call;
  call.request = std::move(request);
  call.reply = std::move(reply);
  call.by_operator = is_operator(call.request.caller);
  bool path_known = false;
  for (const Row& row : rows()) {
    if (!fits(row.pattern, call.request.path, call.part)) continue;
    path_known = true;
    if (row.method != call.request.method) continue;
    if (row.role != Role::agent && is_remote_root(call.request.caller))
      return call.refuse(not_for_remote_root());
    if (row.role == Role::root && call.request.caller.uid != 0)
      return call.refuse(Error(ErrorCode::not_root, "this is for root only"));
    if (row.role == Role::operators && !call.by_operator)
      return call.refuse(
          Error(ErrorCode::denied, "this is for operators")
              .remedied_by("operators are root, SlurmUser and those whom the configuration names"));
    if (auto may = may_post(row, call); !may) return call.refuse(may.error());
    if (auto body = call.take_body(); !body) return call.refuse(body.error());
    if (row.role == Role::agent) return AgentEndpoints::admit(*this, std::move(call), row.call);
    if (row.role == Role::owner) {
      const auto& state = controller_.seats().cases().state();
      auto no = parse_case_name(call.part);
      if (call.request.path.starts_with("/v1/jobs/")) {
        no = case_of_job(state, call.part);
        if (!no)
          return call.refuse(Error(ErrorCode::not_found, fmt::format("no case knows job '{}'", call.part))
                                 .because("Sickbay follows the jobs that were submitted through it")
                                 .remedied_by("submit with 'sickbay submit' in place of sbatch"));
      }
      if (!no) return call.refuse(no.error());
      auto it = state.cases.find(*no);
      if (it == state.cases.end()) return call.refuse(no_case(call.part));
      if (!call.by_operator && it->second.owner.uid != call.request.caller.uid)
        return call.refuse(Error(ErrorCode::denied,
                                 fmt::format("{} belongs to {}", it->second.name(), it->second.owner.user)));
      call.subject = &it->second;
    }
    if (row.method == "POST" && !call.request.idempotency_key.empty()) {
      call.post = posts_.begin(call.request, call.reply);
      if (!call.post) return;  // answered, or it waits for the answer of the same one
      call.reply = call.post;
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

}  // namespace sickbay
