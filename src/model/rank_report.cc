// SPDX-License-Identifier: Apache-2.0
#include "model/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sickbay {
namespace {

constexpr std::size_t kMostReportName = 160;
constexpr std::size_t kMostUnreadOfNode = 16;
constexpr std::size_t kMostRanksText = 100;
constexpr std::int64_t kLongestHeld = std::int64_t{400} * 24 * 3600 * 1'000'000;  // a job runs a year at most

struct StandingRow {
  Standing standing;
  std::string_view name;
  std::string_view words;  // of what is not to be seen in the path
};
// In the order of the enumeration.
constexpr auto kStandingRows = std::to_array<StandingRow>({
    {Standing::waits, "waits", ""},
    {Standing::waits_outside, "waits_outside", ""},
    {Standing::moves, "moves", "goes on, in "},
    {Standing::computes, "computes", "computes in "},
    {Standing::still, "still", "stands outside MPI, in "},
    {Standing::disk, "disk", "waits in the kernel, as for storage"},
    {Standing::stopped, "stopped", "is stopped"},
    {Standing::starved, "starved", "gets no processor, in "},
    {Standing::ended, "ended", "has ended"},
    {Standing::unread, "unread", "not read: "},
});
static_assert(kStandingRows.size() == kStandings);
constexpr auto kDoubtNames = std::to_array<std::string_view>({"none", "uncounted", "thread"});
static_assert(kDoubtNames.size() == kDoubts);

tl::unexpected<Error> no_report(const char* what) { return fail(ErrorCode::bad_input, what); }

}  // namespace

std::string_view to_string(Standing standing) {
  return kStandingRows[static_cast<std::size_t>(standing)].name;
}

std::string_view to_string(Doubt doubt) { return kDoubtNames[static_cast<std::size_t>(doubt)]; }

Json to_json(const RankGroup& g) {
  Json json = Json::object({{"world", g.world},
                            {"size", g.size},
                            {"standing", to_string(g.standing)},
                            {"call", g.call},
                            {"path", g.path},
                            {"ranks", g.ranks.text()},
                            {"held_us", g.held.count()}});
  if (is_wait(g.standing))
    json.set("proven_us", g.proven.count()).set("doubt", to_string(g.doubt)).set("doubt_text", g.doubt_text);
  if (g.nowhere.count() > 0) json.set("nowhere_us", g.nowhere.count());
  return json;
}

Result<RankGroup> read_rank_group(const Json& json) {
  RankGroup g;
  g.world = plain_name(json["world"].as_string(), kMostReportName);
  g.size = json["size"].as_int(-1);
  const auto row = std::ranges::find(kStandingRows, json["standing"].as_string(), &StandingRow::name);
  if (row == kStandingRows.end()) return no_report("a group of ranks has no such standing");
  g.standing = row->standing;
  g.call = plain_name(json["call"].as_string(), kMostReportName);
  g.path = plain_name(json["path"].as_string(), kMostPath);
  auto ranks = TaskIds::parse(json["ranks"].as_string());
  if (!ranks) return no_report("a group of ranks has no numbers");
  g.ranks = std::move(*ranks);
  g.held = Micros(std::clamp<std::int64_t>(json["held_us"].as_int(), 0, kLongestHeld));
  // (An agent of before says nothing of it: then nothing is proven.)
  g.proven = Micros(std::clamp<std::int64_t>(json["proven_us"].as_int(), 0, kLongestHeld));
  g.nowhere = Micros(std::clamp<std::int64_t>(json["nowhere_us"].as_int(), 0, kLongestHeld));
  const auto doubt = std::ranges::find(kDoubtNames, json["doubt"].as_string());
  if (doubt != kDoubtNames.end()) g.doubt = static_cast<Doubt>(doubt - kDoubtNames.begin());
  g.doubt_text = plain_name(json["doubt_text"].as_string(), kMostDoubt);
  return g;
}

Json to_json(const RankReport& report) {
  Json groups = Json::array();
  for (const RankGroup& g : report.groups) groups.push(to_json(g));
  return Json::object({{"groups", std::move(groups)},
                       {"network_rate", report.network_rate},
                       {"unsent_bytes", report.unsent_bytes},
                       {"socket_rate", report.socket_rate},
                       {"calm_us", report.calm.count()},
                       {"unread", to_json(report.unread)}});
}

Result<RankReport> read_rank_report(const Json& json) {
  RankReport report;
  if (!json["groups"].is_array() || json["groups"].size() > kMostGroups)
    return no_report("a report on ranks needs a list 'groups' of at most 256");
  for (const Json& one : json["groups"].items()) {
    auto group = read_rank_group(one);
    if (!group) return fail(std::move(group.error()));
    report.groups.push_back(std::move(*group));
  }
  report.network_rate = json["network_rate"].as_int(-1);
  report.unsent_bytes = json["unsent_bytes"].as_int(-1);
  report.socket_rate = json["socket_rate"].as_int(-1);
  report.calm = Micros(std::clamp<std::int64_t>(json["calm_us"].as_int(), 0, kLongestHeld));
  report.unread = read_unread(json["unread"], kMostUnreadOfNode);
  return report;
}

std::string ranks_text(const TaskIds& ranks) {
  const std::string text = ranks.text();
  if (ranks.size() == 1) return "rank " + text;
  if (text.size() <= kMostRanksText) return "ranks " + text;
  // Cut between two ranges: half a number would name another rank.
  const std::size_t cut = text.rfind(',', kMostRanksText);
  return fmt::format("{} ranks ({},...)", ranks.size(), text.substr(0, cut));
}

std::string text_of(const RankGroup& group) {
  const StandingRow& row = kStandingRows[static_cast<std::size_t>(group.standing)];
  return fmt::format("{}: {}{}", ranks_text(group.ranks), row.words, group.path);
}

}  // namespace sickbay
