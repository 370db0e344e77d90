// SPDX-License-Identifier: Apache-2.0
#include "service/agent_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "model/diagnosis_mode.h"
#include "model/event_kinds.h"
#include "model/ids.h"
#include "service/fault_book.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostFactBytes = 16'384;
constexpr std::size_t kMostJobs = 64;         // of a finding
constexpr std::size_t kMostTextBytes = 4096;  // likewise
// Clocks are compared to the second: what the way takes is no news.
constexpr std::chrono::milliseconds kClockStep{500};
constexpr auto kResults = std::to_array<std::string_view>({"ok", "fault", "unknown"});
constexpr auto kActions =
    std::to_array<std::string_view>({"drain", "notify", "restart", "reboot", "power_off", "none"});
constexpr std::string_view kRestart = "restart";  // one that names what, in two members of its own
constexpr auto kRestartClasses = std::to_array<std::string_view>({"component", "network"});

// What a finding holds, in the order in which the journal keeps it.
struct FieldRow {
  std::string_view name;
  bool (Json::*is)() const;
  std::string_view type;
};
constexpr auto kFields = std::to_array<FieldRow>({
    {"boot_id", &Json::is_string, "a string"},
    {"n", &Json::is_int, "a whole number"},
    {"at", &Json::is_int, "a whole number"},
    {"run", &Json::is_int, "a whole number"},
    {"specification", &Json::is_string, "a string"},
    {"rule", &Json::is_string, "a string"},
    {"result", &Json::is_string, "a string"},
    {"action", &Json::is_string, "a string"},
    {"to", &Json::is_string, "a string"},
    {"components", &Json::is_array, "a list"},
    {"text", &Json::is_string, "a string"},
    {"values", &Json::is_object, "an object"},
});

}  // namespace

Result<Json> finding_body(const std::string& node, const Json& item) {
  Json body = Json::object({{"node", node}});
  const auto wrong = [](std::string what) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by("use the agent of this version"));
  };
  for (const FieldRow& row : kFields) {
    const Json& value = item[row.name];
    if (!(value.*row.is)()) return wrong(fmt::format("'{}' of a finding must be {}", row.name, row.type));
    body.set(std::string(row.name), value);
  }
  if (item["n"].as_int() <= 0 || item["boot_id"].as_string().empty())
    return wrong("a finding needs 'n' over 0 and a 'boot_id'");
  if (item["specification"].as_string().empty()) return wrong("a finding needs its 'specification'");
  if (std::ranges::find(kResults, item["result"].as_string()) == kResults.end())
    return wrong("'result' of a finding is " + quote_for_message(item["result"].as_string()));
  if (std::ranges::find(kActions, item["action"].as_string()) == kActions.end())
    return wrong("'action' of a finding is " + quote_for_message(item["action"].as_string()));
  if (item["action"].as_string() == kRestart) {
    const std::string& component = item["component"].as_string();
    const std::string& of = item["class"].as_string();
    if (component.empty()) return wrong("a finding that asks for a restart needs its 'component'");
    if (std::ranges::find(kRestartClasses, of) == kRestartClasses.end())
      return wrong("'class' of a finding that asks for a restart is " + quote_for_message(of));
    body.set("component", component).set("class", of);
  }
  // How deep the run was that found it: one as deep says that it is gone.  (Older agents do not tell.)
  if (const std::string& mode = item["mode"].as_string(); is_diagnosis_mode(mode)) body.set("mode", mode);
  // (Where it is cut, half a character may be left: it is shown as one that cannot be read.)
  if (const std::string& text = body["text"].as_string(); text.size() > kMostTextBytes)
    body.set("text", fmt::format("{}... ({} bytes)", text.substr(0, kMostTextBytes), text.size()));
  if (body.dump().size() > kMostFindingBytes)
    return wrong(fmt::format("a finding is over {} bytes", kMostFindingBytes));
  return body;
}

Json jobs_of(const Json& item, const std::function<std::string(std::uint32_t)>& name_of) {
  Json jobs = Json::array();
  for (const Json& job : item["jobs"].items()) {
    const std::int64_t no = job["job"].as_int(), uid = job["uid"].as_int(-1);
    if (no <= 0 || jobs.size() >= kMostJobs) continue;
    Json told = Json::object({{"job", no}});
    if (uid >= 0 && uid <= std::numeric_limits<std::uint32_t>::max()) {
      told.set("uid", uid);
      const std::string user = name_of ? name_of(static_cast<std::uint32_t>(uid)) : "";
      if (!user.empty()) told.set("user", user);
    }
    jobs.push(std::move(told));
  }
  return jobs;
}

Result<std::optional<Event>> repair_event(const std::string& node, const Json& item) {
  const Json& repair = item["repair"];
  if (!repair.is_object()) return std::optional<Event>();
  if (repair["operation"].as_string().empty() ||
      std::ranges::find(kResults, repair["result"].as_string()) == kResults.end())
    return fail(Error(ErrorCode::bad_input, "'repair' needs its 'operation' and a 'result'")
                    .remedied_by("use the agent of this version"));
  return new_event(node_subject(node), kRepairEnded,
                   Json::object({{"boot_id", item["boot_id"]},
                                 {"n", item["n"]},
                                 {"at", item["at"]},
                                 {"run", item["run"]},
                                 {"specification", item["specification"]},
                                 {"rule", item["rule"]},
                                 {"operation", repair["operation"]},
                                 {"result", repair["result"]},
                                 {"text", repair["text"].as_string()},
                                 {"took_us", std::max<std::int64_t>(0, repair["took_us"].as_int())}}));
}

Json facts_of(const Json& body, Micros ahead) {
  Json facts = body["facts"];
  if (!facts.is_object() || facts.size() == 0 || facts.dump().size() > kMostFactBytes) return {};
  for (const auto& [name, value] : facts.members())
    if (!value.is_string()) return {};
  const auto steps = std::chrono::round<std::chrono::milliseconds>(ahead) / kClockStep;
  facts.set("clock_ahead_ms", std::to_string(steps * kClockStep.count()));
  return facts;
}

}  // namespace sickbay
