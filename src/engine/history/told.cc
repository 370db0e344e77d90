// SPDX-License-Identifier: Apache-2.0
#include "engine/history/told.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sickbay::history {
namespace {

constexpr auto kEvents = std::to_array<std::string_view>({"taken", "restored", "failed"});
static_assert(kEvents.size() == static_cast<std::size_t>(ToldEvent::failed) + 1);
constexpr auto kTiers = std::to_array<std::string_view>({"shared", "local", "memory"});

// What a user's program says goes into the journal of root: each part is bounded (4096: PATH_MAX).
constexpr std::size_t kMostPath = 4096, kMostWhy = 300;
constexpr std::int64_t kMostNumber = 1'000'000'000, kMostBytes = std::int64_t{1} << 60;
constexpr double kMostSeconds = 1e7;

tl::unexpected<Error> unfit(std::string_view name, std::string_view must, const Json& value) {
  return fail(Error(ErrorCode::bad_input, fmt::format("'{}' must be {}", name, must))
                  .because("it is " + quote_for_message(value.dump())));
}

// A whole number from `least` to `most`; one that is not said is `otherwise`, where that is allowed.
Result<std::int64_t> whole_number(const Json& body, std::string_view name, std::int64_t least,
                                  std::int64_t most, std::optional<std::int64_t> otherwise = std::nullopt) {
  const Json& value = body[name];
  if (value.is_null() && otherwise) return *otherwise;
  if (!value.is_int() || value.as_int() < least || value.as_int() > most)
    return unfit(name, fmt::format("a number from {} to {}", least, most), value);
  return value.as_int();
}

// No control characters: the path is shown on terminals.
bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

std::string_view to_string(ToldEvent event) { return kEvents[static_cast<std::size_t>(event)]; }

Result<Told> Told::from_request(const Json& body) {
  Told told;
  const auto job = whole_number(body, "job", 1, UINT32_MAX);
  if (!job) return fail(job.error());
  const auto restart = whole_number(body, "restart", 0, 1'000'000, 0);
  if (!restart) return fail(restart.error());
  const auto checkpoint = whole_number(body, "checkpoint", 1, kMostNumber);
  if (!checkpoint) return fail(checkpoint.error());
  const auto event = std::ranges::find(kEvents, body["event"].as_string());
  if (event == kEvents.end()) return unfit("event", "\"taken\", \"restored\" or \"failed\"", body["event"]);
  const Json& folder = body["folder"];
  if (!folder.is_string() || !folder.as_string().starts_with('/') || folder.as_string().size() > kMostPath ||
      !is_plain(folder.as_string()))
    return unfit("folder", fmt::format("an absolute path of at most {} bytes", kMostPath), folder);
  const auto bytes = whole_number(body, "bytes", 0, kMostBytes, 0);
  if (!bytes) return fail(bytes.error());
  const auto stored = whole_number(body, "stored_bytes", 0, kMostBytes, 0);
  if (!stored) return fail(stored.error());
  const auto ranks = whole_number(body, "ranks", 0, kMostNumber, 0);
  if (!ranks) return fail(ranks.error());
  const Json& seconds = body["seconds"];
  // (Written so that what is no number fails, too.)
  if (!seconds.is_null() &&
      !(seconds.is_number() && seconds.as_double() >= 0 && seconds.as_double() <= kMostSeconds))
    return unfit("seconds", "a time", seconds);
  const Json& tier = body["tier"];
  if (!tier.is_null() && std::ranges::find(kTiers, tier.as_string()) == kTiers.end())
    return unfit("tier", "\"shared\", \"local\" or \"memory\"", tier);
  const Json& why = body["why"];
  if (!why.is_null() && !why.is_string()) return unfit("why", "a text", why);
  if (!body["parent"].is_null()) {
    const auto parent = whole_number(body, "parent", 1, kMostNumber);
    if (!parent) return fail(parent.error());
    told.parent = static_cast<int>(*parent);
  }
  told.job = static_cast<JobId>(*job);
  told.restart = static_cast<std::uint32_t>(*restart);
  told.checkpoint = static_cast<int>(*checkpoint);
  told.event = static_cast<ToldEvent>(event - kEvents.begin());
  told.folder = folder.as_string();
  told.bytes = *bytes;
  told.stored_bytes = *stored;
  told.took = Micros(static_cast<std::int64_t>(seconds.as_double() * 1e6));
  told.ranks = static_cast<int>(*ranks);
  told.tier = tier.as_string();
  told.why = why.as_string().substr(0, kMostWhy);
  return told;
}

Json Told::to_json() const {
  Json json = Json::object({{"job", job},
                            {"restart", restart},
                            {"checkpoint", checkpoint},
                            {"event", std::string(to_string(event))},
                            {"folder", folder},
                            {"bytes", bytes},
                            {"stored_bytes", stored_bytes},
                            {"took_us", took.count()},
                            {"ranks", ranks},
                            {"tier", tier},
                            {"parent", parent ? Json(*parent) : Json()}});
  if (!why.empty()) json.set("why", why);
  return json;
}

Told Told::from_json(const Json& json) {
  Told told;
  told.job = static_cast<JobId>(json["job"].as_int());
  told.restart = static_cast<std::uint32_t>(json["restart"].as_int());
  told.checkpoint = static_cast<int>(json["checkpoint"].as_int());
  const auto event = std::ranges::find(kEvents, json["event"].as_string());
  // A word of a newer version is no checkpoint that somebody could go back to.
  told.event = event == kEvents.end() ? ToldEvent::failed : static_cast<ToldEvent>(event - kEvents.begin());
  told.folder = json["folder"].as_string();
  told.bytes = json["bytes"].as_int();
  told.stored_bytes = json["stored_bytes"].as_int();
  told.took = Micros(json["took_us"].as_int());
  told.ranks = static_cast<int>(json["ranks"].as_int());
  told.tier = json["tier"].as_string();
  if (json["parent"].is_int()) told.parent = static_cast<int>(json["parent"].as_int());
  told.why = json["why"].as_string();
  return told;
}

}  // namespace sickbay::history
