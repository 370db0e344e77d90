// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: a journal on a file that grows, and what is in such a file.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "adapters/sqlite/check.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/journal_rows.h"
#include "model/event_kinds.h"
#include "service/standby/term_events.h"

namespace sickbay {

class TwoFolders {
 public:
  TwoFolders() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sickbay-standby-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    for (const char* host : {"/head1", "/head2"}) std::filesystem::create_directory(folder_ + host);
  }
  ~TwoFolders() { std::filesystem::remove_all(folder_); }
  TwoFolders(const TwoFolders&) = delete;
  std::string path(int host) const { return folder_ + (host == 1 ? "/head1" : "/head2") + "/journal.db"; }
  std::string folder(int host) const { return folder_ + (host == 1 ? "/head1" : "/head2"); }

 private:
  std::string folder_;
};

/// Appends `count` events of some subjects in one transaction, the first of them number `n`.
inline void write_events(SqliteJournal& journal, int n, int count, const std::string& subject = "") {
  std::vector<Event> events;
  for (int i = n; i < n + count; ++i) {
    Event e;
    e.at = std::max(journal.last_stamp(), from_unix_seconds(1'800'000'000 + i));
    e.subject = subject.empty() ? "c" + std::to_string(i % 7) : subject;
    e.kind = "job_seen";
    e.body = Json::object({{"n", i}, {"text", "läuft\n\"weiter\""}, {"long", std::string(i % 50, 'x')}});
    events.push_back(std::move(e));
  }
  const Status kept = journal.append(events);
  ASSERT_TRUE(kept) << kept.error().line();
}

inline std::vector<JournalRow> rows_of(const std::string& path) {
  auto rows = open_journal_rows(path);
  EXPECT_TRUE(rows) << rows.error().line();
  if (!rows) return {};
  auto all = (*rows)->rows_after(0, std::size_t{1} << 40);
  EXPECT_TRUE(all) << all.error().line();
  return all.value_or(std::vector<JournalRow>{});
}

/// Both files have the same rows, and the copy is what a journal must be.
inline void expect_same(const TwoFolders& folders) {
  const auto original = rows_of(folders.path(1)), copy = rows_of(folders.path(2));
  EXPECT_EQ(original.size(), copy.size());
  EXPECT_TRUE(original == copy) << "row for row";
  const auto check = check_journal(folders.path(2));
  ASSERT_TRUE(check) << check.error().line();
  EXPECT_TRUE(check->is_whole());
}

}  // namespace sickbay
