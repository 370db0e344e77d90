// SPDX-License-Identifier: Apache-2.0
// XOR parity over a group of nodes: what one of them loses is made again from what the others have.
//
// Each member's packs of a checkpoint, one after the other, are its bytes.  With n members they are divided
// in n - 1 segments, one for each other member.  A member keeps the XOR of the segments that are for it,
// which is a (n - 1)-th of the longest member's bytes.  A lost member's segment for m is then m's parity
// without the others' segments for m; its own parity is made anew.  Shorter members count as if zeros
// followed. This is the layout of RAID 5 over nodes, as SCR's authors describe theirs (Moody et al., SC
// 2010).
//
// The bytes come and go through the interfaces below: who calls this moves them between nodes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "checkpoint/chunk_digest.h"
#include "checkpoint/files.h"

namespace sickbay::checkpoint {

/// Bytes of a member, or its parity.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `out`; beyond the end with zeros.
  virtual Status read(std::uint64_t offset, std::span<char> out) = 0;
};
/// Parts that stand one after the other: what a member has in several files.
class JoinedBytes : public ByteSource {
 public:
  std::uint64_t size() const override { return size_; }
  Status read(std::uint64_t offset, std::span<char> out) override;

 protected:
  /// One more part behind those that are there.
  void add_part(std::uint64_t size);
  /// Fills `out`, all of which is of that part, from `offset` in it on.
  virtual Status read_part(std::size_t part, std::uint64_t offset, std::span<char> out) = 0;

 private:
  std::vector<std::uint64_t> ends_;
  std::uint64_t size_ = 0;
};
/// What takes bytes, in order.
using ByteSink = std::function<Status(std::string_view)>;

/// Bytes of one segment of a group whose longest member has `longest` bytes.
std::uint64_t segment_bytes(std::uint64_t longest, std::size_t members);

/// The parity that `member` keeps, of all members' bytes (its own are not read and may be null).
Status make_parity(std::size_t member, std::span<ByteSource* const> bytes, std::uint64_t segment,
                   const ByteSink& to);
/// Bytes `from` to `from + size` of the lost member, of the others' bytes and parities (the lost one's are
/// not read).
Status rebuild(std::size_t lost, std::uint64_t from, std::uint64_t size, std::span<ByteSource* const> bytes,
               std::span<ByteSource* const> parities, std::uint64_t segment, const ByteSink& to);

// ---- what a member keeps of its group

struct ParityFile {
  std::string name;
  std::uint64_t size = 0;
  Digest digest{};  ///< of the file; where packs of a job are meant (apps/ckpt): of the pack's index
  friend bool operator==(const ParityFile&, const ParityFile&) = default;
};
struct ParityMember {
  std::string node;
  std::vector<ParityFile> files;  ///< in the order of its bytes
  std::uint64_t size() const;
  friend bool operator==(const ParityMember&, const ParityMember&) = default;
};
/// c12.xor.json: what is in c12.xor.  The same on all members but for `self` and `digest`.
struct ParityHead {
  std::int64_t number = 0;
  std::vector<ParityMember> members;  ///< two or more
  std::size_t self = 0;
  Digest digest{};  ///< of c12.xor
  std::uint64_t segment() const;
  friend bool operator==(const ParityHead&, const ParityHead&) = default;
};
std::string parity_name(std::int64_t number);       ///< "c12.xor"
std::string parity_head_name(std::int64_t number);  ///< "c12.xor.json"
std::string format_parity_head(const ParityHead& head);
/// Errors: bad_input, too_new.  Strict, as control files are.
Result<ParityHead> parse_parity_head(std::string_view text);

/// The files of a member in `folder`, as its bytes.  Errors: not_found; bad_input: one has another size.
Result<std::unique_ptr<ByteSource>> open_member(Files& files, const std::string& folder,
                                                const ParityMember& member);
/// Names, sizes and digests of files in `folder`.
Result<ParityMember> describe_member(Files& files, const std::string& folder, std::string node,
                                     std::span<const std::string> names);

/// Makes `head.self`'s parity in `folder`: the file, then its head.  `head.digest` is set.
Status keep_parity(Files& files, const std::string& folder, ParityHead& head,
                   std::span<ByteSource* const> bytes);
/// Makes file `file` of `head.members[lost]` at `path`, synced; gives the digest of what came, which the
/// caller compares.  Where it fails, `path` is removed.
Result<Digest> rebuild_file(Files& files, const std::string& path, const ParityHead& head, std::size_t lost,
                            std::size_t file, std::span<ByteSource* const> bytes,
                            std::span<ByteSource* const> parities);
/// Makes the files of `head.members[lost]` in `folder`, each under its name only when it has its digest.
/// Errors: bad_input: what the others gave was damaged.
Status rebuild_member(Files& files, const std::string& folder, const ParityHead& head, std::size_t lost,
                      std::span<ByteSource* const> bytes, std::span<ByteSource* const> parities);

}  // namespace sickbay::checkpoint
