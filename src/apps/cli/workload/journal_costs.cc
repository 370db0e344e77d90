// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/journal_costs.h"

#include <chrono>
#include <fstream>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "engine/history/costs.h"
#include "model/event_lines.h"

namespace sickbay::cli {
namespace {

std::int64_t ms(Micros time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); }

}  // namespace

Result<workload::JobCostList> costs_of_journal(const std::string& path, const std::string& cluster) {
  workload::JobCostList list;
  list.cluster = cluster;
  if (path.empty()) return list;
  // (A journal of years need not fit into memory; what cannot be opened is told as everywhere.)
  std::ifstream lines(path);
  if (!lines || lines.peek() == std::ifstream::traits_type::eof())
    if (auto text = read_file(path, 1); !text) return fail(about_path(text.error()));
  history::CostsOfJournal journal;
  if (auto read = for_each_event(lines, [&](const Event& event) { journal.hear(event); }); !read)
    return fail(std::move(read.error()).in("reading " + path));
  for (const history::JobCosts& costs : journal.costs()) {
    for (const history::Failure& f : costs.account.failures)
      list.failures.push_back({.job = costs.job,
                               .restart = f.restart,
                               .state = f.state,
                               .at = to_micros(f.at),
                               .ran_ms = ms(f.ran),
                               .checkpoint = f.checkpoint,
                               .gone_on = f.gone_on,
                               .recomputed_ms = ms(f.recomputed),
                               .without_ms = ms(f.without)});
    for (const history::CheckpointCost& c : costs.checkpoints)
      list.checkpoints.push_back({.job = costs.job,
                                  .restart = c.restart,
                                  .checkpoint = c.number,
                                  .at = to_micros(c.at),
                                  .took_ms = ms(c.took)});
  }
  return list;
}

}  // namespace sickbay::cli
