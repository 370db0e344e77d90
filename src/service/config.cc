// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys.
#include "service/config.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/hostlist.h"
#include "base/size.h"
#include "settings/config_table.h"

namespace sickbay {
namespace {

bool read_port(const std::string& digits, int& port) {
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return failed == std::errc() && end == digits.data() + digits.size() && port > 0 && port < 65536;
}

constexpr std::chrono::hours kLongestKeep{30 * 24};  // then the case itself goes to the archives

constexpr std::string_view kPage = "doc/formats/config.md";

std::string take_listen(Config::Agent& agent, const Json& value) {
  std::string text;
  if (std::string wrong = take_text(text, value); !wrong.empty()) return wrong;
  const std::size_t colon = text.rfind(':');
  int port = 0;
  const bool off = text == "off";
  if (!off && (colon == std::string::npos || colon == 0 || !read_port(text.substr(colon + 1), port)))
    return "must be \"off\" or an address and a port, as \"0.0.0.0:6830\" or \"[::]:6830\"";
  agent.address = off ? "" : text.substr(0, colon);
  if (agent.address.starts_with('[') && agent.address.ends_with(']'))
    agent.address = agent.address.substr(1, agent.address.size() - 2);
  agent.port = static_cast<std::uint16_t>(port);
  return "";
}

std::string take_place(Config::NonstopServer& server, const Json& value) {
  std::string text;
  if (std::string wrong = take_text(text, value); !wrong.empty()) return wrong;
  const bool bare_v6 = std::ranges::count(text, ':') > 1 && !text.starts_with('[');
  const std::size_t colon = bare_v6 || text.ends_with(']') ? std::string::npos : text.rfind(':');
  int port = 0;
  server.address = text.substr(0, colon);
  if (server.address.starts_with('[') && server.address.ends_with(']'))
    server.address = server.address.substr(1, server.address.size() - 2);
  if (server.address.empty() || (colon != std::string::npos && !read_port(text.substr(colon + 1), port)))
    return "must be an address, as \"0.0.0.0\" or \"::\", or one with a port, as \"10.0.0.1:6820\" or "
           "\"[::]:6820\"";
  server.port = static_cast<std::uint16_t>(port);
  return "";
}

std::string take_way(identify::RerunWay& way, const Json& value) {
  const auto read = identify::rerun_way_from(value.as_string());
  if (!read) return "must be \"same\", \"copy\", \"ask\" or \"never\"";
  way = *read;
  return "";
}

std::string take_size(std::int64_t& bytes, const Json& value) {
  if (!value.is_string()) return "must be a size like \"2G\", not " + std::string(value.type_name());
  const auto read = parse_size(value.as_string(), BareUnit::bytes);
  if (!read) return read.error().what;
  bytes = read->count;
  return "";
}

// Sets of nodes, each at least two.
std::string take_sets(std::vector<std::vector<std::string>>& field, const Json& value) {
  std::vector<std::string> texts;
  if (std::string wrong = take_names(texts, value); !wrong.empty()) return wrong;
  std::vector<std::vector<std::string>> sets;
  for (const std::string& text : texts) {
    auto nodes = expand_hostlist(text);
    if (!nodes) return nodes.error().what;
    sets.push_back(sorted_hosts(std::move(*nodes)));
    if (sets.back().size() < 2) return "must be sets of at least two nodes, as \"n[3-4]\"";
  }
  field = std::move(sets);
  return "";
}

std::string take_pair(std::vector<std::string>& field, const Json& value) {
  if (std::string wrong = take_names(field, value); !wrong.empty()) return wrong;
  return field.empty() || (field.size() == 2 && field[0] != field[1]) ? "" : "must be two";
}

// An even number has no more majorities than one less, and one alone is a third host to lose.
std::string take_witnesses(std::vector<std::string>& field, const Json& value) {
  if (std::string wrong = take_names(field, value); !wrong.empty()) return wrong;
  std::vector<std::string> sorted = field;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return "must not name a node twice";
  return field.empty() || (field.size() % 2 == 1 && field.size() >= 3) ? ""
                                                                       : "must be an odd number, 3 or more";
}

// What is begun must end within it (a call of libslurm takes 30 s at most), and witnesses grant no longer
// one.
std::string take_lease(std::chrono::seconds& field, const Json& value) {
  constexpr std::chrono::seconds kLeast{40}, kLongest{60};
  if (std::string wrong = take_duration(field, value); !wrong.empty()) return wrong;
  return field < kLeast || field > kLongest ? "must be \"40s\" to \"60s\"" : "";
}

constexpr int kMost = 1'000'000'000;
constexpr std::int64_t kLeastBytes = 1 << 20;

// clang-format off
constexpr auto kKeys = std::to_array<ConfigRow<Config>>({
    {{"operators", "users", "names", "users who may see and cancel all cases, besides root and SlurmUser"},
     [](Config& c, const Json& v) { return take_names(c.operators.users, v); }},
    {{"operators", "groups", "names", "groups whose members may do so"},
     [](Config& c, const Json& v) { return take_names(c.operators.groups, v); }},
    {{"slurm", "conf", "path", "slurm.conf; default: SLURM_CONF, else Slurm's own"},
     [](Config& c, const Json& v) { return take_text(c.slurm.conf, v); }},
    {{"slurm", "bin_dir", "path", "where sbatch and sacct are"},
     [](Config& c, const Json& v) { return take_text(c.slurm.bin_dir, v); }},
    {{"slurm", "refresh_floor", "duration", "shortest time between two looks at the queue while a case is open"},
     [](Config& c, const Json& v) { return take_duration(c.refresh_floor, v); }},
    {{"slurm", "retry_bound", "duration", "how long an action waits for Slurm to come back before it fails"},
     [](Config& c, const Json& v) { return take_duration(c.retry_bound, v); }},
    {{"verify", "script", "path", "batch script of the verification program; default: the shipped one"},
     [](Config& c, const Json& v) { return take_text(c.verify.script, v); }},
    {{"verify", "program", "path", "sickbay-verify on the nodes"},
     [](Config& c, const Json& v) { return take_text(c.verify.program, v); }},
    {{"verify", "options", "text", "its options"},
     [](Config& c, const Json& v) { return take_text(c.verify.options, v); }},
    {{"verify", "baseline", "path", "recorded figures of this cluster"},
     [](Config& c, const Json& v) { return take_text(c.verify.baseline, v); }},
    {{"verify", "environment", "names", "\"NAME=value\" for its jobs: which network MPI uses, say"},
     [](Config& c, const Json& v) { return take_names(c.verify.environment, v); }},
    {{"verify", "user", "name", "service account that verifications run as, with one uid on all nodes; default: sickbay-verify; \"root\" only where it is said"},
     [](Config& c, const Json& v) { return take_text(c.verify.user, v); }},
    {{"verify", "qos", "name", "QOS of verifications (a high one)"},
     [](Config& c, const Json& v) { return take_text(c.verify.qos, v); }},
    {{"verify", "account", "name", "account of verifications"},
     [](Config& c, const Json& v) { return take_text(c.verify.account, v); }},
    {{"verify", "folder", "path", "folder for their output, on storage that all nodes share"},
     [](Config& c, const Json& v) { return take_text(c.verify.folder, v); }},
    {{"verify", "time_limit", "duration", "time limit of a verification"},
     [](Config& c, const Json& v) { return take_duration(c.verify.time_limit, v); }},
    {{"identify", "bind_limit", "duration", "a case without a job expires after this"},
     [](Config& c, const Json& v) { return take_duration(c.identify.bind_limit, v); }},
    {{"identify", "verification_wait", "duration", "a verification queued for longer goes on without its nodes that are out of service; for busy ones it waits on"},
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_wait, v); }},
    {{"identify", "verification_retry", "duration", "pause before a verification that said nothing is tried again"},
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_retry, v); }},
    {{"identify", "verification_attempts", "number", "how often a verification is tried, that is, ran, was refused or was lost"},
     [](Config& c, const Json& v) { return take_count(c.identify.verification_attempts, v, 1, 10); }},
    {{"identify", "rerun_wait", "duration", "a re-run queued for longer is given up"},
     [](Config& c, const Json& v) { return take_duration(c.identify.rerun_wait, v); }},
    {{"identify", "case_limit", "duration", "so long after the failure nothing more is started or waited for: the best answer stands"},
     [](Config& c, const Json& v) { return take_duration(c.identify.case_limit, v); }},
    {{"identify", "control_age", "duration", "how long a pass of the verification elsewhere counts as its own proof"},
     [](Config& c, const Json& v) { return take_duration(c.identify.control_age, v); }},
    {{"identify", "jobs", "text", "whose jobs are looked at: \"submitted\", the default, those of 'sickbay submit'; \"all\", what every job of the cluster comes to, too: that is one more query of slurmctld every 5 s, and what finds black holes"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"submitted", "all"});
       c.identify.all_jobs = word == "all";
       return wrong;
     }},
    {{"identify", "steps", "text", "where the user does not say: \"tell\" of a failed step of a job that completed, or let it \"fail\" the job"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"tell", "fail"});
       c.identify.steps_fail = word == "fail";
       return wrong;
     }},
    {{"identify", "hang", "name", "where the user does not say (--hang): \"off\", the default; \"notify\", the ranks of his job are looked at, and one that hangs is told of; \"cancel\", it is ended, too, where it is proven that none of its ranks can go on"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"off", "notify", "cancel"});
       c.identify.hang = hang_mode_from(word).value_or(HangMode::off);
       return wrong;
     }},
    {{"identify", "hang_late", "duration", "ranks that have waited for so long for one that computes, or for storage, hang; a deadlock is known in seconds"},
     [](Config& c, const Json& v) { return take_duration(c.hang.late, v); }},
    {{"identify", "starved", "yes or no", "true, the default: while a submitted job runs the agents of its nodes see how long its processes wait for a processor and what its network loses, as evidence against a node; false: they do not"},
     [](Config& c, const Json& v) { return take_flag(c.identify.starved, v); }},
    {{"identify", "max_reruns", "number", "re-runs of the program, 1 or 2"},
     [](Config& c, const Json& v) { return take_count(c.identify.max_reruns, v, 1, 2); }},
    {{"identify", "array_cases", "number", "tasks of one job array that have an open case at a time"},
     [](Config& c, const Json& v) { return take_count(c.identify.array_cases, v, 1, 100); }},
    {{"identify", "keep_submission", "duration", "how long script and environment of a submission are kept when its case is closed, at most 30 days; default: they are removed at once"},
     [](Config& c, const Json& v) {
       if (std::string wrong = take_duration(c.keep_submission, v); !wrong.empty()) return wrong;
       return std::string(c.keep_submission > kLongestKeep ? "must be at most 30 days" : "");
     }},
    {{"identify", "rerun", "name", "how a failed program runs again where its user does not say (--rerun): \"copy\", the default, in a copy of its folder; \"same\", in the folder itself; \"ask\", only when somebody says so; \"never\""},
     [](Config& c, const Json& v) { return take_way(c.identify.rerun, v); }},
    {{"identify", "copy_max_bytes", "size", "a folder that holds more is not copied, but asked about; \"2G\""},
     [](Config& c, const Json& v) { return take_size(c.identify.copy_max_bytes, v); }},
    {{"identify", "copy_max_files", "number", "and so is one with more files"},
     [](Config& c, const Json& v) { return take_count(c.identify.copy_max_files, v, 1, kMost); }},
    {{"identify", "ask_wait", "duration", "a question about a re-run that nobody answers for this long means no"},
     [](Config& c, const Json& v) { return take_duration(c.identify.ask_wait, v); }},
    {{"identify", "ask_above_nodes", "number", "jobs of more nodes run again only when somebody says so; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.identify.ask_above_nodes, v, 0, kMost); }},
    {{"identify", "ask_above_node_hours", "number", "and so do those whose re-run may take more node-hours (nodes times time limit); 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.identify.ask_above_node_hours, v, 0, kMost); }},
    {{"identify", "reruns_per_user", "number", "re-runs of one user in 24 h, over which each is asked about; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.identify.reruns_per_user, v, 0, kMost); }},
    {{"identify", "reruns_per_script", "number", "of one script with the same arguments; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.identify.reruns_per_script, v, 0, kMost); }},
    {{"identify", "rerun_node_hours", "number", "node-hours of the re-runs of one user in 24 h; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.identify.rerun_node_hours, v, 0, kMost); }},
    {{"identify", "further_runs", "number", "further runs of a program whose failure does not repeat, of one order: sickbay requeue, or --until-verdict"},
     [](Config& c, const Json& v) { return take_count(c.identify.further_runs, v, 1, 48); }},
    {{"identify", "further_node_hours", "number", "node-hours of the program that they may take (nodes times time limit)"},
     [](Config& c, const Json& v) { return take_count(c.identify.further_node_hours, v, 1, kMost); }},
    {{"identify", "prior_system_percent", "number", "in percent: how often a failure that does not repeat is a node's or a link's, before anything is known of it; 10"},
     [](Config& c, const Json& v) { return take_percent(c.identify.prior.system, v); }},
    {{"identify", "prior_link_percent", "number", "in percent of these: a link's; 20"},
     [](Config& c, const Json& v) { return take_percent(c.identify.prior.links, v); }},
    {{"drain", "act", "yes or no", "false, the default: sickbayd only says which nodes it would drain"},
     [](Config& c, const Json& v) { return take_flag(c.drain.act, v); }},
    {{"drain", "on_verdict", "yes or no", "what a verdict finds faulty is a reason to drain it"},
     [](Config& c, const Json& v) { return take_flag(c.drain.on_verdict, v); }},
    {{"drain", "window", "duration", "the breaker counts the drains of this time, at most 24 h"},
     [](Config& c, const Json& v) {
       if (std::string wrong = take_duration(c.drain.breaker.window, v); !wrong.empty()) return wrong;
       return std::string(c.drain.breaker.window > cluster::kLongestWindow ? "must be at most 24h" : "");
     }},
    {{"drain", "most", "number", "drains per window and partition, at most"},
     [](Config& c, const Json& v) { return take_count(c.drain.breaker.most, v, 1, 1000); }},
    {{"drain", "most_percent", "number", "and in percent of the partition's nodes; the smaller counts, but at least 1"},
     [](Config& c, const Json& v) { return take_count(c.drain.breaker.most_percent, v, 1, 100); }},
    {{"drain", "most_out_percent", "number", "of a partition's nodes drained by Sickbay at one time; at least 1"},
     [](Config& c, const Json& v) { return take_count(c.drain.breaker.most_out_percent, v, 1, 100); }},
    {{"drain", "lift_after", "duration", "a fault that is gone for this long: our drain is lifted"},
     [](Config& c, const Json& v) { return take_duration(c.drain.lift_after, v); }},
    {{"drain", "flap_most", "number", "a node that was drained so often for one rule within 'drain.flap_within' stays out until somebody puts it back; 3; 0: none does"},
     [](Config& c, const Json& v) { return take_count(c.drain.flap_most, v, 0, static_cast<int>(drain::kMostFlaps)); }},
    {{"drain", "flap_within", "duration", "its drains of this time count, at most 7 d; \"24h\""},
     [](Config& c, const Json& v) {
       if (std::string wrong = take_duration(c.drain.flap_within, v); !wrong.empty()) return wrong;
       return std::string(c.drain.flap_within > drain::kLongestFlaps ? "must be at most 7d" : "");
     }},
    {{"drain", "undo_rest", "duration", "rules whose drains were undone only observe for this long"},
     [](Config& c, const Json& v) { return take_duration(c.drain.undo_rest, v); }},
    {{"drain", "check_every", "duration", "a blamed node that failed its deep diagnosis is examined again after this"},
     [](Config& c, const Json& v) { return take_duration(c.drain.check_every, v); }},
    {{"drain", "reboot", "yes or no", "findings that ask for it have Slurm reboot their node, once it is drained and empty; false, the default: people do it"},
     [](Config& c, const Json& v) { return take_flag(c.drain.reboot, v); }},
    {{"drain", "reboot_rest", "duration", "no second reboot of a node for the same rule within this"},
     [](Config& c, const Json& v) { return take_duration(c.drain.reboot_rest, v); }},
    {{"drain", "gate", "text", "nodes that are out until their quick diagnosis has passed, by drains like all others: those that \"boot\"; those that somebody else puts back (\"return\"), Slurm itself included; \"both\"; \"off\", the default"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"off", "boot", "return", "both"});
       c.drain.gate_boot = word == "boot" || word == "both";
       c.drain.gate_return = word == "return" || word == "both";
       return wrong;
     }},
    {{"drain", "gate_wait", "duration", "what becomes of one whose agent has not examined it within this says 'drain.gate_silent'; \"5m\""},
     [](Config& c, const Json& v) { return take_duration(c.drain.gate_wait, v); }},
    {{"drain", "gate_silent", "text", "it is let \"in\", the default, or kept \"out\" until an agent examines it"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"in", "out"});
       c.drain.gate_keep = word == "out";
       return wrong;
     }},
    {{"detect", "default", "text", "how nodes of a job that says nothing are found to be lost: \"slurm\", the default, or \"fast\": its nodes watch each other"},
     [](Config& c, const Json& v) {
       std::string word, wrong = take_word(word, v, {"slurm", "fast"});
       c.detect.fast = word == "fast";
       return wrong;
     }},
    {{"detect", "act", "yes or no", "a node that its peers and sickbayd do not reach is set DOWN; false: sickbayd only says which"},
     [](Config& c, const Json& v) { return take_flag(c.detect.act, v); }},
    {{"detect", "port", "number", "UDP port on which agents watch each other, 6831"},
     [](Config& c, const Json& v) {
       int port = c.detect_port;
       std::string wrong = take_count(port, v, 1, 65535);
       c.detect_port = static_cast<std::uint16_t>(port);
       return wrong;
     }},
    {{"fleet", "compare", "yes or no", "what agents tell of their nodes is compared, and the odd ones out are findings (design/fleet.md)"},
     [](Config& c, const Json& v) { return take_flag(c.fleet.on, v); }},
    {{"fleet", "least", "number", "nodes of a class that a comparison needs, 4"},
     [](Config& c, const Json& v) {
       int least = static_cast<int>(c.fleet.least);
       std::string wrong = take_count(least, v, 3, kMost);
       c.fleet.least = static_cast<std::size_t>(least);
       return wrong;
     }},
    {{"fleet", "settle", "duration", "so long something must be odd before it is told, \"5m\""},
     [](Config& c, const Json& v) { return take_duration(c.fleet.settle, v); }},
    {{"fleet", "quiet", "duration", "an upgrade is over when no node has moved for so long, \"24h\"; who stayed behind is odd then"},
     [](Config& c, const Json& v) { return take_duration(c.fleet.quiet, v); }},
    {{"fleet", "drain", "names", "facts whose odd nodes are drained, as \"mount:/home\" or \"link:*\"; default: none"},
     [](Config& c, const Json& v) { return take_names(c.fleet.drains, v); }},
    {{"diagnose", "active_at_once", "number", "nodes whose agents run active checks at once (stress of the node, tests of disks, file systems and the network); 16; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.diagnose.active_at_once, v, 0, kMost); }},
    {{"patrol", "budget", "number", "nodes that one round of 'sickbay verify --fleet' takes, where it is not said"},
     [](Config& c, const Json& v) { return take_count(c.patrol.budget, v, 1, 100000); }},
    {{"patrol", "node_hours", "number", "node-hours that all rounds together may take in 24 h; 0: no bound"},
     [](Config& c, const Json& v) { return take_count(c.patrol.node_hours, v, 0, kMost); }},
    {{"patrol", "together", "number", "nodes of one of its verifications, 8"},
     [](Config& c, const Json& v) { return take_count(c.patrol.together, v, 1, 1000); }},
    {{"patrol", "fresh", "duration", "a node that was verified since then is left out, but where it is named; \"24h\""},
     [](Config& c, const Json& v) { return take_duration(c.patrol.fresh, v); }},
    {{"patrol", "time", "duration", "a round takes no more nodes after this; \"1h\""},
     [](Config& c, const Json& v) { return take_duration(c.patrol.time, v); }},
    {{"patrol", "suspects", "yes or no", "a node on which the jobs of several users fail as soon as they start, while nothing runs elsewhere that could tell why, or one user's while the same kinds of his pass elsewhere, is verified without being asked for, before all jobs of the queue and for half a minute, with one node more; true"},
     [](Config& c, const Json& v) { return take_flag(c.patrol.suspects, v); }},
    {{"recover", "act", "yes or no", "findings that ask for the restart of a component get it, and what is above it where that does not cure; false, the default: the plan is shown"},
     [](Config& c, const Json& v) { return take_flag(c.recover.act, v); }},
    {{"recover", "requeue", "yes or no", "true, the default: where a job's node has failed it is put back into the queue, without that node, where nothing smaller cures; false: jobs are left to people"},
     [](Config& c, const Json& v) { return take_flag(c.recover.requeue, v); }},
    {{"recover", "most_steps", "number", "restarts of one recovery, 3; then a person must look"},
     [](Config& c, const Json& v) { return take_count(c.recover.most_steps, v, 1, 10); }},
    {{"recover", "most_a_day", "number", "recoveries of one component that findings may have within 24 h, 5; then a person must look"},
     [](Config& c, const Json& v) { return take_count(c.recover.most_a_day, v, 1, 100); }},
    {{"recover", "dependent", "names", "sets of nodes that fail together, as \"n[3-4]\": they are one cell and are restarted at once; default: none"},
     [](Config& c, const Json& v) { return take_sets(c.recover.dependent, v); }},
    {{"notify", "command", "text", "shell command that gets each finding that asks for it, as JSON on its standard input"},
     [](Config& c, const Json& v) {
       std::string wrong = take_text(c.notify.command, v);
       c.drain.notify = !c.notify.command.empty();
       return wrong;
     }},
    {{"notify", "user", "name", "user who runs it"},
     [](Config& c, const Json& v) { return take_text(c.notify.user, v); }},
    {{"agent", "listen", "text", "address and port for agents, and for commands on other hosts, \"0.0.0.0:6830\"; \"off\": no TCP"},
     [](Config& c, const Json& v) { return take_listen(c.agent, v); }},
    {{"client", "controller", "text", "HOST or HOST:PORT of sickbayd, for commands on hosts without its socket; default: those of 'standby.controllers', else SlurmctldHost, with the port of 'agent.listen'"},
     [](Config& c, const Json& v) { return take_text(c.client.controller, v); }},
    {{"client", "submit", "yes or no", "false: 'sickbay submit' keeps no case for submissions from other hosts, whose scripts and environments would come unencrypted"},
     [](Config& c, const Json& v) { return take_flag(c.client.submit, v); }},
    {{"client", "open_cases", "number", "open cases of one user; beyond, 'sickbay submit' opens none; root has no bound; 1000"},
     [](Config& c, const Json& v) {
       int most = static_cast<int>(c.client.quotas.open_cases);
       std::string wrong = take_count(most, v, 1, kMost);
       c.client.quotas.open_cases = static_cast<std::size_t>(most);
       return wrong;
     }},
    {{"client", "bytes_per_hour", "size", "what one user may send in an hour, scripts and environments for the most part; \"64M\""},
     [](Config& c, const Json& v) {
       if (std::string wrong = take_size(c.client.quotas.bytes_an_hour, v); !wrong.empty()) return wrong;
       return std::string(c.client.quotas.bytes_an_hour < kLeastBytes ? "must be at least 1M" : "");
     }},
    {{"client", "reserve", "size", "while less is free on the disk of the journal no case is opened and no finding taken: the rest is for the end of what is open; \"64M\""},
     [](Config& c, const Json& v) { return take_size(c.client.quotas.reserve, v); }},
    {{"nonstop", "on", "yes or no", "true: running jobs may have failed nodes replaced (smd, libsmd); needs nonstop.conf"},
     [](Config& c, const Json& v) { return take_flag(c.nonstop.on, v); }},
    {{"nonstop", "listen", "text", "address, or address and port, for its clients; default: \"0.0.0.0\", with the Port of nonstop.conf (6820 where that says none)"},
     [](Config& c, const Json& v) { return take_place(c.nonstop_server, v); }},
    {{"nonstop", "conf", "path", "nonstop.conf; default: beside slurm.conf; read again on SIGHUP"},
     [](Config& c, const Json& v) { return take_text(c.nonstop_server.conf, v); }},
    {{"standby", "controllers", "names", "the two sickbayds, HOST or HOST:PORT, the first one first; the same list on both; default: there is one, and no standby (design/standby.md)"},
     [](Config& c, const Json& v) { return take_pair(c.standby.controllers, v); }},
    {{"standby", "name", "name", "which of them this one is; default: the one of the host's name"},
     [](Config& c, const Json& v) { return take_text(c.standby.name, v); }},
    {{"standby", "witnesses", "names", "nodes whose agents witness who is active: an odd number, 3 at least; the same list on both"},
     [](Config& c, const Json& v) { return take_witnesses(c.standby.witnesses, v); }},
    {{"standby", "lease", "duration", "so long after its last renewal the other may take over, 40 s to 60 s; \"60s\""},
     [](Config& c, const Json& v) { return take_lease(c.standby.lease, v); }},
    {{"standby", "patience", "duration", "so long an event waits for the standby, then the active goes on alone; \"2s\""},
     [](Config& c, const Json& v) { return take_duration(c.standby.patience, v); }},
    {{"munge", "socket", "path", "socket of munged; default: libmunge's own"},
     [](Config& c, const Json& v) { return take_text(c.munge.socket, v); }},
});
// clang-format on

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view source) {
  auto config = read_config<Config>(text, source, kPage, kKeys);
  if (config) {
    config->nonstop.breaker = config->patrol.breaker = config->recover.breaker =
        config->drain.breaker;  // one for all engines
    config->recover.reboot = config->drain.act && config->drain.reboot;
    config->patrol.longest = config->verify.time_limit;
  }
  return config;
}

std::string describe_config() { return describe_rows<Config>(kKeys); }

}  // namespace sickbay
