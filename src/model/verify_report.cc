// SPDX-License-Identifier: Apache-2.0
// Two passes: first every line leaves a note at the nodes it names, then each node is judged by its notes.
// A node's judgement is a list of rules; the first that fits decides.
#include "model/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/hostlist.h"
#include "base/json.h"
#include "base/text.h"
#include "model/node_reason.h"
#include "model/srun_message.h"
#include "model/verify_notes.h"

namespace sickbay {
namespace {

constexpr std::size_t kLongestReportLine = 64 * 1024;  ///< ours are under 1 KiB

using namespace verify_notes;

/// `text` as part of one line: no line ends, no control characters, not too long.
std::string note_line(std::string_view text) {
  constexpr std::size_t kMost = 300;
  std::string line(text.substr(0, kMost));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return line;
}

void note_pair(Notes& notes, std::size_t self, bool by_mpi, const Json& line) {
  const auto peer = notes.place(line["peer"].as_string());
  // Names that are no nodes of the run say nothing: the text may be of any script.
  if (!peer || *peer == self) return;
  const VerifyResult result = !line["ok"].as_bool()    ? VerifyResult::failed
                              : line["slow"].as_bool() ? VerifyResult::slow
                                                       : VerifyResult::ok;
  PairNote& pair = notes.pairs.emplace_back();
  pair = {.self = self,
          .peer = *peer,
          .by_mpi = by_mpi,
          .by_launch = line["phase"].as_string() == "launch",
          .result = result,
          .reason = note_line(line["detail"].as_string())};
  if (!line["lost"].is_number()) return;
  pair.lossy = line["lossy"].as_bool();
  // Both ends tell the same connection: one order for both.
  const auto [low, high] = std::minmax(self, *peer);
  pair.figures = LinkFigures{low,
                             high,
                             line["segments"].as_double(),
                             line["lost"].as_double(),
                             line["from"].as_double(),
                             line["to"].as_double(),
                             line["busy"].as_bool()};
}

void note_storage(StorageNotes& storage, const Json& line) {
  storage.told = true;
  for (const auto& [place, said] : line["places"].members())
    storage.places.emplace(note_line(place), note_line(said.as_string()));
  storage.folder = note_line(line["folder"].as_string());
  storage.mount = note_line(line["mount"].as_string());
  storage.folder_is = note_line(line["folder_is"].as_string());
}

void note_own_line(Notes& notes, const Json& line) {
  notes.own_lines = true;
  const auto self = notes.place(line["node"].as_string());
  if (!self) return;
  const std::string phase = note_line(line["phase"].as_string());
  // The script's own words: it runs there, which its rank may not.
  if (phase == "host") notes.host = self;
  if (phase == "launch") note_pair(notes, *self, false, line);
  if (phase == "host" || phase == "launch" || phase == "alive") return;
  NodeNotes& node = notes.nodes[*self];
  node.spoke = true;
  if (phase == "silent") {  // the step was ended for it: what dies now is being swept away
    keep_first(node.silent, note_line(line["detail"].as_string()));
    keep_first(node.silent_in, note_line(line["mode"].as_string()));
    notes.swept = true;
    return;
  }
  const bool net = line["mode"].as_string() == "net";
  if (phase == "start") {
    node.net_started = node.net_started || net;
    if (!net) keep_first(node.kind, note_line(line["kind"].as_string()));
  } else if (phase == "done") {
    node.net_done = node.net_done || net;
    node.alone_done = node.alone_done || line["mode"].as_string() == "node";
    if (const std::string more = note_line(line["counted"].as_string()); !more.empty())
      node.counted += (node.counted.empty() ? "" : "; ") + more;
  } else if (phase == "reach") {
    note_pair(notes, *self, false, line);
  } else if (phase == "net") {
    note_pair(notes, *self, true, line);
  } else {
    if (phase == "storage") note_storage(node.storage, line);
    node.last_phase = phase;
    const std::string detail = note_line(line["detail"].as_string());
    if (!line["ok"].as_bool() && node.wrong.empty()) {
      node.wrong = fmt::format("wrong result in phase {}: {}", phase, detail);
      node.wrong_in = phase != "disk"         ? VerifyFault::compute
                      : says_no_space(detail) ? VerifyFault::space
                                              : VerifyFault::disk;
    } else if (line["slow"].as_bool()) {
      keep_first(node.slow, fmt::format("slow in phase {}: {}", phase, detail));
    } else if (line["off_while_busy"].as_bool()) {
      keep_first(node.unsure, fmt::format("busy: others had the processor in phase {}: {}", phase, detail));
    }
    if (phase == "disk" && line["ok"].as_bool() && line["crawls"].as_bool()) node.disk_crawls = detail;
    if (line["ok"].as_bool() && line["value"].is_number() && phase != "storage")
      node.figures[phase] = {"", line["value"].as_double(), line["busy"].as_bool()};
  }
}

void note_message(Notes& notes, const SrunMessage& message) {
  using Said = SrunMessage::Kind;
  for (const std::string& name : message.nodes) {
    NodeNotes* node = notes.at(name);
    if (!node) continue;
    switch (message.kind) {
      case Said::task_signal:
        // The first fault of its own stays; being swept away later says nothing new.
        if (node->signal == 0 || (!is_own_fault(node->signal) && is_own_fault(message.number)))
          node->signal = message.number;
        break;
      case Said::task_exit:
        node->exit_code = message.number;
        break;
      case Said::task_oom:
        node->oom = true;
        break;
      case Said::launch_failed:
        if (says_unreached(message.text))
          notes.unreached.emplace_back(*notes.place(name), "could not launch: " + note_line(message.text));
        else
          keep_first(node->launch, "could not launch: " + note_line(message.text));
        break;
      case Said::node_failure:
        keep_first(node->node_failure, "Slurm reports a failure of the node");
        break;
      default:
        break;
    }
  }
  switch (message.kind) {
    case Said::time_limit:
      notes.time_limit = notes.swept = true;
      break;
    case Said::cancelled:
    case Said::lost_node:
      notes.swept = true;
      [[fallthrough]];
    case Said::refused:
    case Said::cannot_exec:
      keep_first(notes.trouble, note_line(message.text));
      break;
    case Said::oom_kill:
      notes.oom_kill = true;
      break;
    default:
      break;
  }
}

void note_text(Notes& notes, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // (Ours are shorter: what is longer, another program wrote.)
    if (line.empty() || line.size() > kLongestReportLine) continue;
    if (line.front() == '{') {
      // (Before parsing: other programs print JSON, too.)
      if (line.find("sickbay_verify") == std::string_view::npos) continue;
      if (const auto json = Json::parse(line); json && (*json)["sickbay_verify"].as_int() == 1)
        note_own_line(notes, *json);
    } else if (const auto message = read_srun_message(line, std::max<std::size_t>(notes.names.size(), 64))) {
      note_message(notes, *message);
    }
  }
}

std::string after_phase(const NodeNotes& node) {
  if (!node.spoke) return " before its first line";
  if (node.alone_done) return " in the network test";
  return node.last_phase.empty() ? " in its first phase" : " after phase " + node.last_phase;
}

/// What holds for the run as a whole and decides how a single node's notes are read.
struct Run {
  bool own_lines = false, time_limit = false, swept = false, oom_kill = false;
  bool some_done = false;       ///< a node came to the end of its own test
  bool some_own_fault = false;  ///< a rank died of a fault of its own: SIGKILLs may be the sweeping after it
  bool all_killed = false;      ///< every node's rank ended by a signal or code: nobody stands out
  std::optional<int> exit_code;
  std::string trouble;
};

struct Judged {
  VerifyResult result;
  std::string reason;  ///< "": the node is ok
  VerifyFault fault = VerifyFault::none;
};

/// The first rule that fits decides.
Judged judge_node(const NodeNotes& node, const Run& run) {
  using enum VerifyResult;
  using Fault = VerifyFault;
  // A full file system says least of a machine: any other fault that is there goes before it.
  const bool full = !node.wrong.empty() && node.wrong_in == Fault::space;
  if (!node.wrong.empty() && !full) return {failed, node.wrong, node.wrong_in};
  if (is_own_fault(node.signal))
    return {failed, fmt::format("its rank died of {}{}", signal_name(node.signal), after_phase(node)),
            Fault::died};
  if (!node.launch.empty())
    return {failed, node.launch, says_no_space(node.launch) ? Fault::space : Fault::launch};
  if (!node.node_failure.empty()) return {failed, node.node_failure, Fault::lost};
  if (!node.storage_wrong.empty()) return {failed, node.storage_wrong, Fault::storage};
  if (!node.net_wrong.empty()) return {failed, node.net_wrong, Fault::network};
  if (full) return {failed, node.wrong, Fault::space};
  // Its job had too little memory: no word about the node.
  if (node.oom || (node.signal == 9 && run.oom_kill))
    return {unknown, "its rank was killed for its memory" + after_phase(node)};
  if (!node.silent.empty() && !node.alone_done) {
    // (Where nobody came to his end it may be what all of them wait for.)
    if (run.some_done) return {failed, "it fell silent: " + node.silent, Fault::stopped};
    return {unknown, "it fell silent: " + node.silent};
  }
  // A kill counts only where nothing else explains it: not where the step was ended, or another rank had
  // died first.
  if (node.signal != 0 && !run.swept && !run.some_own_fault && !run.all_killed)
    return {failed, fmt::format("its rank was killed by {}{}", signal_name(node.signal), after_phase(node)),
            Fault::died};
  if (!node.unreached.empty() && !node.alone_done) return {unknown, node.unreached};
  if (!run.own_lines) {  // another site's script: exit codes are all it says
    if (node.exit_code != 0 && !run.all_killed && run.trouble.empty())
      return {failed, fmt::format("its rank ended with exit code {}", node.exit_code), Fault::other};
    if (run.exit_code == 0 && node.exit_code == 0 && node.signal == 0) return {ok, ""};
    return {unknown, run.trouble.empty() ? "nothing was said about it" : run.trouble};
  }
  if (run.time_limit && run.some_done && node.spoke && !node.alone_done)
    return {failed,
            "it did not come to an end within the limit of the step, as others did: it stopped" +
                after_phase(node),
            Fault::stopped};
  if (!node.alone_done)
    return {unknown, run.trouble.empty() ? "it did not report" + after_phase(node) : run.trouble};
  // Below all that is wrong or unknown: a speed counts only of a node that did all its work.
  if (!node.slow.empty()) return {slow, node.slow, Fault::slow};
  if (!node.net_slow.empty()) return {slow, node.net_slow, Fault::slow};
  if (!node.unsure.empty()) return {unknown, node.unsure};
  // 1 and 3 are sickbay-verify's own words for what its lines say already.
  if (node.exit_code != 0 && node.exit_code != 1 && node.exit_code != 3)
    return {unknown, fmt::format("its rank ended with exit code {}", node.exit_code)};
  if (!node.absent.empty()) return {unknown, node.absent};
  if (!node.silent.empty())
    return {unknown, fmt::format("it fell silent in {}: {}",
                                 node.silent_in == "reach" ? "the test of connections" : "the network test",
                                 node.silent)};
  if (node.net_started && !node.net_done) return {unknown, "its network test did not come to an end"};
  return {ok, ""};
}

Run look_at_run(const Notes& notes, std::optional<int> exit_code) {
  Run run{.own_lines = notes.own_lines,
          .time_limit = notes.time_limit,
          .swept = notes.swept,
          .oom_kill = notes.oom_kill,
          .exit_code = exit_code,
          .trouble = notes.trouble};
  std::size_t killed = 0;
  for (const NodeNotes& node : notes.nodes) {
    run.some_done = run.some_done || node.alone_done;
    run.some_own_fault = run.some_own_fault || is_own_fault(node.signal);
    killed += node.signal != 0 || node.exit_code != 0;
  }
  run.all_killed = notes.nodes.size() > 1 && killed == notes.nodes.size();
  return run;
}

std::string summary_of(const VerifyReport& report) {
  std::string text;
  for (const VerifyResult result : {VerifyResult::failed, VerifyResult::slow, VerifyResult::unknown}) {
    std::vector<std::string> names;
    for (const NodeVerification& node : report.nodes)
      if (node.result == result) names.push_back(node.node);
    if (!names.empty())
      text +=
          fmt::format("{}{} on {}", text.empty() ? "" : ", ", to_string(result), compress_hostlist(names));
  }
  for (const LinkVerification& link : report.links)
    text += fmt::format("{}{} between {} and {}", text.empty() ? "" : ", ", to_string(link.result), link.node,
                        link.peer);
  return text.empty() ? fmt::format("ok on all {} nodes", report.nodes.size()) : text;
}

}  // namespace

std::string_view to_string(VerifyResult result) {
  constexpr std::array<std::string_view, 4> kNames = {"ok", "slow", "unknown", "failed"};
  return kNames[static_cast<std::size_t>(result)];
}

namespace {
constexpr std::array<std::string_view, 12> kFaults = {"",        "compute", "disk",   "storage",
                                                      "space",   "network", "launch", "died",
                                                      "stopped", "lost",    "slow",   "other"};
static_assert(kFaults.size() == static_cast<std::size_t>(VerifyFault::other) + 1);
}  // namespace

std::string_view to_string(VerifyFault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

VerifyFault verify_fault_from(std::string_view name) {
  const auto at = std::find(kFaults.begin(), kFaults.end(), name);
  // "" was told by older versions: some fault it was, and `other` can explain any failure.
  return name.empty() || at == kFaults.end() ? VerifyFault::other
                                             : static_cast<VerifyFault>(at - kFaults.begin());
}

const NodeVerification* VerifyReport::node(std::string_view name) const {
  for (const NodeVerification& each : nodes)
    if (each.node == name) return &each;
  return nullptr;
}

VerifyReport parse_verify_report(std::string_view out_text, std::string_view err_text,
                                 const std::vector<std::string>& nodes, std::optional<int> exit_code) {
  Notes notes(nodes);
  note_text(notes, out_text);
  note_text(notes, err_text);
  VerifyReport report;
  // First, for it writes into the notes of nodes what their links say; storage likewise.
  report.links = judge_pairs(notes);
  judge_storage(notes);
  const Run run = look_at_run(notes, exit_code);
  std::set<VerifyResult> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Judged judged = judge_node(notes.nodes[i], run);
    if (judged.result != VerifyResult::ok && !notes.nodes[i].counted.empty())
      judged.reason += fmt::format(" (its kernel counted meanwhile: {})", notes.nodes[i].counted);
    seen.insert(judged.result);
    report.nodes.push_back({nodes[i], judged.result, judged.fault, std::move(judged.reason)});
    report.nodes.back().kind = notes.nodes[i].kind;
    for (const auto& [phase, figure] : notes.nodes[i].figures)
      if (!figure.busy) report.nodes.back().figures.emplace(phase, figure.value);
  }
  for (const LinkVerification& link : report.links) seen.insert(link.result);
  for (const VerifyResult result :
       {VerifyResult::failed, VerifyResult::slow, VerifyResult::unknown, VerifyResult::ok})
    if (seen.count(result)) {
      report.overall = result;
      break;
    }
  report.summary = summary_of(report);
  return report;
}

}  // namespace sickbay
