// SPDX-License-Identifier: Apache-2.0
// The copy of a journal.  A row goes into it as it came, after its sum was looked at; the balance of the file
// (balance.h) is kept as a journal keeps it, so that a copy is read, verified and opened as one.
//
// One that was begun anew lies in PATH.anew.  It takes the place of the copy by one rename, when the file of
// either is all there is: no write-ahead log of one may ever lie beside the other.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/durable.h"
#include "adapters/sqlite/journal_rows.h"
#include "adapters/sqlite/row.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/statement.h"
#include "adapters/sqlite/writer_lock.h"

namespace sickbay {
namespace {

using sqlite::error_of;
using sqlite::Statement;

void remove_logs(const std::string& path) {
  for (const char* end : {"-wal", "-shm"}) ::unlink((path + end).c_str());
}

Status sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return sqlite::sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

// One file of rows.
class CopyFile {
 public:
  explicit CopyFile(std::string path) : path_(std::move(path)) {}

  Status open() {
    if (auto opened = connection_.open(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); !opened)
      return opened;
    sqlite3_busy_timeout(db(), 5000);
    if (auto known = sqlite::check_schema(db(), path_, sqlite::migrations()); !known)
      return fail(known.error());
    if (auto set = sqlite::set_durable(db(), path_); !set) return set;
    if (auto raised = sqlite::migrate(db(), path_, sqlite::migrations()); !raised) return raised;
    if (auto p = sqlite::prepare_insert(insert_, db()); !p) return p;
    auto balance = sqlite::read_balance(db(), path_);
    if (!balance) return fail(balance.error());
    balance_ = *balance;
    Statement last;
    if (auto p = last.prepare(db(), "SELECT seq, sum FROM event ORDER BY seq DESC LIMIT 1"); !p) return p;
    const int code = last.step();
    if (code == SQLITE_ROW) place_ = {last.integer(0), last.integer(1)};
    if (code != SQLITE_ROW && code != SQLITE_DONE) return fail(error_of(db(), "read the journal " + path_));
    return {};
  }

  Status append(const std::vector<JournalRow>& rows) {
    if (rows.empty()) return {};
    JournalCopy::Place place = place_;
    for (const JournalRow& row : rows) {
      if (row.seq <= place.seq)
        return fail(ErrorCode::bad_input, fmt::format("event {} comes after {}", row.seq, place.seq));
      if (sqlite::row_sum(row.seq, row.at, row.v, row.subject, row.kind, row.body) != row.sum)
        return fail(Error(ErrorCode::bad_input, fmt::format("event {} was changed on its way", row.seq))
                        .because("its checksum does not fit"));
      place = {row.seq, row.sum};
    }
    if (auto begun = sqlite::execute(db(), "BEGIN IMMEDIATE"); !begun) return begun;
    sqlite::Balance balance = balance_;
    for (const JournalRow& row : rows) {
      balance.add(sqlite::bind_row(insert_, {row.seq, row.at, row.v, row.subject, row.kind, row.body}));
      if (insert_.step() != SQLITE_DONE) return undo();
    }
    insert_.reset();
    if (!sqlite::write_balance(db(), balance)) return undo();
    if (sqlite3_exec(db(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return undo();
    balance_ = balance;
    place_ = place;
    return {};
  }

  Result<std::string> mark() { return sqlite::mark_until(db(), path_, place_.seq); }

  /// All of it is in the one file.  Errors: conflict where somebody reads it just now.
  Status gather() {
    Statement checkpoint;
    if (auto p = checkpoint.prepare(db(), "PRAGMA wal_checkpoint(TRUNCATE)"); !p) return p;
    if (checkpoint.step() != SQLITE_ROW) return fail(error_of(db(), "write the journal " + path_));
    if (checkpoint.integer(0) != 0)
      return fail(
          Error(ErrorCode::conflict, path_ + " is being read")
              .remedied_by("it is tried again; a reader that does not end keeps the copy from its place"));
    return {};
  }

  const JournalCopy::Place& place() const { return place_; }
  std::int64_t events() const { return balance_.events; }

 private:
  sqlite3* db() const { return connection_.get(); }
  Status undo() {
    Error error = sqlite::undone(db(), "write the copy of the journal", path_);
    insert_.reset();
    return fail(std::move(error));
  }

  sqlite::Connection connection_;
  std::string path_;
  Statement insert_;
  sqlite::Balance balance_;
  JournalCopy::Place place_;
};

class SqliteCopy final : public JournalCopy {
 public:
  explicit SqliteCopy(std::string path) : path_(std::move(path)), anew_path_(path_ + ".anew") {}

  Status open() {
    if (auto locked = lock_.take(path_); !locked) return locked;
    drop_anew();
    file_ = std::make_unique<CopyFile>(path_);
    return file_->open();
  }

  Place place() const override { return (anew_ ? *anew_ : *file_).place(); }
  bool is_anew() const override { return anew_ != nullptr; }
  Status append(const std::vector<JournalRow>& rows) override {
    return (anew_ ? *anew_ : *file_).append(rows);
  }
  Result<std::string> mark() override { return (anew_ ? *anew_ : *file_).mark(); }

  Status begin_anew() override {
    drop_anew();
    auto anew = std::make_unique<CopyFile>(anew_path_);
    if (auto opened = anew->open(); !opened) return opened;
    anew_ = std::move(anew);
    return {};
  }

  Result<std::string> end_anew(bool keep_old, TimePoint now) override {
    SB_CHECK(anew_ != nullptr, "nothing was begun anew");
    for (CopyFile* file : {file_.get(), anew_.get()})
      if (auto gathered = file->gather(); !gathered) return fail(gathered.error());
    const std::string aside = keep_old && file_->events() > 0 ? aside_name(now) : "";
    // A second name first: there is a journal under the first one at any moment.
    if (!aside.empty() && ::link(path_.c_str(), aside.c_str()) != 0 && errno != EEXIST)
      return fail(sqlite::file_failed("keep the old copy as", aside));
    file_.reset();
    anew_.reset();
    remove_logs(path_);
    remove_logs(anew_path_);
    const bool renamed = ::rename(anew_path_.c_str(), path_.c_str()) == 0;
    const Error why = sqlite::file_failed("rename", anew_path_);
    // Whatever came of it, the copy is open again; what was begun anew is gone where it has no place.
    if (!renamed) drop_anew();
    file_ = std::make_unique<CopyFile>(path_);
    if (auto opened = file_->open(); !opened) return fail(opened.error());
    if (!renamed) return fail(why);
    if (auto synced = sync_folder_of(path_); !synced) return fail(synced.error());
    return aside;
  }

 private:
  void drop_anew() {
    anew_.reset();
    remove_logs(anew_path_);
    ::unlink(anew_path_.c_str());
  }
  // "journal.db.aside-20261126T031500Z"
  std::string aside_name(TimePoint now) const {
    std::string time = format_time(now).substr(0, 19);
    std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
    return fmt::format("{}.aside-{}Z", path_, time);
  }

  sqlite::WriterLock lock_;  // the first member: let go when the files are closed
  std::string path_, anew_path_;
  std::unique_ptr<CopyFile> file_, anew_;
};

}  // namespace

Result<std::unique_ptr<JournalCopy>> open_journal_copy(const std::string& path) {
  auto copy = std::make_unique<SqliteCopy>(path);
  if (auto opened = copy->open(); !opened) return fail(opened.error());
  return std::unique_ptr<JournalCopy>(std::move(copy));
}

}  // namespace sickbay
