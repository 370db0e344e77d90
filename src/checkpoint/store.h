// SPDX-License-Identifier: Apache-2.0
// The store: the checkpoints of one job in one folder of a node.
//
//   c12.r3.pack   what process 3 added with checkpoint 12
//   c12.json      its control file: with it the checkpoint exists, before it does not
//   *.new         what is being written; of no meaning after a crash
//   lock          who writes; on a folder that several processes share, the one that leads them
//
// A full checkpoint writes all its chunks; an incremental one only those that the packs of the checkpoint
// before do not have.  save() writes packs, publish() the control file; on several nodes each saves its own
// processes and, when all have, each publishes the same control file.  Files are cut in parts of 8 MiB, whose
// chunks are found, digested and squeezed by several threads at once; a pack is written by one of them at a
// time, in order.
//
// What must hold: after a crash at any point, and with any byte changed, a restore gives what was saved or an
// error that says what is wrong, never something else (store_crash_test.cc goes through all of them).
// Source: doc/design/checkpoint.md.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/control.h"
#include "checkpoint/files.h"
#include "checkpoint/memory.h"
#include "checkpoint/pack.h"

namespace sickbay::checkpoint {

/// Packs that one incremental checkpoint may stand on: beyond, a full one is made.  A chunk that is damaged
/// damages every checkpoint that uses it, and each pack is one more file to open.
inline constexpr std::size_t kMostBases = 16;

/// A file of the program, or a part of its memory.
struct Source {
  std::string name;           ///< as PackedFile::name
  std::string path;           ///< of the file; or empty:
  std::string_view bytes{};   ///< the memory
  std::uint32_t mode = 0600;  ///< of memory; a file has its own
};

/// What one process leaves.
struct ImageSource {
  std::int64_t rank = 0;
  std::vector<Source> files;
};

struct SaveOptions {
  bool full = false;  ///< nothing of older packs
  std::optional<std::int64_t> before =
      std::nullopt;  ///< the checkpoint whose packs are looked into; none: full
  int threads = 0;   ///< 0: as many as there are processors, 8 at most
};

struct Saved {
  std::vector<Image> images;  ///< without `node`
  std::uint64_t raw = 0, written = 0;
  std::vector<std::string> notes;  ///< what its owner should know: why one is full that was to be incremental
};

struct Listed {
  std::int64_t number = 0;
  std::optional<Control> control;  ///< none: it is damaged, and
  std::string wrong;               ///< why
};

struct Restored {
  std::int64_t number = 0;
  std::uint64_t raw = 0;
  std::vector<std::string> notes;  ///< which checkpoints were damaged and how
};

class Store {
 public:
  /// The folder is made where it is not there.  `files` must outlive the store.
  /// Errors: as Files.
  static Result<Store> open(Files& files, std::string folder);

  const std::string& folder() const { return folder_; }

  /// Held while something is written: by who calls save(), publish() or remove().
  /// Errors: busy: another checkpoint is being taken.
  Result<std::unique_ptr<FileLock>> lock();

  /// By number.  Control files that are damaged are listed as such.
  Result<std::vector<Listed>> list() const;
  /// Errors: not_found; bad_input (damaged, or of another number than its name), too_new.
  Result<Control> read_control(std::int64_t number) const;
  /// Greater than that of any file here.
  Result<std::int64_t> next_number() const;

  /// Writes the packs of `images` as part of checkpoint `number`; none of them stays behind where one fails.
  /// Several processes may do so at once in one folder, each with ranks of its own.
  /// Errors: conflict (a file changed while it was read), not_found, bad_input (names), storage_full, ...
  Result<Saved> save(std::int64_t number, std::span<const ImageSource> images, const SaveOptions& options);
  /// The checkpoint exists; to say so again changes nothing.  Errors: not_found, conflict: a pack of `own`
  /// ranks is missing here or another; already_exists: another one of that number.
  Status publish(const Control& control, std::span<const std::int64_t> own);

  /// Puts the files of `ranks` below `target` (folders that are not there get the mode 0700), and only when
  /// all were read and found right.  After a crash on the way it is to be done again: some may be in place by
  /// then.  Gives the bytes of the files. Errors: bad_input (damaged; nothing was changed), not_found,
  /// conflict (two files of one name), storage_full; what `ready` fails with.
  /// `ready`, where there is one, is called when all is read and found right and nothing has been changed
  /// yet: others may have to be asked first.  With `memory` the parts of memory go to where it says, and
  /// conflict is also: the program has other parts, or of other sizes; where `memory->changed` is set after
  /// an error, they are of no use any more.
  Result<std::uint64_t> restore(const Control& control, std::span<const std::int64_t> ranks,
                                const std::string& target, int threads = 0,
                                const std::function<Status()>& ready = {},
                                MemoryTarget* memory = nullptr) const;
  /// Every byte of a pack and of those it stands on, of which those in `sure` are passed over and to which
  /// those found right are added.  Errors: bad_input: what is damaged; not_found.
  Status verify_pack(const Image& image, std::map<std::string, Digest>& sure, int threads = 0) const;

  /// The packs that an image needs: its own and its bases.  Errors: as PackReader::open.
  Result<std::vector<std::string>> packs_of(const Image& image) const;

  /// Checkpoints end, and packs older than the newest that no checkpoint needs any more are removed, with
  /// what a crash left.  Gives the bytes that went.  What is damaged keeps every pack that it could stand on.
  Result<std::uint64_t> remove(std::span<const std::int64_t> numbers);

 private:
  Store(Files& files, std::string folder) : files_(&files), folder_(std::move(folder)) {}

  Files* files_;
  std::string folder_;
};

/// One checkpoint on the way back: where it is whole as far as its control file tells.
struct Candidate {
  std::int64_t number = 0;
  std::vector<std::pair<const Store*, Control>> whole;
  std::string wrong;  ///< what is the matter with a control file of it; of interest where none is whole
};
struct WayBack {
  std::vector<Candidate> line;     ///< from the newest towards its ancestors, as far as they are there
  std::vector<std::string> notes;  ///< which newer ones were passed over, and why
  std::int64_t wished = 0;         ///< the one asked for, or the newest
};
/// In which order checkpoints are to be tried, from `from` (0: the newest there is) on.  `stores` must
/// outlive what it gives.  Errors: not_found; bad_input: no control file is whole; conflict: the newest is
/// damaged and the history has branches, so that nobody knows what went before it.
Result<WayBack> way_back(std::span<const Store> stores, std::int64_t from);

/// Restores the newest checkpoint from `from` (0: the newest there is) on towards its ancestors that is whole
/// in one of `stores` (tiers, a partner's copy, shared storage; those in front are tried first); notes say
/// what was passed over.  `resumer` must be allowed to go on from it. Errors: those of check_fit and
/// way_back; bad_input: none is whole.
Result<Restored> restore_newest(std::span<const Store> stores, std::int64_t from, const Resumer& resumer,
                                std::span<const std::int64_t> ranks, const std::string& target,
                                int threads = 0);

}  // namespace sickbay::checkpoint
