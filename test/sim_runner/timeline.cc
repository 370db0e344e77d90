// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "engine/drain/drain.h"

namespace sickbay::sim {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ",")); }

std::string exit_text(const Json& job) {
  const auto code = job["exit_code"].as_int(), signal = job["exit_signal"].as_int();
  if (signal != 0) return fmt::format(" exit={}:{}", code, signal);
  return code != 0 ? fmt::format(" exit={}", code) : "";
}

std::string seen_text(const Event& event, TimePoint) {
  const Json& job = event.body["job"];
  std::string text = fmt::format("{} job {} {}", event.body["run"].as_string(), job["job_id"].as_int(),
                                 job["state"].as_string());
  if (!job["flags"].items().empty()) text += "," + joined(job["flags"].as_strings());
  if (job["held"].as_bool()) text += " held";
  if (job["restart_cnt"].as_int() > 0) text += fmt::format(" restart={}", job["restart_cnt"].as_int());
  if (!job["nodes"].as_string().empty()) text += " on " + job["nodes"].as_string();
  return text + exit_text(job);
}

std::string intent_text(const Event& event, TimePoint) {
  const Json& args = event.body["args"];
  std::string text = "intends " + event.body["key"].as_string();
  if (event.body["verb"].as_string() == "drain") text += ": " + args["reason"].as_string();
  if (const auto nodes = args["nodes"].as_strings(); event.body["verb"].as_string() == "submit_verification")
    text += " on " + compress_hostlist(nodes);
  if (const auto names = args["exclude"].as_strings(); !names.empty())
    text += " not on " + compress_hostlist(names);
  if (const auto names = args["reused"].as_strings(); !names.empty())
    text += " again on " + compress_hostlist(names);
  if (const auto& why = args["why"].as_string(); !why.empty()) text += ": " + why;
  return text;
}

std::string done_text(const Event& event, TimePoint) {
  const Json& result = event.body["result"];
  std::string text = "done " + event.body["key"].as_string();
  if (result.has("job_id")) text += fmt::format(" job {}", result["job_id"].as_int());
  if (const auto dropped = result["dropped"].as_strings(); !dropped.empty())
    text += " without " + joined(dropped);
  if (result.has("cancelled") && !result["cancelled"].as_bool()) text += " (was over)";
  const Json& trace = result["trace"];
  if (!trace["signal_name"].as_string().empty())
    text += fmt::format(" {} of rank {} on {}", trace["signal_name"].as_string(), trace["rank"].as_int(),
                        trace["node"].as_string());
  for (const Json& found : result["results"].items()) {
    const std::string& peer = found["peer"].as_string();
    text += fmt::format(" {}{}{}={}", found["node"].as_string(), peer.empty() ? "" : "-", peer,
                        found["result"].as_string());
  }
  return text;
}

std::string failed_text(const Event& event, TimePoint) {
  const Json& error = event.body["error"];
  return fmt::format("failed {} {}: {}", event.body["key"].as_string(), error["code"].as_string(),
                     error["what"].as_string());
}

std::string nodes_text(const Event& event, TimePoint) {
  std::vector<std::string> groups;
  for (const Json& group : event.body["groups"].items())
    groups.push_back(fmt::format("{} {}", group["nodes"].as_string(),
                                 group["gone"].as_bool() ? "gone" : group["state"].as_string()));
  return fmt::format("nodes {}", fmt::join(groups, "; "));
}

std::string boot_text(const Event& event, TimePoint start) {
  const double since = static_cast<double>(event.body["boot"].as_int() - to_micros(start)) * 1e-6;
  return fmt::format("slurmctld booted at {:.0f}s", since);
}

std::string verdict_text(const Event& event, TimePoint) {
  const auto verdict = identify::Verdict::from_json(event.body);
  std::string text = fmt::format("{} {} {} {}", verdict.final ? "verdict" : "provisional", verdict.rule,
                                 to_string(verdict.cause), to_string(verdict.confidence));
  if (!verdict.nodes.empty()) text += " " + compress_hostlist(verdict.nodes);
  return text + ": " + verdict.sentence;
}

struct KindRow {
  std::string_view kind;
  std::string (*text)(const Event&, TimePoint start);
};
constexpr auto kKinds = std::to_array<KindRow>({
    {kJobSeen, seen_text},
    {kIntent, intent_text},
    {kDone, done_text},
    {kFailed, failed_text},
    {kNodesSeen, nodes_text},
    {kControllerSeen, boot_text},
    {kVerdict, verdict_text},
    {identify::kJobBound,
     [](const Event& event, TimePoint) {
       return fmt::format("bound to job {}", event.body["job_id"].as_int());
     }},
    {kJobLost,
     [](const Event& event, TimePoint) {
       return fmt::format("{} job {} lost", event.body["run"].as_string(), event.body["job_id"].as_int());
     }},
    {kFinding,
     [](const Event& event, TimePoint) {
       return fmt::format("{} {} on {}", event.body["result"].as_string(), event.body["rule"].as_string(),
                          event.body["node"].as_string());
     }},
    {drain::kReasonEnded,
     [](const Event& event, TimePoint) {
       return fmt::format("{} ended: {}", event.body["source"].as_string(), event.body["why"].as_string());
     }},
    {kBreakerTripped,
     [](const Event& event, TimePoint) {
       return fmt::format("the breaker of {} keeps {}: {}", event.body["partition"].as_string(),
                          event.body["node"].as_string(), event.body["why"].as_string());
     }},
    {kClaimed,
     [](const Event& event, TimePoint) {
       return fmt::format("claimed by {} for {}{}: {}", event.body["holder"].as_string(),
                          event.body["by"].as_string(), event.body["out"].as_bool() ? ", out of service" : "",
                          event.body["reason"].as_string());
     }},
    {kClaimReleased,
     [](const Event& event, TimePoint) {
       return fmt::format("released by {}: {}", event.body["holder"].as_string(),
                          event.body["why"].as_string());
     }},
    {kBreakerWaitEnded,
     [](const Event& event, TimePoint) { return event.body["by"].as_string() + " waits no more"; }},
    {kParked,
     [](const Event& event, TimePoint) {
       return fmt::format("parked by {}: {}", event.body["engine"].as_string(),
                          event.body["why"].as_string());
     }},
    {kUndoDrains,
     [](const Event& event, TimePoint) { return "drains undone by " + event.body["by"].as_string(); }},
    {identify::kCancelRequested,
     [](const Event& event, TimePoint) { return "cancel asked for by " + event.body["by"].as_string(); }},
});

}  // namespace

std::string clock_text(Micros since_start) {
  return fmt::format("{:8.1f}s", std::chrono::duration<double>(since_start).count());
}

std::string event_line(const Event& event, TimePoint start) {
  const auto row =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& r) { return r.kind == event.kind; });
  return fmt::format("{:<8} {}", event.subject, row == kKinds.end() ? event.kind : row->text(event, start));
}

bool is_about_claims(const Event& event) {
  return event.kind == kClaimed || event.kind == kClaimReleased || event.kind == kBreakerWaitEnded;
}

std::vector<std::string> closing_lines(const identify::Case& subject) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} {}", subject.name(), subject.is_closed() ? "closed" : "open"));
  if (subject.verdict) {
    lines.back() += fmt::format(": {}", subject.verdict->sentence);
    for (const auto& text : subject.verdict->why) lines.push_back("  why      " + text);
    for (const auto& text : subject.verdict->missing) lines.push_back("  missing  " + text);
    for (const auto& text : subject.verdict->next) lines.push_back("  next     " + text);
  }
  for (const auto& text : subject.notes) lines.push_back("  note     " + text);
  return lines;
}

}  // namespace sickbay::sim
