// SPDX-License-Identifier: Apache-2.0
#include "ckpt/flusher.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace sickbay::ckpt {

namespace {

std::vector<std::string> words_of(const std::string& program, const char* command, const JobPlace& place,
                                  const std::string& name, std::int64_t number) {
  const auto text = [](std::int64_t value) { return fmt::format("{}", value); };
  std::vector<std::string> words = {program,     command,
                                    "--store",   place.root,
                                    "--job",     text(place.me.job),
                                    "--rank",    text(place.me.rank),
                                    "--ranks",   text(place.me.ranks),
                                    "--session", place.me.session,
                                    "--fast",    place.fast_text,
                                    "--number",  text(number)};
  if (!name.empty()) words.insert(words.end(), {"--name", name});
  return words;
}

}  // namespace

std::string flush_program(const Variable& variable) {
  return program_near("sickbay-ckpt", "SICKBAY_CKPT_PROGRAM", variable);
}

Status start_flush(const std::string& program, const JobPlace& place, const std::string& name,
                   const FlushOrder& order, Telling how) {
  if (program.empty())
    return fail(
        Error(ErrorCode::missing_program, "sickbay-ckpt is not found: checkpoints stay in fast places")
            .remedied_by("set SICKBAY_CKPT_PROGRAM to its path, or add its folder to PATH"));
  auto words = words_of(program, "flush", place, name, order.number);
  words.insert(words.end(), {"--keep", fmt::format("{}", order.keep), "--timeout",
                             fmt::format("{}us", order.patience.count())});
  if (order.again) words.emplace_back("--again");
  if (how == Telling::in_background) words.emplace_back("--background");
  const auto code = run_beside(words, how, false);
  if (!code) return tl::unexpected<Error>(code.error());
  if (*code == 0) return {};
  return fail(Error(
      ErrorCode::storage_broken,
      fmt::format("what was saved last is in fast places alone: 'sickbay-ckpt flush' ended with {}", *code)));
}

void use_keepers(Series& series, const std::string& program, const JobPlace& place, const std::string& name) {
  if (program.empty()) return;
  series.fetch = [secret = series.board + "/keep/secret", program, place,
                  name](std::int64_t number) -> Status {
    // Without keepers no program is started: going back must not take longer for those who do not use them.
    std::error_code wrong;
    if (!std::filesystem::exists(secret, wrong)) return fail(ErrorCode::not_found, "no keeper was started");
    const auto code = run_beside(words_of(program, "fetch", place, name, number), Telling::to_its_end, false);
    if (!code) return tl::unexpected<Error>(code.error());
    if (*code == 0) return {};
    return fail(ErrorCode::not_found, fmt::format("'sickbay-ckpt fetch' ended with {}", *code));
  };
}

}  // namespace sickbay::ckpt
