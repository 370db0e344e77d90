// SPDX-License-Identifier: Apache-2.0
#include "ckpt/told.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error_json.h"
#include "base/text.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {
namespace {

using checkpoint::Control;
using checkpoint::Image;

constexpr std::string_view kLeadEnd = ".take.lead";
constexpr const char* kFastTier = "fast";
constexpr std::size_t kMostToldBytes = 4 << 20;

std::optional<Json> read_told(const Series& series, const std::string& name) {
  const auto text = checkpoint::read_whole(*series.files, series.board + "/" + name, kMostToldBytes);
  auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || !json->is_object()) return std::nullopt;
  return std::move(*json);
}

// Of what begun_json gave.
Control control_of(const Json& lead) {
  Control control;
  control.number = lead["number"].as_int();
  for (const Json& one : lead["ancestors"].items()) control.ancestors.push_back(one.as_int());
  control.job = static_cast<JobId>(lead["job"].as_int());
  control.restart_count = lead["restart"].as_int();
  control.uid = static_cast<std::uint32_t>(lead["uid"].as_int());
  control.at = from_micros(lead["at_us"].as_int());
  control.binary = lead["binary"].as_string();
  if (const auto digest = checkpoint::parse_digest(lead["binary_sha256"].as_string()); digest)
    control.binary_digest = *digest;
  control.most_nodes = lead["most_nodes"].as_int();
  control.fewest_processes = lead["fewest"].as_int();
  control.most_processes = lead["most"].as_int();
  control.label = lead["label"].as_string();
  return control;
}

}  // namespace

Json begun_json(std::int64_t turn, const Control& control, std::optional<std::int64_t> before,
                std::int64_t ranks, std::int64_t in_job) {
  Json ancestors = Json::array();
  for (const std::int64_t one : control.ancestors) ancestors.push(one);
  Json lead =
      Json::object({{"turn", turn},
                    {"state", "begun"},
                    {"number", control.number},
                    {"ranks", ranks},
                    {"ancestors", std::move(ancestors)},
                    {"job", control.job},
                    {"in_job", in_job},
                    {"restart", control.restart_count},
                    {"uid", control.uid},
                    {"at_us", to_micros(control.at)},
                    {"binary", control.binary},
                    {"binary_sha256", control.binary_digest ? checkpoint::hex(*control.binary_digest) : ""},
                    {"most_nodes", control.most_nodes},
                    {"fewest", control.fewest_processes},
                    {"most", control.most_processes},
                    {"label", control.label}});
  if (before) lead.set("before", *before);
  return lead;
}

Json saved_json(std::int64_t turn, std::int64_t number, const std::string& label, const Image& image,
                bool fast) {
  return Json::object({{"turn", turn},
                       {"tier", fast ? kFastTier : "shared"},
                       {"number", number},
                       {"label", label},
                       {"image", Json::object({{"rank", image.rank},
                                               {"node", image.node},
                                               {"sha256", checkpoint::hex(image.digest)},
                                               {"raw", image.raw},
                                               {"written", image.written}})}});
}

bool any_fast(const std::vector<Json>& answers) {
  return std::ranges::any_of(answers, [](const Json& one) { return one["tier"].as_string() == kFastTier; });
}

Status add_images(Control& control, std::int64_t turn, const std::vector<Json>& answers) {
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const Json& answer = answers[rank];
    if (answer.has("failed"))
      return fail(error_from_json(answer["failed"]).in(fmt::format("saving what rank {} has", rank)));
    if (answer["turn"].as_int() != turn || answer["number"].as_int() != control.number)
      return fail(ErrorCode::conflict, fmt::format("rank {} is at another checkpoint", rank));
    // Packs of two states are no checkpoint, however whole each of them is.
    if (answer["label"].as_string() != control.label)
      return fail(Error(ErrorCode::conflict, fmt::format("rank {} has saved {} and rank 0 {}", rank,
                                                         quote_for_message(answer["label"].as_string()),
                                                         quote_for_message(control.label)))
                      .remedied_by("let all processes save the same state: bring them together before it"));
    const Json& image = answer["image"];
    const auto digest = checkpoint::parse_digest(image["sha256"].as_string());
    if (!digest) return fail(ErrorCode::bad_input, fmt::format("rank {} told no image", rank));
    // The pack's name is made here and not taken from the answer: an answer names no file.
    control.images.push_back({static_cast<std::int64_t>(rank), image["node"].as_string(),
                              checkpoint::pack_name(control.number, static_cast<std::int64_t>(rank)), *digest,
                              image["raw"].as_int(), image["written"].as_int()});
  }
  return {};
}

std::optional<std::int64_t> publish_left(Series& series) {
  const auto names = series.files->list(series.board);
  const auto listed = list_all(series);
  if (!names || !listed) return std::nullopt;
  // Older ones than the newest that exists are of no use: nobody goes back to them first.
  std::int64_t newest = 0;
  for (const checkpoint::Listed& one : *listed) newest = std::max(newest, one.number);

  // The newest that its rank 0 has begun and never ended.
  std::string session;
  Json lead;
  for (const std::string& name : *names) {
    if (!name.ends_with(kLeadEnd)) continue;
    auto told = read_told(series, name);
    if (!told || (*told)["state"].as_string() != "begun" || (*told)["number"].as_int() <= newest) continue;
    newest = (*told)["number"].as_int();
    session = name.substr(0, name.size() - kLeadEnd.size());
    lead = std::move(*told);
  }
  const std::int64_t ranks = lead["ranks"].as_int();  // (one of an older version tells none)
  if (session.empty() || ranks < 1 || ranks > kMostRanks) return std::nullopt;
  std::vector<Json> answers;
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    auto told = read_told(series, fmt::format("{}.take.r{}", session, rank));
    if (!told) return std::nullopt;
    answers.push_back(std::move(*told));
    all.push_back(rank);
  }
  Control control = control_of(lead);
  if (!add_images(control, lead["turn"].as_int(), answers)) return std::nullopt;
  // (Every pack is looked for and compared with what its process said: one that gave up has removed its own.
  // In fast places only each process itself can look, when it goes back.)
  const Status published =
      any_fast(answers) ? series.noted.publish(control, {}) : series.store.publish(control, all);
  if (!published) return std::nullopt;
  // What its rank 0 would have noted, had it lived.
  SeriesState state = read_state(series);
  state.last = std::max(state.last, control.number);
  state.tip = control.number;
  state.tip_job = lead["in_job"].as_int();
  state.tip_restart = control.restart_count;
  (void)write_state(series, state);  // (else the next one stands on the one before)
  return control.number;
}

std::string note_of_left(std::int64_t number) {
  return fmt::format("checkpoint {}, which all had saved when rank 0 died, was finished now", number);
}

}  // namespace sickbay::ckpt
