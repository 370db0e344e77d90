// SPDX-License-Identifier: Apache-2.0
#include "workload/import/for_report.h"

#include <filesystem>

#include "base/size.h"

namespace sickbay::workload {
namespace {

// A large log would make a file of several times its compressed size.
constexpr std::uintmax_t kMostUncompressed = std::uintmax_t{2} << 30;

constexpr std::chrono::days kLivePeriod{30};

std::uintmax_t bytes_of(const std::vector<std::string>& inputs) {
  std::uintmax_t bytes = 0;
  std::error_code unknown;
  for (const std::string& input : inputs)
    if (const auto size = std::filesystem::file_size(input, unknown); !unknown) bytes += size;
  return bytes;
}

}  // namespace

Result<ImportResult> import_for_report(const LogsOfReport& logs, const std::string& store_path,
                                       TimePoint now) {
  ImportOrder order = logs.order;
  std::optional<AskedLog> asked;  // its file is there until the import is done
  if (order.inputs.empty()) {
    const std::int64_t from = to_unix_seconds(logs.from.value_or(now - kLivePeriod));
    auto log = logs.ask_sacct(from, logs.to ? std::optional(to_unix_seconds(*logs.to)) : std::nullopt);
    if (!log) return fail(std::move(log.error()));
    asked.emplace(std::move(*log));
    order = order_of(*asked, std::move(order));
  }
  auto store = Store::open({.path = store_path,
                            .threads = order.threads,
                            .memory_limit = mib(512),
                            .scratch = !logs.kept,
                            .compressed = logs.kept || bytes_of(order.inputs) >= kMostUncompressed});
  if (!store) return fail(std::move(store.error()));
  if (auto costs = import_job_costs(*store, logs.costs); !costs) return fail(std::move(costs.error()));
  auto imported = import_logs(*store, order);
  if (!imported) return imported;
  // Behind the jobs, which say whose nodes they are.  (The zone is the caller's, also where the log of sacct
  // is in UTC.)
  if (auto nodes = import_node_files(*store, logs.node_files, logs.order.read.time_zone, to_unix_seconds(now),
                                     [](const char*, const NodeImport&) {});
      !nodes)
    return fail(std::move(nodes.error()));
  return imported;
}

}  // namespace sickbay::workload
