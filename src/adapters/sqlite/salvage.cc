// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/salvage.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "adapters/sqlite/archive.h"
#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/row.h"
#include "adapters/sqlite/rows.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/statement.h"
#include "base/json.h"
#include "base/time.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using sqlite::Balance;
using sqlite::Statement;
using sqlite::WholeRows;

// What stands in the place of a subject that is given up.
Event stub(const std::string& subject, const std::vector<Event>& events, std::int64_t last_lost,
           const std::string& rest) {
  if (!events.empty()) return sqlite::summary_of(events, rest);
  Event gone = new_event(
      subject, kArchived,
      Json::object({{"kinds", Json::object()}, {"first", last_lost}, {"last", last_lost}, {"file", rest}}));
  gone.seq = last_lost;
  return gone;
}

// What is whole of these subjects.
Result<std::map<std::string, std::vector<Event>>> events_of(
    const std::string& path, const std::map<std::string, std::int64_t>& subjects) {
  std::map<std::string, std::vector<Event>> theirs;
  if (subjects.empty()) return theirs;
  WholeRows rows;
  if (auto opened = rows.open(path); !opened) return fail(opened.error());
  while (auto read = rows.next())
    if (subjects.contains(read->row.subject) && read->is_whole)
      if (auto body = Json::parse(read->row.body)) {
        std::vector<Event>& events = theirs[read->row.subject];
        events.push_back(sqlite::event_of(std::move(read->row), std::move(*body)));
      }
  return theirs;
}

class Writer {
 public:
  Status open(const std::string& path) {
    std::error_code none;
    if (fs::exists(path, none))
      return fail(Error(ErrorCode::conflict, path + " is there already")
                      .remedied_by("name a new file; nothing was changed"));
    if (auto opened = file_.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); !opened) return opened;
    if (auto made = sqlite::migrate(file_.get(), path, sqlite::migrations()); !made) return made;
    if (auto p = sqlite::prepare_insert(insert_, file_.get()); !p) return p;
    return sqlite::execute(file_.get(), "BEGIN IMMEDIATE");
  }
  Status put(const sqlite::Row& row) {
    const std::int64_t sum = sqlite::bind_row(insert_, row);
    if (insert_.step() != SQLITE_DONE) return fail(sqlite::error_of(file_.get(), "write the new journal"));
    balance_.add(sum);
    return {};
  }
  Status close() {
    insert_.reset();
    if (auto kept = sqlite::write_balance(file_.get(), balance_); !kept) return kept;
    return sqlite::execute(file_.get(), "COMMIT");
  }

 private:
  sqlite::Connection file_;
  Statement insert_;
  Balance balance_;
};

}  // namespace

bool is_given_up_by_loss(const std::string& subject) {
  return subject.size() > 1 && std::string_view("cjrp").find(subject[0]) != std::string_view::npos &&
         std::all_of(subject.begin() + 1, subject.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<Salvage> salvage_journal(const std::string& path, const std::string& out) {
  auto check = check_journal(path);
  if (!check) return fail(check.error());
  Salvage salvage;
  std::map<std::string, std::int64_t> closed;  // given up, and the last event that it lost
  for (const JournalCheck::Lost& one : check->lost)
    if (is_given_up_by_loss(one.subject)) {
      std::int64_t& last = closed[one.subject];
      last = std::max(last, one.last);
    }
  salvage.found = std::move(*check);

  auto theirs = events_of(path, closed);
  if (!theirs) return fail(theirs.error());
  const fs::path file(out);
  const std::string rest = file.stem().string() + "-rest.db";
  std::map<std::int64_t, Event> stubs;
  for (const auto& [subject, last] : closed) {
    const std::vector<Event>& events = (*theirs)[subject];
    if (!events.empty()) {
      salvage.rest = (file.parent_path() / rest).string();
      if (auto copied = sqlite::copy_to_archive(salvage.rest, events); !copied) return fail(copied.error());
    }
    Event one = stub(subject, events, last, rest);
    salvage.given_up.push_back(subject);
    stubs.emplace(one.seq, std::move(one));
  }

  Writer writer;
  if (auto opened = writer.open(out); !opened) return fail(opened.error());
  WholeRows rows;
  if (auto opened = rows.open(path); !opened) return fail(opened.error());
  std::int64_t at = 0;  // stamps never run backwards, also that of a stub without one
  auto next_stub = stubs.begin();
  const auto put_stubs_before = [&](std::int64_t seq) -> Status {
    for (; next_stub != stubs.end() && next_stub->first < seq; ++next_stub) {
      const Event& one = next_stub->second;
      at = std::max(at, one.at == kNoTime ? at : to_micros(one.at));
      sqlite::Row row = sqlite::row_of(one);
      row.at = at;
      if (auto put = writer.put(row); !put) return put;
    }
    return {};
  };
  while (const auto read = rows.next()) {
    if (auto put = put_stubs_before(read->row.seq); !put) return fail(put.error());
    if (!sqlite::is_readable(*read) || closed.contains(read->row.subject)) continue;
    at = read->row.at;
    if (auto put = writer.put(read->row); !put) return fail(put.error());
    ++salvage.kept;
  }
  if (auto put = put_stubs_before(std::numeric_limits<std::int64_t>::max()); !put) return fail(put.error());
  if (auto closed_file = writer.close(); !closed_file) return fail(closed_file.error());
  return salvage;
}

}  // namespace sickbay
