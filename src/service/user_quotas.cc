// SPDX-License-Identifier: Apache-2.0
#include "service/user_quotas.h"

#include <fmt/format.h>

#include "base/size.h"

namespace sickbay {
namespace {
constexpr std::size_t kKnown =
    4096;  // users whose hour is kept before those are forgotten who have all of it
}  // namespace

Status UserQuotas::take(std::uint32_t uid, std::size_t bytes, TimePoint now) {
  if (uid == 0) return {};
  if (bytes_.size() >= kKnown)
    std::erase_if(bytes_, [now](const auto& entry) { return entry.second.is_whole(now); });
  const auto an_hour = static_cast<double>(limits_.bytes_an_hour);
  Allowance& own = bytes_.try_emplace(uid, an_hour, an_hour).first->second;
  if (own.left(now) <= 0)
    return fail(Error(ErrorCode::busy, fmt::format("you have sent over {} within an hour",
                                                   describe_size({limits_.bytes_an_hour})))
                    .because("what is sent is kept, and so each user has a bound (client.bytes_per_hour)")
                    .remedied_by("submit smaller scripts, wait, or submit with plain sbatch"));
  own.spend(static_cast<double>(bytes), now);
  return {};
}

Status UserQuotas::may_open(std::uint32_t uid, std::size_t open) const {
  if (uid == 0 || open < limits_.open_cases) return {};
  return fail(Error(ErrorCode::busy, fmt::format("you have {} open cases", open))
                  .because(fmt::format("a user may have {} (client.open_cases)", limits_.open_cases))
                  .remedied_by("wait until some are closed, or end them with 'sickbay cancel'"));
}

Status UserQuotas::has_room() const {
  const std::int64_t free = free_ && limits_.reserve > 0 ? free_() : -1;
  if (free < 0 || free >= limits_.reserve) return {};
  return fail(
      Error(ErrorCode::storage_full, fmt::format("{} are free for the journal", describe_size({free})))
          .because(fmt::format("the last {} are for the end of what is open (client.reserve)",
                               describe_size({limits_.reserve}))));
}

}  // namespace sickbay
