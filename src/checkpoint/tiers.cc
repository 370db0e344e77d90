// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/size.h"

namespace sickbay::checkpoint {
namespace {

// Counts all bytes that are written and gives none back: within one save nothing of any size is removed.
class BoundedFiles : public Files {
 public:
  BoundedFiles(Files& inner, std::uint64_t room) : inner_(inner), room_(static_cast<std::int64_t>(room)) {}

  Result<std::unique_ptr<OutFile>> create(const std::string& path, std::uint32_t mode) override {
    auto out = inner_.create(path, mode);
    if (!out) return out;
    return std::make_unique<Out>(*this, std::move(*out));
  }
  Result<std::unique_ptr<InFile>> open(const std::string& path) override { return inner_.open(path); }
  Status rename(const std::string& from, const std::string& to) override { return inner_.rename(from, to); }
  Status remove(const std::string& path) override { return inner_.remove(path); }
  Status sync_folder(const std::string& folder) override { return inner_.sync_folder(folder); }
  Status make_folder(const std::string& path) override { return inner_.make_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder) override { return inner_.list(folder); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return inner_.lock(path); }

 private:
  class Out : public OutFile {
   public:
    Out(BoundedFiles& files, std::unique_ptr<OutFile> inner) : files_(files), inner_(std::move(inner)) {}
    Status append(std::string_view bytes) override {
      if (auto room = files_.take(bytes.size()); !room) return room;
      return inner_->append(bytes);
    }
    Status write_at(std::uint64_t offset, std::string_view bytes) override {
      if (auto room = files_.take(bytes.size()); !room) return room;
      return inner_->write_at(offset, bytes);
    }
    Status sync() override { return inner_->sync(); }

   private:
    BoundedFiles& files_;
    std::unique_ptr<OutFile> inner_;
  };

  Status take(std::size_t bytes) {
    // Taken before it is written, since several threads write at once.
    // What is refused is not given back: with it the save is over.
    if ((room_ -= static_cast<std::int64_t>(bytes)) >= 0) return {};
    return fail(ErrorCode::storage_full, "the room that was given for checkpoints is used up");
  }

  Files& inner_;
  std::atomic<std::int64_t> room_;
};

// One pack from one folder to another, under its name when it is synced.  Gives its bytes.
Result<std::uint64_t> copy_file(Files& files, const Store& from, const Store& to, const std::string& name) {
  const auto in = files.open(from.folder() + "/" + name);
  if (!in) return tl::unexpected<Error>(in.error());
  const std::string path = to.folder() + "/" + name;
  std::uint64_t at = 0;
  const auto all = [&]() -> Status {
    auto out = files.create(path + ".new", 0600);
    if (!out) return tl::unexpected<Error>(std::move(out.error()));
    std::string block(4 << 20, '\0');
    for (;;) {
      const auto got = (*in)->read_at(at, block);
      if (!got) return tl::unexpected<Error>(got.error());
      if (*got == 0) break;
      if (auto wrote = (*out)->append(std::string_view(block).substr(0, *got)); !wrote) return wrote;
      at += *got;
    }
    if (auto synced = (*out)->sync(); !synced) return synced;
    return files.rename(path + ".new", path);
  };
  if (auto done = all(); !done) {
    (void)files.remove(path + ".new");
    return tl::unexpected<Error>(std::move(done.error()));
  }
  return at;
}

}  // namespace

std::unique_ptr<Files> bounded_files(Files& inner, std::uint64_t room) {
  // (The count is signed, so that it can go below 0.)
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return std::make_unique<BoundedFiles>(inner, std::min(room, kMost));
}

Result<std::uint64_t> bytes_in(Files& files, const Store& store) {
  const auto names = files.list(store.folder());
  if (!names) return tl::unexpected<Error>(names.error());
  std::uint64_t bytes = 0;
  for (const std::string& name : *names)
    // (One that vanishes meanwhile takes no room.)
    if (auto file = files.open(store.folder() + "/" + name))
      if (const auto state = (*file)->state()) bytes += state->size;
  return bytes;
}

Result<Tiers::Where> Tiers::save(std::int64_t number, std::span<const ImageSource> images,
                                 const SaveOptions& options) {
  // All that lies there counts, also what a crash left: tmpfs is the memory of the job.
  const auto used = bytes_in(files, memory);
  if (!used) return tl::unexpected<Error>(used.error());
  const auto bounded = bounded_files(files, most - std::min(most, *used));
  auto fast = Store::open(*bounded, memory.folder());
  if (!fast) return tl::unexpected<Error>(std::move(fast.error()));
  auto saved = fast->save(number, images, options);
  if (saved) return Where{std::move(*saved), true};
  const Error wrong = std::move(saved.error());
  const bool full = wrong.code == ErrorCode::storage_full;
  // (What is broken may be the program's own file: then the large place says so.)
  if (!full && wrong.code != ErrorCode::storage_broken && wrong.code != ErrorCode::denied) return fail(wrong);
  saved = local.save(number, images, options);
  if (!saved) return tl::unexpected<Error>(std::move(saved.error()));
  saved->notes.push_back(full ? fmt::format("checkpoint {} is on {}: {} of memory are not enough", number,
                                            large, describe_size({static_cast<std::int64_t>(most)}))
                              : fmt::format("checkpoint {} is on {}: {}", number, large, wrong.what));
  return Where{std::move(*saved), false};
}

// Of both: a number that one of them used must not come again in the other.
Result<std::int64_t> Tiers::next_number() const {
  const auto a = memory.next_number(), b = local.next_number();
  if (!a) return a;
  if (!b) return b;
  return std::max(*a, *b);
}

namespace {

// The packs, and then what makes them a checkpoint.
template <class Last>
Result<std::uint64_t> copy_and(Files& files, const Store& from, const Store& to, const Control& control,
                               std::span<const std::int64_t> ranks, Last last) {
  std::vector<const Image*> images;
  std::vector<std::string> copied;
  std::map<std::string, Digest> sure;  ///< what is there already was read back when it was copied
  std::uint64_t bytes = 0;
  const auto all = [&]() -> Status {
    for (const std::int64_t rank : ranks) {
      const auto image = std::find_if(control.images.begin(), control.images.end(),
                                      [&](const Image& i) { return i.rank == rank; });
      if (image == control.images.end())
        return fail(ErrorCode::not_found,
                    fmt::format("checkpoint {} has no image of rank {}", control.number, rank));
      images.push_back(&*image);
      const auto packs = from.packs_of(*image);
      if (!packs) return tl::unexpected<Error>(packs.error());
      for (const std::string& name : *packs) {
        const auto pack = PackReader::open(files, from.folder(), name);
        if (!pack) return tl::unexpected<Error>(pack.error());
        const auto there = PackReader::open(files, to.folder(), name);
        // The digest of the index and the size: what lies there under this name may be of a copy that was cut
        // off, or of an earlier try.
        if (there && there->digest() == pack->digest() && there->bytes() == pack->bytes()) {
          // (What this call has copied is still to be read back.)
          if (std::find(copied.begin(), copied.end(), name) == copied.end()) sure[name] = there->digest();
          continue;
        }
        const auto size = copy_file(files, from, to, name);
        if (!size) return tl::unexpected<Error>(size.error());
        copied.push_back(name);
        bytes += *size;
      }
    }
    for (const Image* image : images)
      if (auto whole = to.verify_pack(*image, sure); !whole) return whole;
    if (auto synced = files.sync_folder(to.folder()); !synced) return synced;
    return last();
  };
  if (auto done = all(); !done) {
    // What was there before stays: other checkpoints may stand on it.
    for (const std::string& name : copied) (void)files.remove(to.folder() + "/" + name);
    return tl::unexpected<Error>(
        std::move(done.error()).in(fmt::format("copying checkpoint {}", control.number)));
  }
  return bytes;
}

}  // namespace

Result<std::uint64_t> copy_packs(Files& files, const Store& from, const Store& to, const Control& control,
                                 std::span<const std::int64_t> ranks) {
  return copy_and(files, from, to, control, ranks, [] { return Status(); });
}

Result<std::uint64_t> copy_checkpoint(Files& files, const Store& from, Store& to, const Control& control,
                                      std::span<const std::int64_t> ranks) {
  return copy_and(files, from, to, control, ranks, [&] { return to.publish(control, ranks); });
}

}  // namespace sickbay::checkpoint
