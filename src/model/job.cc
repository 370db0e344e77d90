// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <fmt/format.h>

namespace sickbay {

Json JobInfo::to_json() const {
  return Json::object({{"job_id", job_id},
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
                       {"address", address}});
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
  for (const char* key : {"script", "script_name", "work_dir"})
    if (!json[key].is_string())
      return fail(ErrorCode::bad_input, fmt::format("a submission needs the string '{}'", key));
  for (const char* key : {"sbatch_options", "script_args", "environment"}) {
    if (!json[key].is_array())
      return fail(ErrorCode::bad_input, fmt::format("a submission needs the list '{}'", key));
    for (const Json& item : json[key].items())
      if (!item.is_string() || item.as_string().find('\0') != std::string::npos)
        return fail(ErrorCode::bad_input,
                    fmt::format("'{}' of a submission holds something that is no text", key));
  }
  Submission s;
  s.owner = Owner::from_json(json["owner"]);
  s.script = json["script"].as_string();
  s.script_name = json["script_name"].as_string();
  s.sbatch_options = json["sbatch_options"].as_strings();
  s.script_args = json["script_args"].as_strings();
  s.environment = json["environment"].as_strings();
  s.work_dir = json["work_dir"].as_string();
  s.umask = static_cast<std::uint32_t>(json["umask"].as_int(022)) & 0777;
  for (const auto& [name, value] : json["limits"].members()) s.limits.emplace_back(name, value.as_int(-1));
  if (s.work_dir.empty() || s.work_dir[0] != '/')
    return fail(ErrorCode::bad_input,
                fmt::format("the working folder '{}' is not an absolute path", s.work_dir));
  return s;
}

}  // namespace sickbay
