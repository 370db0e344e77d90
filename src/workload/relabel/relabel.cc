// SPDX-License-Identifier: Apache-2.0
#include "workload/relabel/relabel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "workload/job/arena.h"

namespace sickbay::workload {
namespace {

using duck::Value;

std::string_view text_of(const Value& v) {
  const auto* text = std::get_if<std::string>(&v);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}
std::uint64_t count_of(const Value& v) {
  const auto* n = std::get_if<std::int64_t>(&v);
  return n == nullptr ? 0 : static_cast<std::uint64_t>(*n);
}
double number_of(const Value& v) {
  if (const auto* n = std::get_if<std::int64_t>(&v)) return static_cast<double>(*n);
  const auto* d = std::get_if<double>(&v);
  return d == nullptr ? 0 : *d;
}

// What a job weighs in SQL: the first of these that the log has at all.
struct Weight {
  std::string_view name, sql;
};
constexpr Weight kWeights[] = {
    {"core-hours", "coalesce(cpu_time, cpus * elapsed, 0) / 3600.0"},
    {"cores", "coalesce(cpus, req_cpus, 0)::DOUBLE"},
    {"jobs", "1.0"},
};

// Jobs that have all their names in common, of those that hold `where`.
template <class Take>
Status each_named(duck::Connection& connection, const Weight& weight, std::string_view where, Take&& take) {
  auto read = connection.stream(
      fmt::format("SELECT job_name, step_names, user_name, work_dir, submit_line, cluster, comment, account, "
                  "count(*), sum({}) FROM jobs WHERE {} GROUP BY ALL",
                  weight.sql, where),
      [](const auto&) {},
      [&](const std::vector<Value>& row) {
        NamedJobs j;
        std::size_t column = 0;
        for (std::string* to : {&j.job_name, &j.step_names, &j.user, &j.work_dir, &j.submit_line, &j.cluster,
                                &j.comment, &j.account})
          *to = text_of(row[column++]);
        j.jobs = count_of(row[column]);
        j.weight = number_of(row[column + 1]);
        take(std::move(j));
        return true;
      });
  if (!read) return fail(std::move(read.error()));
  return {};
}

// A job whose label is another now.  The texts are the labeller's, but the version, which is kept here.
struct Change {
  std::int64_t row;
  Label label;
};

// Shared with the source, which the database keeps for as long as it is open.
struct Changes {
  std::vector<Change> list;
  std::size_t next = 0;
};

class ChangeProducer : public duck::RowProducer {
 public:
  explicit ChangeProducer(std::shared_ptr<Changes> changes) : changes_(std::move(changes)) {}
  Status fill(duck::ChunkWriter& chunk) override {
    while (!chunk.full() && changes_->next < changes_->list.size()) {
      const auto& [row, l] = changes_->list[changes_->next++];
      chunk.set(0, row);
      std::size_t column = 1;
      for (const std::string_view text : {l.application, l.version, l.field, l.labelled_by}) {
        if (text.empty())
          chunk.set_null(column);
        else
          chunk.set(column, text);
        ++column;
      }
      chunk.end_row();
    }
    return {};
  }

 private:
  std::shared_ptr<Changes> changes_;
};

}  // namespace

Result<StoredNames> read_names(duck::Connection& connection) {
  StoredNames out;
  const Weight* weight = nullptr;
  for (const Weight& w : kWeights) {
    auto sum = connection.query(fmt::format("SELECT count(*), sum({}) FROM jobs", w.sql));
    if (!sum) return fail(std::move(sum.error()));
    out.jobs = count_of(sum->rows[0][0]);
    out.weight = number_of(sum->rows[0][1]);
    weight = &w;
    if (out.weight > 0) break;
  }
  out.unit = weight->name;
  auto read = each_named(connection, *weight, "coalesce(application, 'unknown') = 'unknown'",
                         [&](NamedJobs&& jobs) { out.unlabelled.push_back(std::move(jobs)); });
  if (!read) return fail(std::move(read.error()));
  return out;
}

Status see_all(duck::Connection& connection, const StoredNames& stored, std::span<Accepting> accepting) {
  const Weight* weight = std::find_if(std::begin(kWeights), std::end(kWeights),
                                      [&](const Weight& w) { return w.name == stored.unit; });
  if (weight == std::end(kWeights)) weight = std::end(kWeights) - 1;
  return each_named(connection, *weight, "true", [&](NamedJobs&& jobs) {
    for (Accepting& a : accepting) a.see(jobs);
  });
}

Result<AuditSheet> sample_labelled(duck::Connection& connection, std::int64_t seed, std::uint64_t users,
                                   std::uint64_t records) {
  AuditSheet sheet;
  sheet.seed = seed;
  // md5 and not random(): its order is the same in every version of DuckDB and on any number of threads.
  const auto sql = fmt::format(
      "WITH labelled AS (SELECT *, coalesce(user_name, account, '') AS who FROM jobs "
      "                  WHERE coalesce(application, 'unknown') <> 'unknown'), "
      "drawn AS (SELECT who FROM (SELECT DISTINCT who FROM labelled) ORDER BY md5('{0}/' || who), who LIMIT "
      "{1}) "
      "SELECT cluster, job_id, strftime(submit_time, '%Y-%m-%dT%H:%M:%SZ'), who, job_name, step_names, "
      "work_dir, "
      "       submit_line, comment, application, version, labelled_by "
      "FROM labelled WHERE who IN (SELECT who FROM drawn) "
      "ORDER BY md5('{0}/' || coalesce(cluster, '') || '/' || coalesce(job_id, '') || '/' || "
      "             coalesce(submit_time::VARCHAR, '')), job_id, submit_time LIMIT {2}",
      seed, users, records);
  auto rows = connection.query(sql);
  if (!rows) return fail(std::move(rows.error()));
  for (const auto& row : rows->rows) {
    AuditRecord r;
    std::size_t column = 0;
    for (std::string* to :
         {&r.cluster, &r.job_id, &r.submit_time, &r.user, &r.job_name, &r.step_names, &r.work_dir,
          &r.submit_line, &r.comment, &r.application, &r.version, &r.labelled_by})
      *to = text_of(row[column++]);
    sheet.records.push_back(std::move(r));
  }
  return sheet;
}

Result<Relabelled> relabel(Store& store, const Labeller& labeller, bool dry) {
  Relabelled result;
  const auto changes = std::make_shared<Changes>();
  Arena versions;
  // Row ids hold until rows are removed: no other process can write while we have the store.
  auto read = store.connection().stream(
      "SELECT rowid, job_name, step_names, work_dir, submit_line, user_name, cluster, application, version, "
      "app_field, labelled_by, comment, account FROM jobs",
      [](const auto&) {},
      [&](const std::vector<Value>& row) {
        Label now = labeller.label({text_of(row[1]), text_of(row[2]), text_of(row[3]), text_of(row[4]),
                                    text_of(row[5]), text_of(row[6]), text_of(row[11]), text_of(row[12])});
        ++result.jobs;
        const std::string_view before = text_of(row[7]);
        result.labelled_before += !before.empty() && before != "unknown";
        result.labelled += now.application != "unknown";
        if (now.application == before && now.version == text_of(row[8]) && now.field == text_of(row[9]) &&
            now.labelled_by == text_of(row[10]))
          return true;
        ++result.changed;
        if (dry) return true;
        now.version = versions.copy(now.version);
        changes->list.push_back({std::get<std::int64_t>(row[0]), now});
        return true;
      });
  if (!read) return fail(std::move(read.error()));
  if (changes->list.empty()) return result;

  duck::RowSource source;
  // A source's name is used once.
  static std::atomic<int> count = 0;
  source.name = fmt::format("changed_labels_{}", count.fetch_add(1));
  source.columns = {{"row_id", duck::Type::integer},
                    {"application", duck::Type::text},
                    {"version", duck::Type::text},
                    {"app_field", duck::Type::text},
                    {"labelled_by", duck::Type::text}};
  source.producer = [changes] { return std::make_unique<ChangeProducer>(changes); };
  const std::string name = source.name;
  if (auto added = store.connection().add_source(std::move(source)); !added)
    return fail(std::move(added.error()));
  auto written = store.connection().execute(fmt::format(
      "UPDATE jobs SET application = n.application, version = n.version, app_field = n.app_field, "
      "labelled_by = n.labelled_by FROM {}() n WHERE jobs.rowid = n.row_id",
      name));
  changes->list.clear();
  if (!written) return fail(std::move(written.error()));
  return result;
}

}  // namespace sickbay::workload
