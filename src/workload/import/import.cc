// SPDX-License-Identifier: Apache-2.0
#include "workload/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/text.h"
#include "base/time.h"
#include "workload/import/combine_sql.h"
#include "workload/import/job_maker.h"
#include "workload/import/remerge.h"
#include "workload/import/row_writer.h"
#include "workload/import/set_aside.h"
#include "workload/merge/merge.h"
#include "workload/store/schema.h"

namespace sickbay::workload {
namespace {

// One of DuckDB's threads at work.
class Producer final : public duck::RowProducer {
 public:
  /// Records go to `aside`; where that is null, among the jobs.
  Producer(Pass2& shared, const RowWriter& writer, SetAside* aside)
      : maker_(shared), writer_(writer), aside_(aside) {}
  Status fill(duck::ChunkWriter& chunk) override {
    while (!chunk.full()) {
      auto job = maker_.next();
      if (!job) return fail(std::move(job.error()));
      if (*job == nullptr) break;
      if (aside_ != nullptr && maker_.gave_record()) {
        if (auto kept = aside_->add(**job); !kept) return kept;
        continue;
      }
      const auto record = maker_.gave_record() ? std::optional((*job)->kind) : std::nullopt;
      if (auto written = writer_.write(**job, chunk, record); !written) return written;
    }
    return {};
  }

 private:
  JobMaker maker_;
  const RowWriter& writer_;
  SetAside* aside_;
};

// Each thread that fills a store of all columns holds a group of rows of it, 130 MiB; a log under this bound
// is read before a second thread is worth that.
constexpr std::uint64_t kOneThreadBytes = std::uint64_t{32} << 20;

// As many threads of DuckDB as `count` says, until it goes.
class ThreadsFor {
 public:
  static Result<ThreadsFor> make(duck::Connection& connection, int count) {
    auto usual = connection.query("SELECT current_setting('threads')::BIGINT");
    if (!usual) return fail(std::move(usual.error()));
    const auto* n = std::get_if<std::int64_t>(&usual->rows.at(0).at(0));
    if (n == nullptr) return ThreadsFor(connection, 0);
    if (auto set = connection.execute(fmt::format("SET threads = {}", count)); !set)
      return fail(std::move(set.error()));
    return ThreadsFor(connection, *n);
  }
  ThreadsFor(ThreadsFor&& other) noexcept
      : connection_(other.connection_), usual_(std::exchange(other.usual_, 0)) {}
  ThreadsFor& operator=(ThreadsFor&&) = delete;
  ~ThreadsFor() {
    if (usual_ > 0) (void)connection_->execute(fmt::format("SET threads = {}", usual_));
  }

 private:
  ThreadsFor(duck::Connection& connection, std::int64_t usual) : connection_(&connection), usual_(usual) {}
  duck::Connection* connection_;
  std::int64_t usual_;
};

// What the jobs of these logs may hold, and what in_future_sql() asks.
FieldSet scratch_fields(const Pass2& pass) {
  FieldSet told = FieldSet::of(Num::submit_time, Num::start_time, Num::end_time);
  for (const Log& log : pass.logs) told.add(log.opened.reader->fields());
  FieldSet all = fields_of_jobs(told);
  if (pass.labels != nullptr) all.add(kLabelFields);
  return all;
}

// Undoes what was begun unless it is said to be done.
class Transaction {
 public:
  static Result<Transaction> begin(duck::Connection& connection) {
    if (auto begun = connection.execute("BEGIN"); !begun) return fail(std::move(begun.error()));
    return Transaction(connection);
  }
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    // Where the rollback fails, too, closing the connection does it.
    if (connection_ != nullptr) (void)connection_->execute("ROLLBACK");
  }
  Status commit() { return std::exchange(connection_, nullptr)->execute("COMMIT"); }

 private:
  explicit Transaction(duck::Connection& connection) : connection_(&connection) {}
  duck::Connection* connection_;
};

// What becomes of the records of jobs that may go on.
enum class Kept : std::uint8_t {
  none,   // the store is for one import, or no log tells of runs and none is kept
  first,  // nothing is there that they could belong to: they are only put away
  again,  // what comes may belong to what is there (remerge.h)
};

Result<Kept> kept_records(Store& store, bool tells_runs) {
  if (store.scratch()) return Kept::none;
  auto kept = store.connection().number("SELECT count(*) FROM (SELECT 1 FROM run_records LIMIT 1)");
  if (!kept) return fail(std::move(kept.error()));
  auto jobs = store.connection().number("SELECT count(*) FROM (SELECT 1 FROM jobs LIMIT 1)");
  if (!jobs) return fail(std::move(jobs.error()));
  if (*kept == 0 && !tells_runs) return Kept::none;
  return *kept == 0 && *jobs == 0 ? Kept::first : Kept::again;
}

std::vector<SourceResult> describe_sources(const Pass2& pass) {
  std::vector<SourceResult> sources;
  for (std::size_t i = 0; i < pass.logs.size(); ++i) {
    const Log& log = pass.logs[i];
    SourceResult s;
    s.name = log.name;
    s.format = log.opened.format;
    s.bytes = log.size;
    s.lines = log.opened.header_lines;
    s.notes = log.opened.notes;
    for (const Block& block : pass.index.blocks)
      if (block.log == i) {
        s.lines += block.lines;
        s.records += block.records;
      }
    s.rejected = pass.rejects->of_source(i);
    for (const auto& [key, count] : pass.rejects->counts())
      if (key.first == i) s.rejects.push_back({key.second, count.example, count.records, count.first_line});
    std::stable_sort(s.rejects.begin(), s.rejects.end(),
                     [](const RejectKind& a, const RejectKind& b) { return a.records > b.records; });
    sources.push_back(std::move(s));
  }
  return sources;
}

Error too_many_rejects(const std::vector<SourceResult>& sources, const ImportOrder& order) {
  std::uint64_t records = 0, rejected = 0;
  std::string cause;
  int shown = 0;
  for (const SourceResult& s : sources) {
    records += s.records;
    rejected += s.rejected;
    for (const RejectKind& r : s.rejects)
      if (++shown <= 3)
        cause += fmt::format("{}{}:{}: {}", shown > 1 ? "; " : "", s.name, r.first_line, r.example);
  }
  return Error(ErrorCode::bad_input,
               fmt::format("at least {} of {} records cannot be read, more than the {:g} % that are allowed; "
                           "nothing was stored",
                           rejected, records, order.max_reject_share * 100))
      .because(cause)
      .remedied_by(order.rejects_path.empty()
                       ? "see all with --rejects FILE; say what the log is with --format, --delimiter or "
                         "--columns; or allow more with --max-rejects SHARE"
                       : "see " + order.rejects_path +
                             "; say what the log is with --format, --delimiter or --columns; or allow more "
                             "with --max-rejects SHARE");
}

// What was imported, once for each content.
Status note_sources(duck::Connection& connection, const Pass2& pass,
                    const std::vector<SourceResult>& sources) {
  using duck::Value;
  const auto whole = [](std::uint64_t n) { return Value(static_cast<std::int64_t>(n)); };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const SourceResult& s = sources[i];
    const std::string& hash = pass.index.contents[i];
    auto known = connection.query("SELECT count(*) FROM imports WHERE content_hash = ?", {hash});
    if (!known) return fail(std::move(known.error()));
    if (const auto* n = std::get_if<std::int64_t>(&known->rows.at(0).at(0)); n != nullptr && *n > 0) continue;
    std::string notes;
    for (const std::string& note : s.notes) notes += (notes.empty() ? "" : "; ") + note;
    const auto now = to_micros(std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()));
    auto added = connection.query("INSERT INTO imports VALUES (?, ?, ?, make_timestamp(?), ?, ?, ?, ?, ?)",
                                  {hash, s.name, s.format, now, whole(s.bytes), whole(s.lines),
                                   whole(s.records), whole(s.rejected), notes});
    if (!added) return fail(std::move(added.error()));
    for (const RejectKind& r : s.rejects) {
      auto row = connection.query("INSERT INTO rejects VALUES (?, ?, ?, ?, ?)",
                                  {hash, s.name, r.reason, whole(r.records), whole(r.first_line)});
      if (!row) return fail(std::move(row.error()));
    }
  }
  return {};
}

std::string unused_source_name() {
  static std::atomic<int> count{0};
  return fmt::format("import_source_{}", count.fetch_add(1));
}

}  // namespace

Result<ImportResult> import_logs(Store& store, const ImportOrder& order) {
  const auto begun = std::chrono::steady_clock::now();
  int threads =
      order.threads > 0 ? order.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  // A source stays known to DuckDB as long as the store is open; what it reads from goes when we go.
  const auto pass = std::make_shared<std::unique_ptr<Pass2>>(std::make_unique<Pass2>());
  struct Release {
    std::unique_ptr<Pass2>& held;
    ~Release() { held.reset(); }
  } const release{*pass};
  Pass2& shared = **pass;
  shared.labels = order.labels;
  shared.pseudonym_key = order.pseudonym_key;
  if (!order.pseudonym_key.empty())
    if (auto good = check_pseudonym_key(order.pseudonym_key); !good) return fail(std::move(good.error()));
  auto logs = open_logs(order.inputs, order.read, order.growing, order.name);
  if (!logs) return fail(std::move(logs.error()));
  shared.logs = std::move(*logs);
  std::uint64_t bytes = 0;
  for (const Log& log : shared.logs) bytes += log.size;
  std::optional<ThreadsFor> one_thread;
  if (order.threads <= 0 && !store.scratch() && bytes < kOneThreadBytes) {
    threads = 1;
    auto set = ThreadsFor::make(store.connection(), 1);
    if (!set) return fail(std::move(set.error()));
    one_thread.emplace(std::move(*set));
  }
  auto rejects = Rejects::make(order.rejects_path, shared.logs.size());
  if (!rejects) return fail(std::move(rejects.error()));
  shared.rejects = std::move(*rejects);
  auto index = make_index(shared.logs, threads);
  if (!index) return fail(std::move(index.error()));
  shared.index = std::move(*index);
  std::uint64_t records = 0;
  for (const Block& block : shared.index.blocks) records += block.records;
  shared.most_rejects =
      static_cast<std::uint64_t>(static_cast<double>(records) * std::clamp(order.max_reject_share, 0.0, 1.0));

  duck::Connection& connection = store.connection();
  const bool tells_runs = std::any_of(shared.logs.begin(), shared.logs.end(),
                                      [](const Log& log) { return log.opened.reader->tells_runs(); });
  auto kept = kept_records(store, tells_runs);
  if (!kept) return fail(std::move(kept.error()));
  shared.keep_records = *kept != Kept::none;
  std::shared_ptr<SetAside> aside;
  std::string from_aside;
  if (*kept == Kept::first) {
    aside = std::make_shared<SetAside>();
    duck::RowSource kept_aside = SetAside::source(aside, unused_source_name());
    from_aside = kept_aside.name;
    if (auto added = connection.add_source(std::move(kept_aside)); !added)
      return fail(std::move(added.error()));
  }
  std::optional<Remerge> remerge;
  if (*kept == Kept::again) {
    auto made = Remerge::make(connection, order.labels, !order.pseudonym_key.empty());
    if (!made) return fail(std::move(made.error()));
    remerge.emplace(std::move(*made));
  }
  const auto writer = std::make_shared<RowWriter>(
      remerge ? RowWriter::of_records()
              : RowWriter(store.scratch() ? scratch_fields(shared) : FieldSet::all()));
  duck::RowSource source;
  source.name = unused_source_name();
  source.columns = writer->source_columns();
  source.max_threads = threads;
  source.producer = [pass, writer, aside] {
    SB_CHECK(*pass != nullptr, "a source is read only by its own import");
    return std::make_unique<Producer>(**pass, *writer, aside.get());
  };
  const std::string from_source = fmt::format(" SELECT * FROM {}()", source.name);
  if (auto added = connection.add_source(std::move(source)); !added) return fail(std::move(added.error()));

  auto transaction = Transaction::begin(connection);
  if (!transaction) return fail(std::move(transaction.error()));
  if (store.scratch())
    if (auto made = store.make_jobs(writer->columns()); !made) return fail(std::move(made.error()));
  auto before = connection.number("SELECT count(*) FROM (SELECT 1 FROM jobs LIMIT 1)");
  if (!before) return fail(std::move(before.error()));
  const bool empty = *before == 0;
  auto filled = connection.execute(
      remerge ? Remerge::arrived_sql() + "; INSERT INTO arrived" + from_source
      : empty ? fmt::format("INSERT INTO {}{}", store.jobs_table(), from_source)
              : "CREATE TEMP TABLE incoming AS FROM jobs LIMIT 0; INSERT INTO incoming" + from_source);
  auto closed = shared.rejects->close();
  if (shared.rejects->total() > shared.most_rejects)
    return fail(too_many_rejects(describe_sources(shared), order));
  if (!filled) return fail(std::move(filled.error()));
  if (!closed) return fail(std::move(closed.error()));
  if (aside && aside->rows() > 0) {
    auto put_away = connection.execute(fmt::format("INSERT INTO run_records FROM {}()", from_aside));
    aside->clear();
    if (!put_away) return fail(std::move(put_away.error()));
  }

  ImportResult result;
  result.sources = describe_sources(shared);
  result.jobs_seen = shared.jobs;
  result.jobs_new = result.jobs_seen;
  Remade remade;
  if (remerge) {
    auto made = remerge->run(connection, tells_runs);
    if (!made) return fail(std::move(made.error()));
    remade = *made;
    auto others = connection.number("SELECT count(*) FROM incoming");
    if (!others) return fail(std::move(others.error()));
    result.jobs_new = static_cast<std::uint64_t>(*others);
    if (auto dropped = connection.execute(Remerge::done_sql()); !dropped)
      return fail(std::move(dropped.error()));
  }
  if (empty && remerge) {
    auto brought = connection.execute("INSERT INTO jobs FROM incoming; DROP TABLE incoming;");
    if (!brought) return fail(std::move(brought.error()));
  } else if (!empty) {
    if (auto combined = connection.execute(combine_sql()); !combined)
      return fail(std::move(combined.error()));
    auto pairs = connection.number("SELECT count(*) FROM import_pairs");
    auto changed = connection.number("SELECT count(*) FROM import_combined");
    if (!pairs) return fail(std::move(pairs.error()));
    if (!changed) return fail(std::move(changed.error()));
    result.jobs_changed = static_cast<std::uint64_t>(*changed);
    result.jobs_unchanged = static_cast<std::uint64_t>(*pairs - *changed);
    result.jobs_new -= static_cast<std::uint64_t>(*pairs);
    if (auto dropped = connection.execute(combine_done_sql()); !dropped)
      return fail(std::move(dropped.error()));
  }
  result.jobs_new += remade.added;
  result.jobs_changed += remade.changed;
  // Of an id that was made anew the jobs of all logs are counted, not of these alone.
  result.jobs_unchanged =
      std::min(result.jobs_unchanged + remade.unchanged,
               result.jobs_seen - std::min(result.jobs_seen, result.jobs_new + result.jobs_changed));
  if (auto noted = note_sources(connection, shared, result.sources); !noted)
    return fail(std::move(noted.error()));
  if (auto marked = connection.execute(in_future_sql(store.jobs_table())); !marked)
    return fail(std::move(marked.error()));
  if (auto done = transaction->commit(); !done) return fail(std::move(done.error()));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return result;
}

}  // namespace sickbay::workload
