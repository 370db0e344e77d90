// SPDX-License-Identifier: Apache-2.0
// The reader of sacct -P on random logs: against the slow reader, with names that hold delimiters, and in
// pieces.
#include <gtest/gtest.h>

#include <random>

#include "workload/read/formats.h"
#include "workload/read/read_sacct.h"
#include "workload/read/read_sacct_test_parts.h"

namespace sickbay::workload {
namespace {

using reference::Fields;

// Columns and what may stand in them, the odd with the usual.
struct Pool {
  const char* column;
  std::vector<std::string> texts;
};
const std::vector<Pool>& pools() {
  static const std::vector<std::string> kTimes = {
      "2024-02-29T23:59:59", "1999-12-31T00:00:00", "Unknown", "None", "", "1700000000",
      "2024-13-01T00:00:00", "2023-02-29T00:00:00"};
  static const std::vector<std::string> kSpans = {"00:00:00",      "1-00:00:00", "99:59.999", "00:00.001",
                                                  "1234-23:59:59", "",           "INVALID",   "12",
                                                  "1-24:00:00",    "00:60:00",   "0:0:0",     "-1:00:00"};
  static const std::vector<std::string> kSizes = {"12756K", "1.50T", "0",   "",      "85399.46K",
                                                  "4M",     "x",     "1.K", "9999P", "7.5E"};
  static const std::vector<std::string> kCounts = {
      "0", "1", "128", "2K", "", "-3", "1.5", "99999999999999999999", "4294967294"};
  static const std::vector<std::string> kWords = {"",
                                                  "a",
                                                  "None",
                                                  "(null)",
                                                  "Gr\xC3\xB6\xC3\x9F"
                                                  "e",
                                                  "caf\xE9",
                                                  "x y",
                                                  "cpu,physics"};
  static const std::vector<std::string> kTres = {"",
                                                 "cpu=8,gres/gpu:v100=1,gres/gpu=1,mem=10G,node=1",
                                                 "cpu=2,mem=4G",
                                                 "billing=1",
                                                 "gres/gpu:a=2,gres/gpu:b=3",
                                                 "mem=240000M,node=2K"};
  static const std::vector<std::string> kUsage = {
      "", "cpu=15:33:58,energy=0,fs/disk=93455,gres/gpumem=20500736K,gres/gpuutil=90,mem=12K",
      "energy=0,fs/disk=1", "cpu=00:00:00,fs/disk=0,mem=0", "pages=1"};
  static const std::vector<Pool> kPools = {
      {"JobID",
       {"1", "22.batch", "33.0", "4_5", "6_[1-9%2]", "7+1.extern", "8.ext+", "9.4294967294", "", "x", "10."}},
      {"JobIDRaw", {"1", "22.batch", "", "77", "Unknown"}},
      {"State",
       {"COMPLETED", "CANCELLED by 1000", "CANCELLED", "", "OUT_OF_ME+", "WEIRD", "COMPLETED,COMPLETING",
        "CANCELLED by root", "NF", "Unknown", "cancelled by 5"}},
      {"Submit", kTimes},
      {"Eligible", kTimes},
      {"Start", kTimes},
      {"End", kTimes},
      {"Elapsed", kSpans},
      {"CPUTime", kSpans},
      {"Suspended", kSpans},
      {"TotalCPU", kSpans},
      {"UserCPU", kSpans},
      {"SystemCPU", kSpans},
      {"ElapsedRaw", kCounts},
      {"CPUTimeRAW", {"", "5", "x"}},
      {"Priority", kCounts},
      {"UID", kCounts},
      {"AllocCPUS", kCounts},
      {"NCPUS", kCounts},
      {"ReqCPUS", kCounts},
      {"AllocNodes", kCounts},
      {"NNodes", kCounts},
      {"ReqNodes", kCounts},
      {"NTasks", kCounts},
      {"ConsumedEnergyRaw", {"", "0", "54156"}},
      {"Timelimit",
       {"12:00:00", "1-00:00:00", "UNLIMITED", "Partition_Limit", "", " ", "30", "INVALID", "abc", "2-12"}},
      {"TimelimitRaw", {"", "1440", "UNLIMITED", "Partition_Limit"}},
      {"ReqMem", {"4000Mc", "0n", "2147486648Mn", "1.50T", "199G", "", "x", "2.00Pn", "4000"}},
      {"MaxRSS", kSizes},
      {"AveRSS", kSizes},
      {"MaxVMSize", kSizes},
      {"AveDiskRead", kSizes},
      {"AveDiskWrite", kSizes},
      {"ExitCode", {"0:0", "127:15", "", "1", "a:b", "0:9:1", "0:"}},
      {"DerivedExitCode", {"0:0", "3:0", "", "q"}},
      {"JobName", kWords},
      {"User", kWords},
      {"Account", kWords},
      {"Partition", kWords},
      {"QOS", kWords},
      {"Cluster", kWords},
      {"NodeList", {"n[1-3]", "None assigned", ""}},
      {"WorkDir", {"/a b", "", "/caf\xE9"}},
      {"Comment", kWords},
      {"Constraints", kWords},
      {"Reason", kWords},
      {"SubmitLine", {"srun x", ""}},
      {"AllocTRES", kTres},
      {"ReqTRES", kTres},
      {"TRESUsageInMax", kUsage},
      {"TRESUsageInTot", kUsage},
      {"TRESUsageOutTot", kUsage},
      {"TRESUsageInAve", kUsage},
      {"MaxRSSNode", kWords},
      {"Colour", kWords}};
  return kPools;
}

struct Opened {
  std::string text;
  OpenedReader reader;
  std::string_view body() const { return std::string_view(text).substr(reader.header_bytes); }
};
Opened open_text(std::string text) {
  auto opened = open_reader(text, true, {});
  EXPECT_TRUE(opened) << opened.error().line();
  return {std::move(text), std::move(*opened)};
}

// Each odd value of each column comes about twenty times, and each column in two logs of three.
TEST(ReadSacctRandom, five_thousand_rows_are_those_of_the_slow_reader) {
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int log = 0; log < 80; ++log) {
    // JobID, JobIDRaw or both; of the others some, in any order.
    std::vector<const Pool*> columns;
    for (std::size_t i = 2; i < pools().size(); ++i)
      if (random() % 3 != 0) columns.push_back(&pools()[i]);
    if (log % 3 != 0) columns.push_back(&pools()[0]);
    if (log % 3 != 1) columns.push_back(&pools()[1]);
    std::shuffle(columns.begin(), columns.end(), random);
    const std::string delimiters[] = {"|", "\xE2\x98\x83", "~~", "^"};
    const std::string& d = delimiters[random() % 4];
    const bool trailing = random() % 4 == 0;
    std::vector<std::string> names, rows;
    std::vector<std::vector<std::string>> texts;
    for (const Pool* column : columns) names.emplace_back(column->column);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) text += (i > 0 ? d : "") + names[i];
    text += (trailing ? d : "") + "\n";
    for (int r = 0; r < 70; ++r) {
      std::vector<std::string> row;
      std::string line;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        // Times that are none refuse the row, so they are rare; the ends of a pool are its odd values.
        const auto& pool = columns[i]->texts;
        const std::size_t usual = random() % 8 != 0 ? std::min<std::size_t>(3, pool.size()) : pool.size();
        row.push_back(pool[random() % usual]);
        line += (i > 0 ? d : "") + row.back();
      }
      texts.push_back(row);
      text += line + (trailing ? d : "") + (random() % 50 == 0 ? "\r\n" : "\n");
    }
    const Opened opened = open_text(text);
    std::vector<RecordSpan> spans;
    opened.reader.reader->split(opened.body(), true, spans);
    ASSERT_EQ(spans.size(), texts.size());
    Arena arena;
    Rows out;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const std::string_view record = opened.body().substr(spans[i].offset, spans[i].length);
      out.clear();
      std::string reason;
      const bool fast = opened.reader.reader->parse(record, arena, out, reason);
      const auto slow = reference::SlowRow::read(names, texts[i]);
      ASSERT_EQ(fast, slow.has_value()) << record << "\n" << reason;
      ASSERT_EQ(fast, reason.empty());
      ++(fast ? read : refused);
      if (!fast) continue;
      ASSERT_TRUE(opened.reader.reader->fields().has_all(out[0].fields())) << record;
      ASSERT_EQ(reference::show(reference::fields_of(out[0])), reference::show(*slow)) << record;
    }
  }
  EXPECT_GT(read, 1500);
  EXPECT_GT(refused, 150);
}

// A log with texts that hold delimiters and newlines, and with torn rows.
struct OddLog {
  std::string text;
  std::vector<std::string> names, lines;  // what each whole row's JobName and SubmitLine are
};
OddLog odd_log(std::mt19937& random, int rows, bool torn) {
  OddLog log;
  log.text = "JobID|JobName|NCPUS|State|Submit|User|SubmitLine\n";
  const auto odd = [&](bool plain_start) {
    std::string text = plain_start ? "srun " : "n";
    for (std::size_t n = random() % 12; n > 0; --n) {
      constexpr std::string_view kParts = "ab |\n-0";
      text += random() % 3 != 0 ? 'x' : kParts[random() % kParts.size()];
    }
    return text + "z";  // a newline at the very end of a row is the row's
  };
  for (int i = 1; i <= rows; ++i) {
    if (torn && random() % 20 == 0) log.text += std::to_string(i) + "|torn|4\n";
    log.names.push_back(random() % 3 == 0 ? odd(false) : "plain");
    log.lines.push_back(random() % 3 == 0 ? odd(true) : "sbatch a.sh");
    log.text += std::to_string(i) + "|" + log.names.back() + "|4|COMPLETED|2024-01-01T00:00:00|u1|" +
                log.lines.back() + "\n";
    if (random() % 40 == 0) log.text += "JobID|JobName|NCPUS|State|Submit|User|SubmitLine\n";
  }
  return log;
}

TEST(ReadSacctRandom, names_with_delimiters_and_newlines_come_back) {
  std::mt19937 random(11);
  int wrong = 0, rows = 0;
  for (int round = 0; round < 15; ++round) {
    const OddLog log = odd_log(random, 200, false);
    const Opened opened = open_text(log.text);
    std::vector<RecordSpan> spans;
    opened.reader.reader->split(opened.body(), true, spans);
    std::map<std::string, Fields> by_id;
    Arena arena;
    Rows out;
    for (const RecordSpan& span : spans) {
      out.clear();
      std::string reason;
      const std::string_view record = opened.body().substr(span.offset, span.length);
      if (!opened.reader.reader->parse(record, arena, out, reason)) continue;
      const Fields fields = reference::fields_of(out[0]);
      by_id[fields.at("job_id")] = fields;
    }
    for (std::size_t i = 0; i < log.names.size(); ++i, ++rows) {
      const auto found = by_id.find(std::to_string(i + 1));
      if (found == by_id.end() || found->second["job_name"] != log.names[i] ||
          found->second["submit_line"] != log.lines[i]) {
        ++wrong;
        if (wrong < 5)
          ADD_FAILURE() << testing::PrintToString(log.names[i]) << " and "
                        << testing::PrintToString(log.lines[i])
                        << (found == by_id.end() ? std::string(" lost") : reference::show(found->second));
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << rows;
}

TEST(ReadSacctRandom, a_log_in_pieces_has_the_same_records) {
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    const OddLog log = odd_log(random, 60, true);
    const Opened opened = open_text(log.text);
    const std::string_view body = opened.body();
    std::vector<RecordSpan> whole;
    ASSERT_EQ(opened.reader.reader->split(body, true, whole), body.size());
    // Piece by piece, as a file is read.
    std::vector<RecordSpan> pieces;
    std::size_t start = 0, length = 1 + random() % 400;
    while (start < body.size()) {
      const bool last = start + length >= body.size();
      const std::size_t before = pieces.size();
      const std::size_t used = opened.reader.reader->split(body.substr(start, length), last, pieces);
      for (std::size_t i = before; i < pieces.size(); ++i) pieces[i].offset += start;
      start += used;
      length = used == 0 ? length * 2 : 1 + random() % 400;  // a longer look where nothing was whole
    }
    ASSERT_EQ(pieces.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(pieces[i].offset, whole[i].offset) << round;
      ASSERT_EQ(pieces[i].length, whole[i].length) << round;
      ASSERT_EQ(pieces[i].lines, whole[i].lines);
      ASSERT_EQ(pieces[i].job, whole[i].job);
    }
    // On several threads, each from a start that is surely one.
    for (int cut = 0; cut < 8; ++cut) {
      const std::size_t from = random() % body.size();
      const std::size_t found = opened.reader.reader->find_start(body.substr(from));
      if (found == std::string_view::npos) continue;
      const std::size_t at = from + found;
      ASSERT_TRUE(
          std::any_of(whole.begin(), whole.end(), [&](const RecordSpan& s) { return s.offset == at; }))
          << round << ' ' << body.substr(at, 80);
      std::vector<RecordSpan> parts;
      opened.reader.reader->split(body.substr(0, at), true, parts);
      const std::size_t first = parts.size();
      opened.reader.reader->split(body.substr(at), true, parts);
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        ASSERT_EQ(parts[i].offset + (i < first ? 0 : at), whole[i].offset);
        ASSERT_EQ(parts[i].length, whole[i].length);
      }
    }
  }
}

TEST(ReadSacctRandom, lines_are_counted_alike_at_every_place_in_a_block) {
  // Each offset to the blocks of sixteen bytes, each kind of delimiter, and lines over 255 blocks.
  std::mt19937 random(17);
  for (const std::string d : {"|", "||", "\xE2\x98\x83"}) {
    const Delimiter delimiter(d);
    for (int round = 0; round < 600; ++round) {
      std::string text;
      for (std::size_t n = random() % (round % 100 == 0 ? 9000 : 90); n > 0; --n)
        text += random() % 4 == 0 ? d : random() % 30 == 0 ? "\n" : random() % 9 == 0 ? d.substr(0, 1) : "x";
      const std::size_t start = text.empty() ? 0 : random() % text.size();
      const Line line = delimiter.line(text, start);
      const std::size_t end = std::min(text.find('\n', start), text.size());
      std::uint32_t count = 0;
      for (std::size_t at = text.find(d, start); at < end; at = text.find(d, at + d.size())) ++count;
      ASSERT_EQ(line.end, end);
      ASSERT_EQ(line.count, count) << testing::PrintToString(text.substr(start, end - start));
      ASSERT_EQ(line.has_newline, end < text.size());
      std::vector<std::uint32_t> at(10000);
      Seen seen;
      const std::size_t n = delimiter.find(text, at.data(), at.size(), seen);
      std::size_t where = 0;
      for (std::size_t i = 0; i < n; ++i, where += d.size()) {
        where = text.find(d, where);
        ASSERT_EQ(at[i], where);
      }
      ASSERT_EQ(text.find(d, where), std::string::npos);
      ASSERT_EQ(seen.newline, text.find('\n') != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sickbay::workload
