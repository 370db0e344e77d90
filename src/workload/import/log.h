// SPDX-License-Identifier: Apache-2.0
// The logs of one import as one text: each an input and its reader, cut into blocks that begin and end with a
// record, so that any thread can read any block.
//
// An offset in the whole ("place") is the log's base plus the offset in its input.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/archive/input.h"
#include "base/result.h"
#include "workload/read/reader.h"

namespace sickbay::workload {

struct Log {
  std::string name;  ///< for people
  Input input;
  OpenedReader opened;
  std::uint64_t size = 0;  ///< of its input that is read
  std::uint64_t base = 0;
  bool cuttable = false;  ///< its reader can find a record's start anywhere
};

struct Block {
  std::uint32_t log = 0;
  std::uint64_t begin = 0, end = 0;  ///< offsets in its input
  std::uint64_t first_line = 1;      ///< number of its first line, from 1
  std::uint64_t lines = 0, records = 0;
};

/// Opens a file that somebody named, "-" for standard input.  Errors: as Input::open; one that is not there
/// is told with where it was looked for.
Result<Input> open_input(const std::string& path);

/// Reads exactly [begin, end) of `input` into `to`, which keeps its memory.  Errors: as Input's; bad_input
/// where the file has become shorter.
Status read_range(const Input& input, std::uint64_t begin, std::uint64_t end, std::string& to);

/// Opens the inputs and finds their readers.  With `growing`, what stands behind the last line end is not
/// read; `name` stands for the paths.  Errors: as open_input and open_reader, with the input's name.
Result<std::vector<Log>> open_logs(const std::vector<std::string>& paths, const ReadOptions& options,
                                   bool growing = false, const std::string& name = {});

/// 128 bits of a text that tell it from others (no defence against forgers), and its line ends.
class ContentHash {
 public:
  /// Text of any length; parts in order, however they are cut, do not give the same as their whole.
  std::uint64_t add(std::string_view text);  ///< number of line ends in it
  void add(const ContentHash& other);
  std::string hex() const;

 private:
  std::uint64_t a_ = 0x9e3779b97f4a7c15U, b_ = 0xc2b2ae3d27d4eb4fU;
};

}  // namespace sickbay::workload
