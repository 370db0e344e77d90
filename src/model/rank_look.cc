// SPDX-License-Identifier: Apache-2.0
#include "model/rank_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "model/task_ids.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostLookName = 160;
constexpr std::size_t kMostUnreadOfLook = 64;
constexpr std::size_t kMostStacks = kMostRounds * kMostThreads + kMostOthers;

Json frame_json(const RankFrame& f) {
  Json json = Json::object({{"f", f.function}, {"m", f.module}});
  if (f.program) json.set("p", true);
  return json;
}

std::string digits(std::uint64_t number) { return fmt::format("{:016x}", number); }

bool read_digits(const std::string& text, std::uint64_t& into) {
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, into, 16);
  return failed == std::errc() && end == last;
}

Json returns_json(const std::vector<CountedReturn>& returns) {
  Json list = Json::array();
  for (const CountedReturn& one : returns)
    list.push(Json::object({{"tid", one.tid},
                            {"back", digits(one.back)},
                            {"counted_us", one.counted.count()},
                            {"returns", one.returns},
                            {"why", one.why}}));
  return list;
}

Json others_json(const std::vector<OtherThread>& others) {
  Json list = Json::array();
  for (const OtherThread& one : others)
    list.push(Json::object({{"tid", one.tid}, {"call", one.call}, {"stack", one.stack}}));
  return list;
}

Json rank_json(const Rank& r) {
  Json rounds = Json::array(), stacks = Json::array();
  for (const RankRound& one : r.rounds) {
    Json taken = Json::array();
    for (const std::uint32_t i : one.stacks) taken.push(i);
    Json threads = Json::array();
    for (const std::int64_t tid : one.threads) threads.push(tid);
    rounds.push(Json::object({{"at", to_micros(one.at)},
                              {"state", std::string(1, one.state)},
                              {"cpu_us", one.cpu_us},
                              {"switches", one.switches},
                              {"io_bytes", one.io_bytes},
                              {"stacks", std::move(taken)},
                              {"threads", std::move(threads)},
                              {"why", one.why}}));
  }
  for (const RankStack& one : r.stacks) {
    Json frames = Json::array();
    for (const RankFrame& f : one.frames) frames.push(frame_json(f));
    Json stack =
        Json::object({{"frames", std::move(frames)}, {"held", digits(one.held)}, {"whole", one.whole}});
    if (one.back != 0) stack.set("back", digits(one.back));
    stacks.push(std::move(stack));
  }
  Json json = Json::object({{"world", r.world},
                            {"rank", r.rank},
                            {"size", r.size},
                            {"pid", r.pid},
                            {"name", r.name},
                            {"rounds", std::move(rounds)},
                            {"stacks", std::move(stacks)}});
  if (!r.returns.empty()) json.set("returns", returns_json(r.returns));
  if (r.others_seen) json.set("others", others_json(r.others)).set("others_left", r.others_left);
  return json;
}

tl::unexpected<Error> no_look(std::string what) { return fail(ErrorCode::bad_input, std::move(what)); }

Result<RankStack> read_stack(const Json& json) {
  RankStack stack;
  const auto& frames = json["frames"].items();
  if (frames.size() > kMostFrames) return no_look("a stack has too many frames");
  for (const Json& f : frames)
    stack.frames.push_back({plain_name(f["f"].as_string(), kMostLookName),
                            plain_name(f["m"].as_string(), kMostLookName), f["p"].as_bool()});
  if (!read_digits(json["held"].as_string(), stack.held)) return no_look("'held' is no digest");
  if (json.has("back") && !read_digits(json["back"].as_string(), stack.back))
    return no_look("'back' is no address");
  stack.whole = json["whole"].as_bool();
  return stack;
}

// What was seen of a rank that waits: its calls' returns and its other threads.
Status read_proof(const Json& json, Rank& rank) {
  if (json["returns"].size() > kMostOthers + 1 || json["others"].size() > kMostOthers)
    return fail(ErrorCode::bad_input, "a rank has too many threads");
  for (const Json& one : json["returns"].items()) {
    CountedReturn counted;
    counted.tid = one["tid"].as_int();
    if (!read_digits(one["back"].as_string(), counted.back))
      return fail(ErrorCode::bad_input, "'back' is no address");
    counted.counted = Micros(std::max<std::int64_t>(0, one["counted_us"].as_int()));
    counted.returns = one["returns"].as_int();
    counted.why = plain_name(one["why"].as_string(), kMostLookName);
    rank.returns.push_back(std::move(counted));
  }
  rank.others_seen = json.has("others");
  rank.others_left = std::max<std::int64_t>(0, json["others_left"].as_int());
  for (const Json& one : json["others"].items()) {
    const std::int64_t stack = one["stack"].as_int(-1);
    if (stack < -1 || stack >= static_cast<std::int64_t>(rank.stacks.size()))
      return fail(ErrorCode::bad_input, "a thread names a stack that is not there");
    rank.others.push_back({one["tid"].as_int(), plain_name(one["call"].as_string(), kMostLookName), stack});
  }
  return {};
}

Result<Rank> read_rank(const Json& json) {
  Rank rank;
  rank.world = plain_name(json["world"].as_string(), kMostLookName);
  rank.rank = json["rank"].as_int(-1);
  rank.size = json["size"].as_int(-1);
  rank.pid = json["pid"].as_int();
  rank.name = plain_name(json["name"].as_string(), kMostLookName);
  if (rank.rank < 0 || rank.rank > kMostTaskId) return no_look("a rank has no number");
  if (rank.size < -1 || rank.size > kMostTaskId + 1) return no_look("a program has no such size");
  if (json["stacks"].size() > kMostStacks || json["rounds"].size() > kMostRounds)
    return no_look("a rank has too many rounds");
  for (const Json& one : json["stacks"].items()) {
    auto stack = read_stack(one);
    if (!stack) return fail(std::move(stack.error()));
    rank.stacks.push_back(std::move(*stack));
  }
  for (const Json& one : json["rounds"].items()) {
    RankRound round;
    round.at = from_micros(one["at"].as_int());
    const std::string& state = one["state"].as_string();
    round.state = state.size() == 1 && state[0] > ' ' && state[0] <= '~' ? state[0] : '?';
    round.cpu_us = one["cpu_us"].as_int();
    round.switches = one["switches"].as_int();
    round.io_bytes = one["io_bytes"].as_int(-1);
    round.why = plain_name(one["why"].as_string(), kMostLookName);
    if (one["stacks"].size() > kMostThreads) return no_look("a round has too many stacks");
    if (one["threads"].size() > one["stacks"].size()) return no_look("a round names threads without a stack");
    for (const Json& tid : one["threads"].items()) round.threads.push_back(tid.as_int());
    for (const Json& place : one["stacks"].items()) {
      const std::int64_t i = place.as_int(-1);
      // The child has read users' memory: what it prints is checked like any other text from outside.
      if (i < 0 || i >= static_cast<std::int64_t>(rank.stacks.size()))
        return no_look("a round names a stack that is not there");
      round.stacks.push_back(static_cast<std::uint32_t>(i));
    }
    rank.rounds.push_back(std::move(round));
  }
  if (Status read = read_proof(json, rank); !read) return fail(std::move(read.error()));
  return rank;
}

}  // namespace

std::string plain_name(std::string_view text, std::size_t most) {
  std::string name(text.substr(0, most));
  for (char& c : name)
    // Names come out of a user's binary and stack.
    if (c < ' ' || c > '~') c = '?';
  return name;
}

Json to_json(const std::vector<Unread>& unread) {
  Json list = Json::array();
  for (const Unread& one : unread) list.push(Json::object({{"what", one.what}, {"why", one.why}}));
  return list;
}

std::vector<Unread> read_unread(const Json& json, std::size_t most) {
  std::vector<Unread> unread;
  for (const Json& one : json.items())
    if (unread.size() < most)
      unread.push_back({plain_name(one["what"].as_string(), kMostLookName),
                        plain_name(one["why"].as_string(), kMostLookName)});
  return unread;
}

std::string format_rank_look(const RankLook& look) {
  std::string text;
  for (const Rank& r : look.ranks) text += rank_json(r).dump() + "\n";
  return text +
         Json::object({{"end", true},
                       {"at", to_micros(look.at)},
                       {"network_bytes", look.network_bytes},
                       {"unsent_bytes", look.unsent_bytes},
                       {"socket_bytes", look.socket_bytes},
                       {"cpu_us", look.cpu_us},
                       {"goes_on", look.goes_on},
                       {"unread", to_json(look.unread)}})
             .dump() +
         "\n";
}

Result<RankLook> parse_rank_look(std::string_view text) {
  if (text.size() > kMostLookText) return no_look("the text is longer than a look at 4096 ranks");
  RankLook look;
  bool ended = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // A line without its end may be the first part of one.
    if (end == std::string_view::npos || ended) return no_look("the text goes on after its last whole line");
    const auto json = Json::parse(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!json) return fail(Error(json.error()).in("reading a look at ranks"));
    if (!(*json)["end"].as_bool()) {
      if (look.ranks.size() == kMostRanksOfNode) return no_look("a node has more ranks than are looked at");
      auto rank = read_rank(*json);
      if (!rank) return fail(std::move(rank.error()));
      look.ranks.push_back(std::move(*rank));
      continue;
    }
    ended = true;
    look.network_bytes = (*json)["network_bytes"].as_int(-1);
    look.unsent_bytes = (*json)["unsent_bytes"].as_int(-1);
    look.socket_bytes = (*json)["socket_bytes"].as_int(-1);
    look.cpu_us = (*json)["cpu_us"].as_int();
    look.goes_on = (*json)["goes_on"].as_bool();
    look.at = from_micros((*json)["at"].as_int());
    look.unread = read_unread((*json)["unread"], kMostUnreadOfLook);
  }
  if (!ended) return no_look("the text has no last line");
  std::ranges::stable_sort(look.ranks, [](const Rank& a, const Rank& b) {
    return std::tie(a.world, a.rank) < std::tie(b.world, b.rank);
  });
  return look;
}

}  // namespace sickbay
