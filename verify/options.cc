// SPDX-License-Identifier: Apache-2.0
// The option table and its parser.
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>

#include "base/hostlist.h"
#include "base/size.h"
#include "ep.h"

namespace sickbay::verify {
namespace {

struct OptionRow {
  std::string_view name;
  std::string_view argument;  ///< "" for a switch
  std::string_view text;
  Status (*apply)(Options&, const std::string&);
};

Status bad_value(const std::string& value, std::string_view wanted) {
  return fail(ErrorCode::usage, fmt::format("'{}' is not {}", value, wanted));
}

Status read_bytes(const std::string& text, std::uint64_t& into, std::uint64_t least) {
  const auto size = parse_size(text, BareUnit::bytes);
  if (!size) return fail(ErrorCode::usage, size.error().what);
  const auto bytes = static_cast<std::uint64_t>(size->count);
  if (bytes < least) return bad_value(text, fmt::format("a size of at least {} bytes", least));
  into = bytes;
  return {};
}

template <class Number>
Status read_number(const std::string& text, Number& into, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= least && value <= most))
    return bad_value(text, fmt::format("a number from {} to {}", least, most));
  into = static_cast<Number>(value);
  return {};
}

Status read_phases(const std::string& text, Options& o) {
  static const std::set<std::string> known = {"cpu", "memory", "membw", "disk", "storage"};
  std::vector<std::string> phases;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    if (!known.count(name)) return bad_value(name, "one of cpu, memory, membw, disk, storage");
    phases.push_back(name);
  }
  if (phases.empty()) return bad_value(text, "a list of phases");
  o.phases = std::move(phases);
  return {};
}

Status preset_quick(Options& o) {
  o.cpu_class = 'S';
  o.memory = 64 * kMiB;
  o.membw = 48 * kMiB;
  o.disk = 16 * kMiB;
  o.net_blocks = 8;
  o.pings = 1000;
  o.pair_budget = 1.5;
  o.hello_wait = 6;
  o.ready_wait = 25;
  o.answer_wait = 8;
  o.random_rounds = 1;
  o.turn_wait = 60;
  return {};
}

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> rows = {
      {"--quick", "", "a few seconds a node instead of up to a minute; put it first",
       [](Options& o, const std::string&) { return preset_quick(o); }},
      {"--phases", "LIST", "node: which of cpu,memory,membw,disk,storage",
       [](Options& o, const std::string& v) { return read_phases(v, o); }},
      {"--baseline", "FILE", "values off this cluster's recorded baseline are slow",
       [](Options& o, const std::string& v) -> Status { return o.baseline = v, Status(); }},
      {"--cpu-class", "S|W|A", "size of the arithmetic: 2^24, 2^25 or 2^28 pairs",
       [](Options& o, const std::string& v) -> Status {
         if (v.size() != 1 || !ep_class(v[0])) return bad_value(v, "one of S, W, A");
         return o.cpu_class = v[0], Status();
       }},
      {"--slow-ratio", "X", "cpu is slow when work takes X times what the processor needs",
       [](Options& o, const std::string& v) { return read_number(v, o.slow_ratio, 1.01, 100); }},
      {"--memory", "SIZE", "memory under test",
       [](Options& o, const std::string& v) { return read_bytes(v, o.memory, kMiB); }},
      {"--membw", "SIZE", "the three vectors of the bandwidth test together",
       [](Options& o, const std::string& v) { return read_bytes(v, o.membw, kMiB); }},
      {"--disk", "SIZE", "written, synced and read back",
       [](Options& o, const std::string& v) { return read_bytes(v, o.disk, 4096); }},
      {"--disk-folder", "DIR", "where",
       [](Options& o, const std::string& v) -> Status { return o.disk_folder = v, Status(); }},
      {"--folder", "DIR", "the job's: is it there",
       [](Options& o, const std::string& v) -> Status { return o.folder = v, Status(); }},
      {"--storage-wait", "SECONDS", "until a shared file system that says nothing is away",
       [](Options& o, const std::string& v) { return read_number(v, o.storage_wait, 1, 3600); }},
      {"--net-block", "SIZE", "one message of the network bandwidth test",
       [](Options& o, const std::string& v) { return read_bytes(v, o.net_block, 1024); }},
      {"--net-blocks", "N", "messages per pair",
       [](Options& o, const std::string& v) { return read_number(v, o.net_blocks, 1, 1e6); }},
      {"--pings", "N", "round trips per pair",
       [](Options& o, const std::string& v) { return read_number(v, o.pings, 10, 1e7); }},
      {"--pair-budget", "SECONDS", "measuring per pair, at most",
       [](Options& o, const std::string& v) { return read_number(v, o.pair_budget, 0.1, 3600); }},
      {"--hello-wait", "SECONDS", "until a silent peer counts as not reachable",
       [](Options& o, const std::string& v) { return read_number(v, o.hello_wait, 1, 3600); }},
      {"--ready-wait", "SECONDS", "until a partner that is held up by other pairs counts as silent",
       [](Options& o, const std::string& v) { return read_number(v, o.ready_wait, 1, 3600); }},
      {"--answer-wait", "SECONDS", "until a pair that fell silent in its test is given up",
       [](Options& o, const std::string& v) { return read_number(v, o.answer_wait, 1, 3600); }},
      {"--random-rounds", "N", "over 16 nodes: rounds of random pairs beside the ring",
       [](Options& o, const std::string& v) { return read_number(v, o.random_rounds, 0, 1000); }},
      {"--loss-ratio", "X", "a pair is slow when this share of its round trips' TCP segments is sent again",
       [](Options& o, const std::string& v) { return read_number(v, o.loss_ratio, 0, 1); }},
      {"--busy-share", "X", "a speed is no word on the node when others had this share of its processor time",
       [](Options& o, const std::string& v) { return read_number(v, o.busy_share, 0.01, 1); }},
      {"--beat", "SECONDS", "say that it goes on, so often; for watch",
       [](Options& o, const std::string& v) { return read_number(v, o.beat, 0.1, 60); }},
      {"--ranks", "N", "watch: ranks of the step",
       [](Options& o, const std::string& v) { return read_number(v, o.ranks, 1, 1e6); }},
      {"--silence", "SECONDS", "watch: until a rank of which nothing is heard is waited for in vain",
       [](Options& o, const std::string& v) { return read_number(v, o.silence, 0.5, 3600); }},
      {"--stuck", "SECONDS", "watch: the same of one that lives and does not go on",
       [](Options& o, const std::string& v) { return read_number(v, o.stuck, 0.5, 3600); }},
      {"--first", "SECONDS",
       "watch: until a step of which nobody is heard is waited for in vain, with --nodes",
       [](Options& o, const std::string& v) { return read_number(v, o.first, 0.5, 3600); }},
      {"--nodes", "LIST", "watch: where the ranks are, in their order; who is never heard is then named",
       [](Options& o, const std::string& v) -> Status {
         auto nodes = expand_hostlist(v);
         if (!nodes) return fail(ErrorCode::usage, nodes.error().what);
         return o.nodes = std::move(*nodes), Status();
       }},
      {"--grace", "SECONDS", "watch: until a command that does not end is killed",
       [](Options& o, const std::string& v) { return read_number(v, o.grace, 0, 3600); }},
      {"--turn-wait", "SECONDS", "wait at most this long for other ranks on the same kernel",
       [](Options& o, const std::string& v) { return read_number(v, o.turn_wait, 0, 3600); }},
  };
  return rows;
}

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& args) {
  Options options;
  if (args.empty()) return fail(ErrorCode::usage, "no mode given");
  options.mode = args[0];
  if (options.mode == "baseline") {
    if (args.size() != 2) return fail(ErrorCode::usage, "baseline takes the file to write, and nothing else");
    options.baseline = args[1];
    return options;
  }
  if (options.mode != "node" && options.mode != "reach" && options.mode != "net" && options.mode != "watch")
    return fail(ErrorCode::usage, "'" + options.mode + "' is no mode");
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (options.mode == "watch" && args[i] == "--") {
      options.command.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    const auto& rows = option_rows();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.name == args[i]; });
    if (row == rows.end()) return fail(ErrorCode::usage, "no option is called '" + args[i] + "'");
    std::string value;
    if (!row->argument.empty()) {
      if (i + 1 == args.size())
        return fail(ErrorCode::usage, args[i] + " needs " + std::string(row->argument));
      value = args[++i];
    }
    if (auto applied = row->apply(options, value); !applied)
      return fail(std::move(applied.error()).in("reading " + std::string(row->name)));
  }
  if (options.mode == "watch" && options.command.empty())
    return fail(ErrorCode::usage, "watch takes -- and the command to watch");
  return options;
}

std::string usage_text() {
  std::string text =
      "usage: sickbay-verify node|reach|net [options]  (started by srun, one task per node)\n"
      "       sickbay-verify watch [options] -- srun ... (ends it when a rank is waited for in vain)\n"
      "       sickbay-verify baseline FILE < lines   (records the baseline from the lines of a good run)\n"
      "Checks nodes with work whose result is known; one JSON line per rank and phase on standard output.\n"
      "  node  processor, memory, memory bandwidth, disk and shared storage of each node alone\n"
      "  reach which nodes can talk to which, by TCP, without MPI\n"
      "  net   each pair of nodes (ring and random pairs over 16 nodes), by MPI\n"
      "exit code: 0 all well, 1 something wrong, 2 usage, 3 right but slow\n\n";
  for (const OptionRow& row : option_rows())
    text += fmt::format("  {:<24} {}\n", fmt::format("{} {}", row.name, row.argument), row.text);
  return text;
}

}  // namespace sickbay::verify
