// SPDX-License-Identifier: Apache-2.0
// One table: event(seq, at, v, subject, kind, body).
//
// seq is given here, one after the other, and not by SQLite, so that a failed append leaves no gap.  A lock
// file with an open-file-description lock keeps a second writer out for as long as the first one lives, also
// when that is killed; SQLite's own lock would let two writers take turns.
#include "adapters/sqlite/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/sqlite/statement.h"
#include "base/time.h"

namespace sickbay {
namespace {

using sqlite::error_of;
using sqlite::execute;
using sqlite::Statement;

// Schema n is what the first n rows make.  A row once released is never changed.
constexpr auto kMigrations = std::to_array<const char*>({
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, v INTEGER NOT NULL, subject TEXT NOT "
    "NULL,"
    " kind TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_subject ON event(subject, seq);",
});

struct RaiseRow {
  std::string_view kind;
  int from;
  void (*raise)(Json& body);
};
// No kind has had a second version yet; the first row will be the first there is.
constexpr std::array<RaiseRow, 0> kRaises{};

class WriterLock {
 public:
  ~WriterLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Status take(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0)
      return fail(ErrorCode::storage_broken, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd_, F_OFD_SETLK, &lock) != 0) {
      char pid[32] = {};
      const ssize_t n = ::pread(fd_, pid, sizeof pid - 1, 0);
      return fail(Error(ErrorCode::conflict,
                        fmt::format("{} is in use by process {}", path,
                                    n > 0 ? std::string_view(pid, static_cast<std::size_t>(n)) : "?"))
                      .because("a journal has one writer, and that is the sickbayd that runs")
                      .remedied_by("stop it first, or leave it be"));
    }
    const std::string pid = std::to_string(::getpid());
    if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, pid.data(), pid.size(), 0) < 0) {
      // The number is for the message of a second writer only: a full disk must not keep the first one out.
    }
    return {};
  }

 private:
  int fd_ = -1;
};

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

class Store : public SqliteJournal {
 public:
  ~Store() override {
    sqlite3_close_v2(db_);  // the statements are finalised after it: v2 waits for them
  }

  Status open(const std::string& path, bool writer) {
    path_ = path;
    writer_ = writer;
    if (writer)
      if (auto locked = lock_.take(path + ".lock"); !locked) return locked;
    const int flags = writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(path.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
      return fail(error_of(db_, "open the journal " + path));
    sqlite3_busy_timeout(db_, 5000);
    if (writer) {
      ::chmod(path.c_str(), 0600);
      for (const char* sql :
           {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=1000"})
        if (auto set = execute(db_, sql); !set) return set;
      if (auto raised = migrate(); !raised) return raised;
    } else if (auto known = check_version(); !known) {
      return fail(known.error());
    }
    for (auto [statement, sql] :
         {std::pair(&read_, "SELECT seq, at, v, subject, kind, body FROM event WHERE seq > ? ORDER BY seq"),
          std::pair(&read_subject_,
                    "SELECT seq, at, v, subject, kind, body FROM event WHERE subject = ?2 AND seq > ?1 ORDER "
                    "BY seq")})
      if (auto prepared = statement->prepare(db_, sql); !prepared) return prepared;
    if (writer)
      if (auto prepared =
              insert_.prepare(db_, "INSERT INTO event(seq, at, v, subject, kind, body) VALUES(?,?,?,?,?,?)");
          !prepared)
        return prepared;
    return read_last();
  }

  Status append(std::vector<Event>& events) override {
    if (!writer_) return fail(ErrorCode::conflict, "this journal was opened for reading");
    if (events.empty()) return {};
    if (auto begun = execute(db_, "BEGIN IMMEDIATE"); !begun) return begun;
    std::int64_t seq = last_seq_;
    TimePoint stamp = last_stamp_;
    for (Event& event : events) {
      SB_CHECK(event.at >= stamp, "stamps never run backwards");
      stamp = event.at;
      insert_.reset();
      insert_.bind(1, ++seq);
      insert_.bind(2, to_micros(event.at));
      insert_.bind(3, std::int64_t{event.v});
      insert_.bind(4, event.subject);
      insert_.bind(5, event.kind);
      insert_.bind(6, event.body.dump());
      if (insert_.step() != SQLITE_DONE) return undo();
    }
    insert_.reset();
    if (sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return undo();
    for (Event& event : events) event.seq = ++last_seq_;
    last_stamp_ = stamp;
    return {};
  }

  Status read(std::int64_t after, const std::function<bool(const Event&)>& each) override {
    read_.reset();
    read_.bind(1, after);
    return walk(read_, each);
  }
  Status read_subject(const std::string& subject, std::int64_t after,
                      const std::function<bool(const Event&)>& each) override {
    read_subject_.reset();
    read_subject_.bind(1, after);
    read_subject_.bind(2, subject);
    return walk(read_subject_, each);
  }

  std::int64_t last_seq() const override { return last_seq_; }
  TimePoint last_stamp() const override { return last_stamp_; }
  std::int64_t size_bytes() const override { return file_size(path_) + file_size(path_ + "-wal"); }

  Result<Compaction> compact(const std::vector<std::string>& subjects) override {
    Compaction total;
    for (const std::string& subject : subjects) {
      Json kinds = Json::object();
      std::vector<Event> events;
      if (auto all = read_subject(subject, 0,
                                  [&](const Event& e) {
                                    events.push_back(e);
                                    return true;
                                  });
          !all)
        return fail(all.error());
      if (events.empty() || (events.size() == 1 && events.front().kind == "archived")) continue;
      for (const Event& e : events) kinds.set(e.kind, kinds[e.kind].as_int() + 1);
      const std::string year = format_time(events.back().at).substr(0, 4);
      const std::string archive = path_.substr(0, path_.rfind('.')) + "-" + year + ".db";
      if (auto copied = copy_to(archive, events); !copied) return fail(copied.error());
      Event summary = events.back();
      summary.kind = "archived";
      summary.v = 1;
      summary.body = Json::object({{"kinds", std::move(kinds)},
                                   {"first", events.front().seq},
                                   {"last", events.back().seq},
                                   {"file", archive.substr(archive.rfind('/') + 1)}});
      if (auto left = leave_summary(summary); !left) return fail(left.error());
      ++total.subjects;
      total.events += static_cast<std::int64_t>(events.size());
    }
    return total;
  }

 private:
  Status undo() {
    Error error = error_of(db_, "append to the journal " + path_);
    insert_.reset();
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return fail(std::move(error));
  }

  Status walk(Statement& statement, const std::function<bool(const Event&)>& each) {
    int code;
    while ((code = statement.step()) == SQLITE_ROW) {
      auto body = Json::parse(statement.text(5));
      if (!body) {
        const std::int64_t seq = statement.integer(0);
        statement.reset();
        return fail(ErrorCode::storage_broken,
                    fmt::format("event {} of {} is damaged: {}", seq, path_, body.error().what));
      }
      Event event{statement.integer(0),
                  from_micros(statement.integer(1)),
                  static_cast<int>(statement.integer(2)),
                  statement.text(3),
                  statement.text(4),
                  std::move(*body)};
      raise_event(event);
      if (!each(event)) break;
    }
    statement.reset();
    if (code == SQLITE_ROW || code == SQLITE_DONE) return {};
    return fail(error_of(db_, "read the journal " + path_));
  }

  Result<int> check_version() {
    Statement version;
    if (auto prepared = version.prepare(db_, "PRAGMA user_version"); !prepared) return fail(prepared.error());
    if (version.step() != SQLITE_ROW) return fail(error_of(db_, "read the journal " + path_));
    const auto found = static_cast<int>(version.integer(0));
    if (found > static_cast<int>(kMigrations.size()))
      return fail(ErrorCode::too_new, fmt::format("{} has schema {}; this version knows up to {}", path_,
                                                  found, kMigrations.size()));
    return found;
  }

  Status migrate() {
    auto found = check_version();
    if (!found) return fail(found.error());
    for (auto n = static_cast<std::size_t>(*found); n < kMigrations.size(); ++n) {
      const std::string sql =
          fmt::format("BEGIN IMMEDIATE; {} PRAGMA user_version={}; COMMIT;", kMigrations[n], n + 1);
      if (auto done = execute(db_, sql.c_str()); !done) return done;
    }
    return {};
  }

  Status read_last() {
    Statement last;
    if (auto prepared = last.prepare(db_, "SELECT seq, at FROM event ORDER BY seq DESC LIMIT 1"); !prepared)
      return prepared;
    const int code = last.step();
    if (code == SQLITE_ROW) {
      last_seq_ = last.integer(0);
      last_stamp_ = from_micros(last.integer(1));
    } else if (code != SQLITE_DONE) {
      return fail(error_of(db_, "read the journal " + path_));
    }
    return {};
  }

  // Idempotent: an event that a crash left in both files is written over with itself.
  Status copy_to(const std::string& archive, const std::vector<Event>& events) {
    sqlite3* db = nullptr;
    const std::unique_ptr<sqlite3*, void (*)(sqlite3**)> closer(&db,
                                                                [](sqlite3** d) { sqlite3_close_v2(*d); });
    if (sqlite3_open_v2(archive.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) !=
        SQLITE_OK)
      return fail(error_of(db, "open the archive " + archive));
    ::chmod(archive.c_str(), 0600);
    for (const char* sql :
         {"PRAGMA synchronous=FULL",
          "CREATE TABLE IF NOT EXISTS event(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, v INTEGER NOT NULL,"
          " subject TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL) STRICT",
          "BEGIN IMMEDIATE"})
      if (auto done = execute(db, sql); !done) return done;
    {
      Statement insert;
      if (auto prepared = insert.prepare(
              db, "INSERT OR IGNORE INTO event(seq, at, v, subject, kind, body) VALUES(?,?,?,?,?,?)");
          !prepared)
        return prepared;
      for (const Event& e : events) {
        if (e.kind == "archived") continue;
        insert.reset();
        insert.bind(1, e.seq);
        insert.bind(2, to_micros(e.at));
        insert.bind(3, std::int64_t{e.v});
        insert.bind(4, e.subject);
        insert.bind(5, e.kind);
        insert.bind(6, e.body.dump());
        if (insert.step() != SQLITE_DONE) return fail(error_of(db, "write the archive " + archive));
      }
    }
    return execute(db, "COMMIT");
  }

  Status leave_summary(const Event& summary) {
    if (auto begun = execute(db_, "BEGIN IMMEDIATE"); !begun) return begun;
    Statement drop, put;
    auto one = [&](Statement& s) { return s.step() == SQLITE_DONE; };
    if (auto p = drop.prepare(db_, "DELETE FROM event WHERE subject = ? AND seq <> ?"); !p) return p;
    if (auto p = put.prepare(db_, "UPDATE event SET kind = ?, v = ?, body = ? WHERE seq = ?"); !p) return p;
    drop.bind(1, summary.subject);
    drop.bind(2, summary.seq);
    put.bind(1, summary.kind);
    put.bind(2, std::int64_t{summary.v});
    put.bind(3, summary.body.dump());
    put.bind(4, summary.seq);
    if (!one(drop) || !one(put) || sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK)
      return undo();
    return {};
  }

  WriterLock lock_;
  std::string path_;
  bool writer_ = false;
  sqlite3* db_ = nullptr;
  Statement insert_, read_, read_subject_;
  std::int64_t last_seq_ = 0;
  TimePoint last_stamp_ = kNoTime;
};

Result<std::unique_ptr<SqliteJournal>> open_store(const std::string& path, bool writer) {
  auto store = std::make_unique<Store>();
  if (auto opened = store->open(path, writer); !opened) return fail(opened.error());
  return store;
}

}  // namespace

Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& path) {
  return open_store(path, true);
}
Result<std::unique_ptr<SqliteJournal>> open_journal_reader(const std::string& path) {
  return open_store(path, false);
}

Status dump_journal(Journal& journal, const std::function<void(const std::string&)>& line) {
  return journal.read(0, [&](const Event& event) {
    line(event.text());
    return true;
  });
}

void raise_event(Event& event) {
  for (const RaiseRow& row : kRaises)
    if (row.kind == event.kind && row.from == event.v) {
      row.raise(event.body);
      ++event.v;
    }
}

}  // namespace sickbay
