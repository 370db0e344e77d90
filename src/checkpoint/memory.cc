// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace sickbay::checkpoint {
namespace {

constexpr std::string_view kFolder = ".sickbay-memory/";
constexpr const char* kRemedy =
    "name all parts of memory before going back, each with the size that it had; a program that has changed "
    "begins anew, with another name for its checkpoints";

}  // namespace

std::string memory_name(std::int64_t rank, std::string_view name) {
  return fmt::format("{}r{}/{}", kFolder, rank, name);
}

std::string_view memory_part_of(std::string_view file_name) {
  return file_name.starts_with(kFolder) ? file_name.substr(file_name.rfind('/') + 1) : std::string_view();
}

Result<const MemoryPart*> find_part(const MemoryTarget* target, const PackedFile& file) {
  const std::string_view name = memory_part_of(file.name);
  // Without a target (sickbay-ckpt, which has no program's memory) a part is put back as a file.
  if (target == nullptr || name.empty()) return nullptr;
  const auto part = std::ranges::find(target->parts, file.name, &MemoryPart::name);
  if (part == target->parts.end())
    return fail(Error(ErrorCode::conflict, fmt::format("it has a part of memory {}, the program has none",
                                                       quote_for_message(name)))
                    .remedied_by(kRemedy));
  if (part->bytes.size() != file.size)
    return fail(
        Error(ErrorCode::conflict, fmt::format("the part of memory {} has {} bytes, and in the checkpoint {}",
                                               quote_for_message(name), part->bytes.size(), file.size))
            .remedied_by(kRemedy));
  return &*part;
}

// The other direction of find_part(): a part that the checkpoint does not have would keep what it holds now,
// and the program would go on from two states.
Status all_are_there(const MemoryTarget& target, std::span<const PackedFile> files) {
  for (const MemoryPart& part : target.parts)
    if (std::ranges::find(files, part.name, &PackedFile::name) == files.end())
      return fail(Error(ErrorCode::conflict, fmt::format("it has no part of memory {}, the program has one",
                                                         quote_for_message(memory_part_of(part.name))))
                      .remedied_by(kRemedy));
  return {};
}

}  // namespace sickbay::checkpoint
