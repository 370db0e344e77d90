// SPDX-License-Identifier: Apache-2.0
// One table: event(seq, at, v, subject, kind, body).
//
// seq is given here, one after the other, and not by SQLite, so that a failed append leaves no gap.  Nothing
// is written that read() would refuse later: a body goes through the parser before it goes into the file.
// Each row has a sum, and the file a balance of them (balance): a wrong bit or a row that is gone is told and
// never replayed.  What is elsewhere: the lock (writer_lock), versions (schema), the yearly files (archive).
#include "adapters/sqlite/journal.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "adapters/sqlite/archive.h"
#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/durable.h"
#include "adapters/sqlite/row.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/statement.h"
#include "adapters/sqlite/writer_lock.h"
#include "base/time.h"

namespace sickbay {
namespace {

using sqlite::Connection;
using sqlite::error_of;
using sqlite::execute;
using sqlite::Statement;

constexpr const char* kWayOut =
    "stop sickbayd; 'sickbay journal --file FILE --verify' tells all that is damaged, and --salvage NEW "
    "writes "
    "what can be kept";

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

class Store : public SqliteJournal {
 public:
  Status open_writer(const std::string& path) {
    path_ = path;
    writer_ = true;
    if (auto locked = lock_.take(path); !locked) return locked;
    if (auto opened = connection_.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); !opened)
      return opened;
    sqlite3_busy_timeout(db(), 5000);  // a reader that recovers the WAL may hold it for a moment
    if (auto known = sqlite::check_schema(db(), path, sqlite::migrations()); !known)
      return fail(known.error());
    if (auto set = sqlite::set_durable(db(), path); !set) return set;
    if (auto raised = sqlite::migrate(db(), path, sqlite::migrations()); !raised) return raised;
    if (auto prepared = sqlite::prepare_insert(insert_, db()); !prepared) return prepared;
    const auto last = read_last();
    if (!last) return fail(last.error());
    last_ = *last;
    const auto balance = sqlite::read_balance(db(), path_);
    if (!balance) return fail(balance.error());
    balance_ = *balance;
    return {};
  }

  Status open_reader(const std::string& path) {
    path_ = path;
    if (auto opened = connection_.open(path, SQLITE_OPEN_READONLY); !opened) return opened;
    sqlite3_busy_timeout(db(), 5000);
    const auto found = sqlite::check_schema(db(), path, sqlite::migrations());
    if (!found) return fail(found.error());
    if (*found < static_cast<int>(sqlite::migrations().size()))
      return fail(
          Error(ErrorCode::storage_broken, fmt::format("{} has schema {}, which can only be read after "
                                                       "sickbayd has raised it",
                                                       path, *found))
              .remedied_by("start sickbayd on it once, or copy it and open the copy for writing"));
    return {};
  }

  Status append(std::vector<Event>& events) override {
    if (!writer_) return fail(ErrorCode::conflict, path_ + " was opened for reading");
    if (events.empty()) return {};
    std::vector<std::string> bodies;
    std::vector<Json> canonical;
    TimePoint stamp = last_.at;
    for (const Event& event : events) {
      SB_CHECK(event.at >= stamp, "stamps never run backwards");
      stamp = event.at;
      bodies.push_back(event.body.dump());
      auto read_back = Json::parse(bodies.back());
      if (!read_back)
        return fail(ErrorCode::bad_input, fmt::format("an event {} of {} could not be read back: {}",
                                                      event.kind, event.subject, read_back.error().what));
      canonical.push_back(std::move(*read_back));
      Event raised{0, event.at, event.v, event.subject, event.kind, canonical.back()};
      if (auto known = sqlite::raise_event(raised, sqlite::raises()); !known)
        return fail(ErrorCode::bad_input, known.error().what);
    }

    if (auto begun = execute(db(), "BEGIN IMMEDIATE"); !begun) return begun;
    sqlite::Balance balance = balance_;
    for (std::size_t i = 0; i < events.size(); ++i) {
      sqlite::Row row = sqlite::row_of(events[i], std::move(bodies[i]));
      row.seq = last_.seq + 1 + static_cast<std::int64_t>(i);
      balance.add(sqlite::bind_row(insert_, row));
      if (insert_.step() != SQLITE_DONE) return undo("append to the journal");
    }
    insert_.reset();
    if (!sqlite::write_balance(db(), balance)) return undo("append to the journal");
    if (sqlite3_exec(db(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK)
      return undo("append to the journal");
    for (std::size_t i = 0; i < events.size(); ++i) {
      events[i].seq = ++last_.seq;
      events[i].body = std::move(canonical[i]);
    }
    balance_ = balance;
    last_.at = stamp;
    return {};
  }

  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    Statement statement;  // one per call: `each` may read again
    if (auto prepared = sqlite::prepare_select(statement, db(), "WHERE seq > ?1 ORDER BY seq"); !prepared)
      return prepared;
    statement.bind(1, after);
    if (after > 0) return walk(statement, each);
    // A first read of all: the rows must be those that the file says it has, both as of one moment.
    if (auto begun = begin_look(); !begun) return begun;
    Status all = read_whole(statement, each);
    end_look();
    return all;
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    Statement statement;
    if (auto prepared =
            sqlite::prepare_select(statement, db(), "WHERE subject = ?2 AND seq > ?1 ORDER BY seq");
        !prepared)
      return prepared;
    statement.bind(1, after);
    statement.bind(2, subject);
    return walk(statement, each);
  }

  Result<std::string> mark_until(std::int64_t seq) override {
    if (auto begun = begin_look(); !begun) return fail(begun.error());
    auto mark = sqlite::mark_until(db(), path_, seq);
    end_look();
    return mark;
  }

  std::int64_t last_seq() const override { return last().seq; }
  TimePoint last_stamp() const override { return last().at; }
  std::int64_t size_bytes() const override { return file_size(path_) + file_size(path_ + "-wal"); }

  Result<Compaction> compact(TimePoint closed_before, const std::vector<std::string>& subjects,
                             std::int64_t most) override {
    if (!writer_) return fail(ErrorCode::conflict, path_ + " was opened for reading");
    Compaction total;
    std::map<std::string, std::vector<Event>> copies;  // by archive
    std::vector<Event> summaries;
    for (const std::string& subject : subjects) {
      if (total.events >= most) break;
      ++total.looked_at;
      std::vector<Event> events;
      auto all = read_subject(subject, 0, [&](const Event& event) {
        events.push_back(event);
        return true;
      });
      if (!all) return fail(all.error());
      if (events.empty() || events.back().at >= closed_before) continue;
      if (events.size() == 1 && events.front().kind == kArchived) continue;
      std::string file = sqlite::archive_name(path_, events.back().at);
      for (const Event& event : events)
        if (event.kind == kArchived) file = event.body["file"].as_string();
      summaries.push_back(sqlite::summary_of(events, file));
      total.subjects.push_back(subject);
      total.events += static_cast<std::int64_t>(events.size());
      std::ranges::move(events, std::back_inserter(copies[file]));
    }
    for (const auto& [file, events] : copies)
      if (auto copied = sqlite::copy_to_archive(beside(file), events); !copied) return fail(copied.error());
    if (auto left = leave(summaries); !left) return fail(left.error());
    return total;
  }

  Result<Compaction> compact_before(TimePoint before, const std::string& subject, std::size_t most) override {
    if (!writer_) return fail(ErrorCode::conflict, path_ + " was opened for reading");
    std::vector<Event> events;
    std::size_t moved = 0;
    auto some = read_subject(subject, 0, [&](const Event& event) {
      if (event.at >= before || moved >= most) return false;
      moved += event.kind != kArchived;
      events.push_back(event);
      return true;
    });
    if (!some) return fail(some.error());
    if (moved == 0) return Compaction{};
    const std::string file = sqlite::archive_name(path_, events.back().at);
    if (auto copied = sqlite::copy_to_archive(beside(file), events); !copied) return fail(copied.error());
    if (auto left = leave({sqlite::summary_of(events, file)}); !left) return fail(left.error());
    return Compaction{{subject}, 1, static_cast<std::int64_t>(moved)};
  }

 private:
  struct Last {
    std::int64_t seq = 0;
    TimePoint at = kNoTime;
  };

  sqlite3* db() const { return connection_.get(); }

  // A reader asks the file each time, for the writer is another process; where that fails it has nothing.
  Last last() const {
    if (writer_) return last_;
    return read_last().value_or(Last{});
  }

  // After a failed write.
  Status undo(std::string_view doing) {
    Error error = sqlite::undone(db(), doing, path_);
    insert_.reset();
    return fail(std::move(error));
  }

  // What a reader sees between the two is as of one moment; the writer is the one that changes the file.
  // (A savepoint, for `each` may read again.)
  Status begin_look() { return writer_ ? Status() : execute(db(), "SAVEPOINT look"); }
  void end_look() {
    if (!writer_) sqlite3_exec(db(), "RELEASE look", nullptr, nullptr, nullptr);
  }

  Status read_whole(Statement& statement, const std::function<bool(const Event&)>& each) {
    const auto balance = sqlite::read_balance(db(), path_);
    if (!balance) return fail(balance.error());
    sqlite::Balance found;
    bool to_the_end = true;
    auto all = walk(
        statement,
        [&](const Event& event) {
          to_the_end = each(event);
          return to_the_end;
        },
        &found);
    if (!all || !to_the_end || found == *balance) return all;
    return fail(Error(ErrorCode::storage_broken,
                      found.events < balance->events
                          ? fmt::format("{} of the {} events of {} are gone", balance->events - found.events,
                                        balance->events, path_)
                          : fmt::format("{} has {} events, which are not the {} that it says it has", path_,
                                        found.events, balance->events))
                    .because("the file was changed by something else than sickbayd")
                    .remedied_by(kWayOut));
  }

  Status walk(Statement& statement, const std::function<bool(const Event&)>& each,
              sqlite::Balance* found = nullptr) {
    int code;
    while ((code = statement.step()) == SQLITE_ROW) {
      sqlite::Row row = sqlite::row_of(statement);
      if (row_sum(row) != sqlite::sum_of(statement))
        return fail(Error(ErrorCode::storage_broken, fmt::format("event {} of {} is damaged", row.seq, path_))
                        .because("it is not what was written: its checksum does not fit")
                        .remedied_by(kWayOut));
      if (found) found->add(sqlite::sum_of(statement));
      auto body = Json::parse(row.body);
      if (!body)
        return fail(ErrorCode::storage_broken,
                    fmt::format("event {} of {} is damaged: {}", row.seq, path_, body.error().what));
      Event event = sqlite::event_of(std::move(row), std::move(*body));
      if (auto raised = sqlite::raise_event(event, sqlite::raises()); !raised) return raised;
      if (!each(event)) return {};
    }
    if (code == SQLITE_DONE) return {};
    return fail(error_of(db(), "read the journal " + path_));
  }

  Result<Last> read_last() const {
    Statement statement;
    if (auto prepared = statement.prepare(db(), "SELECT seq, at FROM event ORDER BY seq DESC LIMIT 1");
        !prepared)
      return fail(prepared.error());
    const int code = statement.step();
    if (code == SQLITE_ROW) return Last{statement.integer(0), from_micros(statement.integer(1))};
    if (code == SQLITE_DONE) return Last{};
    return fail(error_of(db(), "read the journal " + path_));
  }

  std::string beside(const std::string& file) const { return path_.substr(0, path_.rfind('/') + 1) + file; }

  // Puts each of `summaries` in the place of the events of its subject up to it.
  Status leave(const std::vector<Event>& summaries) {
    if (summaries.empty()) return {};
    Statement sums, drop, put;
    if (auto p = sums.prepare(db(), "SELECT sum FROM event WHERE subject = ? AND seq <= ?"); !p) return p;
    if (auto p = drop.prepare(db(), "DELETE FROM event WHERE subject = ? AND seq < ?"); !p) return p;
    if (auto p = put.prepare(db(), "UPDATE event SET kind = ?, v = ?, body = ?, sum = ? WHERE seq = ?"); !p)
      return p;
    if (auto begun = execute(db(), "BEGIN IMMEDIATE"); !begun) return begun;
    sqlite::Balance balance = balance_;
    bool good = true;
    for (const Event& summary : summaries) {
      const sqlite::Row row = sqlite::row_of(summary);
      const std::int64_t sum = sqlite::row_sum(row);
      for (Statement* one : {&sums, &drop}) {
        one->bind(1, row.subject);
        one->bind(2, row.seq);
      }
      put.bind(1, row.kind);
      put.bind(2, row.v);
      put.bind(3, row.body);
      put.bind(4, sum);
      put.bind(5, row.seq);
      int code;
      while ((code = sums.step()) == SQLITE_ROW) balance.take(sums.integer(0));
      balance.add(sum);
      good = code == SQLITE_DONE && drop.step() == SQLITE_DONE && put.step() == SQLITE_DONE;
      if (!good) break;
      for (Statement* one : {&sums, &drop, &put}) one->reset();
    }
    if (!good || !sqlite::write_balance(db(), balance)) return undo("compact the journal");
    if (sqlite3_exec(db(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK)
      return undo("compact the journal");
    balance_ = balance;
    return {};
  }

  sqlite::WriterLock lock_;  // the first member: let go only when the connection is closed
  Connection connection_;
  std::string path_;
  bool writer_ = false;
  Statement insert_;
  Last last_;
  sqlite::Balance balance_;  ///< of a writer: what the file has
};

}  // namespace

Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& path) {
  auto store = std::make_unique<Store>();
  if (auto opened = store->open_writer(path); !opened) return fail(opened.error());
  return store;
}
Result<std::unique_ptr<SqliteJournal>> open_journal_reader(const std::string& path) {
  auto store = std::make_unique<Store>();
  if (auto opened = store->open_reader(path); !opened) return fail(opened.error());
  return store;
}

Status dump_journal(Journal& journal, const std::function<void(const std::string&)>& line) {
  return journal.read(0, [&](const Event& event) {
    line(event.text());
    return true;
  });
}

}  // namespace sickbay
