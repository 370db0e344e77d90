// SPDX-License-Identifier: Apache-2.0
// Store::save: parts of files to chunks, on several threads, into one pack for each process.
//
// Threads take parts in one order, the processes' in turn, so that neighbours in that order write to
// different packs.  What a part became is written when all parts of its pack before it have been: they were
// taken before, so somebody has them in hand, and the wait ends; after an error nobody waits.  The last part
// of each pack closes it: index, trailer, sync.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "checkpoint/cut.h"
#include "checkpoint/store.h"
#include "checkpoint/workers.h"

namespace sickbay::checkpoint {
namespace {

// Bytes of a part. A worker has one part in memory, raw and squeezed; larger ones would leave threads without
// work on small files.
constexpr std::uint64_t kSavePart = 8 << 20;

struct Place {
  std::uint32_t pack, chunk;
};

// The older packs that an image may stand on.
struct Known {
  std::vector<Base> bases;
  std::unordered_map<Digest, Place, DigestHash> chunks;  ///< pack: from 1
};

struct OpenImage {
  const ImageSource* source = nullptr;
  Known known;
  std::optional<PackWriter> writer;
  std::vector<PackedFile> files;
  std::vector<FileState> states;  ///< of the files when they were first looked at
  Image image;
  std::size_t turn = 0;  ///< the part that is to be written next
};

// One task of a worker. `sequence` is its place among the parts of its image; the one that `closes` has no
// bytes.
struct Part {
  std::size_t image = 0, sequence = 0, file = 0;
  std::uint64_t offset = 0, size = 0;
  bool closes = false;
};

// A part as chunks: some new, with their bytes, some known.
struct CutPart {
  struct Piece {
    Chunk chunk;
    std::optional<Place> known;
  };
  std::vector<Piece> pieces;
  std::string bytes;  ///< stored bytes of the new ones
};

struct SaveWorker {
  Squeezer squeezer;
  std::string read;
  CutPart cut;
};

tl::unexpected<Error> changed(const Source& source) {
  return fail(
      Error(ErrorCode::conflict, fmt::format("{} changed while it was saved", quote_for_message(source.path)))
          .remedied_by("let the program leave its files alone until the checkpoint was taken"));
}

Result<Known> load_known(Files& files, const std::string& folder, const Image& image) {
  Known known;
  // The image before and the packs that it stands on; their own bases are not followed, since a pack names
  // every pack that it uses a chunk of.
  std::vector<Base> wanted = {{image.pack, image.digest}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto pack = PackReader::open(files, folder, wanted[i].name);
    if (!pack) return tl::unexpected<Error>(pack.error());
    if (pack->digest() != wanted[i].digest)
      return fail(damaged(fmt::format("the pack {} is another one", wanted[i].name)));
    if (i == 0) wanted.insert(wanted.end(), pack->index().bases.begin(), pack->index().bases.end());
    const auto& chunks = pack->index().chunks;
    for (std::uint32_t c = 0; c < chunks.size(); ++c)
      // (Where two packs have a chunk, the younger one is named: older bases then fall out of use.)
      known.chunks.try_emplace(chunks[c].digest, Place{static_cast<std::uint32_t>(i + 1), c});
  }
  known.bases = std::move(wanted);
  return known;
}

// Parts of all images, the images' in turn.
std::vector<Part> parts_of(const std::vector<OpenImage>& images) {
  std::vector<std::vector<Part>> each(images.size());
  std::size_t most = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    for (std::size_t f = 0; f < images[i].files.size(); ++f)
      for (std::uint64_t at = 0; at < images[i].files[f].size; at += kSavePart)
        each[i].push_back({i, each[i].size(), f, at, std::min(kSavePart, images[i].files[f].size - at)});
    // Also an image without bytes has this part: somebody must write its index.
    each[i].push_back({.image = i, .sequence = each[i].size(), .closes = true});
    most = std::max(most, each[i].size());
  }
  std::vector<Part> all;
  for (std::size_t s = 0; s < most; ++s)
    for (const auto& parts : each)
      if (s < parts.size()) all.push_back(parts[s]);
  return all;
}

class Saving {
 public:
  Saving(Files& files, const std::string& folder) : files_(files), folder_(folder) {}

  std::vector<OpenImage> images;

  // Looks at the files of an image.
  Status plan(OpenImage& image) {
    std::unordered_set<std::string_view> names;
    for (const Source& source : image.source->files) {
      if (!is_relative_path(source.name) || !names.insert(source.name).second)
        return fail(Error(ErrorCode::bad_input, fmt::format("{} cannot be the name of a file in a checkpoint",
                                                            quote_for_message(source.name)))
                        .remedied_by("name each file once, by a path below the working folder"));
      FileState state{source.bytes.size(), 0, source.mode};
      if (!source.path.empty()) {
        const auto seen = look_at(source);
        if (!seen) return tl::unexpected<Error>(seen.error());
        state = *seen;
      }
      image.files.push_back({source.name, state.mode & 0777, state.size, {}});
      image.states.push_back(state);
      image.image.raw += static_cast<std::int64_t>(state.size);
    }
    return {};
  }

  Status run(int threads) {
    const std::vector<Part> parts = parts_of(images);
    return for_each_task(
        parts.size(), thread_count(threads, parts.size()), [] { return SaveWorker(); },
        [&](SaveWorker& worker, std::size_t task) { return save_part(worker, parts[task]); });
  }

 private:
  Result<FileState> look_at(const Source& source) {
    const auto file = files_.open(source.path);
    if (!file) return tl::unexpected<Error>(file.error());
    return (*file)->state();
  }

  Status save_part(SaveWorker& worker, const Part& part) {
    OpenImage& image = images[part.image];
    Status done;
    // Reading, cutting and squeezing need no lock: here the threads work at once.
    if (!part.closes) done = guarded([&] { return cut_part(worker, image, part); });
    {
      std::unique_lock hold(mutex_);
      // One's turn has come when all parts before it are in the pack. Whoever fails does not wait, and wakes
      // all others: they would wait for a turn that never comes.
      if (done) turn_.wait(hold, [&] { return failed_ || image.turn == part.sequence; });
      if (!done) failed_ = true;
      if (failed_) {
        turn_.notify_all();
        return done;
      }
    }
    // Without the lock: the turn is ours until `image.turn` is raised, so nobody else touches this pack.
    done = guarded(
        [&] { return part.closes ? close(image) : write(worker, image, image.files[part.file].runs); });
    const std::lock_guard hold(mutex_);
    if (!done) failed_ = true;
    ++image.turn;
    turn_.notify_all();
    return done;
  }

  Status cut_part(SaveWorker& worker, const OpenImage& image, const Part& part) {
    const Source& source = image.source->files[part.file];
    std::string_view bytes =
        source.bytes.substr(std::min<std::size_t>(part.offset, source.bytes.size()), part.size);
    if (!source.path.empty()) {
      const auto file = files_.open(source.path);
      if (!file) return tl::unexpected<Error>(file.error());
      worker.read.resize(kSavePart);
      const auto got = (*file)->read_at(part.offset, std::span(worker.read).first(part.size));
      if (!got) return tl::unexpected<Error>(got.error());
      // Shorter than when it was planned: the program has cut it off meanwhile.
      if (*got != part.size) return changed(source);
      bytes = std::string_view(worker.read).substr(0, part.size);
    }
    worker.squeezer.begin();  // a pack does not depend on which thread had what before
    worker.cut.pieces.clear();
    worker.cut.bytes.clear();
    Cutter cutter;
    while (!bytes.empty()) {
      const std::string_view raw = bytes.substr(0, cutter.find(bytes).value_or(bytes.size()));
      bytes.remove_prefix(raw.size());
      const auto size = static_cast<std::uint32_t>(raw.size());
      CutPart::Piece piece{{digest_of(raw), size, size}, {}};
      if (const auto known = image.known.chunks.find(piece.chunk.digest); known != image.known.chunks.end()) {
        // Known by its digest, and so neither squeezed nor written.
        piece.known = known->second;
      } else {
        const std::string_view less = worker.squeezer.squeeze(raw);
        if (!less.empty()) piece.chunk.stored = static_cast<std::uint32_t>(less.size());
        worker.cut.bytes += less.empty() ? raw : less;
      }
      worker.cut.pieces.push_back(piece);
    }
    return {};
  }

  static Status write(const SaveWorker& worker, OpenImage& image, std::vector<ChunkRun>& runs) {
    const auto& pieces = worker.cut.pieces;
    std::string_view bytes = worker.cut.bytes;
    std::vector<Chunk> fresh;
    for (std::size_t i = 0; i < pieces.size();) {
      if (const auto& known = pieces[i].known) {
        if (!runs.empty() && runs.back().pack == known->pack &&
            runs.back().first + runs.back().count == known->chunk)
          ++runs.back().count;
        else
          runs.push_back({known->pack, known->chunk, 1});
        ++i;
        continue;
      }
      fresh.clear();
      std::size_t size = 0;
      for (; i < pieces.size() && !pieces[i].known; ++i) {
        fresh.push_back(pieces[i].chunk);
        size += pieces[i].chunk.stored;
      }
      if (auto added = image.writer->add(fresh, bytes.substr(0, size), runs); !added) return added;
      bytes.remove_prefix(size);
    }
    return {};
  }

  Status close(OpenImage& image) {
    // After the last byte was read: a change in the midst of it would mix two states of the program in one
    // file.
    for (std::size_t i = 0; i < image.files.size(); ++i) {
      const Source& source = image.source->files[i];
      if (source.path.empty()) continue;
      const auto now = look_at(source);
      if (!now) return tl::unexpected<Error>(now.error());
      if (now->size != image.states[i].size || now->changed_ns != image.states[i].changed_ns)
        return changed(source);
    }
    // Bases of which nothing is used are not named: they may be removed.
    // They are numbered anew, in the order of their first use; the runs were written with the old numbers.
    std::vector<std::uint32_t> number(image.known.bases.size() + 1, 0);
    std::vector<Base> bases;
    for (PackedFile& file : image.files)
      for (ChunkRun& run : file.runs) {
        if (run.pack == 0) continue;
        if (number[run.pack] == 0) {
          bases.push_back(image.known.bases[run.pack - 1]);
          number[run.pack] = static_cast<std::uint32_t>(bases.size());
        }
        run.pack = number[run.pack];
      }
    const auto digest = image.writer->finish(std::move(bases), std::move(image.files));
    if (!digest) return tl::unexpected<Error>(digest.error());
    image.image.digest = *digest;
    image.image.written = static_cast<std::int64_t>(image.writer->bytes());
    return {};
  }

  Files& files_;
  const std::string& folder_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool failed_ = false;
};

}  // namespace

Result<Saved> Store::save(std::int64_t number, std::span<const ImageSource> sources,
                          const SaveOptions& options) {
  const auto names = files_->list(folder_);
  if (!names) return tl::unexpected<Error>(names.error());
  for (const std::string& name : *names) {
    // Of one who died: nobody else saves these ranks now.
    const auto ours = [&](const ImageSource& source) {
      return name.ends_with(fmt::format(".r{}.pack.new", source.rank));
    };
    if (std::any_of(sources.begin(), sources.end(), ours))
      if (auto gone = files_->remove(folder_ + "/" + name); !gone) return tl::unexpected<Error>(gone.error());
    if (control_number(name) == number)
      return fail(ErrorCode::already_exists, fmt::format("checkpoint {} is there already", number));
  }
  Saved saved;
  std::optional<Control> before;
  if (options.before && !options.full) {
    auto read = read_control(*options.before);
    if (read)
      before = std::move(*read);
    else
      // Damage of what went before is no reason not to save: this one then needs nothing of it.
      saved.notes.push_back(fmt::format("checkpoint {} is full: {}", number, read.error().what));
  }

  Saving saving(*files_, folder_);
  saving.images = std::vector<OpenImage>(sources.size());
  Status done;
  for (std::size_t i = 0; i < sources.size() && done; ++i) {
    OpenImage& image = saving.images[i];
    image.source = &sources[i];
    image.image.rank = sources[i].rank;
    image.image.pack = pack_name(number, sources[i].rank);
    const Image* older = nullptr;
    if (before)
      for (const Image& other : before->images)
        if (other.rank == image.image.rank) older = &other;
    if (older) {
      auto known = load_known(*files_, folder_, *older);
      if (!known)
        saved.notes.push_back(
            fmt::format("the image of rank {} is full: {}", older->rank, known.error().what));
      else if (known->bases.size() > kMostBases)
        // (The image before counts as a base, so a chain grows to kMostBases and begins anew.)
        saved.notes.push_back(fmt::format("the image of rank {} is full: the one before stands on {} packs",
                                          older->rank, kMostBases));
      else
        image.known = std::move(*known);
    }
    done = saving.plan(image);
    if (!done) break;
    auto writer = PackWriter::create(*files_, folder_, image.image.pack);
    if (writer)
      image.writer.emplace(std::move(*writer));
    else
      done = tl::unexpected<Error>(std::move(writer.error()));
  }
  if (done) done = saving.run(options.threads);
  // No pack gets its name before all are whole and synced, and the folder is synced once for all of them.
  std::size_t published = 0;
  for (; done && published < saving.images.size(); ++published)
    done = saving.images[published].writer->publish();
  if (done) done = files_->sync_folder(folder_);
  if (!done) {
    // Also those that have their names already: number_of() would take the number for used, and remove()
    // would keep them until a newer checkpoint exists.
    for (OpenImage& image : saving.images) {
      if (image.writer) image.writer->abandon();
      (void)files_->remove(folder_ + "/" + image.image.pack);
    }
    return tl::unexpected<Error>(std::move(done.error()).in(fmt::format("saving checkpoint {}", number)));
  }
  for (OpenImage& image : saving.images) {
    saved.raw += static_cast<std::uint64_t>(image.image.raw);
    saved.written += static_cast<std::uint64_t>(image.image.written);
    saved.images.push_back(std::move(image.image));
  }
  return saved;
}

}  // namespace sickbay::checkpoint
