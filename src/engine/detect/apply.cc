// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/detect/detect.h"
#include "model/job.h"
#include "model/slurm_state.h"
#include "model/verbs.h"

namespace sickbay::detect {
namespace {

constexpr std::chrono::seconds kRepeated{3};  // what is said again sooner is no news

// All but the numbers: a key that comes again would not be done again (decisions.md 15).
void forget(Suspect& s) {
  const Suspect::Numbers numbers = s.numbers;
  s = {};
  s.numbers = numbers;
}

void take_complaint(State& state, const std::string& node, const Event& event) {
  Suspect& s = state.nodes[node];
  s.job = static_cast<JobId>(event.body["job"].as_int());
  s.group = static_cast<std::size_t>(std::max<std::int64_t>(0, event.body["group"].as_int()));
  for (const std::string& name : event.body["by"].as_strings()) s.by[name] = event.at;
}

void take_command(Suspect& s, const Event& event) {
  const std::string& verb = event.body["verb"].as_string();
  if (verb == verb::kAskNode) {
    s.asking = event.kind == kIntent;
    if (event.kind == kIntent) {
      ++s.numbers.questions, ++s.asked_times;
      return;
    }
    s.asked = event.at;
    // Silence proves something only where the control, a node that is well, has answered the same question.
    s.gone = event.kind == kDone && !event.body["result"]["answers"].as_bool(true) &&
             event.body["result"]["control"].as_bool();
    // What it says of the node is news; that the question proves nothing is, too.
    s.held.clear();
    if (event.kind == kFailed)
      s.held = "it could not be asked: " + event.body["error"]["what"].as_string();
    else if (event.body["result"]["answers"].as_bool(true))
      s.held = "it answers sickbayd: it is cut off from its peers, or its agent is slow";
    else if (!s.gone)
      s.held = "nor does a node answer that is well: the question proves nothing";
  } else if (verb == verb::kSetDown) {
    s.setting = event.kind == kIntent;
    if (event.kind == kIntent) ++s.numbers.downs;
    if (event.kind == kDone) s.ours = event.body["result"]["changed"].as_bool(), s.set_at = event.at;
    // Asked anew before another try: what was found out is old by then.
    if (event.kind == kFailed)
      s.held = event.body["error"]["what"].as_string(), s.gone = false, s.asked = event.at;
  }
}

// Nodes come back, leave, or go DOWN without us.
void look(State& state, const cluster::View& view, const Event& event, std::vector<std::string>& touched) {
  for (const cluster::View::Change& change : view.changes) {
    const auto it = state.nodes.find(change.name);
    if (it == state.nodes.end()) continue;
    touched.push_back(node_subject(change.name));
    const cluster::Node* now = view.node(change.name);
    // (Behind `set_at`: a look that began before we set it DOWN still shows it up.)
    if (change.gone || (it->second.ours && now != nullptr && !now->down && event.at > it->second.set_at))
      forget(it->second);
  }
}

void take_job(State& state, const Event& event, JobId job) {
  const auto it = state.groups.find(job);
  if (event.kind == kDetectAsked) {
    Group& g = state.groups[job];
    g.job = job;
    g.fast = event.body["detect"].as_string() == "fast";
    g.uid = static_cast<std::uint32_t>(event.body["uid"].as_int());
    g.by = event.body["by"].as_string();
  } else if (it != state.groups.end() && event.kind == kJobLost) {
    state.groups.erase(it);
  } else if (it != state.groups.end() && event.kind == kJobSeen) {
    const JobInfo seen = JobInfo::from_json(event.body["job"]);
    const auto how = parse_job_state(seen.state, seen.flags);
    if (how && is_terminal(*how)) {
      // Not erased here: decide() closes the subject, so that the view forgets the job, too.
      it->second.running = false, it->second.ended = true;
      return;
    }
    it->second.running = seen.state == "RUNNING";
    if (auto nodes = expand_hostlist(seen.nodes, kMostNodes))
      it->second.nodes = sorted_hosts(std::move(*nodes));
  }
}

// As the list of running jobs has it.
void take_running(State& state, const Event& event, JobId job) {
  if (event.kind == kJobLost) state.running.erase(job);
  if (event.kind != kJobSeen) return;
  const auto nodes = expand_hostlist(event.body["job"]["nodes"].as_string(), kMostNodes);
  // One node has no peer to watch it.
  if (nodes && nodes->size() > 1)
    state.running[job] = sorted_hosts(*nodes);
  else
    state.running.erase(job);
}

}  // namespace

std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event) {
  std::vector<std::string> touched;
  if (event.kind == kNodesSeen) {
    look(state, view, event, touched);
    return touched;
  }
  if (const auto job = parse_job_subject(event.subject)) {
    take_job(state, event, *job);
    touched.push_back(event.subject);
    return touched;
  }
  if (const auto job = parse_running_subject(event.subject)) {
    take_running(state, event, *job);
    return touched;
  }
  const std::string node(node_of_subject(event.subject));
  if (node.empty()) return touched;
  if (event.kind == kNodeSilent) {
    take_complaint(state, node, event);
  } else {
    const auto it = state.nodes.find(node);
    if (it == state.nodes.end()) return touched;
    if (event.kind == kNodeAnswers) {
      // What is under way goes on: its end is told to this suspect.
      const bool asking = it->second.asking, setting = it->second.setting, ours = it->second.ours;
      const TimePoint set_at = it->second.set_at;
      // A sign of life of the node itself: all complaints are void.
      forget(it->second);
      it->second.asking = asking, it->second.setting = setting, it->second.ours = ours;
      it->second.set_at = set_at;
    } else if (event.kind == kIntent || event.kind == kDone || event.kind == kFailed) {
      take_command(it->second, event);
    } else if (event.kind == kDetectHeld) {
      it->second.held = event.body["why"].as_string();
    } else if (event.kind != kClaimed && event.kind != kClaimReleased) {
      return touched;
    }
  }
  touched.push_back(event.subject);
  return touched;
}

// One event for each accuser in 3 s, not one for each of their reports, which come every 2 s.
bool is_news(const State& state, const std::string& node, const std::vector<std::string>& by, TimePoint now) {
  const auto it = state.nodes.find(node);
  if (it == state.nodes.end()) return true;
  if (it->second.ours) return false;
  return std::ranges::any_of(by, [&](const std::string& name) {
    const auto said = it->second.by.find(name);
    return said == it->second.by.end() || now - said->second >= kRepeated;
  });
}

Json complaint_view(const State& state, const std::string& node, TimePoint now) {
  const auto it = state.nodes.find(node);
  if (it == state.nodes.end()) return {};
  const Suspect& s = it->second;
  Json::Array by;
  TimePoint at = s.set_at;
  for (const auto& [name, said] : s.by)
    if (now - said < kFresh) by.push_back(name), at = std::max(at, said);
  if (by.empty() && !s.ours) return {};
  return Json::object({{"job", s.job},
                       {"by", std::move(by)},
                       {"at", to_micros(at)},
                       {"set_down", s.ours},
                       {"held", s.ours ? std::string() : s.held}});
}

bool is_suspect(const State& state, const std::string& node) {
  const auto it = state.nodes.find(node);
  return it != state.nodes.end() && !it->second.by.empty();
}

bool wants_nodes(const State& state, TimePoint now) {
  return std::ranges::any_of(state.nodes, [&](const auto& entry) {
    const Suspect& s = entry.second;
    return s.ours || s.setting ||
           std::ranges::any_of(s.by, [&](const auto& said) { return now - said.second < kFresh; });
  });
}

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [name, s] : state.nodes) {
    text += fmt::format(
        "detect {} job={} group={} asking={} asked={}/{} gone={} setting={} ours={}@{} held={} n={},{}", name,
        s.job, s.group, s.asking, to_micros(s.asked), s.asked_times, s.gone, s.setting, s.ours,
        to_micros(s.set_at), s.held, s.numbers.questions, s.numbers.downs);
    for (const auto& [by, at] : s.by) text += fmt::format(" {}@{}", by, to_micros(at));
    text += "\n";
  }
  for (const auto& [job, g] : state.groups)
    text += fmt::format("group {} fast={} uid={} by={} running={} ended={} nodes={}\n", job, g.fast, g.uid,
                        g.by, g.running, g.ended, compress_hostlist(g.nodes));
  for (const auto& [job, nodes] : state.running)
    text += fmt::format("job {} nodes={}\n", job, compress_hostlist(nodes));
  return text;
}

}  // namespace sickbay::detect
