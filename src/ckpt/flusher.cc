// SPDX-License-Identifier: Apache-2.0
#include "ckpt/flusher.h"

#include <fmt/format.h>

#include <vector>

namespace sickbay::ckpt {

std::string flush_program(const Variable& variable) {
  return program_near("sickbay-ckpt", "SICKBAY_CKPT_PROGRAM", variable);
}

Status start_flush(const std::string& program, const JobPlace& place, const std::string& name,
                   const FlushOrder& order, Telling how) {
  if (program.empty())
    return fail(
        Error(ErrorCode::missing_program, "sickbay-ckpt is not found: checkpoints stay in fast places")
            .remedied_by("set SICKBAY_CKPT_PROGRAM to its path, or add its folder to PATH"));
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  std::vector<std::string> words = {program,     "flush",
                                    "--store",   place.root,
                                    "--job",     number(place.me.job),
                                    "--rank",    number(place.me.rank),
                                    "--ranks",   number(place.me.ranks),
                                    "--session", place.me.session,
                                    "--fast",    place.fast_text,
                                    "--number",  number(order.number),
                                    "--keep",    number(order.keep),
                                    "--timeout", fmt::format("{}us", order.patience.count())};
  if (!name.empty()) words.insert(words.end(), {"--name", name});
  if (order.again) words.emplace_back("--again");
  if (how == Telling::in_background) words.emplace_back("--background");
  const auto code = run_beside(words, how, false);
  if (!code) return tl::unexpected<Error>(code.error());
  if (*code == 0) return {};
  return fail(Error(
      ErrorCode::storage_broken,
      fmt::format("what was saved last is in fast places alone: 'sickbay-ckpt flush' ended with {}", *code)));
}

}  // namespace sickbay::ckpt
