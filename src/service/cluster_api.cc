// SPDX-License-Identifier: Apache-2.0
// The endpoints of the cluster: its nodes, sickbayd itself, and the lab's word.  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "service/agents.h"
#include "service/api_call.h"
#include "service/metrics.h"
#include "service/nonstop/nonstop_service.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kNodesMaxAge{2};

Error no_node(const std::string& name) {
  return Error(ErrorCode::not_found, fmt::format("no node '{}'", name))
      .remedied_by("'sickbay nodes' lists them");
}

}  // namespace

Json claim_view(const Controller& controller, const std::string& on) {
  const cluster::Claim* claim = controller.seats().cluster().claims.find(on, controller.now());
  if (claim == nullptr) return Json();
  Json view = claim->to_json();
  view.set("since", to_micros(claim->since));
  return view;
}

void ClusterEndpoints::list_nodes(Api& api, Call& c) {
  api.controller_.watch().with_nodes(kNodesMaxAge, [&api, c](Status looked) {
    // Old news is better than none, as long as it is called old.
    if (!looked && api.controller_.watch().nodes().empty()) return c.refuse(looked.error());
    HttpResponse response;
    response.body = api.nodes_.text(!looked.has_value(), api.agents_);
    c.reply->respond(std::move(response));
  });
}

void ClusterEndpoints::show_node(Api& api, Call& c) {
  api.controller_.watch().with_nodes(kNodesMaxAge, [&api, c](Status looked) {
    if (!looked && api.controller_.watch().nodes().empty()) return c.refuse(looked.error());
    auto text = api.nodes_.node_text(c.part, !looked.has_value(), api.agents_);
    if (!text) return c.refuse(no_node(c.part));
    HttpResponse response;
    response.body = std::move(*text);
    c.reply->respond(std::move(response));
  });
}

void ClusterEndpoints::undo_drains(Api& api, Call& c) {
  auto names = expand_hostlist(c.body["nodes"].as_string());
  if (!names) return c.refuse(names.error());
  *names = sorted_hosts(std::move(*names));  // each once, however often the text has it
  const drain::State& state = api.controller_.seats().drains().state();
  for (const std::string& name : *names)
    if (!api.controller_.seats().cluster().view.nodes.contains(name)) return c.refuse(no_node(name));
  const std::string& rule = c.body["rule"].as_string();
  // Who names nodes speaks of those: the same rule may be right about others.
  const std::string_view rest =
      names->empty() || c.body["everywhere"].as_bool() ? drain::kRestInCluster : drain::kRestOnNodes;
  Json out = Json::array();
  for (const auto& [name, node] : state.nodes) {
    if (!names->empty() && !has_host(*names, name)) continue;
    const bool meant = std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
      return rule.empty() || entry.second.rule == rule;
    });
    if (meant) out.push(name);
  }
  const TimePoint rest_until = api.controller_.now() + api.controller_.seats().drains().policy().undo_rest;
  c.keep(api,
         {new_event("cluster", kUndoDrains,
                    Json::object({{"by", c.request.caller.user},
                                  {"nodes", compress_hostlist(*names)},
                                  {"rule", rule},
                                  {"rest", rest},
                                  {"rest_until", to_micros(rest_until)}}))},
         200, Json::object({{"nodes", std::move(out)}, {"rest", rest}}));
}

void ClusterEndpoints::status(Api& api, Call& c) {
  const Controller::Health& h = api.controller_.health();
  const Watch::Health& looks = api.controller_.watch().health();
  const auto& state = api.controller_.seats().cases().state();
  Json agents;
  if (api.agents_ != nullptr) {
    const Agents::Presence presence = api.agents_->presence();
    agents = Json::object({{"present", presence.present}, {"silent", presence.silent}});
    if (Json active = api.agents_->active(); !active.is_null()) agents.set("active", std::move(active));
  }
  Json status = Json::object(
      {{"version", api.identity_.version},
       {"pid", api.identity_.pid},
       {"started", to_micros(api.identity_.started)},
       {"journal", Json::object({{"seq", api.controller_.journal().last_seq()},
                                 {"bytes", api.controller_.journal().size_bytes()},
                                 {"state", h.journal                                           ? "ok"
                                           : h.journal.error().code == ErrorCode::storage_full ? "full"
                                                                                               : "broken"},
                                 {"error", h.journal ? "" : h.journal.error().line()}})},
       {"slurm", Json::object({{"state", looks.slurm ? "ok" : "away"},
                               {"since", to_micros(looks.since)},
                               {"error", looks.slurm ? "" : looks.slurm.error().line()}})},
       {"parked", api.controller_.parked()},
       {"agents", std::move(agents)},
       {"cases",
        Json::object({{"open", state.open.size()}, {"closed", state.cases.size() - state.open.size()}})}});
  if (api.standby_) status.set("standby", api.standby_());
  c.answer(200, status);
}

void ClusterEndpoints::metrics(Api& api, Call& c) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4";
  const auto nonstop = api.nonstop_ == nullptr ? std::nullopt : std::optional(api.nonstop_->counts());
  response.body = metrics_text(api.controller_, api.manager_, api.agents_, nonstop ? &*nonstop : nullptr);
  c.reply->respond(std::move(response));
}

void ClusterEndpoints::lab_truth(Api& api, Call& c) {
  if (!api.lab_)
    return c.refuse(Error(ErrorCode::denied, "this sickbayd belongs to no lab")
                        .because("what a lab did is told where SICKBAY_ROOT is set, and nowhere else")
                        .remedied_by("start a lab: 'sickbay lab'"));
  const std::string& kind = c.body["kind"].as_string();
  if (kind != "lab_fault" && kind != "lab_heal")
    return c.refuse(Error(ErrorCode::bad_input, "'kind' must be lab_fault or lab_heal"));
  if (!c.body["body"].is_object()) return c.refuse(Error(ErrorCode::bad_input, "'body' must be an object"));
  c.keep(api, {new_event(c.body["subject"].as_string(), kind, c.body["body"])}, 200, Json::object());
}

}  // namespace sickbay
