// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/resource_limits.h"
#include "base/text.h"

namespace sickbay {
namespace {

// Any local user may send a submission, and a re-run walks through all of it: what no shell could have handed
// to sbatch is refused at once.
constexpr std::size_t kLongestPath = 4095;          // PATH_MAX, without its NUL
constexpr std::size_t kWordBound = 128 * 1024 - 1;  // MAX_ARG_STRLEN, likewise: of one word of execve()

struct TextRow {
  const char* key;
  std::size_t most;  ///< bytes; 0: bounded by who takes it in (a script by the API)
};
constexpr auto kTexts =
    std::to_array<TextRow>({{"script", 0}, {"script_name", kLongestPath}, {"work_dir", kLongestPath}});

struct ListRow {
  const char* key;
  std::size_t most;  ///< entries
};
constexpr auto kLists =
    std::to_array<ListRow>({{"sbatch_options", 4096}, {"script_args", 32'768}, {"environment", 32'768}});

tl::unexpected<Error> unfit(std::string what, std::string why, std::string remedy) {
  return fail(
      Error(ErrorCode::bad_input, std::move(what)).because(std::move(why)).remedied_by(std::move(remedy)));
}

constexpr const char* kPageRemedy = "send a submission as doc/formats/api.md describes it";

Status check_texts(const Json& json) {
  for (const TextRow& row : kTexts) {
    if (!json[row.key].is_string())
      return unfit(fmt::format("a submission needs the string '{}'", row.key),
                   fmt::format("it is {}", json[row.key].type_name()), kPageRemedy);
    const std::string& text = json[row.key].as_string();
    if (row.most == 0) continue;
    if (text.size() > row.most)
      return unfit(fmt::format("'{}' of a submission is over {} bytes", row.key, row.most),
                   "no path of this system is as long",
                   "submit from a folder, and a file, with a shorter path");
    if (text.find('\0') != std::string::npos)
      return unfit(fmt::format("'{}' of a submission holds something that is no text", row.key),
                   "a NUL byte is in it", kPageRemedy);
  }
  return {};
}

Status check_lists(const Json& json) {
  for (const ListRow& row : kLists) {
    const Json& list = json[row.key];
    if (!list.is_array())
      return unfit(fmt::format("a submission needs the list '{}'", row.key),
                   fmt::format("it is {}", list.type_name()), kPageRemedy);
    if (list.size() > row.most)
      return unfit(
          fmt::format("'{}' of a submission has {} entries, over {}", row.key, list.size(), row.most),
          "a submission is kept for its re-runs, and its size is bounded",
          "pass fewer: put names and values into a file that the script reads");
    for (const Json& item : list.items()) {
      if (!item.is_string() || item.as_string().find('\0') != std::string::npos)
        return unfit(fmt::format("'{}' of a submission holds something that is no text", row.key),
                     item.is_string() ? "a NUL byte is in it" : fmt::format("it is {}", item.type_name()),
                     kPageRemedy);
      if (item.as_string().size() > kWordBound)
        return unfit(fmt::format("an entry of '{}' of a submission is over {} bytes", row.key, kWordBound),
                     "no program can be started with a longer one", "put the text into a file");
    }
  }
  return {};
}

/// Only limits that can be set again: an unknown one would fail the re-run, hours later.
Result<std::vector<std::pair<std::string, std::int64_t>>> read_limits(const Json& json) {
  std::vector<std::pair<std::string, std::int64_t>> limits;
  if (!json.is_object() && !json.is_null())
    return unfit(fmt::format("'limits' of a submission must be an object, not {}", json.type_name()),
                 "it holds one number for each name", kPageRemedy);
  for (const auto& [name, value] : json.members()) {
    if (std::ranges::find(kResourceLimits, name, &ResourceLimit::name) == kResourceLimits.end()) {
      std::string known;
      for (const ResourceLimit& row : kResourceLimits)
        known.append(known.empty() ? "" : ", ").append(row.name);
      return unfit("unknown limit " + quote_for_message(name), "sbatch propagates " + known,
                   "leave it out of 'limits'");
    }
    if (!value.is_int() || value.as_int() < -1)
      return unfit(
          fmt::format("the limit {} must be a whole number from -1 on, not {}", name,
                      value.is_int() ? std::to_string(value.as_int()) : std::string(value.type_name())),
          "-1 stands for unlimited", kPageRemedy);
    limits.emplace_back(name, value.as_int());
  }
  return limits;
}

}  // namespace

Json JobInfo::to_json() const {
  Json json = Json::object({{"job_id", job_id},
                            {"uid", uid},
                            {"name", name},
                            {"comment", comment},
                            {"partition", partition},
                            {"state", state},
                            {"flags", flags},
                            {"restart_cnt", restart_cnt},
                            {"held", held},
                            {"submit", to_micros(submit)},
                            {"start", to_micros(start)},
                            {"end", to_micros(end)},
                            {"nodes", nodes},
                            {"num_nodes", num_nodes},
                            {"exit_code", exit_code},
                            {"exit_signal", exit_signal},
                            {"reason", reason},
                            {"time_limit_s", time_limit_s},
                            {"work_dir", work_dir},
                            {"std_out", std_out},
                            {"std_err", std_err}});
  // (Most jobs are of no array: of them the journal stays as it was.)
  if (array_job_id != 0) json.set("array_job_id", array_job_id).set("array_task_id", array_task_id);
  if (!reservation.empty()) json.set("reservation", reservation);
  if (step_exit_code != 0) json.set("step_exit_code", step_exit_code);
  if (step_exit_signal != 0) json.set("step_exit_signal", step_exit_signal);
  if (expected_start != kNoTime) json.set("expected_start", to_micros(expected_start));
  return json;
}

JobInfo JobInfo::from_json(const Json& json) {
  JobInfo job;
  job.job_id = static_cast<JobId>(json["job_id"].as_int());
  job.uid = static_cast<std::uint32_t>(json["uid"].as_int());
  job.name = json["name"].as_string();
  job.comment = json["comment"].as_string();
  job.partition = json["partition"].as_string();
  job.state = json["state"].as_string();
  job.flags = json["flags"].as_strings();
  job.restart_cnt = static_cast<std::uint32_t>(json["restart_cnt"].as_int());
  job.held = json["held"].as_bool();
  job.submit = from_micros(json["submit"].as_int());
  job.start = from_micros(json["start"].as_int());
  job.end = from_micros(json["end"].as_int());
  job.nodes = json["nodes"].as_string();
  job.num_nodes = static_cast<std::uint32_t>(json["num_nodes"].as_int());
  job.exit_code = static_cast<int>(json["exit_code"].as_int());
  job.exit_signal = static_cast<int>(json["exit_signal"].as_int());
  job.reason = json["reason"].as_string();
  job.time_limit_s = json["time_limit_s"].as_int();
  job.work_dir = json["work_dir"].as_string();
  job.std_out = json["std_out"].as_string();
  job.std_err = json["std_err"].as_string();
  job.array_job_id = static_cast<JobId>(json["array_job_id"].as_int());
  job.array_task_id = json["array_task_id"].as_string();
  job.reservation = json["reservation"].as_string();
  job.step_exit_code = static_cast<int>(json["step_exit_code"].as_int());
  job.step_exit_signal = static_cast<int>(json["step_exit_signal"].as_int());
  job.expected_start = from_micros(json["expected_start"].as_int());
  return job;
}

Json NodeInfo::to_json() const {
  return Json::object({{"name", name},
                       {"state", state},
                       {"flags", flags},
                       {"cpus", cpus},
                       {"partitions", partitions},
                       {"reason", reason},
                       {"reason_uid", reason_uid},
                       {"boot_time", to_micros(boot_time)},
                       {"address", address},
                       {"port", port}});
}

NodeInfo NodeInfo::from_json(const Json& json) {
  NodeInfo node;
  node.name = json["name"].as_string();
  node.state = json["state"].as_string();
  node.flags = json["flags"].as_strings();
  node.cpus = static_cast<std::uint32_t>(json["cpus"].as_int());
  node.partitions = json["partitions"].as_strings();
  node.reason = json["reason"].as_string();
  node.reason_uid = static_cast<std::uint32_t>(json["reason_uid"].as_int());
  node.boot_time = from_micros(json["boot_time"].as_int());
  node.address = json["address"].as_string();
  node.port = static_cast<std::uint16_t>(json["port"].as_int());
  return node;
}

Json Owner::to_json() const { return Json::object({{"user", user}, {"uid", uid}, {"gid", gid}}); }

Owner Owner::from_json(const Json& json) {
  return {json["user"].as_string(), static_cast<std::uint32_t>(json["uid"].as_int()),
          static_cast<std::uint32_t>(json["gid"].as_int())};
}

Json Submission::to_json() const {
  Json limit_list = Json::object();
  for (const auto& [name, value] : limits) limit_list.set(name, value);
  return Json::object({{"owner", owner.to_json()},
                       {"script", script},
                       {"script_name", script_name},
                       {"sbatch_options", sbatch_options},
                       {"script_args", script_args},
                       {"environment", environment},
                       {"work_dir", work_dir},
                       {"umask", umask},
                       {"limits", std::move(limit_list)}});
}

Result<Submission> Submission::from_json(const Json& json) {
  if (auto fit = check_texts(json); !fit) return fail(std::move(fit.error()));
  if (auto fit = check_lists(json); !fit) return fail(std::move(fit.error()));
  auto limits = read_limits(json["limits"]);
  if (!limits) return fail(std::move(limits.error()));
  Submission s;
  s.owner = Owner::from_json(json["owner"]);
  s.script = json["script"].as_string();
  s.script_name = json["script_name"].as_string();
  s.sbatch_options = json["sbatch_options"].as_strings();
  s.script_args = json["script_args"].as_strings();
  s.environment = json["environment"].as_strings();
  s.work_dir = json["work_dir"].as_string();
  s.umask = static_cast<std::uint32_t>(json["umask"].as_int(022)) & 0777;
  s.limits = std::move(*limits);
  if (s.work_dir.empty() || s.work_dir[0] != '/')
    return unfit(fmt::format("the working folder {} is not an absolute path", quote_for_message(s.work_dir)),
                 "a re-run starts there, from whatever folder sickbayd is in",
                 "send a path that begins with '/'");
  return s;
}

}  // namespace sickbay
