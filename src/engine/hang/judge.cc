// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/duration.h"
#include "base/hostlist.h"
#include "engine/hang/standing.h"

namespace sickbay::hang {
namespace {

constexpr std::string_view kCarried = "the network of their nodes still carries data";
// Bounds the event, whatever the number of nodes.
constexpr std::size_t kMostUnread = 16;
constexpr auto kWords = std::to_array<std::string_view>({"progress", "suspicion", "hang"});
constexpr auto kWhys =
    std::to_array<std::string_view>({"goes_on", "unknown", "deadlock", "in_doubt", "waits_for", "missing",
                                     "outside", "unread", "no_progress", "nowhere"});

template <class Enum, std::size_t n>
bool read_word(const std::array<std::string_view, n>& words, const Json& json, Enum& into) {
  const auto it = std::ranges::find(words, json.as_string());
  if (it != words.end()) into = static_cast<Enum>(it - words.begin());
  return it != words.end();
}

// All ranks of one program, over all nodes.
struct World {
  std::int64_t size = -1;
  struct Merged {
    RankGroup group;
    std::vector<TaskId> ids;
  };
  std::vector<Merged> groups;
  std::array<std::size_t, kStandings> standing{};  // ranks, by Standing
  std::size_t seen = 0;
  // When all who wait did so: sickbayd's clock.
  TimePoint from = kNoTime, to = kNever;
  // Of those who wait: for so long no call of theirs returned, by count, and what stands against it.
  Micros proven = Micros::max();
  Doubt doubt = Doubt::none;
  std::string doubt_text;
  Micros nowhere = Micros::max();  // of all who have not ended
  std::size_t count(Standing s) const { return standing[static_cast<std::size_t>(s)]; }
};

void merge(World& world, const RankGroup& one, TimePoint heard) {
  world.size = std::max(world.size, one.size);
  world.seen += one.ranks.size();
  world.standing[static_cast<std::size_t>(one.standing)] += one.ranks.size();
  // That one has ended counts from when it was seen: others may be about to end, too.
  // The waits of all groups are cut with each other: a hang is only the time in which all waited at once.
  if (is_wait(one.standing) || one.standing == Standing::ended) {
    world.from = std::max(world.from, heard - one.held);
    world.to = std::min(world.to, heard);
  }
  if (one.standing != Standing::ended) world.nowhere = std::min(world.nowhere, one.nowhere);
  if (is_wait(one.standing)) {
    world.proven = std::min(world.proven, one.proven);
    if (one.doubt > world.doubt) world.doubt = one.doubt, world.doubt_text = one.doubt_text;
  }
  // Groups of several nodes that stand in one place are one, so that a judgement stays short for ten
  // thousand ranks.
  const auto same = std::ranges::find_if(world.groups, [&](const World::Merged& m) {
    return m.group.standing == one.standing && m.group.call == one.call && m.group.path == one.path;
  });
  const std::vector<TaskId> ids = one.ranks.list();
  if (same == world.groups.end()) {
    world.groups.push_back({one, ids});
  } else {
    same->ids.insert(same->ids.end(), ids.begin(), ids.end());
    same->group.held = std::min(same->group.held, one.held);
  }
}

// Numbers in their order cost nothing to add.
TaskIds set_of(std::vector<TaskId> ids) {
  std::ranges::sort(ids);
  TaskIds set;
  for (const TaskId id : ids) set.add(id);
  return set;
}

// "rank 3 in MPI_Recv < main and ranks 0-2 in MPI_Allreduce"
std::string where(const RankGroup& g) {
  return ranks_text(g.ranks) + (g.call.empty() ? "" : " in " + g.call);
}

struct Finding {
  Why why = Why::goes_on;
  Micros held{0};              // how long it has been so
  Micros stood{0}, wanted{0};  // of that, how long nothing spoke against it; how long it must have been so
  std::vector<RankGroup> groups;
  TaskIds odd;
  std::string call, text;
  std::string unproven;  // "": proven, as soon as it is a hang
};

// What all nodes of a job say of their network.
struct Network {
  bool carries = false;
  TimePoint calm_from = kNoTime;  // since then nothing was on its way; sickbayd's clock
};

// Who is not where the most are: those who do not wait, else the smallest group where it is less than half.
std::size_t odd_groups(const std::vector<RankGroup>& groups, bool all_wait) {
  if (!all_wait)
    return static_cast<std::size_t>(
        std::ranges::count_if(groups, [](const RankGroup& g) { return !is_wait(g.standing); }));
  if (groups.size() < 2) return 0;
  std::size_t all = 0;
  for (const RankGroup& g : groups) all += g.ranks.size();
  // Odd is only one that stands alone: of two equally small groups neither is.
  const bool alone = groups.size() == 2 || groups[1].ranks.size() > groups[0].ranks.size();
  return alone && groups[0].ranks.size() * 2 < all ? 1 : 0;
}

// Somebody moves data, who may be about to release the others; or nobody waits.
bool goes_on(const World& world) {
  return world.count(Standing::waits) + world.count(Standing::waits_outside) == 0 ||
         world.count(Standing::moves) > 0;
}

// Where the ranks of all programs that are there seem to go on: do they get anywhere?
Judgement judge_busy(std::map<std::string, World>& worlds, Micros nowhere, const Policy& policy) {
  Judgement j;
  for (const auto& [name, world] : worlds)
    // What is not seen may be what the others ask for.
    if (world.size > static_cast<std::int64_t>(world.seen)) return j;
  if (nowhere < policy.doubtful) return j;
  j.word = Word::suspicion;
  j.why = Why::nowhere;
  j.nowhere = j.held = nowhere;
  for (auto& [name, world] : worlds)
    for (World::Merged& m : world.groups) {
      m.group.ranks = set_of(std::move(m.ids));
      if (m.group.standing != Standing::ended && j.call.empty()) j.call = m.group.call;
      if (j.groups.size() < kMostShown)
        j.groups.push_back(std::move(m.group));
      else
        ++j.left_out;
    }
  j.text = fmt::format(
      "for {} no call of MPI has returned but tests, and nothing went over the connections "
      "of its ranks",
      describe_duration(nowhere));
  j.unproven = "a program that waits for its next order does the same";
  return j;
}

// One program.  The rows of the table in doc/design/identify.md, "Hangs", from what says least to a
// deadlock; each has the time for which it must have stood.
Finding judge_world(World& world, const Policy& policy, const Network& network, bool all_heard) {
  Finding f;
  const std::size_t waiting = world.count(Standing::waits) + world.count(Standing::waits_outside);
  f.stood = f.held = std::max(Micros(0), world.to - world.from);
  // Ranks that nobody has seen may compute: without them "all wait" is not known.
  const std::size_t missing = world.size > static_cast<std::int64_t>(world.seen)
                                  ? static_cast<std::size_t>(world.size) - world.seen
                                  : 0;
  const bool all_wait = waiting == world.seen;
  for (World::Merged& m : world.groups) {
    m.group.ranks = set_of(std::move(m.ids));
    f.groups.push_back(std::move(m.group));
  }
  // Where all wait the smallest first, for it is the odd one; else those who do not wait.
  std::ranges::stable_sort(f.groups, [&](const RankGroup& a, const RankGroup& b) {
    return std::tuple(is_wait(a.standing), a.ranks.size()) < std::tuple(is_wait(b.standing), b.ranks.size());
  });
  const std::size_t odd = odd_groups(f.groups, all_wait);
  for (std::size_t i = 0; i < odd; ++i) f.odd.add(f.groups[i].ranks);
  const RankGroup& named = odd > 0 ? f.groups.front() : f.groups.back();
  f.call = named.call;
  // Before all others wait for each other nothing is proven.
  const Micros counted = world.doubt == Doubt::none ? world.proven : Micros(0);
  std::string uncounted;
  if (world.doubt != Doubt::none)
    uncounted = (world.doubt == Doubt::thread ? "it may be released by " : "") + world.doubt_text;
  else if (counted < policy.proven)
    uncounted = fmt::format("for {} only it was counted that no call returns", describe_duration(counted));
  const std::string since = describe_duration(f.held);
  const std::string program =
      world.size > 0 ? fmt::format("all {} ranks", world.size) : "all ranks that were seen";
  if (!all_heard) {
    f.why = Why::unknown;
    // No time is long enough: on the silent nodes ranks may go on.
    f.wanted = kNever.time_since_epoch();
    f.text = "not all nodes of the job tell how their ranks stand";
    f.unproven = f.text;
  } else if (!all_wait) {
    const RankGroup& other = f.groups.front();
    const bool unread = std::ranges::all_of(
        f.groups, [](const RankGroup& g) { return is_wait(g.standing) || g.standing == Standing::unread; });
    const bool ended = std::ranges::all_of(
        f.groups, [](const RankGroup& g) { return is_wait(g.standing) || g.standing == Standing::ended; });
    const bool paused = world.count(Standing::stopped) + world.count(Standing::starved) > 0;
    f.why = unread ? Why::unread : Why::waits_for;
    // Who is stopped or gets no processor goes on when he may: no time makes that a hang.
    f.wanted = paused ? kNever.time_since_epoch() : ended ? policy.doubtful : policy.late;
    f.text = fmt::format("{} of {} ranks have waited in MPI for {}; {}", waiting, world.seen, since,
                         text_of(other));
    // Who has ended releases nobody.  What another one does may have its end.
    f.unproven = !ended            ? "nobody can know whether that ends: " + text_of(other)
                 : network.carries ? std::string(kCarried)
                                   : uncounted;
  } else if (missing > 0) {
    f.why = Why::missing;
    f.wanted = policy.doubtful;
    f.text = fmt::format("all {} ranks that were seen have waited in MPI for {}; {} of {} are on no node",
                         world.seen, since, missing, world.size);
    f.unproven = "ranks that nobody sees may go on";
  } else if (world.count(Standing::waits_outside) > 0) {
    f.why = Why::outside;
    f.wanted = policy.late;
    f.text = fmt::format("{} have waited for {}, {} for storage or for other programs", program, since,
                         ranks_text(f.groups.front().ranks));
    f.unproven = "storage and other programs may let them go on";
  } else {
    const bool doubted = network.carries || counted < policy.counted;
    f.why = doubted ? Why::in_doubt : Why::deadlock;
    // A long message may be on its way between two ranks that both wait for it.  What a thread waits for may
    // take as long as a computation, whatever the network carries meanwhile: it may be another job's.
    const bool by_thread = world.doubt == Doubt::thread;
    f.wanted = by_thread ? policy.late : doubted ? policy.doubtful : policy.soon;
    // What had to arrive has: from then on they must wait anew.
    if (!doubted) f.stood = std::max(Micros(0), std::min(f.held, world.to - network.calm_from));
    f.unproven = network.carries && !by_thread ? std::string(kCarried) : uncounted;
    // (A thread of theirs may have changed what they hold.)
    const std::string so_long = describe_duration(doubted ? std::max(f.held, world.nowhere) : f.held);
    std::string places;
    for (std::size_t i = 0; i < f.groups.size() && i < 3; ++i)
      places += (i > 0 ? ", " : "") + where(f.groups[i]);
    if (f.groups.size() > 3) places += fmt::format(", and {} other groups", f.groups.size() - 3);
    f.text = fmt::format("{} have waited for each other in MPI for {}: {}{}", program, so_long, places,
                         doubted ? "; " + f.unproven : "");
  }
  return f;
}

}  // namespace

std::string_view to_string(Word word) { return kWords[static_cast<std::size_t>(word)]; }
std::string_view to_string(Why why) { return kWhys[static_cast<std::size_t>(why)]; }

Judgement judge(const std::map<std::string, NodeWord>& words, const std::vector<std::string>& nodes,
                const Policy& policy, TimePoint now) {
  Judgement j;
  std::vector<std::string> silent;
  std::map<std::string, World> worlds;
  Network network;
  for (const std::string& node : nodes) {
    const auto it = words.find(node);
    if (it == words.end() || now - it->second.heard > policy.fresh) {
      silent.push_back(node);
      continue;
    }
    const RankReport& report = it->second.report;
    network.carries |= data_on_its_way(report);
    if (!report.groups.empty())
      network.calm_from = std::max(network.calm_from, it->second.heard - report.calm);
    for (const RankGroup& one : report.groups) {
      merge(worlds[one.world], one, it->second.heard);
    }
    for (const Unread& one : report.unread)
      if (j.unread.size() < kMostUnread) j.unread.push_back({node + ": " + one.what, one.why});
  }
  if (!silent.empty() && j.unread.size() < kMostUnread)
    j.unread.push_back({compress_hostlist(silent), "its agent tells nothing of the ranks"});
  std::vector<Finding> findings;
  std::erase_if(worlds, [](const auto& one) {  // a step that is over
    return one.second.count(Standing::ended) == one.second.seen;
  });
  Micros nowhere = silent.empty() ? Micros::max() : Micros(0);
  for (const auto& [name, world] : worlds) {
    nowhere = std::min(nowhere, world.nowhere);
    j.ranks += world.seen - world.count(Standing::ended);
  }
  // One goes on: so does the job.
  if (std::ranges::any_of(worlds, [](const auto& one) { return goes_on(one.second); })) {
    Judgement busy = judge_busy(worlds, nowhere, policy);
    busy.ranks = j.ranks;
    return busy;
  }
  for (auto& [name, world] : worlds) findings.push_back(judge_world(world, policy, network, silent.empty()));
  if (findings.empty()) {
    Judgement none;
    none.nobody = true;
    return none;
  }
  // The one that has stood longest speaks for the job; a hang is one only where none can go on.
  const bool all_hang = std::ranges::all_of(findings, [](const Finding& f) { return f.stood >= f.wanted; });
  Finding& f = *std::ranges::max_element(findings, {}, [](const Finding& one) { return one.held; });
  j.word = all_hang ? Word::hang : Word::suspicion;
  j.why = findings.size() > 1 && all_hang ? Why::no_progress : f.why;
  j.text = std::move(f.text);
  j.call = f.call;
  j.odd = f.odd;
  j.held = f.held;
  j.nowhere = nowhere;
  const auto doubted =
      std::ranges::find_if(findings, [](const Finding& one) { return !one.unproven.empty(); });
  j.proven = all_hang && doubted == findings.end();
  if (doubted != findings.end()) j.unproven = doubted->unproven;
  // The most telling: the odd ones at the front, and the largest of the others.
  if (f.groups.size() > kMostShown) {
    j.left_out = f.groups.size() - kMostShown;
    const auto keep_front = f.groups.begin() + kMostShown / 2;
    f.groups.erase(keep_front, f.groups.end() - kMostShown / 2);
  }
  j.groups = std::move(f.groups);
  return j;
}

Json to_json(const Judgement& j) {
  Json groups = Json::array();
  for (const RankGroup& g : j.groups) groups.push(to_json(g));
  return Json::object({{"word", to_string(j.word)},
                       {"why", to_string(j.why)},
                       {"text", j.text},
                       {"call", j.call},
                       {"odd", j.odd.text()},
                       {"held_us", j.held.count()},
                       {"groups", std::move(groups)},
                       {"left_out", j.left_out},
                       {"unread", to_json(j.unread)},
                       {"proven", j.proven},
                       {"unproven", j.unproven}});
}

Result<Judgement> read_judgement(const Json& json) {
  Judgement j;
  if (!read_word(kWords, json["word"], j.word) || !read_word(kWhys, json["why"], j.why))
    return fail(ErrorCode::bad_input, "a judgement on a job's ranks has no such word");
  j.text = json["text"].as_string();
  j.call = json["call"].as_string();
  if (!json["odd"].as_string().empty()) {
    auto odd = TaskIds::parse(json["odd"].as_string());
    if (!odd) return fail(std::move(odd.error()));
    j.odd = std::move(*odd);
  }
  j.held = Micros(json["held_us"].as_int());
  j.proven = json["proven"].as_bool();
  j.unproven = json["unproven"].as_string();
  j.left_out = static_cast<std::size_t>(std::max<std::int64_t>(0, json["left_out"].as_int()));
  for (const Json& one : json["groups"].items()) {
    auto group = read_rank_group(one);
    if (!group) return fail(std::move(group.error()));
    if (j.groups.size() < kMostShown) j.groups.push_back(std::move(*group));
  }
  for (const Json& one : json["unread"].items())
    if (j.unread.size() < kMostUnread) j.unread.push_back({one["what"].as_string(), one["why"].as_string()});
  return j;
}

}  // namespace sickbay::hang
