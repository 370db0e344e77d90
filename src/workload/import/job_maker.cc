// SPDX-License-Identifier: Apache-2.0
#include "workload/import/job_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "workload/merge/merge.h"
#include "workload/merge/records.h"

namespace sickbay::workload {

void LabelMemory::give(const Label& label, Row& job) const {
  const auto set = [&](Text f, std::string_view text) {
    if (!text.empty()) job.set(f, text);
  };
  set(Text::application, label.application);
  set(Text::version, label.version);
  set(Text::app_field, label.field);
  set(Text::labelled_by, label.labelled_by);
}

void LabelMemory::label(const Labeller& labeller, Row& job) {
  constexpr std::size_t kMost = 50'000;     // some 20 MB for each thread
  constexpr std::uint64_t kTrial = 4096;    // jobs, after which
  constexpr std::uint64_t kWorthwhile = 3;  // one of so many must have been known
  const JobNames names = {job.get(Text::job_name),    job.get(Text::step_names), job.get(Text::work_dir),
                          job.get(Text::submit_line), job.get(Text::user_name),  job.get(Text::cluster),
                          job.get(Text::comment),     job.get(Text::account)};
  if (!in_use_) return give(labeller.label(names), job);
  if (++asked_ % kTrial == 0 && remembered_ * kWorthwhile < asked_) {
    in_use_ = false;
    known_ = {};
    return give(labeller.label(names), job);
  }
  names_.clear();
  for (const std::string_view name : {names.job_name, names.step_names, names.work_dir, names.submit_line,
                                      names.user, names.cluster, names.comment, names.account}) {
    names_ += name;
    names_ += '\0';
  }
  const std::uint64_t key = std::hash<std::string_view>()(names_);
  auto known = known_.find(key);
  if (known == known_.end() || known->second.names != names_) {
    if (known_.size() >= kMost) known_.clear();
    const Label made = labeller.label(names);
    known = known_.insert_or_assign(key, Known{names_, std::string(made.version), made}).first;
    known->second.label.version = known->second.version;
    known->second.label.evidence = {};
  } else {
    ++remembered_;
  }
  give(known->second.label, job);
}

Result<const Row*> JobMaker::next() {
  while (job_ == jobs_.size() && record_ == records_.size()) {
    bool none_left = false;
    if (auto more = next_run(none_left); !more) return fail(std::move(more.error()));
    if (none_left) return nullptr;
  }
  gave_record_ = job_ == jobs_.size();
  Row& job = gave_record_ ? records_[record_++] : jobs_[job_++];
  if (shared_.labels != nullptr) label_memory_.label(*shared_.labels, job);  // before the names are hidden
  if (!shared_.pseudonym_key.empty()) pseudonyms_.apply(job, arena_);
  return &job;
}

// The jobs of the next run that begins a job.
Status JobMaker::next_run(bool& none_left) {
  rows_.clear();
  jobs_.clear();
  records_.clear();
  job_ = record_ = 0;
  tells_runs_ = false;
  arena_.clear();
  fetched_used_ = 0;
  while (at_ == spans_.size()) {
    if (auto more = next_block(none_left); !more || none_left) return more;
  }
  const std::size_t begin = at_;
  const std::uint64_t job = spans_[begin].job;
  while (at_ < spans_.size() && spans_[at_].job == job) ++at_;

  const auto runs = shared_.index.runs_of(job);
  const std::uint64_t place = shared_.logs[block_->log].base + block_->begin + spans_[begin].offset;
  if (!runs.empty() && runs.front().place() != place) return {};  // its jobs were made where it begins
  for (std::size_t i = begin; i < at_; ++i)
    if (auto parsed = parse(*block_, block_->begin, text_, spans_[i]); !parsed) return parsed;
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (auto read = fetch(runs[i]); !read) return read;
  // (Some more are read, so that the rejects file shows what is the matter.)
  constexpr std::uint64_t kSomeMore = 1000;
  if (shared_.rejects->total() > shared_.most_rejects + kSomeMore)
    return fail(ErrorCode::bad_input, "too many records cannot be read");
  merge(rows_, arena_, jobs_);
  shared_.jobs.fetch_add(jobs_.size(), std::memory_order_relaxed);
  if (shared_.keep_records && tells_runs_) find_records();
  return {};
}

// The records of the run's jobs that are not settled: by id and cluster, since hashes collide.
void JobMaker::find_records() {
  std::vector<const Row*> all;
  for (std::size_t i = 0; i < rows_.size(); ++i) all.push_back(&rows_[i]);
  const auto id = [](const Row* row) { return std::pair(row->get(Text::job_id), row->get(Text::cluster)); };
  std::sort(all.begin(), all.end(), [&](const Row* a, const Row* b) { return id(a) < id(b); });
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && id(all[end]) == id(all[i])) ++end;
    const std::span<const Row* const> rows(all.data() + i, end - i);
    if (!is_settled(rows)) take_distinct(rows, true, records_);
    i = end;
  }
}

Status JobMaker::next_block(bool& none_left) {
  const std::size_t i = shared_.next_block.fetch_add(1);
  none_left = i >= shared_.index.blocks.size();
  spans_.clear();
  at_ = 0;
  if (none_left) return {};
  block_ = &shared_.index.blocks[i];
  const Log& log = shared_.logs[block_->log];
  if (auto read = read_range(log.input, block_->begin, block_->end, text_); !read) return read;
  log.opened.reader->split(std::string_view(text_).substr(0, block_->end - block_->begin), true, spans_);
  return {};
}

// Parses a record of a block, `text` being the block from `begin` (an offset in its input) on.
Status JobMaker::parse(const Block& block, std::uint64_t begin, std::string_view text,
                       const RecordSpan& span) {
  const Log& log = shared_.logs[block.log];
  const std::string_view record = text.substr(span.offset, span.length);
  const std::size_t before = rows_.size();
  tells_runs_ = tells_runs_ || log.opened.reader->tells_runs();
  if (log.opened.reader->parse(record, arena_, rows_, reason_)) return {};
  while (rows_.size() > before) rows_.drop_last();  // half a record is none
  // Its line's number: counted from the block's first, which need not be in memory.
  std::string head;
  const std::uint64_t length = begin + span.offset - block.begin;
  if (auto read = read_range(log.input, block.begin, block.begin + length, head); !read) return read;
  const auto lines = std::count(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length), '\n');
  shared_.rejects->add(block.log, log.name, block.first_line + static_cast<std::uint64_t>(lines), reason_,
                       record);
  return {};
}

// Reads another run of the job and parses its records.
Status JobMaker::fetch(const Run& run) {
  const Block& block = shared_.index.block_at(shared_.logs, run.place());
  const Log& log = shared_.logs[block.log];
  const std::uint64_t begin = run.place() - log.base;
  // A long run says only where it begins.
  const std::uint64_t end = run.length() == Run::kLong ? block.end : begin + run.length();
  if (fetched_used_ == fetched_.size()) fetched_.push_back(std::make_unique<std::string>());
  std::string& memory = *fetched_[fetched_used_++];
  if (auto read = read_range(log.input, begin, end, memory); !read) return read;
  const auto text = std::string_view(memory).substr(0, end - begin);
  thread_local std::vector<RecordSpan> spans;
  spans.clear();
  log.opened.reader->split(text, true, spans);
  for (const RecordSpan& span : spans) {
    if (span.job != run.job) break;
    if (auto parsed = parse(block, begin, text, span); !parsed) return parsed;
  }
  return {};
}

}  // namespace sickbay::workload
