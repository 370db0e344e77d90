// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys.
#include "service/config.h"

#include <array>
#include <charconv>

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
    {{"verify", "user", "name", "service account that verifications run as"},
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
    {{"identify", "verification_wait", "duration", "a verification queued for longer says nothing"},
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_wait, v); }},
    {{"identify", "verification_retry", "duration", "pause before a verification that said nothing is tried again"},
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_retry, v); }},
    {{"identify", "verification_attempts", "number", "how often a verification is tried"},
     [](Config& c, const Json& v) { return take_count(c.identify.verification_attempts, v, 1, 10); }},
    {{"identify", "rerun_wait", "duration", "a re-run queued for longer is given up"},
     [](Config& c, const Json& v) { return take_duration(c.identify.rerun_wait, v); }},
    {{"identify", "control_age", "duration", "how long a pass of the verification elsewhere counts as its own proof"},
     [](Config& c, const Json& v) { return take_duration(c.identify.control_age, v); }},
    {{"identify", "max_reruns", "number", "re-runs of the program, 1 or 2"},
     [](Config& c, const Json& v) { return take_count(c.identify.max_reruns, v, 1, 2); }},
    {{"identify", "keep_submission", "duration", "how long script and environment of a submission are kept when its case is closed, at most 30 days; default: they are removed at once"},
     [](Config& c, const Json& v) {
       if (std::string wrong = take_duration(c.keep_submission, v); !wrong.empty()) return wrong;
       return std::string(c.keep_submission > kLongestKeep ? "must be at most 30 days" : "");
     }},
    {{"drain", "act", "yes or no", "false, the default: sickbayd only says which nodes it would drain"},
     [](Config& c, const Json& v) { return take_flag(c.drain.act, v); }},
    {{"drain", "on_verdict", "yes or no", "a final verdict against a node is a reason to drain it"},
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
    {{"drain", "undo_rest", "duration", "rules whose drains were undone only observe for this long"},
     [](Config& c, const Json& v) { return take_duration(c.drain.undo_rest, v); }},
    {{"drain", "check_every", "duration", "a blamed node that failed its deep diagnosis is examined again after this"},
     [](Config& c, const Json& v) { return take_duration(c.drain.check_every, v); }},
    {{"drain", "reboot", "yes or no", "findings that ask for it have Slurm reboot their node, once it is drained and empty; false, the default: people do it"},
     [](Config& c, const Json& v) { return take_flag(c.drain.reboot, v); }},
    {{"drain", "reboot_rest", "duration", "no second reboot of a node for the same rule within this"},
     [](Config& c, const Json& v) { return take_duration(c.drain.reboot_rest, v); }},
    {{"notify", "command", "text", "shell command that gets each finding that asks for it, as JSON on its standard input"},
     [](Config& c, const Json& v) {
       std::string wrong = take_text(c.notify.command, v);
       c.drain.notify = !c.notify.command.empty();
       return wrong;
     }},
    {{"notify", "user", "name", "user who runs it"},
     [](Config& c, const Json& v) { return take_text(c.notify.user, v); }},
    {{"agent", "listen", "text", "address and port for the agents on the nodes, \"0.0.0.0:6830\"; \"off\": no TCP"},
     [](Config& c, const Json& v) { return take_listen(c.agent, v); }},
    {{"munge", "socket", "path", "socket of munged; default: libmunge's own"},
     [](Config& c, const Json& v) { return take_text(c.munge.socket, v); }},
});
// clang-format on

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view source) {
  return read_config<Config>(text, source, kPage, kKeys);
}

std::string describe_config() { return describe_rows<Config>(kKeys); }

}  // namespace sickbay
