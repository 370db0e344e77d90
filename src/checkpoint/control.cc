// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/pack.h"

namespace sickbay::checkpoint {
namespace {

constexpr int kControlVersion = 1;
constexpr std::string_view kDigestMember = "sha256";

Json to_json(const Control& control) {
  Json ancestors = Json::array(), images = Json::array();
  for (const std::int64_t number : control.ancestors) ancestors.push(number);
  for (const Image& image : control.images)
    images.push(Json::object({{"rank", image.rank},
                              {"node", image.node},
                              {"pack", image.pack},
                              {"sha256", hex(image.digest)},
                              {"raw", image.raw},
                              {"written", image.written}}));
  return Json::object({{"sickbay_checkpoint", kControlVersion},
                       {"number", control.number},
                       {"ancestors", std::move(ancestors)},
                       {"job", control.job},
                       {"restart_count", control.restart_count},
                       {"uid", control.uid},
                       {"at", format_time(control.at)},
                       {"engine", to_string(control.engine)},
                       {"in_flight", control.in_flight},
                       {"binary", control.binary},
                       {"binary_sha256", control.binary_digest ? hex(*control.binary_digest) : ""},
                       {"fewest_nodes", control.fewest_nodes},
                       {"most_nodes", control.most_nodes},
                       {"fewest_processes", control.fewest_processes},
                       {"most_processes", control.most_processes},
                       {"label", control.label},
                       {"images", std::move(images)}});
}

// What the members say, as far as they say it; what they say otherwise shows when it is printed again.
Control from_json(const Json& json) {
  Control control;
  control.number = json["number"].as_int();
  for (const Json& number : json["ancestors"].items()) control.ancestors.push_back(number.as_int());
  control.job = static_cast<JobId>(json["job"].as_int());
  control.restart_count = json["restart_count"].as_int();
  control.uid = static_cast<std::uint32_t>(json["uid"].as_int());
  if (const auto at = parse_time(json["at"].as_string())) control.at = *at;
  for (std::size_t i = 0; i < kEngines.size(); ++i)
    if (json["engine"].as_string() == kEngines[i]) control.engine = static_cast<Engine>(i);
  control.in_flight = json["in_flight"].as_int();
  control.binary = json["binary"].as_string();
  control.binary_digest = parse_digest(json["binary_sha256"].as_string());
  control.fewest_nodes = json["fewest_nodes"].as_int();
  control.most_nodes = json["most_nodes"].as_int();
  control.fewest_processes = json["fewest_processes"].as_int();
  control.most_processes = json["most_processes"].as_int();
  control.label = json["label"].as_string();
  for (const Json& image : json["images"].items())
    control.images.push_back({image["rank"].as_int(), image["node"].as_string(), image["pack"].as_string(),
                              parse_digest(image["sha256"].as_string()).value_or(Digest{}),
                              image["raw"].as_int(), image["written"].as_int()});
  return control;
}

// What cannot be, or "".
// The digest proves that Sickbay wrote it; what a fault of ours wrote is found here, before a restore goes by
// it.
std::string wrong_in(const Control& control) {
  if (control.number < 1) return fmt::format("its number is {}", control.number);
  if (control.ancestors.size() > kMostAncestors) return "it has too many ancestors";
  // Ancestors get smaller: so a walk along them ends.
  std::int64_t before = control.number;
  for (const std::int64_t ancestor : control.ancestors) {
    if (ancestor < 1 || ancestor >= before) return fmt::format("checkpoint {} is no ancestor", ancestor);
    before = ancestor;
  }
  if (control.job == 0 || control.restart_count < 0) return "it names no job";
  if (control.in_flight < 0) return "its count of messages in flight is wrong";
  // A program that writes its own state has no message in a channel; a count here is of another engine.
  if (control.engine == Engine::application && control.in_flight != 0)
    return fmt::format("it was taken with {} messages in flight", control.in_flight);
  if (control.fewest_nodes < 1 || control.most_nodes < control.fewest_nodes)
    return fmt::format("{} to {} nodes", control.fewest_nodes, control.most_nodes);
  if (control.fewest_processes < 1 || control.most_processes < control.fewest_processes)
    return fmt::format("{} to {} processes", control.fewest_processes, control.most_processes);
  std::int64_t rank = -1;
  for (const Image& image : control.images) {
    if (image.rank <= rank) return fmt::format("rank {} does not follow rank {}", image.rank, rank);
    rank = image.rank;
    // The name is given by number and rank, so a control file cannot lead to any other file.
    if (image.pack != pack_name(control.number, image.rank))
      return fmt::format("{} is not the pack of rank {}", quote_for_message(image.pack), image.rank);
    if (image.raw < 0 || image.written < 0) return "an image has less than no bytes";
  }
  return "";
}

// "c12" of "c12.r3.pack"; the rest is what follows.
std::optional<std::int64_t> leading_number(std::string_view name, std::string_view& rest) {
  if (!name.starts_with('c')) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, wrong] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (wrong != std::errc() || number < 1) return std::nullopt;
  rest = name.substr(static_cast<std::size_t>(end - name.data()));
  // "c012" is no name of ours: two names for one number would meet.
  return fmt::format("c{}", number) == name.substr(0, name.size() - rest.size()) ? std::optional(number)
                                                                                 : std::nullopt;
}

}  // namespace

std::string control_name(std::int64_t number) { return fmt::format("c{}.json", number); }
std::string pack_name(std::int64_t number, std::int64_t rank) {
  return fmt::format("c{}.r{}.pack", number, rank);
}

std::optional<std::int64_t> number_of(std::string_view file_name) {
  std::string_view rest;
  const auto number = leading_number(file_name, rest);
  return number && rest.starts_with('.') ? number : std::nullopt;
}

std::optional<std::int64_t> control_number(std::string_view file_name) {
  std::string_view rest;
  const auto number = leading_number(file_name, rest);
  return number && rest == ".json" ? number : std::nullopt;
}

std::string format_control(const Control& control) {
  Json json = to_json(control);
  // Over the line without the digest itself, which is added as its last member.
  const std::string digest = sha256_hex(json.dump());
  return json.set(std::string(kDigestMember), digest).dump() + "\n";
}

Result<Control> parse_control(std::string_view text) {
  const auto wrong = [](std::string_view why) {
    return fail(damaged(fmt::format("a control file is damaged: {}", why)));
  };
  if (text.size() > kMostControlBytes) return wrong("it is too long");
  auto json = Json::parse(text);
  if (!json) return wrong("it is no JSON");
  // Before it is printed again: a newer version has members that this one would lose.
  if ((*json)["sickbay_checkpoint"].as_int() > kControlVersion)
    return fail(ErrorCode::too_new, fmt::format("a control file is of version {}, this is {}",
                                                (*json)["sickbay_checkpoint"].as_int(), kControlVersion));
  Control control = from_json(*json);
  if (format_control(control) != text) return wrong("it is not what Sickbay wrote");
  if (const std::string what = wrong_in(control); !what.empty()) return wrong(what);
  return control;
}

Result<std::vector<std::string>> check_fit(const Control& control, const Resumer& resumer) {
  if (control.job != resumer.job)
    return fail(Error(ErrorCode::conflict, fmt::format("checkpoint {} is of job {}, not of job {}",
                                                       control.number, control.job, resumer.job))
                    .remedied_by("name the folder of this job's own checkpoints"));
  if (control.uid != resumer.uid)
    return fail(Error(ErrorCode::denied, fmt::format("checkpoint {} is of the user {}, not of {}",
                                                     control.number, control.uid, resumer.uid)));
  if (resumer.nodes < control.fewest_nodes || resumer.nodes > control.most_nodes)
    return fail(
        Error(ErrorCode::conflict, fmt::format("checkpoint {} is for {} to {} nodes, and there {} {}",
                                               control.number, control.fewest_nodes, control.most_nodes,
                                               resumer.nodes == 1 ? "is" : "are", resumer.nodes))
            .remedied_by("ask for as many nodes as the program can go on with"));
  if (resumer.processes < control.fewest_processes || resumer.processes > control.most_processes)
    return fail(Error(ErrorCode::conflict,
                      control.fewest_processes == control.most_processes
                          ? fmt::format("checkpoint {} is for {} processes, and there {} {}", control.number,
                                        control.fewest_processes, resumer.processes == 1 ? "is" : "are",
                                        resumer.processes)
                          : fmt::format("checkpoint {} is for {} to {} processes, and there {} {}",
                                        control.number, control.fewest_processes, control.most_processes,
                                        resumer.processes == 1 ? "is" : "are", resumer.processes))
                    .remedied_by("start as many processes as the program can go on with (srun -n)"));
  std::vector<std::string> warnings;
  // A warning alone: a program that was mended may well go on from what the old one left.
  if (control.binary_digest && resumer.binary_digest && *control.binary_digest != *resumer.binary_digest)
    warnings.push_back(fmt::format("checkpoint {} was taken by another binary ({}, SHA-256 {}...)",
                                   control.number, quote_for_message(control.binary),
                                   hex(*control.binary_digest).substr(0, 12)));
  return warnings;
}

}  // namespace sickbay::checkpoint
