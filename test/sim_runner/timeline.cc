// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/hostlist.h"
#include "engine/drain/drain.h"
#include "engine/identify/further.h"
#include "engine/identify/join.h"
#include "engine/identify/locating.h"
#include "engine/identify/provisional.h"
#include "engine/identify/rerun.h"
#include "engine/patrol/patrol.h"
#include "engine/recover/recover.h"
#include "model/job_outcome.h"
#include "model/verbs.h"

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
  if (const auto names = args["include"].as_strings(); !names.empty())
    text += " with " + compress_hostlist(names);
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
  for (const Json& holder : result["jobs"].items())
    text += fmt::format(" {} job {} {}", holder["why"].as_string(), holder["job_id"].as_int(),
                        holder["name"].as_string());
  for (const Json& input : result["changed"].items())
    text += fmt::format(" {}: {}", input["path"].as_string(), input["how"].as_string());
  if (const std::string& why = result["why"].as_string(); !why.empty() && result.has("folder"))
    text += ": " + why;
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

std::string array_text(const Event& event, TimePoint) {
  std::vector<std::string> parts;
  if (event.body.has("tasks")) parts.push_back("all " + event.body["tasks"].as_string());
  for (const Json& group : event.body["ended"].items())
    parts.push_back(group["state"].as_string() + " " + group["tasks"].as_string());
  std::map<std::string, std::pair<TaskIds, std::vector<std::string>>> alike;
  for (const Json& row : event.body["failed"].items()) {
    auto& [tasks, nodes] = alike[row["state"].as_string() + exit_text(row)];
    tasks.add(static_cast<TaskId>(row["task"].as_int()));
    nodes.push_back(row["nodes"].as_string());
  }
  for (auto& [words, group] : alike)
    parts.push_back(fmt::format("{} tasks {} on {}", words, group.first.text(),
                                compress_hostlist(sorted_hosts(std::move(group.second)))));
  return fmt::format("tasks: {} run; {}", event.body["running"].as_int(), fmt::join(parts, "; "));
}

std::string opened_text(const Event& event, TimePoint) {
  std::string text = "case_opened";
  if (event.body.has("array")) text += " array " + event.body["array"].as_string();
  if (event.body.has("resumes"))
    text +=
        fmt::format(" for job {} after {}", event.body["job_id"].as_int(), event.body["resumes"].as_string());
  if (event.body.has("task"))
    text += fmt::format(" for task {}, job {}, on {}", event.body["task"].as_string(),
                        event.body["job_id"].as_int(), event.body["nodes"].as_string());
  return text;
}

std::string jobs_text(const Event& event, TimePoint) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const Json& item : event.body["outcomes"].items()) {
    const JobOutcome job = JobOutcome::from_json(item);
    alike[job.failed  ? "failed"
          : job.ended ? "passed"
                      : "lives"]
        .push_back(fmt::format("{} on {}", job.job, compress_hostlist(job.nodes)));
  }
  std::vector<std::string> parts;
  for (const auto& [what, jobs] : alike) parts.push_back(fmt::format("{} {}", what, fmt::join(jobs, ", ")));
  if (event.body.has("left_out"))
    parts.push_back(fmt::format("{} left out", event.body["left_out"].as_int()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string fault_text(const Event& event, TimePoint) {
  const recover::Fault fault = recover::Fault::from_json(event.body);
  std::string text = fmt::format("recovery_opened {} of {}", fault.source, to_string(fault.of));
  if (fault.job.job_id != 0) text += fmt::format(" {}", fault.job.job_id);
  if (!fault.node.empty()) text += " on " + fault.node;
  return fault.component.empty() ? text : text + "/" + fault.component;
}

std::string plan_text(const Event& event, TimePoint) {
  std::vector<std::string> path;
  for (const Json& cell : event.body["path"].items())
    path.push_back(cell["cell"].as_string() +
                   (cell["left_to_people"].as_string().empty() ? "" : " (people)"));
  const std::string& refused = event.body["refused"].as_string();
  return fmt::format("recovery_planned{}: {}{}", event.body["acts"].as_bool() ? "" : ", not to be done",
                     fmt::join(path, ", "), refused.empty() ? "" : "; " + refused);
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
    {kArraySeen, array_text},
    {identify::kCaseOpened, opened_text},
    {identify::kLocated,
     [](const Event& event, TimePoint) {
       const Json& last = event.body["results"].items().back();
       const std::string& peer = last["peer"].as_string();
       return fmt::format("located by {}: {}{}{}", event.body["from"].as_string(), last["node"].as_string(),
                          peer.empty() ? "" : " - ", peer);
     }},
    {identify::kRequeueAsked,
     [](const Event& event, TimePoint) {
       return fmt::format("{} asks for {} further runs", event.body["by"].as_string(),
                          event.body["runs"].as_int());
     }},
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
    {drain::kAgentSeen,
     [](const Event& event, TimePoint) { return "its agent greets, of " + event.body["boot_id"].as_string(); }},
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
    {kJobsEnded, jobs_text},
    {kLossySeen,
     [](const Event& event, TimePoint) {
       const std::string& node = event.body["node"].as_string();
       return fmt::format("{} loses {} of {} segments {}", event.body["run"].as_string(),
                          event.body["lost"].as_int(), event.body["sent"].as_int(),
                          node.empty() ? "between " + compress_hostlist(event.body["nodes"].as_strings())
                                       : "on the link of " + node);
     }},
    {kBlackHole,
     [](const Event& event, TimePoint) { return "black hole: " + event.body["sentence"].as_string(); }},
    {kBlackHoleSuspected,
     [](const Event& event, TimePoint) {
       return "perhaps a black hole: " + event.body["sentence"].as_string();
     }},
    {kBlackHoleOver, [](const Event& event,
                        TimePoint) { return "no black hole any more: " + event.body["why"].as_string(); }},
    {kUndoDrains,
     [](const Event& event, TimePoint) { return "drains undone by " + event.body["by"].as_string(); }},
    {identify::kRerunAsked,
     [](const Event& event, TimePoint) {
       return fmt::format("asks ({}): {}", event.body["reason"].as_string(), event.body["text"].as_string());
     }},
    {identify::kRerunAnswered,
     [](const Event& event, TimePoint) {
       return fmt::format("{} says: {}", event.body["by"].as_string(), event.body["how"].as_string());
     }},
    {identify::kRerunGivenUp,
     [](const Event& event, TimePoint) { return "no re-run: " + event.body["why"].as_string(); }},
    {identify::kCaseJoined,
     [](const Event& event, TimePoint) { return "joins " + event.body["case"].as_string(); }},
    {identify::kCaseLeft,
     [](const Event& event, TimePoint) {
       return fmt::format("leaves {}: {}", event.body["case"].as_string(), event.body["why"].as_string());
     }},
    {identify::kVerifiedElsewhere,
     [](const Event& event, TimePoint) {
       std::string text = event.body["run"].as_string() + " answered by others:";
       for (const Json& r : event.body["results"].items())
         text += fmt::format(" {}={} ({})", r["node"].as_string(), r["result"].as_string(),
                             r["from"].as_string());
       return text;
     }},
    {patrol::kPatrolAsked,
     [](const Event& event, TimePoint) {
       const std::string& nodes = event.body["nodes"].as_string();
       const std::string& suspects = event.body["suspects"].as_string();
       return fmt::format("{} asks for verification of {}, at most {}", event.body["by"].as_string(),
                          !suspects.empty() ? suspects + ", where jobs fail, and of others beside it"
                          : nodes.empty()   ? "idle nodes"
                                            : nodes,
                          event.body["budget"].as_int());
     }},
    {patrol::kPatrolStop,
     [](const Event& event, TimePoint) { return "stop asked for by " + event.body["by"].as_string(); }},
    {kQueueSeen,
     [](const Event& event, TimePoint) {
       const auto names = event.body["partitions"].as_strings();
       return names.empty() ? "no job waits for nodes" : "jobs wait for nodes of " + joined(names);
     }},
    {kVerified,
     [](const Event& event, TimePoint) {
       std::string text = event.body["run"].as_string() + " says:";
       for (const Json& r : event.body["results"].items()) {
         const std::string& peer = r["peer"].as_string();
         text += fmt::format(" {}{}{}={}", r["node"].as_string(), peer.empty() ? "" : "-", peer,
                             r["result"].as_string());
       }
       return text;
     }},
    {kPatrolBlames,
     [](const Event& event, TimePoint) {
       std::string text = event.body["run"].as_string() + " blames:";
       for (const Json& f : event.body["faulty"].items())
         text += fmt::format(" {} ({})", f["node"].as_string(), f["reason"].as_string());
       return text;
     }},
    {kPatrolClosed,
     [](const Event& event, TimePoint) {
       std::string text = "patrol_closed: " + event.body["why"].as_string();
       for (const auto& [name, value] : event.body.members())
         if (name != "why") text += fmt::format("; {} {}", name, value.as_string());
       return text;
     }},
    {kRecoveryOpened, fault_text},
    {recover::kRecoveryPlanned, plan_text},
    {kRecoveryClosed,
     [](const Event& event, TimePoint) {
       return fmt::format("recovery_closed {}: {}", event.body["outcome"].as_string(),
                          event.body["why"].as_string());
     }},
    {history::kCheckpointTold,
     [](const Event& event, TimePoint) {
       return fmt::format("checkpoint {} {}", event.body["checkpoint"].as_int(), event.body["event"].as_string());
     }},
    {history::kRewound,
     [](const Event& event, TimePoint) {
       return fmt::format("rewound by {} to {}, checkpoint {}", event.body["by"].as_string(),
                          event.body["to"].as_string(), event.body["checkpoint"].as_int());
     }},
    {history::kRepaired,
     [](const Event& event, TimePoint) {
       std::string text = "repaired by " + event.body["by"].as_string() + ":";
       for (const Json& change : event.body["changes"].items())
         text += fmt::format(" {} {} -> {}", change["key"].as_string(), change["from"].as_string(),
                             change["to"].as_string());
       return text;
     }},
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

std::string stranger_line(const std::string& name, const JobInfo& job) {
  std::string text = fmt::format("{:<8} job {} {}", name, job.job_id, job.state);
  if (!job.flags.empty()) text += "," + joined(job.flags);
  if (job.state == "PENDING" && job.reason != "None") text += " for " + job.reason;
  if (!job.nodes.empty()) text += " on " + job.nodes;
  if (job.exit_signal != 0) return text + fmt::format(" exit={}:{}", job.exit_code, job.exit_signal);
  return job.exit_code != 0 ? text + fmt::format(" exit={}", job.exit_code) : text;
}

bool is_about_claims(const Event& event) {
  return event.kind == kClaimed || event.kind == kClaimReleased || event.kind == kBreakerWaitEnded;
}

bool is_about_place(const Event& event) {
  const std::string& verb = event.body["verb"].as_string();
  if (verb != verb::kFindDependents && verb != verb::kPrepareRerun && verb != verb::kCleanFolder)
    return false;
  if (event.kind == kIntent) return true;
  // What it found that keeps the run away is a part of any story.
  const Json& result = event.body["result"];
  return event.kind == kDone && result["jobs"].items().empty() && result["changed"].items().empty() &&
         result["why"].as_string().empty();
}

bool is_provisional_answer(const Event& event) {
  return event.kind == kVerdict && identify::is_provisional_rule(event.body["rule"].as_string());
}

std::vector<std::string> history_lines(const history::State& state) {
  std::vector<std::string> lines;
  for (const auto& [no, part] : state.parts) {
    for (const auto& [n, op] : part.operations) {
      std::string text = part.ref(n).text();
      if (op.parent) text += " under " + op.parent.text();
      text += " " + std::string(history::to_string(op.what));
      if (op.told.checkpoint != 0) text += fmt::format(" {}", op.told.checkpoint);
      if (!op.state.empty()) text += " " + op.state;
      if (op.what == history::What::rewound)
        text += op.checkpoint == 0 ? " to the beginning" : fmt::format(" to checkpoint {}", op.checkpoint);
      for (const history::Change& change : op.changes) text += " " + change.key;
      lines.push_back(std::move(text));
    }
    for (const history::Failure& failure : history::account_of(state, part).failures)
      lines.push_back(fmt::format("  {} costs {:.0f}s again, without checkpoints {:.0f}s", failure.op.text(),
                                  std::chrono::duration<double>(failure.recomputed).count(),
                                  std::chrono::duration<double>(failure.without).count()));
  }
  return lines;
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
