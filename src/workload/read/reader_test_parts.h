// SPDX-License-Identifier: Apache-2.0
// What the tests of the readers share: a log read as the import reads it, and rows as text to compare.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "workload/read/formats.h"
#include "workload/read/lines.h"

namespace sickbay::workload {

/// All that a row holds, one "name=value" each.
inline std::string text_of(const Row& row) {
  std::string text;
  for (const auto& f : kTextFields)
    if (row.has(f.field)) text += std::string(f.name) + "=" + std::string(row.get(f.field)) + "\n";
  for (const auto& f : kNumFields)
    if (row.has(f.field)) text += std::string(f.name) + "=" + std::to_string(row.get(f.field)) + "\n";
  return text;
}

/// A log, read in one piece; texts of the rows point into it.
struct ReadLog {
  std::string text;
  OpenedReader opened;
  std::vector<RecordSpan> spans;
  Arena arena;
  Rows rows;
  std::vector<std::string> rejects;

  const Row& row(std::size_t i) const { return rows[i]; }
  std::string_view body() const { return std::string_view(text).substr(opened.header_bytes); }
};

inline std::unique_ptr<ReadLog> read_log(Result<OpenedReader> (*open)(std::string_view, bool,
                                                                      const ReadOptions&),
                                         std::string text, const ReadOptions& options = {}) {
  auto log = std::make_unique<ReadLog>();
  log->text = std::move(text);
  auto opened = open(log->text, true, options);
  if (!opened) {
    ADD_FAILURE() << opened.error().line();
    return log;
  }
  log->opened = *std::move(opened);
  EXPECT_EQ(log->opened.reader->split(log->body(), true, log->spans), log->body().size());
  for (const RecordSpan& span : log->spans) {
    std::string reason;
    if (!log->opened.reader->parse(log->body().substr(span.offset, span.length), log->arena, log->rows,
                                   reason))
      log->rejects.push_back(reason);
  }
  for (std::size_t i = 0; i < log->rows.size(); ++i)
    EXPECT_TRUE(log->opened.reader->fields().has_all(log->rows[i].fields())) << text_of(log->rows[i]);
  return log;
}

/// The same records whatever the pieces, of any size, that a log is split in.
inline void expect_same_in_pieces(const ReadLog& log) {
  const auto text = log.body();
  for (const std::size_t piece : {7U, 100U, 1001U}) {
    std::vector<RecordSpan> all, some;
    std::size_t at = 0, want = piece;
    while (at < text.size()) {
      const bool last = at + want >= text.size();
      some.clear();
      const std::size_t used = log.opened.reader->split(text.substr(at, want), last, some);
      for (auto& span : some) {
        span.offset += at;
        all.push_back(span);
      }
      at += used;
      want = used == 0 ? want * 2 : piece;
    }
    ASSERT_EQ(all.size(), log.spans.size()) << piece;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].offset, log.spans[i].offset);
      EXPECT_EQ(all[i].length, log.spans[i].length);
      EXPECT_EQ(all[i].job, log.spans[i].job);
    }
  }
}

/// Bytes of no log, and `text` with a byte changed, cut off or doubled, many times: nothing may break, and
/// nothing may be neither row nor reject.
inline void survive_damage(Result<OpenedReader> (*open)(std::string_view, bool, const ReadOptions&),
                           std::string_view text, const ReadOptions& options = {}) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string bad(text);
    for (int i = 0; i < 4 && !bad.empty(); ++i) {
      const std::size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.resize(at);
          break;
        case 2:
          bad.insert(at, bad.substr(at, random() % 50));
          break;
        default:
          bad.insert(at, std::string(1, "\0\n\"{[;,|\\ "[random() % 10]));
      }
    }
    const auto opened = open(bad, true, options);
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::bad_input);
      EXPECT_FALSE(opened.error().remedy_text.empty());
      continue;
    }
    std::vector<RecordSpan> spans;
    const auto body = std::string_view(bad).substr(opened->header_bytes);
    opened->reader->split(body, true, spans);
    Arena arena;
    Rows rows;
    for (const RecordSpan& span : spans) {
      ASSERT_LE(span.offset + span.length, body.size());
      std::string reason;
      const std::size_t before = rows.size();
      if (!opened->reader->parse(body.substr(span.offset, span.length), arena, rows, reason)) {
        EXPECT_FALSE(reason.empty());
        EXPECT_EQ(rows.size(), before);
      }
    }
  }
}

/// A record of more than 16 MiB is given as one and rejected, and the next one is read.
inline void expect_rejected(const ReadLog& log, std::string_view part) {
  ASSERT_EQ(log.rejects.size(), 1U);
  EXPECT_NE(log.rejects[0].find(part), std::string::npos) << log.rejects[0];
}

}  // namespace sickbay::workload
