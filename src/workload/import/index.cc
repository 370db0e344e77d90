// SPDX-License-Identifier: Apache-2.0
#include "workload/import/index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace sickbay::workload {
namespace {

constexpr int kBucketBits = 8;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
std::size_t bucket_of(std::uint64_t job) { return job >> (64 - kBucketBits); }

// Runs of one thread, by the first bits of their job.  (A deque grows without copying.)
using Buckets = std::array<std::deque<Run>, kBuckets>;

struct ThreadState {
  Buckets buckets;
  std::string text;
  std::vector<RecordSpan> spans;
};

// Runs `task(i, state)` for i in [0, count) on `threads` threads; the first error ends all.
template <class Task>
Status in_parallel(std::size_t count, std::vector<ThreadState>& states, Task task) {
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  Status result;
  const auto work = [&](ThreadState& state) {
    for (std::size_t i = 0; (i = next.fetch_add(1)) < count;) {
      if (Status done = task(i, state); !done) {
        const std::lock_guard held(lock);
        if (result) result = std::move(done);
        next = count;
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(states.size(), count); ++t)
    others.emplace_back([&, t] { work(states[t]); });
  work(states[0]);
  for (std::thread& thread : others) thread.join();
  return result;
}

// Where a block may begin at or after `from`; nothing: nowhere near.
Result<std::optional<std::uint64_t>> find_begin(const Log& log, std::uint64_t from, std::string& text) {
  const std::uint64_t size = log.size;
  for (const std::uint64_t window : {std::uint64_t{1} << 15, std::uint64_t{1} << 20}) {
    const std::uint64_t to = std::min(size, from + window);
    if (auto read = read_range(log.input, from, to, text); !read) return fail(std::move(read.error()));
    const std::size_t at = log.opened.reader->find_start(std::string_view(text).substr(0, to - from));
    if (at != std::string_view::npos) return from + at;
    if (to == size) break;
  }
  return std::optional<std::uint64_t>();
}

// Cuts a log whose reader can find its place.
Status cut_blocks(const Log& log, std::uint32_t number, std::size_t block_bytes, std::vector<Block>& blocks) {
  const std::uint64_t size = log.size;
  Block block;
  block.log = number;
  block.begin = std::min<std::uint64_t>(size, log.opened.header_bytes);
  std::string text;
  for (std::uint64_t from = block.begin + block_bytes; from < size; from += block_bytes) {
    auto begin = find_begin(log, from, text);
    if (!begin) return fail(std::move(begin.error()));
    if (!*begin || **begin <= block.begin || **begin >= size) continue;
    block.end = **begin;
    blocks.push_back(block);
    block.begin = block.end;
    from = std::max(from, block.begin);
  }
  block.end = size;
  if (block.end > block.begin) blocks.push_back(block);
  return {};
}

// Cuts a log that can be read from its start only.
Status walk_blocks(const Log& log, std::uint32_t number, std::size_t block_bytes,
                   std::vector<Block>& blocks) {
  const std::uint64_t size = log.size;
  std::string text;
  std::vector<RecordSpan> spans;
  std::uint64_t at = std::min<std::uint64_t>(size, log.opened.header_bytes);
  for (std::uint64_t want = block_bytes; at < size;) {
    const std::uint64_t to = std::min(size, at + want);
    if (auto read = read_range(log.input, at, to, text); !read) return read;
    spans.clear();
    const bool last = to == size;
    std::size_t used = log.opened.reader->split(std::string_view(text).substr(0, to - at), last, spans);
    if (last) used = to - at;  // what is left over is no record
    if (used == 0) {           // one record is longer than that
      want *= 2;
      continue;
    }
    blocks.push_back({number, at, at + used, 1, 0, 0});
    at += used;
    want = block_bytes;
  }
  return {};
}

void index_runs(const std::vector<RecordSpan>& spans, std::uint64_t place, Buckets& buckets) {
  for (std::size_t i = 0; i < spans.size();) {
    std::size_t j = i + 1;
    while (j < spans.size() && spans[j].job == spans[i].job) ++j;
    const RecordSpan& last = spans[j - 1];
    buckets[bucket_of(spans[i].job)].push_back(
        Run::make(spans[i].job, place + spans[i].offset, last.offset + last.length - spans[i].offset));
    i = j;
  }
}

bool by_job_and_place(const Run& a, const Run& b) {
  return a.job != b.job ? a.job < b.job : a.where < b.where;
}

// The runs of one bucket whose job has another one, sorted.
std::vector<Run> scattered_of(std::size_t bucket, std::vector<ThreadState>& states) {
  std::vector<Run> runs;
  std::size_t count = 0;
  for (const ThreadState& s : states) count += s.buckets[bucket].size();
  runs.reserve(count);
  for (ThreadState& s : states) {
    runs.insert(runs.end(), s.buckets[bucket].begin(), s.buckets[bucket].end());
    std::deque<Run>().swap(s.buckets[bucket]);
  }
  std::sort(runs.begin(), runs.end(), by_job_and_place);
  std::vector<Run> found;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if ((i > 0 && runs[i - 1].job == runs[i].job) || (i + 1 < runs.size() && runs[i + 1].job == runs[i].job))
      found.push_back(runs[i]);
  return found;
}

}  // namespace

std::span<const Run> LogIndex::runs_of(std::uint64_t job) const {
  if (filter_.empty()) return {};
  const std::uint64_t at = job & (filter_.size() * 64 - 1);
  if ((filter_[at / 64] >> (at % 64) & 1) == 0) return {};
  const auto begin = std::lower_bound(scattered_.begin(), scattered_.end(), Run{job, 0}, by_job_and_place);
  auto end = begin;
  while (end != scattered_.end() && end->job == job) ++end;
  return {begin, end};
}

const Block& LogIndex::block_at(const std::vector<Log>& logs, std::uint64_t place) const {
  const auto after =
      std::upper_bound(blocks.begin(), blocks.end(), place,
                       [&](std::uint64_t p, const Block& b) { return p < logs[b.log].base + b.begin; });
  SB_CHECK(after != blocks.begin(), "a place before all blocks");
  return *(after - 1);
}

Result<LogIndex> make_index(const std::vector<Log>& logs, int threads, std::size_t block_bytes) {
  LogIndex index;
  for (std::uint32_t i = 0; i < logs.size(); ++i) {
    auto cut = logs[i].cuttable ? cut_blocks(logs[i], i, block_bytes, index.blocks)
                                : walk_blocks(logs[i], i, block_bytes, index.blocks);
    if (!cut) return fail(std::move(cut.error()));
  }

  std::vector<ThreadState> states(static_cast<std::size_t>(std::max(1, threads)));
  std::vector<ContentHash> hashes(index.blocks.size());
  auto done = in_parallel(index.blocks.size(), states, [&](std::size_t i, ThreadState& state) -> Status {
    Block& block = index.blocks[i];
    const Log& log = logs[block.log];
    if (auto read = read_range(log.input, block.begin, block.end, state.text); !read) return read;
    const auto text = std::string_view(state.text).substr(0, block.end - block.begin);
    state.spans.clear();
    log.opened.reader->split(text, true, state.spans);
    block.records = state.spans.size();
    block.lines = hashes[i].add(text);
    if (!text.empty() && text.back() != '\n') ++block.lines;
    index_runs(state.spans, log.base + block.begin, state.buckets);
    return {};
  });
  if (!done) return fail(std::move(done.error()));

  // Lines and contents of each log, from its blocks.
  std::vector<ContentHash> contents(logs.size());
  std::vector<std::uint64_t> line(logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    std::string head;
    const std::uint64_t header = std::min<std::uint64_t>(logs[i].size, logs[i].opened.header_bytes);
    if (auto read = read_range(logs[i].input, 0, header, head); !read) return fail(std::move(read.error()));
    line[i] = 1 + contents[i].add(std::string_view(head).substr(0, header));
  }
  for (std::size_t i = 0; i < index.blocks.size(); ++i) {
    Block& block = index.blocks[i];
    block.first_line = line[block.log];
    line[block.log] += block.lines;
    contents[block.log].add(hashes[i]);
  }
  for (const ContentHash& c : contents) index.contents.push_back(c.hex());

  std::vector<std::vector<Run>> found(kBuckets);
  done = in_parallel(kBuckets, states, [&](std::size_t i, ThreadState&) -> Status {
    found[i] = scattered_of(i, states);
    return {};
  });
  if (!done) return fail(std::move(done.error()));
  std::size_t count = 0;
  for (const auto& runs : found) count += runs.size();
  index.scattered_.reserve(count);
  for (auto& runs : found) {
    index.scattered_.insert(index.scattered_.end(), runs.begin(), runs.end());
    std::vector<Run>().swap(runs);
  }
  if (count > 0) {
    std::size_t words = 64;
    while (words * 8 < count) words *= 2;  // 8 bits for each run, or more
    index.filter_.assign(words, 0);
    for (const Run& run : index.scattered_) {
      const std::uint64_t at = run.job & (words * 64 - 1);
      index.filter_[at / 64] |= std::uint64_t{1} << (at % 64);
    }
  }
  return index;
}

}  // namespace sickbay::workload
