// SPDX-License-Identifier: Apache-2.0
// Store: restoring and verifying.
//
// A restore writes every file beside its place, on several threads; when all of all processes were read and
// found right, they take their names.  So a damaged image changes nothing in the folder of the program. Parts
// of memory are read twice for the same end (memory.h).
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <unordered_set>

#include "base/text.h"
#include "checkpoint/memory.h"
#include "checkpoint/pieces.h"
#include "checkpoint/store.h"
#include "checkpoint/workers.h"

namespace sickbay::checkpoint {
namespace {

constexpr std::string_view kAside = ".sickbay-restoring";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Files of the program on their way to their places.  A file is open from its first piece to its last, for a
// job may have more of them than it may open.
class Staged {
 public:
  Staged(Files& files, std::string target) : files_(files), target_(std::move(target)) {}
  // Whatever ends a restore before take_places(), nothing is left beside the program's files.
  ~Staged() {
    for (Staging& one : all_) {
      one.out.reset();
      (void)files_.remove(one.path + std::string(kAside));
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  std::size_t count() const { return all_.size(); }

  Status add(const PackedFile& file, std::size_t pieces) {
    const std::string path = target_ + "/" + file.name;
    // Two images of one name would both be right and write over each other.
    if (!names_.insert(path).second)
      return fail(Error(ErrorCode::conflict,
                        fmt::format("two processes left a file {}", quote_for_message(file.name)))
                      .remedied_by("restore each process to a folder of its own"));
    // (Files of one folder follow each other: it is made once for all of them.)
    if (const std::string folder = folder_of(path); folder != folder_)
      if (auto made = files_.make_folder(folder_ = folder); !made) return made;
    Staging& one = all_.emplace_back();
    one.path = path;
    one.mode = file.mode;
    one.left = pieces;
    // (An older one may be of a mode that cannot be written.)
    if (auto gone = files_.remove(path + std::string(kAside)); !gone) return gone;
    // A file without bytes has no piece that would make it.
    return pieces == 0 ? write(all_.size() - 1, 0, "") : Status();
  }

  // A piece of file `i`; of several threads at once.
  Status write(std::size_t i, std::uint64_t at, std::string_view bytes) {
    Staging& one = all_[i];
    {
      const std::lock_guard hold(one.mutex);
      if (!one.out) {
        auto out = files_.create(one.path + std::string(kAside), one.mode);
        if (!out) return tl::unexpected<Error>(std::move(out.error()));
        one.out = std::move(*out);
      }
    }
    Status wrote = bytes.empty() ? Status() : one.out->write_at(at, bytes);
    const std::lock_guard hold(one.mutex);
    if (one.left <= 1) one.out.reset();
    --one.left;
    return wrote;
  }

  Status take_places() {
    // No sync before: a crash here is followed by another restore, which writes all of them again.
    for (Staging& one : all_)
      if (auto moved = files_.rename(one.path + std::string(kAside), one.path); !moved) return moved;
    all_.clear();
    return {};
  }

 private:
  struct Staging {
    std::string path;
    std::uint32_t mode = 0;
    std::mutex mutex;
    std::unique_ptr<OutFile> out;
    std::size_t left = 0;  ///< pieces
  };
  Files& files_;
  std::string target_, folder_;
  // A deque, since threads hold on to its items (each has a mutex) while others are added.
  std::deque<Staging> all_;
  std::unordered_set<std::string> names_;
};

const Image* image_of(const Control& control, std::int64_t rank) {
  for (const Image& image : control.images)
    if (image.rank == rank) return &image;
  return nullptr;
}

// Damage, in whatever form: the checkpoint before may be whole.
bool is_damage(const Error& error) {
  return error.code == ErrorCode::bad_input || error.code == ErrorCode::not_found;
}

}  // namespace

Result<std::uint64_t> Store::restore(const Control& control, std::span<const std::int64_t> ranks,
                                     const std::string& target, int threads,
                                     const std::function<Status()>& ready, MemoryTarget* memory) const {
  // Where a file of an image goes: one of the two.
  struct Destination {
    std::size_t staged = 0;
    const MemoryPart* part = nullptr;
  };
  Staged staged(*files_, target);
  std::uint64_t raw = 0;
  // Some processes at a time: each has up to kMostBases + 1 packs open.
  constexpr std::size_t kRanksAtOnce = 16;
  // Reads what some processes left, and compares it with its digests: all to files beside their places, or,
  // with `in_place`, the parts of memory to theirs.
  const auto read = [&](std::span<const std::int64_t> some, bool in_place) -> Status {
    std::vector<OpenPacks> open;
    std::vector<Piece> pieces;
    std::vector<std::vector<Destination>> to;  ///< by image and file
    for (const std::int64_t rank : some) {
      const Image* image = image_of(control, rank);
      if (!image)
        return fail(ErrorCode::not_found,
                    fmt::format("checkpoint {} has no image of rank {}", control.number, rank));
      auto packs = open_packs(*files_, folder_, *image);
      if (!packs) return tl::unexpected<Error>(std::move(packs.error()));
      open.push_back(std::move(*packs));
      const auto& files = open.back().packs[0].index().files;
      to.emplace_back(files.size());
      if (memory)
        if (auto all = all_are_there(*memory, files); !all) return all;
      for (std::size_t f = 0; f < files.size(); ++f) {
        const auto part = find_part(memory, files[f]);
        if (!part) return tl::unexpected<Error>(part.error());
        to.back()[f] = {staged.count(), *part};
        // In the second reading only memory is of interest: the files lie beside their places already.
        if (in_place && *part == nullptr) continue;
        const std::size_t before = pieces.size();
        if (auto cut = cut_in_pieces(open.back(), open.size() - 1, f, pieces); !cut) return cut;
        if (in_place) continue;
        raw += files[f].size;
        if (*part == nullptr)
          if (auto added = staged.add(files[f], pieces.size() - before); !added) return added;
      }
    }
    // Set before the first byte is changed: from here on an error leaves memory that is no state of the
    // program.
    if (in_place && !pieces.empty()) memory->changed = true;
    return for_each_task(
        pieces.size(), thread_count(threads, pieces.size()), [] { return ReadWorker(); },
        [&](ReadWorker& worker, std::size_t task) -> Status {
          const Piece& piece = pieces[task];
          const Destination& destination = to[piece.image][piece.file];
          if (!in_place && worker.raw.size() < piece.size) worker.raw.resize(piece.size);
          const std::span<char> bytes = in_place ? destination.part->bytes.subspan(piece.at, piece.size)
                                                 : std::span(worker.raw).first(piece.size);
          const PackReader& pack = open[piece.image].packs[piece.run.pack];
          if (auto done =
                  pack.read(piece.run.first, piece.run.count, bytes, worker.unsqueezer, worker.scratch);
              !done || destination.part != nullptr)
            return done;
          return staged.write(destination.staged, piece.at, {bytes.data(), bytes.size()});
        });
  };
  const auto read_all = [&](bool in_place) {
    Status done;
    for (auto left = ranks; done && !left.empty(); left = left.subspan(std::min(left.size(), kRanksAtOnce)))
      done = read(left.first(std::min(left.size(), kRanksAtOnce)), in_place);
    return done;
  };
  // The order is the promise of the head: check all, ask the others, then change memory, then files.
  Status done = read_all(false);
  if (done && ready) done = ready();
  if (done && memory && !memory->parts.empty()) done = read_all(true);
  if (done) done = staged.take_places();
  if (!done)
    return tl::unexpected<Error>(std::move(done.error()).in(fmt::format("restoring {}", control.number)));
  return raw;
}

Result<WayBack> way_back(std::span<const Store> stores, std::int64_t from) {
  std::map<std::int64_t, Candidate> all;
  for (const Store& store : stores) {
    auto listed = store.list();
    if (!listed) return tl::unexpected<Error>(listed.error());
    // The same checkpoint in several stores is one candidate, with its places in the order of the stores.
    for (Listed& one : *listed) {
      Candidate& found = all[one.number];
      found.number = one.number;
      if (one.control)
        found.whole.emplace_back(&store, std::move(*one.control));
      else
        found.wrong = std::move(one.wrong);
    }
  }
  if (from != 0) all.erase(all.upper_bound(from), all.end());
  if (all.empty() || (from != 0 && !all.contains(from)))
    return fail(ErrorCode::not_found,
                from == 0 ? "there is no checkpoint" : fmt::format("there is no checkpoint {}", from));
  WayBack way;
  way.wished = all.rbegin()->first;
  // Damaged control files do not say what went before them.  Where the others are one line, the one below is
  // it.
  while (!all.empty() && all.rbegin()->second.whole.empty()) {
    way.notes.push_back(all.rbegin()->second.wrong);
    all.erase(std::prev(all.end()));
  }
  if (all.empty()) return fail(damaged("no checkpoint has a control file that is whole"));
  const Control newest = all.rbegin()->second.whole.front().second;
  if (!way.notes.empty()) {
    // From the newest on downwards, each must be an ancestor of the one above it: then they are one line.
    const std::vector<std::int64_t>* above = nullptr;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
      if (one->second.whole.empty()) continue;
      if (above && std::find(above->begin(), above->end(), one->first) == above->end())
        return fail(Error(ErrorCode::conflict, way.notes.front())
                        .because("the history has branches: it is not known which checkpoint went before it")
                        .remedied_by("name the checkpoint to go on from"));
      above = &one->second.whole.front().second.ancestors;
    }
  }
  // Along the ancestors and not by number: what lies between may be of a branch that the job has left.
  std::vector<std::int64_t> line = {newest.number};
  line.insert(line.end(), newest.ancestors.begin(), newest.ancestors.end());
  for (const std::int64_t number : line)
    if (const auto one = all.find(number); one != all.end())  // else it has ended
      way.line.push_back(std::move(one->second));
  return way;
}

Result<Restored> restore_newest(std::span<const Store> stores, std::int64_t from, const Resumer& resumer,
                                std::span<const std::int64_t> ranks, const std::string& target, int threads) {
  auto way = way_back(stores, from);
  if (!way) return tl::unexpected<Error>(std::move(way.error()));
  Restored restored;
  restored.notes = std::move(way->notes);
  for (const Candidate& one : way->line) {
    if (one.whole.empty()) restored.notes.push_back(one.wrong);
    for (const auto& [store, control] : one.whole) {
      // Who may not go on from this one may not from an older one either: so no next one is tried.
      auto warnings = check_fit(control, resumer);
      if (!warnings) return tl::unexpected<Error>(warnings.error());
      const auto raw = store->restore(control, ranks, target, threads);
      if (raw) {
        restored.number = one.number;
        restored.raw = *raw;
        restored.notes.insert(restored.notes.end(), warnings->begin(), warnings->end());
        if (one.number != way->wished)
          restored.notes.push_back(fmt::format("checkpoint {} was taken instead", one.number));
        return restored;
      }
      // A full disk or a missing right is no damage: an older checkpoint would fail in the same way.
      if (!is_damage(raw.error())) return tl::unexpected<Error>(raw.error());
      restored.notes.push_back(
          fmt::format("checkpoint {} in {}: {}", one.number, store->folder(), raw.error().what));
    }
  }
  Error error = damaged(fmt::format("no checkpoint from {} on backwards is whole", way->wished));
  if (!restored.notes.empty()) error.cause = restored.notes.front();
  return fail(std::move(error));
}

Status Store::verify_pack(const Image& image, std::map<std::string, Digest>& sure, int threads) const {
  auto open = open_packs(*files_, folder_, image);
  if (!open) return tl::unexpected<Error>(std::move(open.error()));
  // (The pieces are of no use here; cutting them compares the runs of the files with their chunks and sizes.)
  std::vector<Piece> unused;
  for (std::size_t f = 0; f < open->packs[0].index().files.size(); ++f)
    if (auto cut = cut_in_pieces(*open, 0, f, unused); !cut) return cut;
  for (const PackReader& pack : open->packs) {
    // Packs are shared by many checkpoints; each is read once.
    if (const auto known = sure.find(pack.name()); known != sure.end() && known->second == pack.digest())
      continue;
    const auto count = static_cast<std::uint32_t>(pack.index().chunks.size());
    // Chunks of one task: 5 MiB on average.
    constexpr std::uint32_t kAtOnce = 256;
    auto done =
        for_each_task((count + kAtOnce - 1) / kAtOnce, thread_count(threads, (count + kAtOnce - 1) / kAtOnce),
                      [] { return ReadWorker(); },
                      [&](ReadWorker& worker, std::size_t task) {
                        const auto first = static_cast<std::uint32_t>(task) * kAtOnce,
                                   end = std::min(count, first + kAtOnce);
                        std::size_t size = 0;
                        for (std::uint32_t i = first; i < end; ++i) size += pack.index().chunks[i].raw;
                        if (worker.raw.size() < size) worker.raw.resize(size);
                        return pack.read(first, end - first, std::span(worker.raw).first(size),
                                         worker.unsqueezer, worker.scratch);
                      });
    if (!done) return done;
    sure[pack.name()] = pack.digest();
  }
  return {};
}

}  // namespace sickbay::checkpoint
