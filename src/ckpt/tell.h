// SPDX-License-Identifier: Apache-2.0
// Telling sickbayd of a checkpoint, so that the job's history has it (engine/history).
//
// It is told by the program `sickbay`, which knows where sickbayd is and signs what it says: nothing of a
// network is needed here, nor in a user's program that links the C library.  Whether it succeeds is nothing
// that a checkpoint depends on: it is on disk by then, and sickbayd may be away.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

struct Series;
struct Taken;
struct WentBack;

/// What happened to checkpoint `number`.
struct News {
  enum class Kind : std::uint8_t { taken, restored, failed };
  Kind kind = Kind::taken;
  std::int64_t number = 0;
  std::string folder;  ///< of the store
  std::uint64_t bytes = 0, stored_bytes = 0;
  Micros took{0};
  std::int64_t ranks = 0;
  std::optional<std::int64_t> parent = std::nullopt;
  std::string why{};  ///< of one that failed
  bool fast = false;  ///< it lies in the memory of nodes, or was read from there
};

/// Of a checkpoint that was taken, or gone back to; as rank 0 has them.
News news_of(const Taken& taken, const Series& series, const Participant& me);
News news_of(const WentBack& back, const Series& series, const Participant& me);

/// The body of POST /v1/checkpoints.
Json body_of(const News& news, const Participant& me);

/// How long one waits for the answer.
enum class Telling : std::uint8_t {
  to_its_end,     ///< a few seconds where sickbayd is away: for a program that would end behind it
  in_background,  ///< not at all; the child is nobody's
};

/// Where a program of this installation is: what `set` says in the environment, else beside this program,
/// else beside the library that this is in, else in PATH; "" where it is nowhere, or `set` is empty.
std::string program_near(const char* name, const char* set, const Variable& variable);
/// Runs a program with nothing to read and nowhere to print but, where it is not `quiet`, its errors.  Gives
/// its exit code, 0 of one in the background.  Errors: os.
Result<int> run_beside(const std::vector<std::string>& words, Telling how, bool quiet);

/// Where `sickbay` is: SICKBAY_PROGRAM, else beside this program, else beside the library that this is in,
/// else in PATH; "" where it is nowhere, or where SICKBAY_PROGRAM is empty, which means that nobody is to be
/// told.
std::string sickbay_program(const Variable& variable);

/// Runs `program checkpoint JOB --tell BODY`, with nothing to read and nowhere to print.
/// Errors (never of Telling::in_background): daemon_away: it was not told, with the exit code; os.  That the
/// job was not submitted through Sickbay is no error.
Status tell(const std::string& program, const News& news, const Participant& me, Telling how);

}  // namespace sickbay::ckpt
