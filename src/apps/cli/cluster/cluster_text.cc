// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/cluster_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "apps/cli/claim_text.h"
#include "apps/cli/cluster/findings_text.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/size.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

std::string joined(const Json& words, std::string_view gap) {
  std::string text;
  for (const std::string& word : words.as_strings())
    text += (text.empty() ? "" : std::string(gap)) + for_terminal(word);
  return text;
}

// What our own standings mean to whoever reads the list (engine/drain, standing()).
struct StandingRow {
  std::string_view standing, colour, meaning;
};
constexpr auto kStandings = std::to_array<StandingRow>({
    {"in", "", ""},
    {"observed", kUnclear, "Sickbay only observes it: nothing is done"},
    {"waits", kUnclear, "the breaker keeps it in service"},
    {"leaving", kUnclear, "a drain is under way"},
    {"out", kBad, "drained by Sickbay"},
    {"rebooting", kUnclear, "drained by Sickbay, and Slurm reboots it"},
    {"returning", kUnclear, "the drain is being lifted"},
    {"foreign", kUnclear, "drained or down by somebody else: left alone"},
    {"refused", kBad, "Slurm did not let it be drained"},
    {"claimed", kUnclear, "another part of Sickbay is at work on it: its drain waits for that"},
});

const StandingRow& standing_row(const Json& service) {
  for (const StandingRow& row : kStandings)
    if (row.standing == service["standing"].as_string()) return row;
  return kStandings.front();
}

TextTable::Cell service_cell(const Json& service) {
  return TextTable::Cell(safe(service["standing"]), standing_row(service).colour);
}

// What SERVICE says of a node is the drain engine's: its own claims stand behind "leaving", "out",
// "rebooting" and "returning".  Only somebody else's are told besides.
constexpr std::string_view kServiceHolder = "drain";

bool tells_more(const Json& claim) {
  return claim.is_object() && claim["holder"].as_string() != kServiceHolder;
}

std::string claim_lines(const Json& node, const TextPage& page) {
  if (!tells_more(node["claim"])) return {};
  const std::string& name = node["name"].as_string();
  return paragraph("", name + ": claimed by " + claim_text(node["claim"], "node:" + name, page), page);
}

// Whom its neighbours do not reach, and why it is not set DOWN.
std::string silent_lines(const Json& node, const TextPage& page) {
  const Json& silent = node["silent"];
  if (!silent.is_object()) return {};
  if (silent["set_down"].as_bool())
    return fmt::format("{}: set DOWN{}: no node of job {} reached it, nor did sickbayd\n", safe(node["name"]),
                       since_text(silent["at"], page.now), silent["job"].as_int());
  std::string text = fmt::format("{}: {} of job {} cannot reach it", safe(node["name"]),
                                 joined(silent["by"], ", "), silent["job"].as_int());
  if (const std::string held = safe(silent["held"]); !held.empty()) text += "; it is let be: " + held;
  return paragraph("", text, page);
}

// The known-good program's last word on a node, and how old it is.
TextTable::Cell verified_cell(const Json& node, const TextPage& page) {
  const Json& last = node["verified"];
  if (!last.is_object()) return TextTable::Cell("");
  const std::string result = safe(last["result"]);
  const auto age =
      std::chrono::duration_cast<std::chrono::minutes>(page.now - from_micros(last["at"].as_int()));
  return TextTable::Cell(
      fmt::format("{} {} ago", result, describe_duration(std::max(age, std::chrono::minutes(0)))),
      result == "ok"       ? kGood
      : result == "failed" ? kBad
                           : kUnclear);
}

// What the known-good program last found there, where it is not well.
std::string verified_lines(const Json& node, const TextPage& page) {
  const Json& last = node["verified"];
  const std::string result = safe(last["result"]);
  if (result.empty() || result == "ok") return {};
  return paragraph("",
                   fmt::format("{}: found {} by {}{}: {}", safe(node["name"]), result, safe(last["by"]),
                               since_text(last["at"], page.now), safe(last["reason"])),
                   page);
}

// Whatever starts there fails, and nobody knows yet whether that is the node.
std::string jobs_fail_lines(const Json& node, const TextPage& page) {
  const Json& told = node["jobs_fail"];
  if (!told.is_object()) return {};
  return paragraph("",
                   fmt::format("{}: under suspicion{}: {}", safe(node["name"]),
                               since_text(told["at"], page.now), safe(told["sentence"])),
                   page);
}

// How it differs from the other nodes of its kind.  Nodes that do in the same way share a sentence: `said`.
std::string odd_lines(const Json& node, const TextPage& page, std::set<std::string>& said) {
  std::string text;
  for (const Json& odd : node["odd"].items())
    if (said.insert(odd["text"].as_string()).second)
      text += paragraph("",
                        fmt::format("{}: {}{}", safe(odd["severity"]), safe(odd["text"]),
                                    since_text(odd["since"], page.now)),
                        page);
  return text;
}

// One line for what speaks against a node, and one for each reason.
std::string service_lines(const Json& node, const TextPage& page) {
  const Json& service = node["service"];
  const std::string gate = safe(service["gate"]);
  if (service["reasons"].size() == 0)
    return gate.empty() ? "" : paragraph("", fmt::format("{}: {}", safe(node["name"]), gate), page);
  const StandingRow& row = standing_row(service);
  std::string text = fmt::format("{}: {}{}", safe(node["name"]),
                                 row.meaning.empty() ? safe(service["standing"]) : std::string(row.meaning),
                                 since_text(service["since"], page.now));
  if (const std::string refused = safe(service["refused"]); !refused.empty()) text += " (" + refused + ")";
  text += "\n";
  if (const std::string wish = safe(service["wish"]); !wish.empty()) text += paragraph("  ", wish, page);
  if (!gate.empty()) text += paragraph("  ", gate, page);
  if (const std::string kept = safe(service["kept"]); !kept.empty()) text += paragraph("  ", kept, page);
  for (const Json& reason : service["reasons"].items()) {
    std::string line = fmt::format("{} {}: {}{}", safe(reason["source"]), safe(reason["rule"]),
                                   safe(reason["text"]), since_text(reason["since"], page.now));
    if (reason["gone"].as_int() != 0) line += ", gone" + since_text(reason["gone"], page.now);
    if (reason["observed"].as_bool()) line += ", its rule rests since an undo";
    text += paragraph("  ", line, page);
  }
  if (const std::int64_t more = service["reasons_more"].as_int(); more > 0)
    text += fmt::format("  and for {} other reason{}: 'sickbay nodes {}'\n", more, more == 1 ? "" : "s",
                        safe(node["name"]));
  return text;
}

// --- whose rules differ: an agent that the last roll-out did not reach looks for yesterday's faults

using Digests = std::map<std::string, std::string>;  // specification -> digest

Digests digests_of(const Json& node) {
  Digests digests;
  for (const auto& [name, digest] : node["agent"]["digests"].members()) digests[name] = digest.as_string();
  return digests;
}

// The rules that most agents have; where two sets are equally common, those of the first node.
struct CommonRules {
  Digests digests;
  std::string first;  // the first node that has them
  std::size_t count = 0, agents = 0;

  explicit CommonRules(const Json& list) {
    std::map<Digests, std::size_t> counts;
    for (const Json& node : list["items"].items())
      if (!node["agent"].is_null()) ++agents, ++counts[digests_of(node)];
    for (const Json& node : list["items"].items()) {
      if (node["agent"].is_null()) continue;
      Digests its = digests_of(node);
      if (counts[its] <= count) continue;
      count = counts[its];
      digests = std::move(its);
      first = node["name"].as_string();
    }
  }
  /// The specifications that `node` has otherwise, more or less.
  std::set<std::string> not_of(const Json& node) const {
    std::set<std::string> differ;
    if (node["agent"].is_null()) return differ;
    const Digests its = digests_of(node);
    for (const auto& [name, digest] : its)
      if (const auto common = digests.find(name); common == digests.end() || common->second != digest)
        differ.insert(name);
    for (const auto& [name, digest] : digests)
      if (!its.contains(name)) differ.insert(name);
    return differ;
  }
};

std::string rules_lines(const Json& node, const std::set<std::string>& differ, const CommonRules& common,
                        const TextPage& page) {
  std::string text;
  for (const std::string& name : differ) text += (text.empty() ? "" : ", ") + for_terminal(name);
  return fmt::format("{}: the rules of its agent differ from those of {}, which {} of {} agents have\n",
                     safe(node["name"]), for_terminal(common.first), common.count, common.agents) +
         paragraph("  ", text, page);
}

// Nobody but an engine that goes in a circle parks a subject: it is a fault of Sickbay, and the rest goes on.
std::string parked_text(std::int64_t parked) {
  return fmt::format(
      "{} left alone, since an engine of Sickbay does not settle on {}: 'sickbay journal' says which and why "
      "(kind parked). Asked about again when something happens to {}, or when sickbayd starts. Please report "
      "it.",
      parked == 1 ? "1 subject is" : fmt::format("{} subjects are", parked), parked == 1 ? "it" : "them",
      parked == 1 ? "it" : "them");
}

// It was silent while a job that failed, or runs, was on it; nobody blames it for that.
std::string suspect_lines(const Json& node, const TextPage& page) {
  std::string text;
  for (const Json& one : node["suspect"].items())
    text += paragraph(safe(node["name"]) + ": ",
                      fmt::format("suspect in {}: has not answered Slurm since {}", safe(one["case"]),
                                  local_time(from_micros(one["at"].as_int()))),
                      page);
  if (const std::int64_t more = node["suspect_more"].as_int(); more > 0)
    text += paragraph(safe(node["name"]) + ": ",
                      fmt::format("suspect in {} older case{} besides", more, more == 1 ? "" : "s"), page);
  return text;
}

// Those that blame it: of many the newest, and how many others.
std::string cases_cell(const Json& node) {
  const std::string named = joined(node["verdicts"], ",");
  const std::int64_t more = node["verdicts_more"].as_int();
  return more > 0 ? fmt::format("{} (+{})", named, more) : named;
}

constexpr auto kSpareStandings = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"coming", "being reserved"},
    {"drawn", "on its way into a job"},
    {"joined", "has joined a job, and leaves the pool"},
    {"unwell", "down, drained or failing, and leaves the pool"},
});

// One line for each pool: its nodes look idle, or reserved, and take no work.
std::string spare_lines(const Json& items, const TextPage& page) {
  std::map<std::string, std::vector<std::string>> pools;
  for (const Json& node : items.items())
    if (node.has("spare")) pools[node["spare"].as_string()].push_back(node["name"].as_string());
  std::string text;
  for (const auto& [partition, names] : pools)
    text += paragraph("",
                      fmt::format("hot spares of {}: {} ('sickbay spares')",
                                  partition == "*" ? "the cluster" : for_terminal(partition),
                                  for_terminal(compress_hostlist(names))),
                      page);
  return text;
}

// What stands of what its agent found.
TextTable::Cell findings_cell(const Json& node) {
  const std::string text = findings_count(node);
  return TextTable::Cell(text, text.find("fault") != std::string::npos ? kBad : kUnclear);
}

// Nobody looks at their nodes any more.
std::string silent_agents(const Json& items, const TextPage& page) {
  std::vector<std::string> names;
  for (const Json& node : items.items())
    if (node["agent"]["silent"].as_bool()) names.push_back(node["name"].as_string());
  if (names.empty()) return {};
  return paragraph(
      "",
      fmt::format("silent agent{}: {}", names.size() == 1 ? "" : "s", for_terminal(compress_hostlist(names))),
      page);
}

}  // namespace

Result<Json> chosen_nodes(const Json& list, const std::vector<std::string>& wanted) {
  const Json::Array& items = list["items"].items();
  if (wanted.empty()) return Json(items);
  Json chosen = Json::array();
  for (const std::string& name : wanted) {
    const Json* found = nullptr;
    std::vector<std::string> known;
    for (const Json& item : items) {
      known.push_back(item["name"].as_string());
      if (known.back() == name) found = &item;
    }
    if (found == nullptr) {
      Error error(ErrorCode::not_found, fmt::format("there is no node {}", quote_for_message(name)));
      error.cause = fmt::format("slurmctld knows {} node{}, none of that name", known.size(),
                                known.size() == 1 ? "" : "s");
      const std::string meant = did_you_mean(name, known);
      error.remedy_text = meant.empty()
                              ? "'sickbay nodes' lists them"
                              : fmt::format("did you mean '{}'?  'sickbay nodes' lists them", meant);
      return fail(std::move(error));
    }
    chosen.push(*found);
  }
  return chosen;
}

std::string nodes_text(const Json& items, const Json& list, const TextPage& page) {
  using enum TextTable::Column::Align;
  TextTable table({{"NODE"},
                   {"STATE"},
                   {"CPUS", right},
                   {"PARTITIONS", left, true},
                   {"TAKES WORK"},
                   {"SERVICE"},
                   {"FINDINGS"},
                   {"CLAIM"},
                   {"VERIFIED"},
                   {"RULES"},
                   {"CASES", left, true},
                   {"REASON", left, true}});
  const CommonRules common(list);
  std::set<std::string> said;
  std::string why;
  for (const Json& node : items.items()) {
    std::string state = safe(node["state"]);
    for (const std::string& flag : node["flags"].as_strings()) state += "+" + for_terminal(flag);
    const bool usable = node["usable"].as_bool();
    const std::set<std::string> differ = common.not_of(node);
    table.add({safe(node["name"]), TextTable::Cell(state, usable ? kGood : kBad),
               std::to_string(node["cpus"].as_int()), joined(node["partitions"], ","), usable ? "yes" : "no",
               service_cell(node["service"]), findings_cell(node),
               tells_more(node["claim"]) ? safe(node["claim"]["holder"]) : "", verified_cell(node, page),
               differ.empty() ? TextTable::Cell("") : TextTable::Cell("differ", kUnclear), cases_cell(node),
               safe(node["reason"])});
    why += service_lines(node, page);
    why += claim_lines(node, page);
    why += silent_lines(node, page);
    why += jobs_fail_lines(node, page);
    why += verified_lines(node, page);
    why += odd_lines(node, page, said);
    why += suspect_lines(node, page);
    if (!differ.empty()) why += rules_lines(node, differ, common, page);
  }
  if (table.empty())
    return "sickbayd knows no nodes yet: it has not heard from slurmctld ('sickbay status').\n";
  why += spare_lines(items, page);
  why += silent_agents(items, page);
  std::string text = table.text({.width = page.width, .colours = page.colours});
  if (!why.empty()) text += "\n" + why;
  return text;
}

std::string spares_text(const Json& list, const TextPage& page) {
  using enum TextTable::Column::Align;
  if (!list["on"].as_bool())
    return paragraph("",
                     "Nodes in running jobs are not replaced here: 'nonstop.on' of sickbay.json is off, and "
                     "so there are no spares.",
                     page);
  TextTable table({{"PARTITION"}, {"READY", right}, {"WANTED", right}, {"SET BY"}, {"NODES", left, true}});
  std::string why;
  for (const Json& pool : list["items"].items()) {
    std::map<std::string, std::vector<std::string>> by_standing;
    for (const Json& node : pool["nodes"].items())
      by_standing[node["standing"].as_string()].push_back(node["node"].as_string());
    const std::int64_t ready = pool["ready"].as_int(), wanted = pool["wanted"].as_int();
    table.add({safe(pool["partition"]),
               TextTable::Cell(std::to_string(ready), ready < wanted ? kUnclear : kGood),
               std::to_string(wanted), pool["set"].is_null() ? "nonstop.conf" : "an operator",
               for_terminal(compress_hostlist(by_standing["ready"]))});
    for (const auto& [standing, names] : by_standing) {
      if (standing == "ready" || names.empty()) continue;
      std::string_view meaning = standing;
      for (const auto& [word, text] : kSpareStandings)
        if (word == standing) meaning = text;
      why +=
          paragraph(safe(pool["partition"]) + ": ",
                    for_terminal(compress_hostlist(names)) + " " + for_terminal(std::string(meaning)), page);
    }
    if (ready < wanted && by_standing["coming"].empty())
      why += paragraph(
          safe(pool["partition"]) + ": ",
          fmt::format("{} more as soon as nodes are idle and no job waits for one", wanted - ready), page);
    if (const std::string error = pool["error"].as_string(); !error.empty())
      why += paragraph(safe(pool["partition"]) + ": ",
                       "Slurm did not take the reservation: " + for_terminal(error), page);
  }
  if (table.empty())
    return paragraph("",
                     "There are no spare pools: HotSpareCount of nonstop.conf names none. "
                     "'sickbay spares PARTITION COUNT' makes one.",
                     page);
  std::string text = table.text({.width = page.width, .colours = page.colours});
  if (!why.empty()) text += "\n" + why;
  return text;
}

namespace {

// Of two sickbayds: how this one stands to the other.
std::string standby_text(const Json& standby) {
  const std::string other = safe(standby["other"]);
  if (standby["role"].as_string() == "active")
    return fmt::format("active in term {}; {}", standby["term"].as_int(),
                       standby["alone"].as_bool(true)
                           ? fmt::format("alone: {} does not have what was acknowledged last", other)
                           : fmt::format("{} has all that is acknowledged", other));
  if (standby["lacks"].as_bool())
    return fmt::format(
        "waits: no other is active, but {} alone has all that was acknowledged, so this one does not "
        "begin; start that one",
        other);
  if (standby["following"].as_bool())
    return fmt::format("standby of {}, {} events behind", other, standby["behind"].as_int());
  const std::string& trouble = standby["trouble"].as_string();
  return fmt::format("waits, and does not follow {}{}{}", other, trouble.empty() ? "" : ": ",
                     for_terminal(trouble));
}

}  // namespace

bool status_is_good(const Json& status) {
  const Json& standby = status["standby"];
  if (standby.is_object() && standby["role"].as_string() != "active")
    return standby["following"].as_bool() && !standby["lacks"].as_bool();
  if (standby.is_object() && standby["alone"].as_bool(true)) return false;
  return status["journal"]["state"].as_string() == "ok" && status["slurm"]["state"].as_string() == "ok";
}

std::string status_text(const Json& status, const TextPage& page) {
  const Json &journal = status["journal"], &slurm = status["slurm"], &cases = status["cases"];
  const auto state = [&](const Json& word) {
    const std::string& text = word.as_string();
    return painted(for_terminal(text), text == "ok" ? kGood : text == "full" ? kUnclear : kBad, page.colours);
  };
  std::string text;
  text += fmt::format("sickbayd  {}, pid {}{}\n", safe(status["version"]), status["pid"].as_int(),
                      since_text(status["started"], page.now));
  if (const Json& standby = status["standby"]; standby.is_object())
    text += paragraph("standby   ", standby_text(standby), page);
  if (!journal.is_object()) return text;  // of one that waits: it has no work yet
  text += fmt::format("journal   {}, {} events, {:.1f} MiB\n", state(journal["state"]),
                      journal["seq"].as_int(), static_cast<double>(journal["bytes"].as_int()) / (1 << 20));
  text += fmt::format("slurm     {}{}\n", state(slurm["state"]), since_text(slurm["since"], page.now));
  if (!slurm["error"].as_string().empty()) text += paragraph("          ", slurm["error"].as_string(), page);
  text += fmt::format("cases     {} open, {} closed\n", cases["open"].as_int(), cases["closed"].as_int());
  if (const Json& agents = status["agents"]; agents.is_object()) {
    const std::int64_t silent = agents["silent"].as_int();
    text += fmt::format("agents    {} present{}\n", agents["present"].as_int(),
                        silent == 0 ? ""
                                    : ", " + painted(fmt::format("{} silent", silent), kBad, page.colours) +
                                          " ('sickbay nodes' names them)");
    const Json& active = agents["active"];
    if (active["holding"].as_int() + active["waiting"].as_int() > 0)
      text += fmt::format("checks    {} of {} nodes have leave for active ones, {} wait\n",
                          active["holding"].as_int(), active["at_once"].as_int(), active["waiting"].as_int());
  }
  if (const std::int64_t parked = status["parked"].as_int(); parked > 0)
    text += paragraph("parked    ", parked_text(parked), page);
  return text;
}

}  // namespace sickbay::cli
