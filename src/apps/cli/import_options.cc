// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/import_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "adapters/posix/installed_file.h"
#include "apps/cli/child.h"
#include "base/text.h"
#include "workload/report/catalog.h"

namespace sickbay::cli {
namespace {

namespace fs = std::filesystem;

// What the reader of sacct -P knows; a sacct that lacks some prints the others.
constexpr auto kLiveColumns = std::to_array<std::string_view>({"JobID",
                                                               "JobIDRaw",
                                                               "Cluster",
                                                               "JobName",
                                                               "User",
                                                               "UID",
                                                               "Group",
                                                               "Account",
                                                               "Partition",
                                                               "QOS",
                                                               "Reservation",
                                                               "State",
                                                               "Submit",
                                                               "Eligible",
                                                               "Start",
                                                               "End",
                                                               "ElapsedRaw",
                                                               "Timelimit",
                                                               "Suspended",
                                                               "ReqCPUS",
                                                               "AllocCPUS",
                                                               "ReqNodes",
                                                               "AllocNodes",
                                                               "NNodes",
                                                               "NTasks",
                                                               "ReqTRES",
                                                               "AllocTRES",
                                                               "CPUTimeRAW",
                                                               "TotalCPU",
                                                               "UserCPU",
                                                               "SystemCPU",
                                                               "ReqMem",
                                                               "MaxRSS",
                                                               "AveRSS",
                                                               "MaxVMSize",
                                                               "AveDiskRead",
                                                               "AveDiskWrite",
                                                               "TRESUsageInTot",
                                                               "TRESUsageOutTot",
                                                               "TRESUsageInAve",
                                                               "TRESUsageInMax",
                                                               "ConsumedEnergyRaw",
                                                               "ExitCode",
                                                               "DerivedExitCode",
                                                               "Priority",
                                                               "Restarts",
                                                               "Reason",
                                                               "NodeList",
                                                               "WorkDir",
                                                               "SubmitLine",
                                                               "Comment",
                                                               "Constraints",
                                                               "FailedNode",
                                                               "Flags"});

// "\t" as people write a tab on a command line.
std::string unescaped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\t", at)) != text.npos; ++at) text.replace(at, 2, "\t");
  return text;
}

// The JSON files of a folder, however deep, or the one file.
Status add_label_files(const std::string& place, std::vector<workload::LabelFile>& files) {
  std::vector<std::string> paths;
  std::error_code ignored;
  if (fs::is_directory(place, ignored)) {
    for (const auto& entry : fs::recursive_directory_iterator(place, ignored))
      if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
  } else {
    paths.push_back(place);
  }
  for (const std::string& path : paths) {
    auto text = workload::read_text(path);
    if (!text) return fail(text.error());
    files.push_back({path, std::move(*text)});
  }
  return {};
}

}  // namespace

void add_import_options(CLI::App& command, ImportOptions& o) {
  const std::string group = "Reading logs";
  command
      .add_option("--format", o.format,
                  "sacct, sacct-fixed, sacct-json, csv, pbs, torque, lsf or swf; default: by content")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--delimiter", o.delimiter, "what parts the columns of sacct -P; default: by the header")
      ->type_name("TEXT")
      ->group(group);
  command.add_option("--columns", o.columns, "names of the columns, for a log without its header")
      ->delimiter(',')
      ->type_name("NAMES")
      ->group(group);
  command.add_option("--column-map", o.column_map, "for CSV: a JSON file {\"job_id\": \"its column\", ...}")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--cluster", o.cluster, "the cluster, where the log does not say")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--labels", o.labels,
                  "further lists of applications (doc/formats/labels.md); may come several times")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--pseudonyms", o.pseudonym_key_file,
                  "write pseudonyms for users, groups and accounts, made with the key in this file")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--rejects", o.rejects, "write records that cannot be read here, with their lines")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--max-rejects", o.max_rejects, "per cent of records that may be unreadable")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str()
      ->group(group);
  command.add_flag("--live", o.live, "ask sacct for the time from --from (default: 30d ago) to --to")
      ->group(group);
}

Result<std::unique_ptr<LogImport>> prepare_import(const ImportOptions& o,
                                                  const std::vector<std::string>& logs,
                                                  const std::string& time_zone, int threads) {
  auto log = std::make_unique<LogImport>();
  std::vector<workload::LabelFile> files;
  std::vector<std::string> places = o.labels;
  if (const std::string shipped = installed_file("labels"); !shipped.empty())
    places.insert(places.begin(), shipped);
  for (const std::string& place : places)
    if (auto added = add_label_files(place, files); !added) return fail(added.error());
  auto labels = workload::Labeller::make(files);
  if (!labels) return fail(labels.error());
  log->labels = std::move(*labels);

  workload::ImportOrder& order = log->order;
  order.inputs = logs;
  order.labels = &*log->labels;
  order.threads = threads;
  order.rejects_path = o.rejects;
  order.max_reject_share = o.max_rejects / 100;
  order.read.format = o.format;
  order.read.delimiter = unescaped(o.delimiter);
  order.read.columns = o.columns;
  order.read.time_zone = time_zone;
  order.read.cluster = o.cluster;
  if (!o.column_map.empty()) {
    auto text = workload::read_text(o.column_map);
    if (!text) return fail(text.error());
    order.read.column_map = std::move(*text);
  }
  if (!o.pseudonym_key_file.empty()) {
    auto key = workload::read_text(o.pseudonym_key_file);
    if (!key) return fail(key.error());
    order.pseudonym_key = trimmed(*key);
    if (order.pseudonym_key.size() < 16)
      return fail(Error(ErrorCode::bad_input, fmt::format("the key in {} is shorter than 16 bytes",
                                                          quote_for_message(o.pseudonym_key_file, 200)))
                      .remedied_by("make one with 'openssl rand -hex 32', and keep it to yourself"));
  }
  return log;
}

Status fetch_live_log(TimePoint from, TimePoint to, const std::string& path) {
  std::vector<std::string> known;
  ChildSpec ask;
  ask.argv = {"sacct", "--helpformat"};
  auto code = run_child(ask, [&](std::string_view line) {
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;) known.push_back(word);
  });
  if (!code) return fail(code.error());
  std::string columns;
  for (const std::string_view column : kLiveColumns)
    if (std::any_of(known.begin(), known.end(),
                    [&](const auto& k) { return equal_ignoring_case(k, column); }))
      columns += (columns.empty() ? "" : ",") + std::string(column);
  if (*code != 0 || columns.empty())
    return fail(Error(ErrorCode::slurm_away,
                      fmt::format("'sacct --helpformat' lists no column (exit code {})", *code)));

  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    return fail(ErrorCode::storage_broken,
                fmt::format("cannot write {}: {}", quote_for_message(path, 200), std::strerror(errno)));
  const auto time = [](TimePoint t) {
    std::string text = format_time(from_unix_seconds(to_unix_seconds(t)));
    text.pop_back();  // sacct knows no Z
    return text;
  };
  ChildSpec sacct;
  // sacct prints times without a zone; so they are UTC.
  sacct.argv = {"env",
                "TZ=UTC",
                "SLURM_TIME_FORMAT=standard",
                "sacct",
                "--parsable2",
                "--allusers",
                "--duplicates",
                "--allclusters",
                "--format=" + columns,
                "--starttime=" + time(from),
                "--endtime=" + time(to)};
  code = run_child(sacct, [&](std::string_view line) { std::fwrite(line.data(), 1, line.size(), file); });
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written)
    return fail(ErrorCode::storage_full, fmt::format("cannot write all of sacct's answer to {}: {}",
                                                     quote_for_message(path, 200), std::strerror(errno)));
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(Error(ErrorCode::slurm_away, fmt::format("sacct failed with exit code {}", *code))
                    .because("its own words stand above"));
  return {};
}

}  // namespace sickbay::cli
