// SPDX-License-Identifier: Apache-2.0
// A row in the file: its length, then kind, which numbers and texts it has, these numbers, and each text
// behind its length.
#include "workload/import/set_aside.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "workload/import/row_writer.h"

namespace sickbay::workload {
namespace {

tl::unexpected<Error> broken(const char* doing) {
  const int code = errno;
  return fail(
      Error(code == ENOSPC ? ErrorCode::storage_full : ErrorCode::os,
            std::string(doing) + ": " + std::strerror(code))
          .remedied_by("make room in /tmp, where an import keeps the records of jobs that may go on"));
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes values off bytes that put() wrote.
class Reading {
 public:
  explicit Reading(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view take_text() {
    const auto size = take<std::uint32_t>();
    const std::string_view text = std::string_view(bytes_).substr(at_, size);
    at_ += size;
    return text;
  }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

void write_row(const Row& row, std::string& bytes) {
  bytes.clear();
  put(bytes, row.kind);
  put(bytes, row.nums());
  put(bytes, row.texts());
  for (std::uint64_t left = row.nums(); left != 0; left &= left - 1)
    put(bytes, row.get(static_cast<Num>(std::countr_zero(left))));
  for (std::uint64_t left = row.texts(); left != 0; left &= left - 1) {
    const std::string_view text = row.get(static_cast<Text>(std::countr_zero(left)));
    put(bytes, static_cast<std::uint32_t>(text.size()));
    bytes += text;
  }
}

void read_row(const std::string& bytes, Row& row) {
  Reading reading(bytes);
  row.clear();
  row.kind = reading.take<RowKind>();
  const auto nums = reading.take<std::uint64_t>(), texts = reading.take<std::uint64_t>();
  for (std::uint64_t left = nums; left != 0; left &= left - 1)
    row.set(static_cast<Num>(std::countr_zero(left)), reading.take<std::int64_t>());
  for (std::uint64_t left = texts; left != 0; left &= left - 1)
    row.set(static_cast<Text>(std::countr_zero(left)), reading.take_text());
}

}  // namespace

Status SetAside::open() {
  if (file_) return {};
  file_.reset(std::tmpfile());
  if (!file_) return broken("cannot make a file for records");
  return {};
}

Status SetAside::add(const Row& row) {
  thread_local std::string bytes;
  write_row(row, bytes);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const std::lock_guard held(lock_);
  if (auto opened = open(); !opened) return opened;
  if (std::fwrite(&size, sizeof size, 1, file_.get()) != 1 ||
      std::fwrite(bytes.data(), bytes.size(), 1, file_.get()) != 1)
    return broken("cannot keep a record");
  ++rows_;
  return {};
}

Status SetAside::rewind() {
  if (file_ && (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0))
    return broken("cannot keep records");
  return {};
}

Result<bool> SetAside::next(Row& row) {
  std::uint32_t size = 0;
  if (!file_ || std::fread(&size, sizeof size, 1, file_.get()) != 1) {
    if (file_ && std::ferror(file_.get()) != 0) return broken("cannot read records");
    return false;
  }
  bytes_.resize(size);
  if (std::fread(bytes_.data(), size, 1, file_.get()) != 1) return broken("cannot read a record");
  read_row(bytes_, row);
  return true;
}

class SetAside::Producer final : public duck::RowProducer {
 public:
  explicit Producer(std::shared_ptr<SetAside> kept) : kept_(std::move(kept)) {}
  Status fill(duck::ChunkWriter& chunk) override {
    if (!begun_)
      if (auto ready = kept_->rewind(); !ready) return ready;
    begun_ = true;
    while (!chunk.full()) {
      auto more = kept_->next(row_);
      if (!more) return fail(std::move(more.error()));
      if (!*more) break;
      if (auto written = writer_.write(row_, chunk, row_.kind); !written) return written;
    }
    return {};
  }

 private:
  std::shared_ptr<SetAside> kept_;
  RowWriter writer_ = RowWriter::of_records();
  Row row_;
  bool begun_ = false;
};

duck::RowSource SetAside::source(std::shared_ptr<SetAside> kept, std::string name) {
  duck::RowSource source;
  source.name = std::move(name);
  source.columns = RowWriter::of_records().source_columns();
  source.max_threads = 1;
  source.producer = [kept = std::move(kept)] { return std::make_unique<Producer>(kept); };
  return source;
}

}  // namespace sickbay::workload
