// SPDX-License-Identifier: Apache-2.0
// Spare pools: one reservation for each partition that has one, kept at its number of nodes.
//
// A spare that joins a job, goes down, is drained or fails leaves its reservation; an idle node takes its
// place, also one that was a spare before and is well again.  Whether a node is idle is nobody's news
// (node_group.h), so while a pool lacks nodes those of its partition are looked at closely.  Jobs that wait
// for a node come first: while one does, no node becomes a spare.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/nonstop/parts.h"
#include "model/verbs.h"

namespace sickbay::nonstop {
namespace {

constexpr std::string_view kWholeCluster = "*";
constexpr std::chrono::seconds kTryAgain{60};  // a reservation that Slurm did not take
constexpr std::chrono::minutes kLookForLoss{
    10};  // one that somebody has removed is made anew, and not more often

bool is_well(const Known& k, const std::string& name) {
  const cluster::Node* node = k.cluster.view.node(name);
  if (node == nullptr || node->down || node->drained || node->failing()) return false;
  // A member is in Slurm's state RESERVED, not usable for others; out of its reservation it would be usable.
  return (node->usable || node->only_reserved()) && !k.cluster.claims.keeps_out(name, k.now);
}

bool is_of_partition(const Known& k, const std::string& node, const std::string& partition) {
  const cluster::Node* shown = k.cluster.view.node(node);
  return shown != nullptr && std::ranges::find(shown->partitions, partition) != shown->partitions.end();
}

bool somebody_waits(const Known& k, const std::string& partition) {
  return std::ranges::any_of(k.state.busy, [&](JobId id) {
    const Job& job = k.state.jobs.at(id);
    const Request* request = job.replacing();
    return request != nullptr && (partition == kWholeCluster || job.partition == partition) &&
           (request->step == Request::Step::waiting || request->source == Request::Source::queue);
  });
}

// A node may be in several partitions, and "*" has all of them.
bool is_spare_elsewhere(const State& state, const std::string& node, const std::string& partition) {
  return std::ranges::any_of(state.pools, [&](const auto& entry) {
    return entry.first != partition &&
           (entry.second.members.contains(node) || entry.second.asked.contains(node));
  });
}

std::vector<std::string> idle_nodes(const Known& k, const std::string& partition, const Pool& pool,
                                    const std::set<std::string>& has) {
  std::vector<std::string> found;
  const auto look_at = [&](const std::string& name) {
    const cluster::Node* node = k.cluster.view.node(name);
    // `look > short_look`: seen since the pool fell short. What was idle in an older look may be at work now,
    // for that is nobody's news.
    if (node != nullptr && node->usable && node->idle && node->look > pool.short_look && is_well(k, name) &&
        !has.contains(name) && !pool.lent.contains(name) && !is_spare_elsewhere(k.state, name, partition))
      found.push_back(name);
  };
  if (partition == kWholeCluster) {
    for (const auto& [name, node] : k.cluster.view.nodes) look_at(name);
  } else if (const auto it = k.cluster.view.partitions.find(partition);
             it != k.cluster.view.partitions.end()) {
    for (const std::string& name : it->second) look_at(name);
  }
  return sorted_hosts(std::move(found));
}

void set_pool(const std::string& partition, const Pool& pool, const std::set<std::string>& nodes,
              Decision& decision) {
  Command made;
  made.subject = kSpares;
  made.key = fmt::format("{}.{}.s{}:set", kSpares, partition, pool.sets + 1);
  made.verb = verb::kSetSparePool;
  made.args = Json::object({{"partition", partition},
                            {"reservation", reservation_of(partition)},
                            {"nodes", std::vector<std::string>(nodes.begin(), nodes.end())},
                            {"users", Json::array({"root"})}});
  decision.commands.push_back(std::move(made));
}

void decide_pool(const Known& k, const std::string& partition, const Pool& pool, int wanted,
                 Decision& decision) {
  if (pool.pending) return;
  if (pool.failed_at != kNoTime && k.now < pool.failed_at + kTryAgain) {
    decision.wake_at = std::min(decision.wake_at, pool.failed_at + kTryAgain);
    return;
  }
  std::set<std::string> nodes;
  int has = 0;
  bool lost = false;
  for (const std::string& node : sorted_hosts({pool.members.begin(), pool.members.end()})) {
    const auto lent = pool.lent.find(node);
    if (lent != pool.lent.end()) {
      if (!lent->second.empty()) nodes.insert(node);  // its donor is still to be seen through
    } else if (has < wanted && is_well(k, node)) {
      const cluster::Node* shown = k.cluster.view.node(node);
      lost |= shown->usable && shown->look > pool.set_look;  // it should be reserved, and is not
      nodes.insert(node);
      ++has;
    }
  }
  if (has < wanted && pool.short_look < 0)
    decision.records.push_back(
        new_event(std::string(kSpares), kSparesShort,
                  Json::object({{"partition", partition}, {"wanted", wanted}, {"has", has}})));
  if (has < wanted && pool.short_look >= 0 && !somebody_waits(k, partition))
    for (const std::string& node : idle_nodes(k, partition, pool, nodes)) {
      if (has == wanted) break;
      nodes.insert(node);
      ++has;
    }
  if (nodes != pool.members) return set_pool(partition, pool, nodes, decision);
  if (!lost) return;
  if (k.now >= pool.set_at + kLookForLoss)
    set_pool(partition, pool, nodes, decision);
  else
    decision.wake_at = std::min(decision.wake_at, pool.set_at + kLookForLoss);
}

std::set<std::string> pools_of(const State& state, const Policy& policy) {
  std::set<std::string> names;
  for (const wire::HotSpare& spare : policy.config.hot_spares) names.insert(spare.partition);
  for (const auto& [partition, pool] : state.pools) names.insert(partition);
  return names;
}

// --- apply

// What a request drew and does not hold any more is a spare again, or has joined.
void after_request(Change& c, JobId id) {
  const Job* job = c.state.job(id);
  for (auto& [partition, pool] : c.state.pools)
    for (auto it = pool.lent.begin(); it != pool.lent.end();) {
      const std::string prefix = running_subject(id) + ".q";
      bool holds = !it->second.starts_with(prefix);
      if (!holds && job != nullptr)
        for (const auto& [n, request] : job->requests)
          holds |= it->second == prefix + std::to_string(n) && !request.donor_key.empty();
      if (holds) {
        ++it;
        continue;
      }
      c.touch_spares();
      // In the job, or lost by it: it leaves the reservation when the pool is set next (an empty name).
      if (job != nullptr && (job->share(it->first) != nullptr || job->faulty.contains(it->first)))
        it++->second.clear();
      else
        it = pool.lent.erase(it);
    }
}

void on_set_end(Change& c, Pool& pool) {
  pool.pending = false;
  pool.failed_at = kNoTime;
  if (c.event.kind == kFailed) {
    pool.failed_at = c.event.at;
    pool.why = c.event.body["error"]["what"].as_string();
    pool.asked.clear();
    // A job may have taken the node that looked idle: another look says which one is.
    pool.short_look = -1;
    return;
  }
  // A spare more: requests that wait in the queue may try anew.
  for (const std::string& node : pool.asked)
    if (!pool.members.contains(node)) ++c.state.spares_version;
  pool.members = std::exchange(pool.asked, {});
  pool.why.clear();
  pool.short_look = -1;
  pool.set_at = c.event.at;
  pool.set_look = c.view.looks;
  std::erase_if(pool.lent, [&](const auto& entry) { return !pool.members.contains(entry.first); });
}

Pool* pool_of_key(State& state, const std::string& key) {
  for (auto& [partition, pool] : state.pools)
    // By the number of the last set: the end of an older command says nothing of this one.
    if (key == fmt::format("{}.{}.s{}:set", kSpares, partition, pool.sets)) return &pool;
  return nullptr;
}

}  // namespace

std::string reservation_of(std::string_view partition) {
  return "HOT_SPARE_" + std::string(partition == kWholeCluster ? "ALL" : partition);
}

std::optional<int> spares_wanted(const State& state, const Policy& policy, const std::string& partition) {
  if (const auto pool = state.pools.find(partition); pool != state.pools.end() && pool->second.count)
    return pool->second.count;
  for (const wire::HotSpare& spare : policy.config.hot_spares)
    if (spare.partition == partition) return static_cast<int>(spare.count);
  return std::nullopt;
}

void apply_spares(Change& c) {
  const Json& body = c.event.body;
  const std::string& kind = c.event.kind;
  if (kind == kNodesSeen && !c.state.pools.empty()) {
    c.touch_spares();
    for (const auto& [partition, pool] : c.state.pools)
      for (const cluster::View::Change& change : c.view.changes) {
        const cluster::Node* now = c.view.node(change.name);
        // A member that was lost and is well again is a gain as well.
        const auto serves = [](const cluster::Node& node) { return node.usable || node.only_reserved(); };
        if (now != nullptr && pool.members.contains(change.name) && serves(*now) &&
            !(change.before && serves(*change.before)))
          ++c.state.spares_version;
      }
  }
  // Lent from the intent on: two requests must not draw one spare, though Slurm has not answered yet.
  if (kind == kIntent && body["verb"].as_string() == verb::kAllocateDonor) {
    const std::string& reservation = body["args"]["reservation"].as_string();
    for (auto& [partition, pool] : c.state.pools)
      if (!reservation.empty() && reservation_of(partition) == reservation)
        for (const std::string& node : body["args"]["node_list"].as_strings())
          pool.lent[node] = body["args"]["request"].as_string();
    return;
  }
  if (!c.state.pools.empty())
    if (const auto id = parse_running_subject(c.event.subject)) after_request(c, *id);
  if (c.event.subject != kSpares) return;
  c.touch_spares();
  const std::string& partition = body["partition"].as_string();
  if (kind == kSparesAsked) {
    Pool& pool = c.state.pools[partition];
    pool.count =
        body["count"].is_null() ? std::nullopt : std::optional(static_cast<int>(body["count"].as_int()));
  } else if (kind == kSparesShort) {
    c.state.pools[partition].short_look = c.view.looks;
  } else if (kind == kIntent) {
    Pool& pool = c.state.pools[body["args"]["partition"].as_string()];
    const auto nodes = body["args"]["nodes"].as_strings();
    pool.asked = {nodes.begin(), nodes.end()};
    pool.pending = true;
    ++pool.sets;
  } else if (kind == kDone || kind == kFailed) {
    if (Pool* pool = pool_of_key(c.state, body["key"].as_string())) on_set_end(c, *pool);
  }
}

void decide_spares(const Known& k, Decision& decision) {
  if (!k.policy.on) return;
  static const Pool kNone;
  for (const std::string& partition : pools_of(k.state, k.policy)) {
    const auto pool = k.state.pools.find(partition);
    decide_pool(k, partition, pool == k.state.pools.end() ? kNone : pool->second,
                spares_wanted(k.state, k.policy, partition).value_or(0), decision);
  }
}

Draw spares_for(const Known& k, const Job& job, const Request& request) {
  // The job's own pool before that of the whole cluster, which jobs of all partitions may need.
  for (const std::string& partition : {job.partition, std::string(kWholeCluster)}) {
    const auto pool = k.state.pools.find(partition);
    if (pool == k.state.pools.end()) continue;
    std::vector<std::string> nodes;
    for (const std::string& node : sorted_hosts({pool->second.members.begin(), pool->second.members.end()}))
      if (nodes.size() < request.nodes.size() && !pool->second.lent.contains(node) &&
          !request.bad.contains(node) && is_well(k, node) && is_of_partition(k, node, job.partition) &&
          job.share(node) == nullptr && !job.faulty.contains(node))
        nodes.push_back(node);
    // All from one reservation: a donor is in one.
    if (nodes.size() == request.nodes.size()) return {reservation_of(partition), std::move(nodes)};
  }
  return {};
}

std::map<std::string, std::int64_t> looked_at(const cluster::Cluster& cluster, const State& state,
                                              const Policy& policy) {
  std::map<std::string, std::int64_t> nodes;
  for (const auto& [partition, pool] : state.pools) {
    if (!policy.on || pool.short_look < 0 || pool.pending ||
        pool.members.size() >=
            static_cast<std::size_t>(std::max(0, spares_wanted(state, policy, partition).value_or(0))))
      continue;
    const auto add = [&](const std::string& name) { nodes[name] = std::max(nodes[name], pool.short_look); };
    if (partition == kWholeCluster) {
      for (const auto& [name, node] : cluster.view.nodes) add(name);
    } else if (const auto it = cluster.view.partitions.find(partition); it != cluster.view.partitions.end()) {
      for (const std::string& name : it->second) add(name);
    }
  }
  // (And of nodes that were just put into FAIL: until Slurm has shown it, an older look must not end the
  // order.)
  for (const auto& [node, order] : state.fails)
    if (order.step == FailOrder::Step::done && !order.seen) nodes[node] = std::max(nodes[node], order.look);
  return nodes;
}

}  // namespace sickbay::nonstop
