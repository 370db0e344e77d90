// SPDX-License-Identifier: Apache-2.0
#include "workload/import/row_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace sickbay::workload {
namespace {

// The furthest times that a TIMESTAMP holds (years -290308 and 294247), in seconds.
constexpr std::int64_t kFurthest = 9'223'372'036'854;
std::int64_t micros(std::int64_t seconds) { return std::clamp(seconds, -kFurthest, kFurthest) * 1'000'000; }

}  // namespace

RowWriter::RowWriter(const FieldSet& fields) : columns_(job_columns(fields)) {
  for (const JobColumn& c : job_columns())
    if (c.is_text && !fields.has(c.text))
      others_.add(c.text);
    else if (!c.is_text && !fields.has(c.num))
      others_.add(c.num);
}

RowWriter RowWriter::of_records() {
  RowWriter writer;
  writer.columns_.assign(record_columns().begin(), record_columns().end());
  writer.kinds_ = true;
  return writer;
}

std::vector<duck::ResultColumn> RowWriter::source_columns() const {
  std::vector<duck::ResultColumn> all;
  for (const JobColumn& c : columns_) all.push_back({std::string(c.name), c.type});
  if (kinds_) all.push_back({"row_kind", duck::Type::integer});
  return all;
}

Error RowWriter::lost(const Row& job) const {
  std::string names;
  for (const JobColumn& c : job_columns())
    if (c.is_text ? job.has(c.text) && others_.has(c.text) : job.has(c.num) && others_.has(c.num))
      names += (names.empty() ? "" : ", ") + std::string(c.name);
  return Error(ErrorCode::internal, "the log fills columns that its reader did not tell of")
      .because(fmt::format("job {}: {}", quote_for_message(job.get(Text::job_id)), names))
      .remedied_by("name a --store, which has all columns, and tell us of this");
}

Status RowWriter::write(const Row& job, duck::ChunkWriter& chunk, std::optional<RowKind> record) const {
  if (others_.has_any(job.fields())) return fail(lost(job));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const JobColumn& c = columns_[i];
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
  if (kinds_ && record)
    chunk.set(columns_.size(), static_cast<std::int64_t>(*record));
  else if (kinds_)
    chunk.set_null(columns_.size());
  chunk.end_row();
  return {};
}

}  // namespace sickbay::workload
