// SPDX-License-Identifier: Apache-2.0
// More than one place for the same checkpoints: the node's memory (tmpfs), its disk, a partner's copy, shared
// storage.  Each is a Store of its own, and no pack stands on one in another: any may be lost alone.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "checkpoint/store.h"

namespace sickbay::checkpoint {

/// `inner` for which the disk is full when `room` more bytes were written.  `inner` must outlive it.
std::unique_ptr<Files> bounded_files(Files& inner, std::uint64_t room);

/// Bytes of all files in the folder of a store.
Result<std::uint64_t> bytes_in(Files& files, const Store& store);

/// A fast place that may hold `most` bytes, and a large one.
struct Tiers {
  Files& files;
  Store memory;
  std::uint64_t most = 0;  ///< bytes in `memory`
  Store local;
  std::string large = "the local disk";  ///< what `local` is called in the notes

  struct Where {
    Saved saved;
    bool in_memory = false;
  };
  /// As Store::save, in memory; in the large place where memory has no room or cannot be written to, saying
  /// so in the notes.
  Result<Where> save(std::int64_t number, std::span<const ImageSource> images, const SaveOptions& options);
  /// Greater than that of any file in either.
  Result<std::int64_t> next_number() const;
};

/// Copies the packs of `ranks` and those they stand on, and reads them back.  What is there already is not
/// copied again.  Gives the bytes copied.  Errors: as Store; bad_input: `from` is damaged, and nothing of it
/// is left in `to`.
Result<std::uint64_t> copy_packs(Files& files, const Store& from, const Store& to, const Control& control,
                                 std::span<const std::int64_t> ranks);

/// Copies the packs of `ranks` and those they stand on, reads them back, and publishes the checkpoint there:
/// what is copied exists when it is known to be whole.  What is there already is not copied again.  Gives the
/// bytes copied. Errors: as Store; bad_input: `from` is damaged, and nothing is left in `to`.
Result<std::uint64_t> copy_checkpoint(Files& files, const Store& from, Store& to, const Control& control,
                                      std::span<const std::int64_t> ranks);

}  // namespace sickbay::checkpoint
