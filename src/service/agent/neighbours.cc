// SPDX-License-Identifier: Apache-2.0
#include "service/agent/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/digest/hmac.h"

namespace sickbay::agent {
namespace {

constexpr std::size_t kKeyDigits = 64;
constexpr std::size_t kMostGroups = 64;  // of one node: jobs that share it
// What a slurmd's port answered holds for so long: from the doubt to the report, and not to the next one.
constexpr std::chrono::milliseconds kAnswerHolds{2500};

std::optional<std::string> bytes_of(std::string_view hex) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return hex.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

// The number of the group that a datagram claims to be of, before anything of it is believed.
std::uint32_t claimed_group(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 2; i < 6 && i < bytes.size(); ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

struct Neighbours::Group {
  /// The question to a member's slurmd, by TCP.
  struct Asked {
    bool under_way = false, answers = false;
    TimePoint ended = kNoTime;
    std::optional<swim::Report> held;  ///< waits for the answer
  };
  Members members;
  swim::State state;
  std::map<SwimIndex, Asked> asked;
  Loop::TimerId timer = 0;
};

Neighbours::Neighbours(Loop& loop, std::string node, OpenDatagrams open, AskByTcp ask, swim::Random random,
                       std::function<void(Json)> report, std::function<void(const std::string&)> log)
    : loop_(loop),
      node_(std::move(node)),
      open_(std::move(open)),
      ask_(std::move(ask)),
      random_(std::move(random)),
      report_(std::move(report)),
      log_(std::move(log)) {}
Neighbours::~Neighbours() { end_all(); }

void Neighbours::end_all() {
  for (auto& [number, group] : groups_) loop_.cancel(group->timer);
  groups_.clear();
}

Result<Neighbours::Members> Neighbours::read(const Json& told) const {
  const auto wrong = [](const char* what) { return fail(ErrorCode::bad_input, what); };
  Members m;
  const std::int64_t number = told["group"].as_int(-1);
  if (number < 0 || number > 0xFFFFFFFFLL) return wrong("its number is none");
  m.number = static_cast<std::uint32_t>(number);
  const auto key = bytes_of(told["key"].as_string());
  if (!key || told["key"].as_string().size() != kKeyDigits) return wrong("its key is none");
  m.key = *key;
  const auto& members = told["members"].items();
  if (members.size() < 2 || members.size() > kMostSwimMembers)
    return wrong("it has too few members, or too many");
  for (const Json& member : members) {
    m.nodes.push_back(member["node"].as_string());
    m.addresses.push_back(member["address"].as_string());
    const std::int64_t slurmd = member["slurmd_port"].as_int(0);  // (an older sickbayd tells none)
    m.slurmd_ports.push_back(slurmd > 0 && slurmd <= 0xFFFF ? static_cast<std::uint16_t>(slurmd) : 0);
  }
  if (std::ranges::count(m.nodes, node_) != 1) return wrong("this node is not in it");
  return m;
}

void Neighbours::take(const Json& told) {
  version_ = told["version"].as_int();
  const auto port = static_cast<std::uint16_t>(told["port"].as_int());
  std::vector<Members> wanted;
  for (const Json& one : told["groups"].items()) {
    auto members = read(one);
    if (!members)
      log_("event=group_not_read what=" + Json(members.error().what).dump());
    else if (wanted.size() < kMostGroups)
      wanted.push_back(std::move(*members));
  }
  const auto before = heard();
  std::erase_if(groups_, [&](auto& entry) {
    if (port == port_ && std::ranges::find(wanted, entry.first, &Members::number) != wanted.end())
      return false;
    loop_.cancel(entry.second->timer);
    log_(fmt::format("event=group_ended group={}", entry.first));
    return true;
  });
  if (wanted.empty() || port != port_) socket_.reset();
  port_ = port;
  for (Members& members : wanted)
    if (!groups_.contains(members.number)) begin(std::move(members), before);
}

std::map<std::string, Micros> Neighbours::heard() const {
  std::map<std::string, Micros> found;
  for (const auto& [number, group] : groups_)
    for (const auto& [member, ago] : swim::heard(group->state)) {
      Micros& least = found.try_emplace(group->members.addresses[member], ago).first->second;
      least = std::min(least, ago);
    }
  return found;
}

void Neighbours::begin(Members members, const std::map<std::string, Micros>& before) {
  const auto self = static_cast<SwimIndex>(std::ranges::find(members.nodes, node_) - members.nodes.begin());
  if (!socket_ || address_ != members.addresses[self]) {
    address_ = members.addresses[self];
    socket_.reset();
    auto opened = open_(address_, port_, [this](std::string_view bytes) { come(bytes); });
    if (!opened) {
      // The version stays: sickbayd tells it again when the groups change, and this node is silent in none,
      // for nobody has heard it.
      log_("event=group_not_begun what=" + Json(opened.error().line()).dump() +
           " cause=" + Json(opened.error().cause).dump());
      return;
    }
    socket_ = std::move(*opened);
  }
  auto group = std::make_unique<Group>();
  swim::HeardBefore known;
  // (Whose slurmd cannot be asked counts as new: its agent may never hear of this group, and nothing else
  // would stand between it and its node.)
  for (SwimIndex i = 0; i < members.nodes.size(); ++i)
    if (const auto it = before.find(members.addresses[i]);
        it != before.end() && members.slurmd_ports[i] != 0 && i != self)
      known[i] = it->second;
  group->state = swim::begin(members.number, members.nodes.size(), self, {}, loop_.now(), random_, known);
  group->members = std::move(members);
  const std::uint32_t number = group->members.number;
  log_(fmt::format("event=group_begun group={} members={}", number, group->members.nodes.size()));
  Group& here = *groups_.emplace(number, std::move(group)).first->second;
  follow(here, swim::tick(here.state, loop_.now(), random_));
}

void Neighbours::come(std::string_view bytes) {
  const auto it = groups_.find(claimed_group(bytes));
  if (it == groups_.end()) return;
  Group& group = *it->second;
  const auto body = open_seal(bytes, group.members.key);
  if (!body) return;
  const auto message = parse_swim_message(*body);
  if (!message) return;
  follow(group, swim::receive(group.state, *message, loop_.now(), random_));
}

void Neighbours::ring(std::uint32_t number) {
  const auto it = groups_.find(number);
  if (it == groups_.end()) return;
  it->second->timer = 0;
  follow(*it->second, swim::tick(it->second->state, loop_.now(), random_));
}

void Neighbours::follow(Group& group, swim::Actions actions) {
  for (const SwimMessage& message : actions.send)
    if (socket_)
      socket_->send(group.members.addresses[message.to], port_,
                    seal(format_swim_message(message), group.members.key));
  for (const SwimIndex member : actions.doubts) ask(group, member);
  for (const swim::Report& one : actions.reports) report(group, one);
  loop_.cancel(group.timer);
  group.timer = loop_.at(actions.wake_at, [this, number = group.members.number] { ring(number); });
}

// --- whoever falls silent is asked by TCP before sickbayd hears of it

void Neighbours::ask(Group& group, SwimIndex member) {
  const std::uint16_t port = group.members.slurmd_ports[member];
  Group::Asked& asked = group.asked[member];
  if (!ask_ || port == 0 || asked.under_way) return;
  asked.under_way = true;
  ask_(group.members.addresses[member], port,
       lifetime_.guard([this, number = group.members.number, member](Result<bool> said) {
         answered(number, member, said && *said);
       }));
}

void Neighbours::answered(std::uint32_t number, SwimIndex member, bool answers) {
  const auto it = groups_.find(number);
  if (it == groups_.end()) return;
  Group::Asked& asked = it->second->asked[member];
  asked.under_way = false;
  asked.answers = answers;
  asked.ended = loop_.now();
  if (const auto held = std::exchange(asked.held, std::nullopt)) report(*it->second, *held);
}

void Neighbours::report(Group& group, const swim::Report& one) {
  Group::Asked& asked = group.asked[one.member];
  asked.held.reset();
  if (!one.silent) return say(group, one);
  const bool fresh = asked.ended != kNoTime && loop_.now() - asked.ended < kAnswerHolds;
  if (!fresh) ask(group, one.member);
  if (asked.under_way)
    asked.held = one;
  else if (fresh && asked.answers)
    log_(fmt::format("event=silent_but_answers group={} node={}", group.members.number,
                     group.members.nodes[one.member]));
  else
    say(group, one);
}

void Neighbours::say(const Group& group, const swim::Report& one) {
  std::vector<std::string> by;
  for (const SwimIndex member : one.seen_by) by.push_back(group.members.nodes[member]);
  Json items = Json::array({Json::object({{"node", group.members.nodes[one.member]},
                                          {"silent", one.silent},
                                          {"seen_by", by},
                                          {"silent_ms", one.silent_for.count() / 1000}})});
  report_(Json::object({{"group", group.members.number}, {"items", std::move(items)}}));
}

}  // namespace sickbay::agent
