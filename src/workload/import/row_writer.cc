// SPDX-License-Identifier: Apache-2.0
#include "workload/import/row_writer.h"

#include <algorithm>

#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

// The furthest times that a TIMESTAMP holds (years -290308 and 294247), in seconds.
constexpr std::int64_t kFurthest = 9'223'372'036'854;
std::int64_t micros(std::int64_t seconds) { return std::clamp(seconds, -kFurthest, kFurthest) * 1'000'000; }

}  // namespace

std::vector<duck::ResultColumn> source_columns() {
  std::vector<duck::ResultColumn> columns;
  for (const JobColumn& c : job_columns()) columns.push_back({std::string(c.name), c.type});
  return columns;
}

void write_job(const Row& job, duck::ChunkWriter& chunk) {
  const auto columns = job_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const JobColumn& c = columns[i];
    if (c.is_text) {
      if (const auto text = job.get(c.text); !text.empty())
        chunk.set(i, text);
      else
        chunk.set_null(i);
    } else if (job.has(c.num)) {
      chunk.set(i, c.unit == Unit::time ? micros(job.get(c.num)) : job.get(c.num));
    } else {
      chunk.set_null(i);
    }
  }
  chunk.end_row();
}

}  // namespace sickbay::workload
