// SPDX-License-Identifier: Apache-2.0
// Each file is judged by its own sums and balance.  Only where the balance says that rows are gone it is
// looked which: numbers that are neither in the file nor in an archive.  Whose they were the index may still
// know, for it holds subject and number of each row on pages of its own.
#include "adapters/sqlite/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "adapters/sqlite/archive.h"
#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/rows.h"
#include "adapters/sqlite/statement.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;
using sqlite::Balance;
using sqlite::ReadRow;
using sqlite::Statement;
using sqlite::WholeRows;

constexpr const char* kNoFit = "is not what was written: its checksum does not fit";
constexpr const char* kGone = "gone";

// Numbers up to the last that are in none of the files.
std::vector<JournalCheck::Lost> numbers_gone(const std::string& path, const std::vector<std::string>& more) {
  std::vector<std::unique_ptr<WholeRows>> files;
  std::int64_t last = 0;
  for (const std::string& file : more) {
    auto rows = std::make_unique<WholeRows>();
    if (rows->open(file)) files.push_back(std::move(rows));
  }
  auto own = std::make_unique<WholeRows>();
  if (own->open(path)) {
    last = own->last();
    files.push_back(std::move(own));
  }
  std::vector<std::optional<ReadRow>> heads;
  for (const auto& file : files) heads.push_back(file->next());
  std::vector<JournalCheck::Lost> gone;
  for (std::int64_t next = 1; next <= last;) {
    std::int64_t least = last + 1;
    for (const auto& head : heads)
      if (head) least = std::min(least, head->row.seq);
    if (least > next) gone.push_back({next, least - 1, "", kGone});
    next = least + 1;
    for (std::size_t i = 0; i < files.size(); ++i)
      while (heads[i] && heads[i]->row.seq < next) heads[i] = files[i]->next();
  }
  return gone;
}

// One for each subject that the index knows: ranges are cut where the subject changes.  `lost` is in order.
std::vector<JournalCheck::Lost> with_subjects(sqlite3* db, std::vector<JournalCheck::Lost> lost) {
  std::map<std::int64_t, std::string> subject_of;
  Statement index;
  if (index.prepare(db, "SELECT subject, seq FROM event INDEXED BY event_subject WHERE subject > ''"))
    while (index.step() == SQLITE_ROW) {
      const std::int64_t seq = index.integer(1);
      const auto behind = std::upper_bound(lost.begin(), lost.end(), seq,
                                           [](std::int64_t n, const auto& one) { return n < one.first; });
      if (behind != lost.begin() && seq <= std::prev(behind)->last) subject_of.emplace(seq, index.text(0));
    }
  std::vector<JournalCheck::Lost> cut;
  for (JournalCheck::Lost& one : lost) {
    const auto begin = subject_of.lower_bound(one.first), end = subject_of.upper_bound(one.last);
    std::int64_t from = one.first;
    for (auto known = begin; known != end; ++known) {
      if (known->first > from) cut.push_back({from, known->first - 1, "", one.why});
      if (!cut.empty() && cut.back().subject == known->second && cut.back().last == known->first - 1 &&
          cut.back().why == one.why)
        cut.back().last = known->first;
      else
        cut.push_back({known->first, known->first, known->second, one.why});
      from = known->first + 1;
    }
    if (from <= one.last) cut.push_back({from, one.last, "", one.why});
  }
  return cut;
}

void check_pages(sqlite3* db, const std::string& name, std::vector<std::string>& trouble) {
  Statement pages;
  if (!pages.prepare(db, "PRAGMA integrity_check(5)")) return;
  while (pages.step() == SQLITE_ROW)
    if (const std::string said = pages.text(0); said != "ok") trouble.push_back(name + ": " + said);
}

// Its rows; true where the balance says that some are gone.
bool check_rows(WholeRows& rows, const std::string& path, JournalCheck& check) {
  const std::string name = fs::path(path).filename().string();
  Balance found;
  while (const auto read = rows.next()) {
    found.add(read->sum);
    if (sqlite::is_readable(*read))
      ++check.events;
    else
      check.lost.push_back({read->row.seq, read->row.seq, "", kNoFit});
  }
  if (!rows.trouble().empty()) check.trouble.push_back(name + ": " + rows.trouble());
  check_pages(rows.db(), name, check.trouble);
  const auto balance = sqlite::read_balance(rows.db(), path);
  if (!balance) {
    check.trouble.push_back(name + ": " + balance.error().what);
    return true;
  }
  if (found == *balance) return false;
  // (A row whose sum is what is damaged makes the balance wrong, too; it is told of by itself.)
  if (found.events != balance->events || check.lost.empty())
    check.trouble.push_back(
        fmt::format("{}: {} events where it says that it has {}", name, found.events, balance->events));
  return found.events != balance->events;
}

}  // namespace

Result<JournalCheck> check_journal(const std::string& path) {
  JournalCheck check;
  WholeRows rows;
  if (auto opened = rows.open(path); !opened) return fail(opened.error());
  const bool some_gone = check_rows(rows, path, check);
  const std::vector<std::string> archives = sqlite::archives_of(path);
  if (some_gone)
    for (JournalCheck::Lost& one : numbers_gone(path, archives)) check.lost.push_back(std::move(one));
  std::sort(check.lost.begin(), check.lost.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  check.lost = with_subjects(rows.db(), std::move(check.lost));
  for (const std::string& archive : archives) {
    const std::string name = fs::path(archive).filename().string();
    WholeRows old;
    if (auto opened = old.open(archive); !opened) {
      check.trouble.push_back(name + ": " + opened.error().what);
      continue;
    }
    check.archives.push_back(name);
    JournalCheck its;
    (void)check_rows(old, archive, its);
    for (const JournalCheck::Lost& one : its.lost)
      its.trouble.push_back(fmt::format("{}: event {} {}", name, one.first, one.why));
    check.trouble.insert(check.trouble.end(), its.trouble.begin(), its.trouble.end());
  }
  return check;
}

}  // namespace sickbay
