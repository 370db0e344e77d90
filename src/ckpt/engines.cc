// SPDX-License-Identifier: Apache-2.0
#include "ckpt/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::ckpt {
namespace {

// A new engine: its row here without `needs`, and beside AskedProgram (run/asked_program.h) another Watched
// (run/watched.h), which asks in its way and says which files the state is in.  Store, rounds and going back
// know nothing of engines.
constexpr auto kEngines = std::to_array<Engine>({
    {"application", "the program writes it to files when it is asked, or names its memory to the library",
     ""},
    {"dmtcp", "dmtcp_command --checkpoint, in each process's own image",
     "dmtcp_launch before each process and one dmtcp_coordinator for each job, DMTCP 3 on all nodes, and "
     "MANA's "
     "MPI in place of the site's; it restarts only with the same libraries and kernel features, so the same "
     "node "
     "class"},
    {"criu", "criu dump of each process tree by root",
     "CAP_CHECKPOINT_RESTORE for a user's job, that is a helper with more rights than the job has; and no "
     "connection between nodes: TCP is restored only under the same addresses, InfiniBand not at all, so no "
     "MPI "
     "of more than one node"},
});

}  // namespace

std::span<const Engine> engines() { return kEngines; }

Status check_engine(std::string_view name) {
  const auto row = std::ranges::find(kEngines, name, &Engine::name);
  if (row == kEngines.end()) {
    std::vector<std::string> names;
    for (const Engine& one : kEngines) names.emplace_back(one.name);
    const std::string meant = did_you_mean(std::string(name), names);
    return fail(Error(ErrorCode::usage, fmt::format("there is no engine {}{}", quote_for_message(name),
                                                    meant.empty() ? "" : "; did you mean " + meant + "?"))
                    .remedied_by("one of: application, dmtcp, criu"));
  }
  if (row->needs.empty()) return {};
  return fail(Error(ErrorCode::missing_program, fmt::format("the engine {} is not built", row->name))
                  .because(fmt::format("it would need {}", row->needs))
                  .remedied_by("let the program write its state when it is asked (--engine application), see "
                               "sickbay-ckpt(1)"));
}

}  // namespace sickbay::ckpt
