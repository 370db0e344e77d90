// SPDX-License-Identifier: Apache-2.0
// The endpoints of the spare pools.  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"
#include "service/api_call.h"

namespace sickbay {
namespace {

constexpr std::int64_t kMostSpares = 100'000;

// How one node of a pool stands: "ready" can be drawn, "drawn" is on its way into a job, "joined" is in one,
// "unwell" is down, drained or failing and leaves; "coming" is being reserved.
std::string_view standing_of(const nonstop::Pool& pool, const cluster::View& view, const std::string& name) {
  if (!pool.members.contains(name)) return "coming";
  if (const auto lent = pool.lent.find(name); lent != pool.lent.end())
    return lent->second.empty() ? "joined" : "drawn";
  const cluster::Node* node = view.node(name);
  if (node == nullptr || node->down || node->drained || node->failing()) return "unwell";
  return "ready";
}

Json pool_view(const Controller& controller, const std::string& partition) {
  static const nonstop::Pool kNone;
  const NonstopSeat& seat = controller.seats().nonstop();
  const auto known = seat.state().pools.find(partition);
  const nonstop::Pool& pool = known == seat.state().pools.end() ? kNone : known->second;
  std::set<std::string> names = pool.members;
  names.insert(pool.asked.begin(), pool.asked.end());
  Json nodes = Json::array();
  int ready = 0;
  for (const std::string& name : sorted_hosts({names.begin(), names.end()})) {
    const std::string_view standing = standing_of(pool, controller.seats().cluster().view, name);
    ready += standing == "ready";
    Json node = Json::object({{"node", name}, {"standing", standing}});
    const auto lent = pool.lent.find(name);
    if (lent != pool.lent.end() && !lent->second.empty()) node.set("request", lent->second);
    nodes.push(std::move(node));
  }
  Json configured;
  for (const wire::HotSpare& spare : seat.policy().config.hot_spares)
    if (spare.partition == partition) configured = Json(static_cast<std::int64_t>(spare.count));
  return Json::object({{"partition", partition},
                       {"reservation", nonstop::reservation_of(partition)},
                       {"wanted", nonstop::spares_wanted(seat.state(), seat.policy(), partition).value_or(0)},
                       {"ready", ready},
                       {"configured", std::move(configured)},
                       {"set", pool.count ? Json(*pool.count) : Json()},
                       {"nodes", std::move(nodes)},
                       {"changing", pool.pending},
                       {"error", pool.why}});
}

Error not_on() {
  return Error(ErrorCode::conflict, "there are no spare pools: replacement in running jobs is off")
      .remedied_by("set 'nonstop.on' in sickbay.json, write nonstop.conf, and start sickbayd anew");
}

}  // namespace

Json spares_view(const Controller& controller) {
  const NonstopSeat& seat = controller.seats().nonstop();
  std::set<std::string> partitions;
  for (const wire::HotSpare& spare : seat.policy().config.hot_spares) partitions.insert(spare.partition);
  for (const auto& [partition, pool] : seat.state().pools)
    if (!pool.members.empty() || !pool.asked.empty() || pool.count) partitions.insert(partition);
  Json items = Json::array();
  for (const std::string& partition : partitions) items.push(pool_view(controller, partition));
  return items;
}

void SparesEndpoints::list(Api& api, Call& c) {
  c.answer(200, Json::object({{"on", api.controller_.seats().nonstop().policy().on},
                              {"items", spares_view(api.controller_)},
                              {"next", Json()}}));
}

void SparesEndpoints::set(Api& api, Call& c) {
  if (!api.controller_.seats().nonstop().policy().on) return c.refuse(not_on());
  const std::string& partition = c.body["partition"].as_string();
  const auto& partitions = api.controller_.seats().cluster().view.partitions;
  if (partition != "*" && !partitions.contains(partition)) {
    std::vector<std::string> names;
    for (const auto& [name, members] : partitions) names.push_back(name);
    const std::string meant = did_you_mean(partition, names);
    return c.refuse(Error(ErrorCode::not_found, "no partition " + quote_for_message(partition))
                        .remedied_by(meant.empty()
                                         ? "'sinfo' lists them; '*' is the pool of the whole cluster"
                                         : fmt::format("did you mean '{}'?", meant)));
  }
  const Json& count = c.body["count"];
  if (!c.body.has("count") ||
      !(count.is_null() || (count.is_int() && count.as_int() >= 0 && count.as_int() <= kMostSpares)))
    return c.refuse(
        Error(ErrorCode::bad_input, "'count' must be a number of nodes, or null")
            .because(fmt::format("0 to {} nodes are held back; null leaves it to nonstop.conf", kMostSpares))
            .remedied_by("say how many, as {\"partition\": \"batch\", \"count\": 2}"));
  Json body = Json::object({{"partition", partition}, {"count", count}, {"by", c.request.caller.user}});
  c.keep(api, {new_event(std::string(nonstop::kSpares), nonstop::kSparesAsked, std::move(body))}, 200,
         Json::object({{"partition", partition}, {"count", count}}));
}

}  // namespace sickbay
