// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/duration.h"
#include "base/hostlist.h"
#include "model/sbatch_options.h"

namespace sickbay::sim {
namespace {

bool read_count(std::string_view text, std::uint32_t& into) {
  // "2-4" nodes: the least is enough here.
  const auto digits = text.substr(0, text.find('-'));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
  return error == std::errc() && end == digits.data() + digits.size() && into > 0;
}

bool read_names(std::string_view text, std::vector<std::string>& into) {
  auto names = expand_hostlist(text);
  if (names) into = sorted_hosts(std::move(*names));
  return names.has_value();
}

bool read_limit(std::string_view text, SimRequest& into) {
  const auto limit = parse_time_limit(text);
  if (!limit) return false;
  if (limit->kind != TimeLimit::Kind::partition_limit)
    into.time_limit_s = limit_seconds(limit->minutes().count());
  return true;
}

bool read_array(std::string_view text, SimRequest& into) {
  auto tasks = TaskIds::parse(text);
  if (!tasks) return false;
  into.array = std::move(*tasks);
  const auto percent = text.find('%');
  std::uint32_t throttle = 0;
  if (percent != std::string_view::npos && !read_count(text.substr(percent + 1), throttle)) return false;
  into.array_throttle = throttle;
  return true;
}

template <std::string SimRequest::*member>
bool keep(std::string_view value, SimRequest& into) {
  into.*member = value;
  return true;
}

bool no_effect(std::string_view, SimRequest&) { return true; }

struct Effect {
  std::string_view name;
  bool for_reruns;  ///< false: doc/design/decisions.md 19 drops it from a re-run
  bool (*read)(std::string_view value, SimRequest& into);
  std::string_view refusal;  ///< sbatch's words when read() says no
};

constexpr auto kEffects = std::to_array<Effect>({
    {"nodes", true, [](std::string_view v, SimRequest& r) { return read_count(v, r.nodes); },
     "invalid node count"},
    {"ntasks", true, [](std::string_view v, SimRequest& r) { return read_count(v, r.tasks); },
     "Invalid numeric value for --ntasks"},
    {"time", true, read_limit, "Invalid --time specification"},
    {"array", true, read_array, "Batch job submission failed: Invalid job array specification"},
    {"partition", true, keep<&SimRequest::partition>, ""},
    {"job-name", true, keep<&SimRequest::name>, ""},
    {"comment", true, keep<&SimRequest::comment>, ""},
    {"output", true, keep<&SimRequest::output>, ""},
    {"error", true, keep<&SimRequest::error>, ""},
    {"exclude", true, [](std::string_view v, SimRequest& r) { return read_names(v, r.exclude); },
     "Invalid node name specified"},
    {"constraint", true, keep<&SimRequest::constraint>, ""},
    {"reservation", true, keep<&SimRequest::reservation>, ""},
    {"requeue", true, [](std::string_view, SimRequest& r) { return r.requeue = true; }, ""},
    {"no-requeue", true, [](std::string_view, SimRequest& r) { return !(r.requeue = false); }, ""},
    {"no-kill", true, [](std::string_view v, SimRequest& r) { return r.no_kill = v != "off", true; }, ""},

    {"nodelist", false, [](std::string_view v, SimRequest& r) { return read_names(v, r.nodelist); },
     "Invalid node name specified"},
    {"hold", false, [](std::string_view, SimRequest& r) { return r.hold = true; }, ""},
    {"begin", false, no_effect, ""},
    {"deadline", false, no_effect, ""},
    {"dependency", false, keep<&SimRequest::dependency>, ""},
    {"wait", false, no_effect, ""},
    {"test-only", false, no_effect, ""},
});

Status take(const std::vector<GivenOption>& options, SimRequest& into) {
  for (const GivenOption& given : options) {
    const auto row = std::find_if(kEffects.begin(), kEffects.end(),
                                  [&](const Effect& effect) { return effect.name == given.name; });
    if (row == kEffects.end()) continue;
    if (!row->for_reruns) into.not_for_reruns.push_back(given.text());
    if (!row->read(given.value.value_or(""), into))
      return fail(ErrorCode::refused_by_slurm,
                  fmt::format("sbatch: error: {}: {}", row->refusal, given.value.value_or("")));
  }
  return {};
}

}  // namespace

Result<SimRequest> read_request(const Submission& submission) {
  SimRequest request;
  request.name = submission.script_name.substr(submission.script_name.rfind('/') + 1);
  const auto in_script = parse_script_options(submission.script);
  if (!in_script) return fail(ErrorCode::refused_by_slurm, in_script.error().what);
  const auto line = parse_sbatch_line(submission.sbatch_options);
  if (!line) return fail(ErrorCode::refused_by_slurm, line.error().what);
  for (const auto* options : {&*in_script, &line->options})
    if (auto taken = take(*options, request); !taken) return fail(taken.error());
  return request;
}

std::string key_in_comment(std::string_view comment) {
  constexpr std::string_view kMark = "sickbay:";
  const auto at = comment.rfind(kMark);
  if (at == std::string_view::npos || (at > 0 && comment[at - 1] != ' ')) return "";
  const auto key = comment.substr(at + kMark.size());
  return std::string(key.substr(0, key.find(' ')));
}

}  // namespace sickbay::sim
