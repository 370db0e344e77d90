// SPDX-License-Identifier: Apache-2.0
// The reader of sacct -P: a header, and rows whose fields a delimiter parts.
//
// sacct quotes nothing, so a job's name may hold the delimiter or a newline.  split() counts: a line with too
// few delimiters goes on in the next one, and parse() puts a row with too many together again, by trying
// which of its free texts may hold the extra ones so that times, numbers and ids fall into place
// (sacct_repair.cc).  A line that has all its delimiters and begins as a job does always is a record, which
// is what lets a file be split on several threads.
#pragma once
#include <string>
#include <vector>

#include "workload/job/values.h"
#include "workload/read/delimiters.h"
#include "workload/read/reader.h"
#include "workload/read/sacct_columns.h"

namespace sickbay::workload::sacct {

/// How the rows of one log look.
struct Layout {
  std::vector<std::string> names;  ///< of the columns, as the log or the person has them
  std::string delimiter;
  bool trailing = false;  ///< a delimiter stands behind the last column too (sacct -p)
  std::string header;     ///< the header's line, without its end; empty: there is none
};

/// A record may go over this many lines and bytes; the longest SubmitLine that Slurm keeps fits.
inline constexpr std::uint32_t kMaxLines = 64;
inline constexpr std::size_t kMaxRecord = 64 * 1024;
inline constexpr std::size_t kMaxColumns = 512;

class SacctReader : public Reader {
 public:
  /// `layout` has a JobID or a JobIDRaw and at most kMaxColumns columns.
  SacctReader(Layout layout, TimeZone zone, std::string cluster);
  SacctReader(const SacctReader&) = delete;  // delimiter_ points into layout_
  SacctReader& operator=(const SacctReader&) = delete;

  std::size_t split(std::string_view text, bool last, std::vector<RecordSpan>& records) const override;
  std::size_t find_start(std::string_view text) const override;
  bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const override;
  FieldSet fields() const override;
  std::string describe() const override;

  /// The fields of a record: where each begins and ends.
  struct Fields {
    std::uint32_t begin[kMaxColumns], end[kMaxColumns];
    std::string_view text(std::string_view record, std::size_t column) const {
      return record.substr(begin[column], end[column] - begin[column]);
    }
  };

 private:
  // One column that is wanted, in the order in which they are read.
  struct Step {
    std::uint16_t column;
    Op op;
    std::uint8_t field;
    bool if_absent;  // another column of the same field was read before
  };
  // A column by which a wrong cut shows.
  struct Check {
    std::uint16_t column;
    Shape shape;
  };

  // sacct_split.cc
  std::string_view job_field(std::string_view record, std::uint32_t count) const;
  bool begins_record(std::string_view line, std::uint32_t count) const;
  bool is_header(std::string_view line) const;
  bool join(std::string_view text, std::size_t start, Line& line, std::uint32_t& lines, bool last,
            bool& starved) const;

  // sacct_repair.cc
  // The fields of a record with `n` delimiters at `at`; `repaired` where there were too many.  False: no cut
  // of it makes sense.
  bool cut(std::string_view record, const std::uint32_t* at, std::size_t n, Fields& fields,
           bool& repaired) const;
  bool repair(std::string_view record, const std::uint32_t* at, std::size_t n, Fields& fields,
              bool& repaired) const;
  // Columns whose text fits their shape; -1: one that tells for sure does not.
  int score(std::string_view record, const Fields& fields) const;
  bool plausible(std::string_view record) const;

  // sacct_parse.cc
  std::string why_not_cut(std::string_view record, std::size_t delimiters) const;
  bool read(const Step& step, std::string_view text, const Seen& seen, Arena& arena, Row& row) const;

  Layout layout_;
  Delimiter delimiter_;
  TimeZone zone_;
  std::string cluster_;
  std::size_t columns_;        // names_
  std::uint32_t delimiters_;   // in a row
  std::uint16_t job_column_;   // JobID, else JobIDRaw
  bool last_is_free_ = false;  // the last column may hold newlines
  bool free_before_job_ = false;
  std::vector<Step> steps_;
  std::vector<Check> hard_, soft_;
  std::vector<std::uint16_t> free_;  // columns that may hold delimiters, the likeliest first
};

}  // namespace sickbay::workload::sacct
