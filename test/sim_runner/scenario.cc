// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "base/duration.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "model/slurm_state.h"
#include "test/sim_runner/timeline.h"

namespace sickbay::sim {

/// A scenario on its way: what its acts work on.
class ScenarioRun {
 public:
  explicit ScenarioRun(const Scenario& scenario)
      : scenario_(scenario), world(scenario.cluster, scenario.config), start_(world.loop().now()) {}

  ScenarioResult result();
  void submit(const ScenarioJob& job);
  void say(const std::string& text) { timeline_ += clock_text(world.loop().elapsed()) + "  " + text + "\n"; }

 private:
  void check_rules(ScenarioResult& result);

  const Scenario& scenario_;

 public:
  SimWorld world;
  std::map<std::string, JobId> jobs;          ///< by the scenario's name
  std::map<std::string, std::int64_t> cases;  ///< likewise
  int findings = 0;                           ///< so far

 private:
  TimePoint start_;
  std::string timeline_;
};

namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view line) {
  Words words;
  while (!(line = trimmed(line)).empty()) {
    const auto blank = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, blank));
    line.remove_prefix(blank);
  }
  return words;
}

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::bad_input, std::move(what)); }

/// "key=value" -> both; a word without '=' has an empty value.
std::pair<std::string, std::string> key_value(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos) return {word, ""};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The value of "name=DURATION" among `words`.
Result<std::chrono::milliseconds> duration_word(const Words& words, std::string_view name) {
  for (const auto& word : words)
    if (const auto [key, value] = key_value(word); key == name) {
      const auto time = parse_duration(value);
      if (!time) return fail(time.error());
      return std::chrono::duration_cast<std::chrono::milliseconds>(*time);
    }
  return bad(fmt::format("'{}=TIME' is missing", name));
}

// --- acts ----------------------------------------------------------------------------------------------

using Act = std::function<Status(ScenarioRun&)>;

/// What the agent of `node` says of a rule, as sickbayd takes it in.
bool find_on(ScenarioRun& run, const std::string& node, const std::string& rule, const std::string& result,
             const std::string& action = "drain") {
  if (rule.empty() || !run.world.sickbayd_runs()) return false;
  Event event;
  event.subject = fmt::format("f{}", ++run.findings);
  event.kind = kFinding;
  event.body = Json::object(
      {{"node", node},
       {"specification", "node"},
       {"rule", rule},
       {"result", result},
       {"action", result == "fault" ? action : "none"},
       {"boot_id", fmt::format("boot {}", to_unix_seconds(run.world.cluster().node(node)->boot_time))},
       {"text", rule + " is broken"}});
  run.world.controller().take({std::move(event)});
  return true;
}

/// What can happen to a node.  `value` is the text after '='.
struct NodeWord {
  std::string_view name;
  bool (*act)(ScenarioRun& run, const std::string& node, const std::string& value, const Words& more);
};
constexpr auto
    kNodeWords =
        std::to_array<NodeWord>(
            {
                {"crash",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().crash_node(node);
                   return true;
                 }},
                {"cut",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().cut_node(node);
                   return true;
                 }},
                {"heal",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().heal(node);
                   return true;
                 }},
                {"finding",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "fault");
                 }},
                {"finding-for-reboot",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "fault", "reboot");
                 }},
                {"gone",
                 [](ScenarioRun& run, const std::string& node, const std::string& rule, const Words&) {
                   return find_on(run, node, rule, "ok");
                 }},
                {"drain",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_drain(node, "disk exchange");
                   return true;
                 }},
                {"down",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_down(node, "set by root");
                   return true;
                 }},
                {"rank-kill",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words& more) {
                   SimNodeFaults faults{.kill_signal = signal_number(value)};
                   for (const auto& word : more)
                     if (const auto [key, share] = key_value(word); key == "share")
                       faults.kill_share = number(share).value_or(0);
                   run.world.cluster().set_faults(node, faults);
                   return faults.kill_signal != 0;
                 }},
                {"slow",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words&) {
                   run.world.cluster().set_faults(node, {.speed = number(value).value_or(0)});
                   return number(value).value_or(0) > 0;
                 }},
                {"loss",
                 [](ScenarioRun& run, const std::string& node, const std::string& value, const Words&) {
                   run.world.cluster().set_faults(node, {.loss = number(value).value_or(0)});
                   return number(value).value_or(0) > 0;
                 }},
                {"bad-memory",
                 [](ScenarioRun& run, const std::string& node, const std::string&, const Words&) {
                   run.world.cluster().set_faults(node, {.bad_memory = true});
                   return true;
                 }},
            });

Result<Act> node_act(const Words& words) {
  const auto said = key_value(words[1]);
  const auto row =
      std::find_if(kNodeWords.begin(), kNodeWords.end(), [&](const auto& w) { return w.name == said.first; });
  if (row == kNodeWords.end()) return bad(fmt::format("nothing called '{}' happens to a node", words[1]));
  return Act([words, row, value = said.second](ScenarioRun& run) -> Status {
    const auto nodes = expand_hostlist(words[0]);
    if (!nodes) return fail(nodes.error());
    for (const auto& node : *nodes) {
      if (!run.world.cluster().node(node)) return bad(fmt::format("no node '{}' in this cluster", node));
      if (!row->act(run, node, value, words)) return bad(fmt::format("'{}' has a bad value", words[1]));
    }
    return {};
  });
}

/// What people do to their jobs and cases: "job NAME WORD".
Result<Act> job_act(const Words& words) {
  static const std::map<std::string, bool (*)(ScenarioRun&, const std::string&)> kWords = {
      {"cancel",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().scancel(run.jobs[name]); }},
      {"requeue",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().requeue(run.jobs[name]); }},
      {"preempt",
       [](ScenarioRun& run, const std::string& name) { return run.world.cluster().preempt(run.jobs[name]); }},
      {"cancel-case",
       [](ScenarioRun& run, const std::string& name) {
         run.world.cancel_case(run.cases[name], "alice");
         return true;
       }},
  };
  if (words.size() < 3 || !kWords.count(words[2]))
    return bad("say: job NAME cancel|requeue|preempt|cancel-case");
  return Act([name = words[1], act = kWords.at(words[2])](ScenarioRun& run) -> Status {
    if (!run.jobs.count(name)) return bad(fmt::format("no job '{}' yet", name));
    if (!act(run, name)) return bad(fmt::format("job '{}' is not in a state for that", name));
    return {};
  });
}

Result<Act> slurmctld_act(const Words& words) {
  const auto down = duration_word(words, "for");
  if (!down) return fail(down.error());
  if (words[1] != "killed" && words[1] != "restarted") return bad("slurmctld is killed or restarted");
  return Act([killed = words[1] == "killed", down = *down](ScenarioRun& run) -> Status {
    run.world.cluster().restart_controller(killed, down);
    return {};
  });
}

Result<Act> sickbayd_act(const Words& words) {
  const auto down = duration_word(words, "for");
  if (!down) return fail(down.error());
  return Act([down = *down](ScenarioRun& run) -> Status {
    if (!run.world.sickbayd_runs()) return bad("sickbayd is dead already");
    run.world.kill_sickbayd();
    run.world.loop().at(run.world.loop().now() + down, [&run] {
      run.say("> sickbayd starts");
      run.world.start_sickbayd();
    });
    return {};
  });
}

Result<Act> disk_act(const Words& words) {
  const auto full = duration_word(words, "for");
  if (!full) return fail(full.error());
  return Act([full = *full](ScenarioRun& run) -> Status {
    run.world.journal().set_full(true);
    run.world.loop().at(run.world.loop().now() + full, [&run] {
      run.say("> disk has space again");
      run.world.journal().set_full(false);
    });
    return {};
  });
}

Result<Act> lose_act(const Words& words) {
  if (words.size() < 3 || (words[1] != "answer" && words[1] != "request"))
    return bad("say: lose answer|request CALL [times=N]");
  int times = 1;
  for (const auto& word : words)
    if (const auto [key, value] = key_value(word); key == "times")
      times = static_cast<int>(number(value).value_or(1));
  const auto fault = words[1] == "answer" ? SimCallFault::lost_answer : SimCallFault::lost_request;
  return Act([call = words[2], fault, times](ScenarioRun& run) -> Status {
    run.world.cluster().fail_calls(call, fault, times);
    return {};
  });
}

Result<Act> undo_act(const Words& words) {
  return Act([nodes = words.size() > 1 ? words[1] : ""](ScenarioRun& run) -> Status {
    Event event;
    event.subject = "cluster";
    event.kind = kUndoDrains;
    event.v = kUndoDrainsVersion;
    const TimePoint until =
        run.world.loop().now() + run.world.controller().seats().drains().policy().undo_rest;
    event.body =
        Json::object({{"by", "root"}, {"nodes", nodes}, {"rule", ""}, {"rest_until", to_micros(until)}});
    run.world.controller().take({std::move(event)});
    return {};
  });
}

/// First words that are no node.
const std::map<std::string, Result<Act> (*)(const Words&)>& act_words() {
  static const std::map<std::string, Result<Act> (*)(const Words&)> kActs = {
      {"job", job_act},   {"slurmctld", slurmctld_act}, {"sickbayd", sickbayd_act},
      {"disk", disk_act}, {"lose", lose_act},           {"undo-drains", undo_act},
  };
  return kActs;
}

// --- lines ---------------------------------------------------------------------------------------------

Status cluster_line(const Words& words, Scenario& into) {
  if (words.size() < 2) return bad("say: cluster HOSTLIST [slurmd-timeout=TIME] ...");
  into.cluster.partitions = {{"batch", words[1]}};
  static const std::map<std::string, std::chrono::milliseconds SimOptions::*> kTimes = {
      {"slurmd-timeout", &SimOptions::slurmd_timeout},
      {"answer-time", &SimOptions::answer_time},
  };
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (const auto time = kTimes.find(key); time != kTimes.end()) {
      const auto length = duration_word({words[i]}, key);
      if (!length) return fail(length.error());
      into.cluster.*(time->second) = *length;
    } else if (key == "min-job-age") {
      const auto length = duration_word({words[i]}, key);
      if (!length) return fail(length.error());
      into.cluster.min_job_age = std::chrono::duration_cast<std::chrono::seconds>(*length);
    } else if (key == "partition") {
      const auto colon = value.find(':');
      if (colon == std::string::npos) return bad("say: partition=NAME:HOSTLIST");
      into.cluster.partitions.push_back({value.substr(0, colon), value.substr(colon + 1)});
    } else {
      return bad(fmt::format("a cluster has no '{}'", key));
    }
  }
  for (const auto& partition : into.cluster.partitions)
    if (const auto nodes = expand_hostlist(partition.nodes); !nodes) return fail(nodes.error());
  return {};
}

Status job_line(const Words& words, Scenario& into) {
  if (words.size() < 2) return bad("say: job NAME [nodes=N] [limit=TIME] ... does ...");
  ScenarioJob job;
  job.name = words[1];
  std::string nodes = "1", limit = "10m";
  bool requeue = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "does") {
      job.does =
          fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end(), " "));
      break;
    }
    if (key == "nodes") {
      nodes = value;
    } else if (key == "user") {
      job.user = value;
    } else if (key == "option") {
      job.sbatch_options.push_back(value);
    } else if (key == "deliver") {
      job.options.set("deliver", true);
    } else if (key == "no-rerun") {
      job.options.set("rerun", false);
    } else if (key == "requeue") {
      job.options.set("requeue", requeue = true);
    } else if (key == "expect-time" || key == "limit" || key == "at") {
      const auto time = parse_duration(value);
      if (!time) return fail(time.error());
      if (key == "limit") limit = value;
      if (key == "at") job.at = *time;
      if (key == "expect-time")
        job.options.set("expect_time_s", std::chrono::duration_cast<std::chrono::seconds>(*time).count());
    } else {
      return bad(fmt::format("a job has no '{}'", key));
    }
  }
  const auto time = parse_duration(limit);
  job.sbatch_options.insert(
      job.sbatch_options.begin(),
      {"--nodes=" + nodes,
       "--time=" + format_time_limit(TimeLimit::of(std::chrono::duration_cast<std::chrono::seconds>(*time))),
       requeue ? "--requeue" : "--no-requeue"});
  if (const auto behaviour = behaviour_of_script("#SIM " + job.does); !behaviour)
    return fail(behaviour.error());
  into.jobs.push_back(std::move(job));
  return {};
}

Status at_line(const Words& words, Scenario& into) {
  if (words.size() < (words.size() > 2 && words[2] == "undo-drains" ? 3U : 4U))
    return bad("say: at TIME NODE|job|slurmctld|sickbayd|disk|lose|undo-drains ...");
  const auto time = parse_duration(words[1]);
  if (!time) return fail(time.error());
  const Words rest(words.begin() + 2, words.end());
  const auto special = act_words().find(rest[0]);
  auto act = special != act_words().end() ? special->second(rest) : node_act(rest);
  if (!act) return fail(act.error());
  into.acts.push_back({*time, fmt::format("{}", fmt::join(rest, " ")), std::move(*act)});
  return {};
}

Status background_line(const Words& words, Scenario& into) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    const auto count = number(value);
    if (!count || *count < 0) return bad(fmt::format("'{}' is no count", words[i]));
    if (key == "live")
      into.background.live_jobs = static_cast<std::size_t>(*count);
    else if (key == "nodes")
      into.background.busy_nodes = static_cast<std::size_t>(*count);
    else
      return bad(fmt::format("other people's jobs have no '{}'", key));
  }
  return {};
}

Status take_line(const std::string& line, Scenario& into) {
  const Words words = words_of(line);
  if (words.empty() || words[0][0] == '#') return {};
  if (words[0] == "cluster") return cluster_line(words, into);
  if (words[0] == "job") return job_line(words, into);
  if (words[0] == "at") return at_line(words, into);
  if (words[0] == "background") return background_line(words, into);
  if (words[0] == "config") {
    auto config = parse_config(line.substr(line.find("config") + 6), "config");
    if (!config) return fail(config.error());
    into.config = std::move(*config);
    return {};
  }
  if (words[0] == "seed" && words.size() == 2) {
    into.cluster.seed = static_cast<std::uint64_t>(number(words[1]).value_or(0));
    return {};
  }
  if (words[0] == "show" && words.size() == 2 && words[1] == "claims") {
    into.show_claims = true;
    return {};
  }
  if (words[0] == "until" && words.size() == 2) {
    const auto time = parse_duration(words[1]);
    if (!time) return fail(time.error());
    into.until = *time;
    return {};
  }
  return bad(fmt::format("a scenario has no line '{}'", words[0]));
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  scenario.cluster.write_outputs = false;
  int number_of_line = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string line(text.substr(at, end - at));
    at = std::min(end + 1, text.size());
    ++number_of_line;
    if (line == "----") {
      scenario.expected = text.substr(at);
      break;
    }
    scenario.given += line + "\n";
    if (auto taken = take_line(line, scenario); !taken)
      return fail(std::move(taken.error()).in(fmt::format("reading line {}: {}", number_of_line, line)));
  }
  if (scenario.jobs.empty() && scenario.acts.empty()) return bad("nothing happens in this scenario");
  if (scenario.config.verify.folder.empty()) scenario.config.verify.folder = "/shared/verify";
  scenario.given += "----\n";
  return scenario;
}

void ScenarioRun::submit(const ScenarioJob& job) {
  Submission submission;
  submission.owner = {job.user, 1001, 1001};
  submission.script = "#!/bin/sh\n#SIM " + job.does + "\nsrun ./" + job.name + "\n";
  submission.script_name = job.name + ".sh";
  submission.sbatch_options = job.sbatch_options;
  submission.work_dir = "/shared/" + job.user;
  world.submit(submission, job.options, [this, name = job.name](Result<std::int64_t> no) {
    if (!no) return say(fmt::format("> {} not submitted: {}", name, no.error().line()));
    cases[name] = *no;
    const auto& state = world.controller().seats().cases().state();
    jobs[name] = state.cases.at(*no).programs.front().job.job_id;
  });
}

ScenarioResult ScenarioRun::result() {
  world.on_event = [this](const Event& event) {
    if (scenario_.show_claims || !is_about_claims(event)) say(event_line(event, start_));
  };
  world.start_sickbayd();
  if (scenario_.background.live_jobs > 0) world.cluster().add_background(scenario_.background);
  ScenarioResult result;
  for (const auto& job : scenario_.jobs)
    world.loop().at(start_ + job.at, [this, &job] {
      say(fmt::format("> {} submits {}", job.user, job.name));
      submit(job);
    });
  for (const auto& act : scenario_.acts)
    world.loop().at(start_ + act.at, [this, &act, &result] {
      say("> " + act.text);
      if (const auto done = act.act(*this); !done)
        result.broken.push_back(fmt::format("'{}' did not work: {}", act.text, done.error().line()));
    });
  // Until every case has closed, every act is over and no node is out; whatever is left runs into `until`.
  Micros last{0};
  for (const auto& act : scenario_.acts) last = std::max(last, act.at);
  for (const auto& job : scenario_.jobs) last = std::max(last, job.at);
  const auto unfinished = [&] {
    return world.loop().elapsed() <= last || !world.sickbayd_runs() || cases.size() < scenario_.jobs.size() ||
           !world.controller().seats().cases().state().open.empty() ||
           drain::wants_nodes(world.controller().seats().cluster(),
                              world.controller().seats().drains().state());
  };
  if (!world.loop().run_while(unfinished, start_ + scenario_.until)) say("> the end of the scenario's time");
  if (!world.sickbayd_runs()) world.start_sickbayd();
  for (const auto& [no, subject] : world.controller().seats().cases().state().cases)
    for (const auto& line : closing_lines(subject)) timeline_ += line + "\n";
  check_rules(result);
  result.timeline = std::move(timeline_);
  return result;
}

void ScenarioRun::check_rules(ScenarioResult& result) {
  for (const auto& [key, count] : world.cluster().starts_by_key())
    if (count > 1) result.broken.push_back(fmt::format("{} was started {} times", key, count));
  const auto& state = world.controller().seats().cases().state();
  for (const JobInfo& job : world.cluster().keyed_jobs()) {
    const auto seen = parse_job_state(job.state, job.flags);
    if (seen && is_terminal(*seen)) continue;
    const std::string key = key_in_comment(job.comment);
    const auto no = parse_case_name(key.substr(0, key.find('.')));
    if (no && !state.open.count(*no))
      result.broken.push_back(fmt::format("job {} ({}) outlives its case: {}", job.job_id, key, job.state));
  }
  const Config config = scenario_.config;
  Seats replayed(config);
  for (const Event& event : world.journal().events()) replayed.replay(event);
  if (replayed.canonical_text() != world.controller().canonical_text())
    result.broken.push_back("a replay of the journal gives another state");
}

ScenarioResult run_scenario(const Scenario& scenario) { return ScenarioRun(scenario).result(); }

}  // namespace sickbay::sim
