// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "base/text_table.h"

namespace sickbay::cli {
namespace {

// What matters of a kind's body, as paths; the rest is for --json.  test/house/event_kinds.py looks that no
// kind is left out.
struct KindRow {
  std::string_view kind;
  std::array<std::string_view, 7> paths;
  std::string_view sgr;
};
constexpr auto kKinds = std::to_array<KindRow>({
    {"case_opened", {"owner.user", "work_dir", "script_name", "array", "task", "parent", "resumes"}, "1"},
    {"job_bound", {"run", "job_id"}, ""},
    {"job_seen", {"run", "job.job_id", "job.state", "job.flags", "job.nodes", "job.exit_code"}, ""},
    {"job_lost", {"run", "job_id"}, "31"},
    {"nodes_seen", {"groups"}, ""},
    {"controller_seen", {"boot"}, ""},
    {"intent", {"verb", "key", "draws"}, ""},
    {"done", {"verb", "key", "result.job_id"}, ""},
    {"failed", {"verb", "key", "error.what"}, "31"},
    {"parked", {"engine", "why"}, "31"},
    {"term_began", {"term", "who"}, "1"},
    {"term_ended", {"term", "who", "by"}, "33"},
    {"claimed", {"holder", "by", "out", "reason"}, ""},
    {"claim_released", {"holder", "why"}, ""},
    {"breaker_tripped", {"partition", "node", "by", "why"}, "33"},
    {"queue_seen", {"partitions"}, ""},
    {"patrol_asked", {"by", "nodes", "budget", "suspects"}, "33"},
    {"patrol_stop", {"by"}, "33"},
    {"verified", {"run", "began"}, ""},
    {"patrol_blames", {"run", "faulty"}, "31"},
    {"patrol_closed", {"why", "ok", "slow", "failed"}, "1"},
    {"breaker_reset", {"partition"}, ""},
    {"breaker_wait_ended", {"by"}, ""},
    {"hang_seen", {"run", "judgement.why", "judgement.text"}, "31"},
    {"hang_over", {"run"}, ""},
    {"hang_suspected", {"run", "judgement.why", "judgement.text"}, "33"},
    {"starved_seen", {"run", "node", "waited_permille", "stopped_permille", "others_permille"}, "33"},
    {"lossy_seen", {"run", "node", "nodes", "lost", "sent", "others_lost"}, "33"},
    {"cancel_requested", {"by"}, "33"},
    {"checkpoint_told", {"job", "event", "checkpoint", "folder", "tier", "why"}, ""},
    {"rewound", {"by", "did", "to", "checkpoint", "of"}, "33"},
    {"repaired", {"by", "under", "changes"}, "33"},
    {"operation_dropped", {"by", "op"}, "33"},
    {"requeue_asked", {"by", "runs", "node_hours", "rotate"}, "33"},
    {"rerun_asked", {"reason", "text"}, "33"},
    {"rerun_answered", {"how", "by"}, "33"},
    {"rerun_given_up", {"why"}, "33"},
    {"case_joined", {"case", "job_id"}, ""},
    {"case_left", {"case", "why"}, ""},
    {"finding", {"node", "specification", "rule", "result", "action", "text"}, "33"},
    {"repair_ended", {"specification", "rule", "operation", "result", "text"}, "33"},
    {"reason_ended", {"source", "why"}, ""},
    {"reboot_overdue", {"why"}, "31"},
    {"recovery_opened", {"class", "node", "component", "source", "text", "job.job_id"}, "33"},
    {"recovery_planned", {"acts", "start", "refused"}, ""},
    {"recovery_stop", {"by"}, "33"},
    {"step_failed", {"step", "why"}, "33"},
    {"leave_wanted", {"node", "action", "text"}, "33"},
    {"recovery_closed", {"outcome", "node", "component", "why"}, "1"},
    {"components_seen", {"components"}, ""},
    {"nodes_depend", {"sets", "by"}, "33"},
    {"node_silent", {"by", "job", "silent_ms"}, "33"},
    {"node_answers", {"by"}, ""},
    {"detect_held", {"why"}, "33"},
    {"detect_asked", {"detect", "by"}, ""},
    {"facts_seen", {}, ""},
    {"fleet_odd", {"severity", "text", "over", "key"}, "33"},
    {"undo_drains", {"by", "nodes", "rule"}, "33"},
    {"agent_seen", {"version", "mode"}, ""},
    {"diagnose_wanted", {"task", "mode", "by"}, ""},
    {"diagnosed", {"task", "outcome", "faults", "unknown"}, ""},
    {"act_wanted", {"task", "key"}, ""},
    {"act_ended", {"task", "outcome"}, ""},
    {"nonstop_asked", {"what", "nodes", "minutes", "reason", "uid", "job"}, ""},
    {"nonstop_answered", {"request", "what", "code", "nodes", "by", "why"}, "1"},
    {"nonstop_closed", {"why"}, ""},
    {"time_credited", {"for", "node", "request", "minutes"}, ""},
    {"time_taken_back", {"grant", "minutes"}, ""},
    {"callback_set", {"address", "port", "uid"}, ""},
    {"spares_asked", {"partition", "count", "by"}, "33"},
    {"spares_short", {"partition", "wanted", "has"}, "33"},
    {"nonstop_conf_read", {"hot_spares", "max_spare_nodes", "delay", "drop", "extend"}, ""},
    {"verdict", {"cause", "final", "nodes", "sentence"}, "1"},
    {"verified_elsewhere", {"run", "checks"}, ""},
    {"located", {"run", "checks", "from"}, "1"},
    {"case_closed", {"reason"}, "1"},
    {"array_seen", {"tasks", "running", "ended", "failed"}, ""},
    {"jobs_ended", {"outcomes"}, ""},
    {"jobs_kept", {}, ""},
    {"black_hole", {"sentence"}, "31"},
    {"black_hole_over", {"why"}, ""},
    {"black_hole_suspected", {"sentence"}, "33"},
    {"archived", {"first", "last", "file"}, ""},
});

const Json& at_path(const Json& body, std::string_view path) {
  const Json* value = &body;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    value = &(*value)[path.substr(0, dot)];
    path.remove_prefix(dot == path.npos ? path.size() : dot + 1);
  }
  return *value;
}

// A word as it is, anything else in quotes or as JSON.
std::string value_text(const Json& value) {
  if (!value.is_string()) return for_terminal(value.dump());
  const std::string& text = value.as_string();
  const bool is_word = !text.empty() && text.find_first_of(" \"=\t\n") == text.npos;
  return for_terminal(is_word ? text : Json(text).dump());
}

bool says_nothing(const Json& value) {
  return value.is_null() || (value.is_string() && value.as_string().empty()) ||
         ((value.is_array() || value.is_object()) && value.size() == 0);
}

}  // namespace

std::string event_line(const Event& event, const TextPage& page) {
  const auto row = std::ranges::find(kKinds, event.kind, &KindRow::kind);
  const bool known = row != kKinds.end();
  std::string line = fmt::format("{}  {:<5} {}", local_clock(event.at), for_terminal(event.subject),
                                 painted(for_terminal(event.kind), known ? row->sgr : "", page.colours));
  const auto add = [&](std::string_view name, const Json& value) {
    if (!says_nothing(value)) line += fmt::format(" {}={}", for_terminal(name), value_text(value));
  };
  if (known) {
    for (const std::string_view path : row->paths)
      if (!path.empty()) add(path.substr(path.rfind('.') + 1), at_path(event.body, path));
  } else {
    for (const auto& [name, value] : event.body.members()) add(name, value);
  }
  return line + "\n";
}

}  // namespace sickbay::cli
