// SPDX-License-Identifier: Apache-2.0
// Parts of a program's memory in a checkpoint: they are kept as files of a folder that no program has, and go
// back to where they were.
//
// A restore reads them twice: at first every byte is compared with its digest and dropped, and only when that
// went well for all processes are they read into their places.  So no second copy is needed, which a program
// that fills its node has no room for, and what is damaged changes nothing.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/pack.h"

namespace sickbay::checkpoint {

struct MemoryPart {
  std::string name;  ///< as memory_name() gives
  std::span<char> bytes;
};

/// Where a restore puts the parts of memory of an image.  They must be those that it has, each of its size.
struct MemoryTarget {
  std::vector<MemoryPart> parts;
  bool changed =
      false;  ///< it was begun: after an error the memory is neither what it was nor what it was saved as
};

/// The name in a checkpoint of a part of process `rank`, of a plain name.
std::string memory_name(std::int64_t rank, std::string_view name);
/// That plain name; "": it is a file.
std::string_view memory_part_of(std::string_view file_name);

/// The part that `file` goes to; null: it is a file, or there is no target, and parts are put back as files.
/// Errors: conflict: the program has no such part, or of another size.
Result<const MemoryPart*> find_part(const MemoryTarget* target, const PackedFile& file);
/// Errors: conflict: of the parts of `rank` one is not among `files`.
Status all_are_there(const MemoryTarget& target, std::span<const PackedFile> files);

}  // namespace sickbay::checkpoint
