// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/text.h"
#include "checkpoint/little_endian.h"

namespace sickbay::checkpoint {
namespace {

constexpr std::string_view kHead = "SBCKPACK", kTail = "SBCKPEND";
constexpr std::uint32_t kPackVersion = 1;
constexpr std::size_t kReadAhead = 8 << 20;  ///< stored bytes that are read at a time

void put_digest(std::string& bytes, const Digest& digest) {
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}
Digest take_digest(Taker& from) {
  Digest digest{};
  const std::string_view bytes = from.bytes(digest.size());
  if (bytes.size() == digest.size()) std::memcpy(digest.data(), bytes.data(), bytes.size());
  return digest;
}

std::string header() {
  std::string bytes(kHead);
  put_u32(bytes, kPackVersion);
  put_u32(bytes, 0);
  return bytes;
}

// A count of things that take `least` bytes each: never more than there are bytes for.
// A count from a damaged file may be any number. Room is made for it before its items are read, so it is
// first compared with the bytes that are left.
std::size_t take_count(Taker& from, std::size_t least) {
  const std::size_t count = from.u32();
  // (Asking for one byte too many makes the reader fail: parse_index sees that at its end.)
  return count <= from.left() / least ? count : (from.bytes(from.left() + 1), 0);
}

// What is wrong with an index that has the right shape, or "".
// The digest of an index says that it is what somebody wrote, not that it was Sickbay. So a restore goes by
// nothing that was not looked at here: no path out of its folder, no chunk larger than the buffers.
std::string wrong_in(const PackIndex& index) {
  std::unordered_set<std::string_view> bases, names;
  for (const Base& base : index.bases)
    if (!is_plain_name(base.name) || !bases.insert(base.name).second)
      return fmt::format("{} is not the name of a pack", quote_for_message(base.name));
  for (std::size_t i = 0; i < index.chunks.size(); ++i) {
    const Chunk& chunk = index.chunks[i];
    if (chunk.raw == 0 || chunk.raw > kMostChunk || chunk.stored == 0 || chunk.stored > chunk.raw)
      return fmt::format("chunk {} has {} bytes in {}", i, chunk.raw, chunk.stored);
  }
  for (const PackedFile& file : index.files) {
    if (!is_relative_path(file.name) || !names.insert(file.name).second)
      return fmt::format("{} is not the name of a file", quote_for_message(file.name));
    if (file.mode > 0777) return fmt::format("{} has the mode {:o}", quote_for_message(file.name), file.mode);
    // The sizes of chunks in bases are not known here, so only a file without any of them is compared with
    // its size. For all others cut_in_pieces() does it, when the bases are open.
    std::uint64_t own = 0;
    bool all_own = true;
    for (const ChunkRun& run : file.runs) {
      if (run.count == 0 || run.pack > index.bases.size())
        return fmt::format("a run of {} chunks of pack {}", run.count, run.pack);
      all_own = all_own && run.pack == 0;
      if (run.pack != 0) continue;
      // (Not first + count: the sum of two u32 may overflow.)
      if (run.first > index.chunks.size() || run.count > index.chunks.size() - run.first)
        return fmt::format("a run of {} chunks from {} of {}", run.count, run.first, index.chunks.size());
      for (std::size_t i = run.first; i < std::size_t{run.first} + run.count; ++i) own += index.chunks[i].raw;
    }
    if (all_own && own != file.size)
      return fmt::format("{} has {} bytes, its chunks {}", quote_for_message(file.name), file.size, own);
  }
  return "";
}

tl::unexpected<Error> damaged_pack(const std::string& name, std::string_view why) {
  return fail(damaged(fmt::format("the pack {} is damaged: {}", name, why)));
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

bool is_relative_path(std::string_view path) {
  if (path.empty() || path.size() > kMostFileName || path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

Error damaged(std::string what) {
  return Error(ErrorCode::bad_input, std::move(what))
      .remedied_by("take it from its partner copy, rebuild it from parity, or restore the checkpoint before");
}

std::string format_index(const PackIndex& index) {
  std::string bytes;
  put_u32(bytes, static_cast<std::uint32_t>(index.bases.size()));
  for (const Base& base : index.bases) {
    put_text(bytes, base.name);
    put_digest(bytes, base.digest);
  }
  put_u32(bytes, static_cast<std::uint32_t>(index.chunks.size()));
  for (const Chunk& chunk : index.chunks) {
    put_digest(bytes, chunk.digest);
    put_u32(bytes, chunk.raw);
    put_u32(bytes, chunk.stored);
  }
  put_u32(bytes, static_cast<std::uint32_t>(index.files.size()));
  for (const PackedFile& file : index.files) {
    put_text(bytes, file.name);
    put_u32(bytes, file.mode);
    put_u64(bytes, file.size);
    put_u32(bytes, static_cast<std::uint32_t>(file.runs.size()));
    for (const ChunkRun& run : file.runs)
      for (const std::uint32_t number : {run.pack, run.first, run.count}) put_u32(bytes, number);
  }
  return bytes;
}

Result<PackIndex> parse_index(std::string_view bytes) {
  Taker from(bytes);
  PackIndex index;
  // The least bytes of an item: a base is the length of its name (4) and a digest (32), ...
  index.bases.resize(take_count(from, 36));
  for (Base& base : index.bases) {
    base.name = from.text();
    base.digest = take_digest(from);
  }
  // ... a chunk a digest and two numbers of 4, ...
  index.chunks.resize(take_count(from, 40));
  for (Chunk& chunk : index.chunks) {
    chunk.digest = take_digest(from);
    chunk.raw = from.u32();
    chunk.stored = from.u32();
  }
  // ... a file the length of its name, mode, size (8) and its count of runs; a run three numbers.
  index.files.resize(take_count(from, 20));
  for (PackedFile& file : index.files) {
    file.name = from.text();
    file.mode = from.u32();
    file.size = from.u64();
    file.runs.resize(take_count(from, 12));
    for (ChunkRun& run : file.runs) run = ChunkRun{from.u32(), from.u32(), from.u32()};
  }
  if (!from.ok() || from.left() != 0) return fail(damaged("the index of a pack is cut short or too long"));
  if (std::string wrong = wrong_in(index); !wrong.empty())
    return fail(damaged("the index of a pack is wrong: " + wrong));
  return index;
}

PackWriter::PackWriter(Files& files, std::string path, std::unique_ptr<OutFile> out)
    : files_(&files), path_(std::move(path)), out_(std::move(out)) {}

Result<PackWriter> PackWriter::create(Files& files, const std::string& folder, const std::string& name) {
  SB_CHECK(is_plain_name(name), "packs have plain names");
  const std::string path = folder + "/" + name;
  auto out = files.create(path + ".new", 0600);
  if (!out) return tl::unexpected<Error>(std::move(out.error()));
  PackWriter writer(files, path, std::move(*out));
  if (auto put = writer.put(header()); !put) {
    writer.abandon();
    return tl::unexpected<Error>(std::move(put.error()));
  }
  return writer;
}

Status PackWriter::put(std::string_view bytes) {
  bytes_ += bytes.size();
  return out_->append(bytes);
}

Status PackWriter::add(std::span<const Chunk> chunks, std::string_view bytes, std::vector<ChunkRun>& runs) {
  std::size_t kept = 0, at = 0;  // what lies between them in `bytes` is new and not yet written
  for (const Chunk& chunk : chunks) {
    // A chunk may come twice in one call (pages of zeros): the first is written, the second is a run to it.
    // What is new between two known ones is written in one piece.
    const auto number = static_cast<std::uint32_t>(index_.chunks.size());
    const auto [known, added] = known_.try_emplace(chunk.digest, number);
    if (added) {
      index_.chunks.push_back(chunk);
    } else {
      if (at > kept)
        if (auto wrote = put(bytes.substr(kept, at - kept)); !wrote) return wrote;
      kept = at + chunk.stored;
    }
    at += chunk.stored;
    // A run grows as long as chunks follow each other in the pack: a file that is new as a whole is one run.
    if (!runs.empty() && runs.back().pack == 0 && runs.back().first + runs.back().count == known->second)
      ++runs.back().count;
    else
      runs.push_back({0, known->second, 1});
  }
  SB_CHECK(at == bytes.size(), "the bytes are those of the chunks");
  return at > kept ? put(bytes.substr(kept)) : Status();
}

Result<Digest> PackWriter::finish(std::vector<Base> bases, std::vector<PackedFile> files) {
  index_.bases = std::move(bases);
  index_.files = std::move(files);
  const std::string index = format_index(index_);
  const Digest digest = digest_of(index);
  std::string trailer;
  put_u64(trailer, bytes_);
  put_u64(trailer, index.size());
  put_digest(trailer, digest);
  put_u32(trailer, kPackVersion);
  put_u32(trailer, 0);
  trailer += kTail;
  Status done = put(index);
  if (done) done = put(trailer);
  // Synced here and renamed in publish(): a name never stands for bytes that a crash can still take.
  if (done) done = out_->sync();
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return digest;
}

Status PackWriter::publish() {
  out_.reset();
  return files_->rename(path_ + ".new", path_);
}

void PackWriter::abandon() {
  out_.reset();
  (void)files_->remove(path_ + ".new");
}

Result<PackReader> PackReader::open(Files& files, const std::string& folder, const std::string& name) {
  auto in = files.open(folder + "/" + name);
  if (!in) return tl::unexpected<Error>(std::move(in.error()));
  return open(std::move(*in), name);
}

Result<PackReader> PackReader::open(std::unique_ptr<InFile> in, std::string name) {
  PackReader pack;
  pack.in_ = std::move(in);
  pack.name_ = std::move(name);
  const auto read = [&](std::uint64_t at, std::size_t size) -> Result<std::string> {
    std::string bytes(size, '\0');
    const auto got = pack.in_->read_at(at, bytes);
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got != size) return damaged_pack(pack.name_, "it is cut short");
    return bytes;
  };
  // From outside to inside: head, trailer, index; each says where the next is, and nothing is read by a
  // number that was not compared with the size of the file.
  const auto state = pack.in_->state();
  if (!state) return tl::unexpected<Error>(state.error());
  pack.bytes_ = state->size;
  if (state->size < kPackHeader + kTrailer) return damaged_pack(pack.name_, "it is cut short");
  const auto head = read(0, kPackHeader);
  if (!head) return tl::unexpected<Error>(head.error());
  if (!head->starts_with(kHead)) return damaged_pack(pack.name_, "it does not begin as a pack");
  // The version before the rest of the head: a newer version may have changed that, and "too new" is no
  // damage.
  if (const std::uint32_t version = Taker(head->substr(kHead.size())).u32(); version > kPackVersion)
    return fail(ErrorCode::too_new,
                fmt::format("the pack {} is of version {}, this is {}", pack.name_, version, kPackVersion));
  if (*head != header()) return damaged_pack(pack.name_, "its head is wrong");
  const auto trailer = read(state->size - kTrailer, kTrailer);
  if (!trailer) return tl::unexpected<Error>(trailer.error());
  Taker from(*trailer);
  const std::uint64_t at = from.u64(), size = from.u64();
  pack.digest_ = take_digest(from);
  if (from.u32() != kPackVersion || from.u32() != 0 || from.bytes(kTail.size()) != kTail)
    return damaged_pack(pack.name_, "it does not end as a pack: it was cut short, or its end is wrong");
  if (at < kPackHeader || at > state->size - kTrailer || size != state->size - kTrailer - at)
    return damaged_pack(pack.name_, "its index is not where its end says");
  const auto bytes = read(at, size);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  if (digest_of(*bytes) != pack.digest_) return damaged_pack(pack.name_, "its index is not what was written");
  auto index = parse_index(*bytes);
  if (!index) return tl::unexpected<Error>(std::move(index.error()));
  pack.index_ = std::move(*index);
  // The index names sizes alone: where a chunk lies is the sum of those before it. One place more than
  // chunks, so that the end of the last is found like the others.
  std::uint64_t place = kPackHeader;
  pack.places_.reserve(pack.index_.chunks.size() + 1);
  for (const Chunk& chunk : pack.index_.chunks) {
    pack.places_.push_back(place);
    place += chunk.stored;
  }
  pack.places_.push_back(place);
  if (place != at) return damaged_pack(pack.name_, "its chunks have another size than its index says");
  return pack;
}

Status PackReader::read(std::uint32_t first, std::uint32_t count, std::span<char> raw, Unsqueezer& unsqueezer,
                        std::string& scratch) const {
  const auto wrong = [&](std::uint32_t chunk, std::string_view why) {
    return damaged_pack(name_, fmt::format("chunk {} of {} ({})", chunk, index_.chunks.size(), why));
  };
  for (const std::uint32_t end = first + count; first < end;) {
    // As many as one reading takes.
    std::uint32_t next = first + 1;
    while (next < end && places_[next + 1] - places_[first] <= kReadAhead) ++next;
    const std::uint64_t size = places_[next] - places_[first];
    if (scratch.size() < size) scratch.resize(size);
    const auto got = in_->read_at(places_[first], std::span(scratch).first(size));
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got != size) return wrong(first, "the file has become shorter");
    std::string_view stored(scratch.data(), size);
    for (; first < next; ++first) {
      const Chunk& chunk = index_.chunks[first];
      // Equal sizes mean "not squeezed": the squeezer never gives a chunk of its old size.
      const std::span<char> out = raw.first(chunk.raw);
      if (chunk.stored == chunk.raw)
        std::memcpy(out.data(), stored.data(), chunk.raw);
      else if (auto made = unsqueezer.unsqueeze(stored.substr(0, chunk.stored), out); !made)
        return wrong(first, made.error().what);
      // By the digest of the raw bytes: so a fault of the disk, of zstd or of the memory in between is found
      // alike.
      if (digest_of({out.data(), out.size()}) != chunk.digest) return wrong(first, "its digest is another");
      raw = raw.subspan(chunk.raw);
      stored.remove_prefix(chunk.stored);
    }
  }
  return {};
}

}  // namespace sickbay::checkpoint
