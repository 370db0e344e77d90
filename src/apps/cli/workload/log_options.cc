// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/log_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "apps/cli/workload/label_files.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

// The comma-separated words of --columns.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto comma = text.find(',');
    words.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return words;
}

}  // namespace

void add_log_options(CLI::App& command, LogOptions& o, const std::string& group) {
  const auto text = [&](const char* name, std::string& to, const char* help, const char* type) {
    command.add_option(name, to, help)->type_name(type)->group(group);
  };
  text("--format", o.format,
       "sacct, sacct-fixed, sacct-json, csv, pbs, torque, lsf, sge or swf; else by content", "NAME");
  text("--delimiter", o.delimiter, "of sacct -P; else by the header", "TEXT");
  text("--columns", o.columns, "names of the columns, for a log without header", "A,B,...");
  text("--column-map", o.column_map, "JSON file {\"job_id\": \"JobId\", ...} for CSV", "FILE");
  text("--cluster", o.cluster,
       "name of the cluster where the log, the journal or what is told of nodes names none", "NAME");
  command
      .add_option(
          "--labels", o.labels,
          "further lists of labels (JSON), over the shipped ones and the site's; may come several times")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  text("--pseudonyms", o.pseudonyms,
       "put pseudonyms, made with the key in this file, for users, groups and accounts", "KEYFILE");
  text("--rejects", o.rejects, "write the records that cannot be read there, as lines of JSON", "FILE");
  command
      .add_option("--max-rejects", o.max_rejects, "share of them over which nothing is stored (default 0.05)")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0))
      ->group(group);
  text("--events", o.events, "what 'sacctmgr -P show event' tells of nodes", "FILE");
  text("--nodes", o.nodes, "what 'scontrol show node -o' or 'sinfo -N -l' tells", "FILE");
  text("--nodes-since", o.nodes_since,
       "since when nodes are as --nodes tells; else since now, the first list for all time before", "TIME");
  text("--journal", o.journal,
       "what 'sickbay journal --json' tells: the work that failures cost and checkpoints saved", "FILE");
}

Result<std::unique_ptr<LogOrder>> make_log_order(const LogOptions& o, const std::vector<std::string>& logs,
                                                 const std::string& time_zone, int threads) {
  auto log = std::make_unique<LogOrder>();
  workload::ImportOrder& order = log->order;
  order.inputs = logs;
  order.read.format = o.format;
  order.read.delimiter = o.delimiter;
  order.read.columns = words_of(o.columns);
  if (!o.column_map.empty()) {
    auto map = read_file(o.column_map, std::size_t{1} << 20);
    if (!map) return fail(about_path(std::move(map.error())));
    order.read.column_map = *map;
  }
  order.read.time_zone = time_zone;
  order.read.cluster = o.cluster;
  order.max_reject_share = o.max_rejects;
  order.rejects_path = o.rejects;
  order.threads = threads;
  if (!o.pseudonyms.empty()) {
    auto key = read_file(o.pseudonyms, std::size_t{1} << 16);
    if (!key) return fail(about_path(std::move(key.error())));
    order.pseudonym_key = trimmed(*key);
    if (order.pseudonym_key.empty())
      return fail(Error(ErrorCode::bad_input,
                        fmt::format("the key file {} is empty", quote_for_message(o.pseudonyms))));
  }
  auto files = label_files(o.labels);
  if (!files) return fail(std::move(files.error()));
  if (!files->empty()) {
    auto made = workload::Labeller::make(*files);
    if (!made) return fail(std::move(made.error()));
    log->labels.emplace(std::move(*made));
    order.labels = &*log->labels;
  }
  return log;
}

workload::NodeFiles node_files_of(const LogOptions& o) {
  return {.nodes = o.nodes, .events = o.events, .cluster = o.cluster, .nodes_since = o.nodes_since};
}

}  // namespace sickbay::cli
