// SPDX-License-Identifier: Apache-2.0
// The control file of a checkpoint: whose it is, from what it went on, and its images.  A checkpoint exists
// when its control file does, so this is the last thing that is written.
//
// It is JSON that only Sickbay writes, hence strict: a text is taken only if it is, byte for byte, what
// printing it again gives, its own digest among it.  A flipped bit is so never taken for another number.
// Source: paper 004, 4.2 (processes, nodes, image paths); doc/formats/checkpoint.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "checkpoint/chunk_digest.h"
#include "model/ids.h"

namespace sickbay::checkpoint {

inline constexpr std::size_t kMostControlBytes = 64 << 20;
inline constexpr std::size_t kMostAncestors = 64;

/// What took the checkpoint: its images are of no use to another.
enum class Engine : std::uint8_t { application, dmtcp, criu };
inline constexpr auto kEngines = std::to_array<std::string_view>({"application", "dmtcp", "criu"});
constexpr std::string_view to_string(Engine engine) { return kEngines[static_cast<std::size_t>(engine)]; }

/// What one process left.
struct Image {
  std::int64_t rank = 0;
  std::string node;          ///< where it ran
  std::string pack;          ///< name of the file
  Digest digest{};           ///< of the pack's index, and so of all content
  std::int64_t raw = 0;      ///< bytes of the program's files
  std::int64_t written = 0;  ///< bytes of the pack
  friend bool operator==(const Image&, const Image&) = default;
};

struct Control {
  std::int64_t number = 0;              ///< from 1; names it within the job
  std::vector<std::int64_t> ancestors;  ///< what it went on from, nearest first; the history is a tree
  JobId job = 0;
  std::int64_t restart_count = 0;
  std::uint32_t uid = 0;
  TimePoint at = kNoTime;
  Engine engine = Engine::application;
  std::int64_t in_flight = 0;  ///< messages in channels when it was taken; application: none
  std::string binary;          ///< path of the program
  std::optional<Digest> binary_digest;
  std::int64_t fewest_nodes = 1, most_nodes = 1;          ///< on which the program can go on from it
  std::int64_t fewest_processes = 1, most_processes = 1;  ///< and as how many
  std::string label;                                      ///< what the program calls this state: "step 1200"
  std::vector<Image> images;                              ///< by rank

  friend bool operator==(const Control&, const Control&) = default;
};

/// "c12.json", "c12.r3.pack".
std::string control_name(std::int64_t number);
std::string pack_name(std::int64_t number, std::int64_t rank);
/// The number of a checkpoint in the name of any of its files.
std::optional<std::int64_t> number_of(std::string_view file_name);
/// That of the name of a control file.
std::optional<std::int64_t> control_number(std::string_view file_name);

/// One line, with its own digest as the last member.
std::string format_control(const Control& control);
/// Errors: bad_input (damaged, or no control file), too_new.
Result<Control> parse_control(std::string_view text);

/// Who wants to go on from a checkpoint, and on what.
struct Resumer {
  JobId job = 0;  ///< the job whose checkpoint it must be
  std::uint32_t uid = 0;
  std::int64_t nodes = 1;
  std::optional<Digest> binary_digest = std::nullopt;
  std::int64_t processes = 1;
};
/// May it?  Warnings for its owner: the program is another one than the checkpoint's.
/// Errors: conflict (another job's; fewer or more nodes or processes than the program can take), denied
/// (another user's).
Result<std::vector<std::string>> check_fit(const Control& control, const Resumer& resumer);

}  // namespace sickbay::checkpoint
