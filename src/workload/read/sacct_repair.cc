// SPDX-License-Identifier: Apache-2.0
// Cutting a record into its fields, also where a user's text holds delimiters.
//
// With k delimiters too many, some free text holds them.  Each such column is tried, then each pair of two
// unless a cut with one left nothing to wish; the cut counts in which every time, number and id is one, and
// among those the one in which most words are words.  What sacct prints leaves seldom more than one such cut:
// the columns beside a JobName are typed.
#include "workload/read/read_sacct.h"

#include <algorithm>

namespace sickbay::workload::sacct {
namespace {

// Cuts between `n` delimiters at `at`, where column a takes in `extra_a` of them and column b `extra_b`.
void lay(std::string_view record, std::size_t delimiter, const std::uint32_t* at, std::size_t n,
         std::size_t columns, std::size_t a, std::size_t extra_a, std::size_t b, std::size_t extra_b,
         SacctReader::Fields& fields) {
  std::uint32_t begin = 0;
  std::size_t k = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    if (column == a) k += extra_a;
    if (column == b) k += extra_b;
    fields.begin[column] = begin;
    if (k < n) {
      fields.end[column] = at[k];
      begin = at[k] + static_cast<std::uint32_t>(delimiter);
    } else {
      fields.end[column] = static_cast<std::uint32_t>(record.size());
      begin = fields.end[column];
    }
    ++k;
  }
}

// The most delimiters too many for which it is worth to try, and for which pairs of columns are tried.
constexpr std::size_t kMostExtra = 128, kMostExtraOfPairs = 8;

}  // namespace

int SacctReader::score(std::string_view record, const Fields& fields) const {
  for (const Check& check : hard_)
    if (!fits(check.shape, fields.text(record, check.column))) return -1;
  int points = 0;
  for (const Check& check : soft_) points += fits(check.shape, fields.text(record, check.column)) ? 1 : 0;
  return points;
}

bool SacctReader::repair(std::string_view record, const std::uint32_t* at, std::size_t n, Fields& fields,
                         bool& repaired) const {
  int best = -1;
  Fields tried;
  const auto attempt = [&](std::size_t length, std::size_t delimiters, std::size_t a, std::size_t extra_a,
                           std::size_t b, std::size_t extra_b) {
    lay(record.substr(0, length), delimiter_.size(), at, delimiters, columns_, a, extra_a, b, extra_b, tried);
    const int points = score(record, tried);
    if (points <= best) return;  // of equals the first: free_ begins with the likeliest
    best = points;
    std::copy_n(tried.begin, columns_, fields.begin);
    std::copy_n(tried.end, columns_, fields.end);
  };
  // What stands behind the last column may be the end of a row of -p, with or without the header's saying so.
  const bool ends_so = at[n - 1] + delimiter_.size() == record.size();
  for (const bool trailing : {layout_.trailing, !layout_.trailing}) {
    if (trailing && !ends_so) continue;
    const std::size_t length = trailing ? at[n - 1] : record.size(), delimiters = trailing ? n - 1 : n;
    if (delimiters + 1 < columns_) continue;
    const std::size_t extra = delimiters + 1 - columns_;
    if (extra > kMostExtra) continue;
    if (extra == 0) {
      attempt(length, delimiters, columns_, 0, columns_, 0);
    } else {
      for (const std::uint16_t a : free_) attempt(length, delimiters, a, extra, columns_, 0);
      if (best < static_cast<int>(soft_.size()) && extra >= 2 && extra <= kMostExtraOfPairs)
        for (std::size_t i = 0; i < free_.size(); ++i)
          for (std::size_t j = i + 1; j < free_.size(); ++j)
            for (std::size_t part = 1; part < extra; ++part)
              attempt(length, delimiters, free_[i], part, free_[j], extra - part);
    }
    repaired = extra > 0;
    if (best >= 0) return true;
  }
  return false;
}

bool SacctReader::cut(std::string_view record, const std::uint32_t* at, std::size_t n, Fields& fields,
                      bool& repaired) const {
  repaired = false;
  if (n + 1 < columns_) return false;
  const bool trailing = n == columns_ && at[n - 1] + delimiter_.size() == record.size();
  if (n + 1 == columns_ || (layout_.trailing && trailing)) {
    lay(record, delimiter_.size(), at, n, columns_, columns_, 0, columns_, 0, fields);
    return true;
  }
  return repair(record, at, n, fields, repaired);
}

bool SacctReader::plausible(std::string_view record) const {
  std::uint32_t at[2 * kMaxColumns];
  Seen seen;
  Fields fields;
  bool repaired = false;
  const std::size_t n = delimiter_.find(record, at, std::size(at), seen);
  return n <= std::size(at) && cut(record, at, n, fields, repaired) && score(record, fields) >= 0;
}

}  // namespace sickbay::workload::sacct
