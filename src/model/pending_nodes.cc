// SPDX-License-Identifier: Apache-2.0
// Which nodes a waiting job could run on, and what keeps it from the others.
//
// A node is called unfit only where that is certain: slurmctld weighs more than is looked at here (cores,
// switches, what is left of a shared node), so "fits" means "nothing speaks against it".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "model/pending_facts.h"

namespace sickbay {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(at);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

// --- constraints ---------------------------------------------------------------------------------------

/// sbatch's --constraint: features joined by & (also ,) and |, in ( ) or [ ], each with a count *N.
class Constraint {
 public:
  Constraint(std::string_view text, std::string_view features)
      : text_(text), has_(split(features, ",")), counted_(text.find('*') != text.npos) {}

  // Nothing where the text could not be read to its end: then nobody is called unfit by it.
  std::optional<bool> met() {
    const std::optional<bool> value = either();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::optional<bool> either() {
    std::optional<bool> value = both();
    while (value && next() == '|') {
      ++at_;
      const std::optional<bool> other = both();
      if (!other) return std::nullopt;
      value = *value || *other;
    }
    return value;
  }
  std::optional<bool> both() {
    std::optional<bool> value = one();
    while (value && (next() == '&' || next() == ',')) {
      ++at_;
      const std::optional<bool> other = one();
      if (!other) return std::nullopt;
      // With counts the parts are different nodes of the job, and this one may be any of them.
      value = counted_ ? (*value || *other) : (*value && *other);
    }
    return value;
  }
  std::optional<bool> one() {
    if (next() == '(' || next() == '[') {
      // (Nested deeper than anybody means: the text is a user's.)
      if (++depth_ > 16) return std::nullopt;
      const char end = text_[at_++] == '(' ? ')' : ']';
      const std::optional<bool> value = either();
      if (!value || next() != end) return std::nullopt;
      --depth_;
      ++at_;
      return skip_count() ? value : std::nullopt;
    }
    const std::size_t end = std::min(text_.find_first_of("&|,()[]*", at_), text_.size());
    if (end == at_) return std::nullopt;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (!skip_count()) return std::nullopt;
    return std::find(has_.begin(), has_.end(), name) != has_.end();
  }
  bool skip_count() {
    if (next() != '*') return true;
    const std::size_t start = ++at_;
    while (is_digit(next())) ++at_;
    return at_ > start;
  }

  std::string_view text_;
  std::vector<std::string_view> has_;
  bool counted_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// --- devices (GRES) ------------------------------------------------------------------------------------

struct Device {
  std::string_view name, type;  ///< type empty: any
  std::uint64_t count = 1;
};

/// "gres:gpu:a100:4(S:0-1)", "gres/gpu:2", "gpu": what of it is meant.
Device device_of(std::string_view text) {
  text = text.substr(0, text.find('('));
  for (const std::string_view head : {"gres:", "gres/"})
    if (text.starts_with(head)) text.remove_prefix(head.size());
  Device device;
  bool first = true;
  // name[:type][:count]: what is no number between them is the type.
  for (const std::string_view part : split(text, ":=")) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (first)
      device.name = part;
    else if (error == std::errc() && end == part.data() + part.size())
      device.count = number;
    else
      device.type = part;
    first = false;
  }
  return device;
}

/// What `offered` has too little of, as the request names it; empty: nothing.
std::string missing_device(std::string_view wanted, std::string_view offered) {
  for (const std::string_view text : split(wanted, ",;")) {
    const Device want = device_of(text);
    std::uint64_t there = 0;
    for (const std::string_view item : split(offered, ",")) {
      const Device has = device_of(item);
      // A node may offer several types of one device, each with its count.
      if (has.name == want.name && (want.type.empty() || has.type == want.type)) there += has.count;
    }
    if (there < want.count) return std::string(text);
  }
  return {};
}

// --- hurdles -------------------------------------------------------------------------------------------

/// What the node lacks for this job, in words; empty: nothing that can be seen.
std::string lack_of(const PendingRequest& request, const NodeOffer& node) {
  if (has_host(request.excluded, node.name)) return "excluded by the job";
  if (!request.features.empty() && !meets_constraint(request.features, node.features).value_or(true))
    return "without feature " + request.features;
  if (node.cpus < request.cpus_per_node) return fmt::format("fewer than {} CPUs", request.cpus_per_node);
  if (node.memory_mib < request.memory_mib)
    return fmt::format("less than {} MiB of memory", request.memory_mib);
  if (node.disk_mib < request.disk_mib)
    return fmt::format("less than {} MiB of temporary disk", request.disk_mib);
  if (const std::string device = missing_device(request.devices, node.devices); !device.empty())
    return "without " + device;
  if (!request.reservation.empty() && !node.in_reservation)
    return "outside of reservation " + request.reservation;
  // Where the job names as many nodes as it wants, no other one can be its own.
  const std::uint32_t most = std::max(request.min_nodes, request.max_nodes);
  if (request.required.size() >= most && !has_host(request.required, node.name))
    return "not among the nodes that the job names";
  return {};
}

struct FlagHurdle {
  NodeFlag flag;
  NodeHurdle hurdle;
};
// First fit wins; a base of DOWN goes before all.
constexpr auto kFlagHurdles = std::to_array<FlagHurdle>({
    {NodeFlag::not_responding, NodeHurdle::down},
    {NodeFlag::drain, NodeHurdle::drained},
    {NodeFlag::fail, NodeHurdle::drained},
    {NodeFlag::power_drain, NodeHurdle::drained},
    {NodeFlag::invalid_reg, NodeHurdle::down},
    {NodeFlag::reboot_issued, NodeHurdle::down},
    {NodeFlag::powering_down, NodeHurdle::down},
    {NodeFlag::blocked, NodeHurdle::busy},
    {NodeFlag::maintenance, NodeHurdle::reserved},
    {NodeFlag::reserved, NodeHurdle::reserved},
    {NodeFlag::completing, NodeHurdle::busy},
});

NodeHurdle hurdle_of(const NodeState& state, bool own_reservation) {
  if (!node_base_row(state.base).takes_work) return NodeHurdle::down;
  for (const FlagHurdle& row : kFlagHurdles)
    if (state.has(row.flag) && !(own_reservation && row.hurdle == NodeHurdle::reserved)) return row.hurdle;
  if (state.base != NodeBase::idle) return NodeHurdle::busy;
  return state.has(NodeFlag::planned) ? NodeHurdle::planned : NodeHurdle::idle;
}

}  // namespace

std::optional<bool> meets_constraint(std::string_view constraint, std::string_view features) {
  return Constraint(constraint, features).met();
}

std::vector<PendingNodes> sort_nodes(const PendingRequest& request, const std::vector<NodeOffer>& offers) {
  std::map<std::pair<NodeHurdle, std::string>, std::vector<std::string>> groups;
  for (const NodeOffer& node : offers) {
    std::string reason = lack_of(request, node);
    NodeHurdle hurdle = NodeHurdle::unfit;
    if (reason.empty()) {
      hurdle = hurdle_of(node.state, node.in_reservation);
      if (hurdle == NodeHurdle::drained || hurdle == NodeHurdle::down) reason = node.reason;
    }
    const auto key = std::pair(hurdle, std::move(reason));
    // Reason texts with a date or a node in them could be as many as there are nodes.
    const bool one_more = groups.size() >= kMostReasonGroups && !groups.contains(key);
    groups[one_more ? std::pair(hurdle, std::string()) : key].push_back(node.name);
  }
  std::vector<PendingNodes> sorted;
  for (auto& [key, names] : groups)
    sorted.push_back(
        {key.first, compress_hostlist(names), static_cast<std::uint32_t>(names.size()), key.second});
  return sorted;
}

}  // namespace sickbay
