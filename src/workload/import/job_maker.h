// SPDX-License-Identifier: Apache-2.0
// Pass 2: one thread's way from blocks of the logs to finished jobs.
//
// A block belongs to the thread that takes it.  A job belongs to the block where its first run is; its other
// runs are fetched from wherever they lie, and passed over where they are met.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "workload/import/index.h"
#include "workload/import/log.h"
#include "workload/import/pseudonyms.h"
#include "workload/import/rejects.h"
#include "workload/label/label.h"

namespace sickbay::workload {

/// What all threads of an import share; outlives them.
struct Pass2 {
  std::vector<Log> logs;
  LogIndex index;
  const Labeller* labels = nullptr;
  std::string pseudonym_key;
  std::unique_ptr<Rejects> rejects;
  std::uint64_t most_rejects = 0;  ///< with more nothing is stored
  bool keep_records = false;       ///< those of jobs that are not settled come, too (merge/records.h)
  std::atomic<std::size_t> next_block{0};
  std::atomic<std::uint64_t> jobs{0};
};

/// What a label sets of a job.
inline constexpr FieldSet kLabelFields =
    FieldSet::of(Text::application, Text::version, Text::app_field, Text::labelled_by);

/// Labels by the names they were made from: users run the same things again and again.  Where they do not
/// (each job in a folder of its own), it stops to remember, since that costs more than it saves.
class LabelMemory {
 public:
  /// Sets kLabelFields of `job`; the texts live until the next call.
  void label(const Labeller& labeller, Row& job);

 private:
  struct Known {
    std::string names;
    std::string version;
    Label label;  // all but its version of the labeller's lists; the evidence is gone
  };
  void give(const Label& label, Row& job) const;

  std::unordered_map<std::uint64_t, Known> known_;
  std::string names_;
  std::uint64_t asked_ = 0, remembered_ = 0;
  bool in_use_ = true;
};

class JobMaker {
 public:
  explicit JobMaker(Pass2& shared) : shared_(shared), pseudonyms_(shared.pseudonym_key) {}

  /// The next job, valid until the next call; null when nothing is left.
  /// Errors: as Input's; bad_input when too many records cannot be read.
  Result<const Row*> next();
  /// Whether what next() gave last is no job but a record to be kept.
  bool gave_record() const { return gave_record_; }

 private:
  void find_records();
  Status next_run(bool& none_left);
  Status next_block(bool& none_left);
  Status parse(const Block& block, std::uint64_t begin, std::string_view text, const RecordSpan& span);
  Status fetch(const Run& run);

  Pass2& shared_;
  Pseudonyms pseudonyms_;
  LabelMemory label_memory_;
  const Block* block_ = nullptr;
  std::string text_;               // of the block
  std::vector<RecordSpan> spans_;  // of the block
  std::size_t at_ = 0;             // the next of them
  // The job under way: its rows point into text_, fetched_ and arena_.
  Rows rows_, jobs_, records_;
  std::size_t job_ = 0, record_ = 0;
  bool tells_runs_ = false;  // one of its logs
  bool gave_record_ = false;
  Arena arena_;
  std::vector<std::unique_ptr<std::string>> fetched_;
  std::size_t fetched_used_ = 0;
  std::string reason_;
};

}  // namespace sickbay::workload
