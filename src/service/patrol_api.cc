// SPDX-License-Identifier: Apache-2.0
// The endpoints of rounds of verification (engine/patrol).  Their rows stand in api.cc.
#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/text.h"
#include "model/slurm_state.h"
#include "service/api_call.h"
#include "service/watch_queue.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kFleetMaxAge{2};
constexpr std::int64_t kMostBudget = 100'000;

struct Asked {
  std::vector<std::string> nodes;  ///< sorted; empty: all
  int budget = 0;
};

// What a POST asks for, with the site's own where it says nothing.
Result<Asked> asked_by(const Json& body, const PatrolSeat& seat, const cluster::View& view) {
  Asked asked;
  auto nodes = expand_hostlist(body["nodes"].as_string());
  if (!nodes) return fail(std::move(nodes.error()));
  asked.nodes = sorted_hosts(std::move(*nodes));
  for (const std::string& name : asked.nodes)
    if (view.node(name) == nullptr)
      return fail(Error(ErrorCode::not_found, fmt::format("no node {}", quote_for_message(name)))
                      .remedied_by("'sickbay nodes' lists them"));
  const Json& budget = body["budget"];
  if (!budget.is_null() && !(budget.is_int() && budget.as_int() >= 1 && budget.as_int() <= kMostBudget))
    return fail(Error(ErrorCode::bad_input, "'budget' must be a number of nodes, 1 or more"));
  asked.budget = budget.is_int() ? static_cast<int>(budget.as_int()) : seat.policy().budget;
  // Who names nodes wants all of them.
  if (budget.is_null() && !asked.nodes.empty()) asked.budget = static_cast<int>(asked.nodes.size());
  return asked;
}

Json standings(const std::map<std::string, patrol::Choice>& choices) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> alike;
  for (const auto& [name, choice] : choices)
    alike[{std::string(to_string(choice.standing)), choice.why}].push_back(name);
  Json list = Json::array();
  for (auto& [words, names] : alike)
    list.push(Json::object({{"standing", words.first},
                            {"why", words.second},
                            {"nodes", compress_hostlist(sorted_hosts(std::move(names)))}}));
  return list;
}

// How the nodes of a round stand, by what Slurm shows now; `queue`: what waits, asked for a moment ago.
Json standings_now(const Controller& controller, const patrol::Round& round,
                   const std::set<std::string>& wanted) {
  const auto& shown = controller.watch().nodes();
  const patrol::Sight sight{controller.seats().cluster(), wanted, [&shown](const std::string& name) {
                              const auto node = shown.find(name);
                              if (node == shown.end()) return false;
                              const auto state = parse_node_state(node->second.state, node->second.flags);
                              return state && is_idle(*state);
                            }};
  const PatrolSeat& seat = controller.seats().patrols();
  return standings(patrol::choose(sight, seat.state(), seat.policy(), round, controller.now()));
}

Json view_of(const Controller& controller, const patrol::Round& round) {
  Json view = patrol::round_view(round);
  if (round.open())
    view.set("standings",
             standings_now(controller, round, controller.seats().cluster().view.wanted_partitions));
  return view;
}

}  // namespace

// What would be taken now.  Nothing is written; the queue is asked for, since nobody looks at it else.
void PatrolEndpoints::plan(Api& api, Api::Call& c, const std::vector<std::string>& nodes, int budget) {
  api.controller_.watch().with_nodes(kFleetMaxAge, [&api, c, nodes, budget](Status looked) {
    if (!looked) return c.refuse(looked.error());
    api.manager_.waiting([&api, c, nodes, budget](Result<std::vector<WaitingJobs>> queue) {
      if (!queue) return c.refuse(queue.error());
      patrol::Round round;
      round.named = nodes;
      round.budget = budget;
      c.answer(200, Json::object(
                        {{"budget", budget},
                         {"standings", standings_now(api.controller_, round, wanted_partitions(*queue))}}));
    });
  });
}

void PatrolEndpoints::ask(Api& api, Call& c) {
  PatrolSeat& seat = api.controller_.seats().patrols();
  auto asked = asked_by(c.body, seat, api.controller_.seats().cluster().view);
  if (!asked) return c.refuse(asked.error());
  if (c.body["dry_run"].as_bool()) return plan(api, c, asked->nodes, asked->budget);
  const std::int64_t no = seat.new_round();
  if (no == 0) {
    const patrol::Round* open = seat.state().open();
    return c.refuse(Error(ErrorCode::conflict,
                          open == nullptr ? "a round is being opened"
                                          : fmt::format("round {} of {} is open", open->name(), open->by))
                        .remedied_by("'sickbay verify --fleet --wait' waits for it, --stop ends it"));
  }
  c.keep(api,
         {new_event(patrol_name(no), patrol::kPatrolAsked,
                    Json::object({{"by", c.request.caller.user},
                                  {"nodes", compress_hostlist(asked->nodes)},
                                  {"budget", asked->budget}}))},
         201, Json::object({{"round", patrol_name(no)}, {"budget", asked->budget}}),
         [&seat] { seat.take_back_round(); });
}

void PatrolEndpoints::stop(Api& api, Call& c) {
  const patrol::Round* open = api.controller_.seats().patrols().state().open();
  // Asked twice it is the same: there is none.
  if (open == nullptr) return c.answer(200, Json::object({{"round", Json()}}));
  const Json answer = Json::object({{"round", open->name()}});
  if (!open->stopped_by.empty()) return c.answer(200, answer);
  c.keep(api, {new_event(open->name(), patrol::kPatrolStop, Json::object({{"by", c.request.caller.user}}))},
         200, answer);
}

void PatrolEndpoints::show(Api& api, Call& c) {
  const auto& rounds = api.controller_.seats().patrols().state().rounds;
  c.answer(
      200,
      Json::object({{"round", rounds.empty() ? Json() : view_of(api.controller_, rounds.rbegin()->second)}}));
}

}  // namespace sickbay
