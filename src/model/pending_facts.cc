// SPDX-License-Identifier: Apache-2.0
#include "model/pending_facts.h"

#include <array>
#include <type_traits>

namespace sickbay {
namespace {

// Each structure lists its members once, for both directions.

template <class T, class Each>
void members(T& r, Each&& each) requires std::is_same_v<std::remove_const_t<T>, PendingRequest> {
  each("min_nodes", r.min_nodes);
  each("max_nodes", r.max_nodes);
  each("cpus", r.cpus);
  each("cpus_per_node", r.cpus_per_node);
  each("memory_mib", r.memory_mib);
  each("disk_mib", r.disk_mib);
  each("features", r.features);
  each("devices", r.devices);
  each("licenses", r.licenses);
  each("required", r.required);
  each("excluded", r.excluded);
  each("reservation", r.reservation);
  each("dependency", r.dependency);
  each("account", r.account);
  each("qos", r.qos);
  each("time_limit_s", r.time_limit_s);
  each("begin", r.begin);
  each("deadline", r.deadline);
  each("array_job", r.array_job);
  each("array_tasks", r.array_tasks);
  each("array_throttle", r.array_throttle);
}

template <class T, class Each>
void members(T& p, Each&& each) requires std::is_same_v<std::remove_const_t<T>, PendingPartition> {
  each("name", p.name);
  each("state", p.state);
  each("max_time_s", p.max_time_s);
  each("min_nodes", p.min_nodes);
  each("max_nodes", p.max_nodes);
  each("max_cpus_per_node", p.max_cpus_per_node);
  each("total_nodes", p.total_nodes);
  each("allow_accounts", p.allow_accounts);
  each("deny_accounts", p.deny_accounts);
  each("allow_qos", p.allow_qos);
  each("deny_qos", p.deny_qos);
  each("allow_groups", p.allow_groups);
}

template <class T, class Each>
void members(T& n, Each&& each) requires std::is_same_v<std::remove_const_t<T>, PendingNodes> {
  each("hurdle", n.hurdle);
  each("nodes", n.nodes);
  each("count", n.count);
  each("reason", n.reason);
}

template <class T, class Each>
void members(T& r, Each&& each) requires std::is_same_v<std::remove_const_t<T>, PendingReservation> {
  each("name", r.name);
  each("start", r.start);
  each("end", r.end);
  each("nodes", r.nodes);
  each("count", r.count);
  each("maintenance", r.maintenance);
}

template <class T, class Each>
void members(T& f, Each&& each) requires std::is_same_v<std::remove_const_t<T>, PendingFacts> {
  each("job_id", f.job_id);
  each("uid", f.uid);
  each("user", f.user);
  each("state", f.state);
  each("reason", f.reason);
  each("reason_detail", f.reason_detail);
  each("held", f.held);
  each("expected_start", f.expected_start);
  each("request", f.request);
  each("partition", f.partition_names);
  each("partitions", f.partitions);
  each("nodes", f.nodes);
  each("private_reservations", f.private_reservations);
  each("reservations", f.reservations);
}

// Declared before the others, which need them: structures hold lists of structures.
template <class T>
Json written(const std::vector<T>& values);
template <class T>
void read(const Json& json, std::vector<T>& into);

Json written(const std::string& value) { return value; }
Json written(const std::vector<std::string>& value) { return value; }
Json written(TimePoint value) { return to_micros(value); }
Json written(NodeHurdle value) { return to_string(value); }
template <class T>
Json written(T value) requires std::is_integral_v<T> {
  return value;
}
template <class T>
Json written(const T& value) requires requires {
  members(value, [](auto, auto&) {});
}
{
  Json json = Json::object();
  members(value, [&](const char* name, const auto& member) { json.set(name, written(member)); });
  return json;
}
template <class T>
Json written(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push(written(value));
  return json;
}

void read(const Json& json, std::string& into) { into = json.as_string(); }
void read(const Json& json, std::vector<std::string>& into) { into = json.as_strings(); }
void read(const Json& json, TimePoint& into) { into = from_micros(json.as_int()); }
void read(const Json& json, NodeHurdle& into) {
  into = parse_hurdle(json.as_string()).value_or(NodeHurdle::unfit);
}
void read(const Json& json, bool& into) { into = json.as_bool(); }
template <class T>
void read(const Json& json, T& into) requires std::is_integral_v<T> {
  into = static_cast<T>(json.as_int());
}
template <class T>
void read(const Json& json, T& into) requires requires {
  members(into, [](auto, auto&) {});
}
{
  members(into, [&](const char* name, auto& member) { read(json[name], member); });
}
template <class T>
void read(const Json& json, std::vector<T>& into) {
  for (const Json& item : json.items()) read(item, into.emplace_back());
}

constexpr auto kHurdles =
    std::to_array<std::string_view>({"idle", "busy", "planned", "reserved", "drained", "down", "unfit"});

}  // namespace

std::string_view to_string(NodeHurdle hurdle) { return kHurdles[static_cast<std::size_t>(hurdle)]; }

std::optional<NodeHurdle> parse_hurdle(std::string_view word) {
  for (std::size_t i = 0; i < kHurdles.size(); ++i)
    if (kHurdles[i] == word) return static_cast<NodeHurdle>(i);
  return std::nullopt;
}

Json PendingFacts::to_json() const { return written(*this); }

PendingFacts PendingFacts::from_json(const Json& json) {
  PendingFacts facts;
  read(json, facts);
  return facts;
}

}  // namespace sickbay
