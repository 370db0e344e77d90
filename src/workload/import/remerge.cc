// SPDX-License-Identifier: Apache-2.0
// All in SQL but the merge itself, which gets the rows of some thousand ids at a time, so that memory is
// bounded however many there are.
#include "workload/import/remerge.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "workload/import/job_maker.h"
#include "workload/import/row_writer.h"
#include "workload/merge/merge.h"
#include "workload/merge/records.h"
#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kIdsAtOnce = 2000;
constexpr Text kLabels[] = {Text::application, Text::version, Text::app_field, Text::labelled_by};

// Two tables' rows of one job id.
std::string same_id(std::string_view a, std::string_view b) {
  return fmt::format("{0}.job_id = {1}.job_id AND {0}.cluster IS NOT DISTINCT FROM {1}.cluster", a, b);
}

// The ids to be made anew (`touched`, numbered), their jobs as they stand (`touched_jobs`), and which of them
// have kept records (`touched_kept`).
std::string touched_sql(bool tells_runs) {
  std::string ids = fmt::format(
      "SELECT a.cluster, a.job_id FROM arrived a SEMI JOIN run_records k ON {}\n"
      "UNION SELECT a.cluster, a.job_id FROM arrived a SEMI JOIN jobs j ON {} WHERE a.row_kind IS NOT NULL",
      same_id("k", "a"), same_id("j", "a"));
  // Two jobs that were settled each by itself, and are runs of one submission.
  if (tells_runs)
    ids += fmt::format(
        "\nUNION SELECT a.cluster, a.job_id FROM arrived a JOIN jobs j ON {} AND j.submit_time IS NOT "
        "DISTINCT "
        "FROM a.submit_time WHERE a.row_kind IS NULL AND j.start_time IS DISTINCT FROM a.start_time",
        same_id("j", "a"));
  return fmt::format(
      "CREATE TEMP TABLE touched AS SELECT row_number() OVER (ORDER BY cluster, job_id) AS n, cluster, "
      "job_id "
      "FROM ({}) ids;\n"
      "CREATE TEMP TABLE touched_jobs AS SELECT t.n, j.rowid AS r FROM jobs j JOIN touched t ON {};\n"
      "CREATE TEMP TABLE touched_kept AS SELECT t.n FROM touched t SEMI JOIN run_records k ON {};\n"
      "CREATE TEMP TABLE remade AS FROM run_records LIMIT 0;\n",
      ids, same_id("t", "j"), same_id("k", "t"));
}

// All that is known of these ids (`touched_rows`).  A job stands for its records where these are gone.
std::string touched_rows_sql() {
  const auto known = static_cast<int>(RowKind::known), part = static_cast<int>(RowKind::part);
  std::string none;
  for (std::size_t i = job_columns().size(); i < record_columns().size(); ++i) none += ", NULL";
  return fmt::format(
      "CREATE TEMP TABLE touched_rows AS SELECT t.n, x.* FROM touched t JOIN (\n"
      " SELECT {0}, row_kind FROM run_records\n"
      " UNION ALL SELECT {0}, row_kind FROM arrived WHERE row_kind IS NOT NULL\n"
      " UNION ALL SELECT {1}, {2} FROM arrived a ANTI JOIN (FROM arrived WHERE row_kind IS NOT NULL) o ON "
      "{3} "
      "WHERE a.row_kind IS NULL) x ON {4}\n"
      "UNION ALL SELECT t.n, {5}{6}, CASE WHEN j.state = 'RUNNING' THEN {7} ELSE {2} END FROM touched_jobs t "
      "JOIN jobs j ON j.rowid = t.r WHERE t.n NOT IN (SELECT n FROM touched_kept)\n"
      "ORDER BY n;\n",
      column_names(record_columns()), column_names(record_columns(), "a"), known, same_id("o", "a"),
      same_id("t", "x"), column_names(job_columns(), "j"), none, part);
}

std::string replace_sql() {
  return fmt::format(
      "DELETE FROM jobs WHERE rowid IN (SELECT r FROM touched_jobs);\n"
      "INSERT INTO jobs SELECT {} FROM remade WHERE row_kind IS NULL;\n"
      "DELETE FROM run_records WHERE rowid IN (SELECT k.rowid FROM run_records k JOIN touched t ON {});\n"
      "INSERT INTO run_records FROM remade WHERE row_kind IS NOT NULL;\n",
      column_names(job_columns()), same_id("t", "k"));
}

std::string rest_sql() {
  return fmt::format(
      "INSERT INTO run_records SELECT a.* FROM arrived a ANTI JOIN touched t ON {0} WHERE a.row_kind IS NOT "
      "NULL;\n"
      "CREATE TEMP TABLE incoming AS SELECT {1} FROM arrived a ANTI JOIN touched t ON {0} WHERE a.row_kind "
      "IS "
      "NULL;\n",
      same_id("t", "a"), column_names(job_columns(), "a"));
}

// `values`: the number of the id, record_columns(), row_kind.  Texts of `row` point into them.
void read_row(const std::vector<duck::Value>& values, Row& row) {
  const auto columns = record_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const JobColumn& c = columns[i];
    const duck::Value& value = values[i + 1];
    if (c.is_text) {
      if (const auto* text = std::get_if<std::string>(&value)) row.set(c.text, *text);
    } else if (const auto* n = std::get_if<std::int64_t>(&value)) {
      row.set(c.num, c.unit == Unit::time ? *n / 1'000'000 : *n);
    }
  }
  if (const auto* kind = std::get_if<std::int64_t>(&values.back())) row.kind = static_cast<RowKind>(*kind);
  if (row.kind != RowKind::known) return;
  // What the merge made of it is made anew: beside a record without it, it would stand for that one, too.
  std::int64_t cpu_time = 0;
  if (!__builtin_mul_overflow(row.get(Num::elapsed), row.get(Num::cpus), &cpu_time) &&
      cpu_time == row.get(Num::cpu_time))
    row.drop(Num::cpu_time);
  if (row.has(Num::job_rss) && !row.has(Num::usage_mem)) row.set(Num::usage_mem, row.get(Num::job_rss));
}

// The label of the record that tells most of the application: of the job's own name, known, and at last the
// greatest, so that the order of records does not count.
void label_as_records(std::span<const Row* const> records, Row& job) {
  const Row* best = nullptr;
  const auto rank = [&](const Row& r) {
    return std::tuple(r.get(Text::job_name) == job.get(Text::job_name), r.get(Text::application) != "unknown",
                      r.get(Text::application), r.get(Text::version), r.get(Text::labelled_by));
  };
  for (const Row* record : records)
    if (record->has(Text::application) && (best == nullptr || rank(*record) > rank(*best))) best = record;
  for (const Text f : kLabels) {
    job.drop(f);
    if (best != nullptr && best->has(f)) job.set(f, best->get(f));
  }
}

}  // namespace

// Some ids' jobs and records, on their way back into the store.
struct Remerge::Batch {
  const Labeller* labels = nullptr;
  bool hidden = false;
  RowWriter writer = RowWriter::of_records();
  LabelMemory memory;
  duck::ResultTable read;
  Arena arena;
  Rows rows, jobs, records;
  std::size_t given = 0;

  void take(duck::ResultTable table);
  void remake(std::size_t begin, std::size_t end);
  void label(std::span<const Row* const> from, Row& job);

  struct Producer final : duck::RowProducer {
    explicit Producer(std::shared_ptr<Batch> of) : batch(std::move(of)) {}
    Status fill(duck::ChunkWriter& chunk) override {
      Batch& b = *batch;
      for (; !chunk.full() && b.given < b.jobs.size() + b.records.size(); ++b.given) {
        const bool job = b.given < b.jobs.size();
        const Row& row = job ? b.jobs[b.given] : b.records[b.given - b.jobs.size()];
        auto written = b.writer.write(row, chunk, job ? std::nullopt : std::optional(row.kind));
        if (!written) return written;
      }
      return {};
    }
    std::shared_ptr<Batch> batch;
  };
};

void Remerge::Batch::take(duck::ResultTable table) {
  read = std::move(table);
  arena.clear();
  jobs.clear();
  records.clear();
  given = 0;
  for (std::size_t i = 0; i < read.rows.size();) {
    std::size_t end = i + 1;
    while (end < read.rows.size() && read.rows[end][0] == read.rows[i][0]) ++end;
    remake(i, end);
    i = end;
  }
}

// The rows of one id.
void Remerge::Batch::remake(std::size_t begin, std::size_t end) {
  Rows all;
  std::vector<const Row*> pointers;
  for (std::size_t i = begin; i < end; ++i) read_row(read.rows[i], all.add());
  for (std::size_t i = 0; i < all.size(); ++i) pointers.push_back(&all[i]);
  rows.clear();
  take_distinct(pointers, false, rows);
  pointers.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) pointers.push_back(&rows[i]);
  const std::size_t before = jobs.size();
  Rows logged;
  give_as_logged(rows, logged);
  merge(logged, arena, jobs);
  for (std::size_t i = before; i < jobs.size(); ++i) label(pointers, jobs[i]);
  if (is_settled(pointers)) return;
  for (const Row* row : pointers) records.add() = *row;
}

void Remerge::Batch::label(std::span<const Row* const> from, Row& job) {
  if (labels == nullptr || hidden) return label_as_records(from, job);
  for (const Text f : kLabels) job.drop(f);
  memory.label(*labels, job);
  for (const Text f : kLabels)
    if (job.has(f)) job.set(f, arena.copy(job.get(f)));
}

Result<Remerge> Remerge::make(duck::Connection& connection, const Labeller* labels, bool hidden) {
  static std::atomic<int> count{0};
  const auto batch = std::make_shared<Batch>();
  batch->labels = labels;
  batch->hidden = hidden;
  duck::RowSource source;
  source.name = fmt::format("remerge_source_{}", count.fetch_add(1));
  source.columns = batch->writer.source_columns();
  source.producer = [batch] { return std::make_unique<Batch::Producer>(batch); };
  std::string name = source.name;
  if (auto added = connection.add_source(std::move(source)); !added) return fail(std::move(added.error()));
  return Remerge(batch, std::move(name));
}

std::string Remerge::arrived_sql() { return "CREATE TEMP TABLE arrived AS FROM run_records LIMIT 0"; }

std::string Remerge::done_sql() {
  return "DROP TABLE arrived; DROP TABLE touched; DROP TABLE touched_jobs; DROP TABLE touched_kept; "
         "DROP TABLE remade; DROP TABLE IF EXISTS touched_rows;";
}

Status Remerge::remake(duck::Connection& connection, std::int64_t count) {
  if (auto made = connection.execute(touched_rows_sql()); !made) return made;
  for (std::int64_t from = 1; from <= count; from += kIdsAtOnce) {
    auto table = connection.query(
        fmt::format("FROM touched_rows WHERE n BETWEEN {} AND {} ORDER BY n", from, from + kIdsAtOnce - 1));
    if (!table) return fail(std::move(table.error()));
    batch_->take(std::move(*table));
    auto written = connection.execute(fmt::format("INSERT INTO remade FROM {}()", source_));
    if (!written) return written;
  }
  batch_->take({});
  batch_->memory = LabelMemory();
  return {};
}

Result<Remade> Remerge::run(duck::Connection& connection, bool tells_runs) {
  if (auto found = connection.execute(touched_sql(tells_runs)); !found) return fail(std::move(found.error()));
  auto ids = connection.number("SELECT count(*) FROM touched");
  if (!ids) return fail(std::move(ids.error()));
  Remade result;
  if (*ids > 0) {
    if (auto made = remake(connection, *ids); !made) return fail(std::move(made.error()));
    auto before = connection.number("SELECT count(*) FROM touched_jobs");
    auto after = connection.number("SELECT count(*) FROM remade WHERE row_kind IS NULL");
    auto same = connection.number(
        fmt::format("SELECT count(*) FROM (SELECT hash({}) FROM remade WHERE row_kind IS NULL "
                    "INTERSECT ALL SELECT hash({}) FROM touched_jobs t JOIN jobs j ON j.rowid = "
                    "t.r) alike",
                    column_names(job_columns()), column_names(job_columns(), "j")));
    for (auto* n : {&before, &after, &same})
      if (!*n) return fail(std::move(n->error()));
    result.unchanged = static_cast<std::uint64_t>(*same);
    result.added = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *after - *before));
    result.changed = static_cast<std::uint64_t>(*after - *same) - result.added;
    if (auto replaced = connection.execute(replace_sql()); !replaced)
      return fail(std::move(replaced.error()));
  }
  if (auto rest = connection.execute(rest_sql()); !rest) return fail(std::move(rest.error()));
  return result;
}

}  // namespace sickbay::workload
