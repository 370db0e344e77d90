// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/scenario_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/duration.h"
#include "base/size.h"

namespace sickbay::sim {

Status job_line(const Words& words, Scenario& into) {
  if (words.size() < 2) return bad("say: job NAME [nodes=N] [limit=TIME] ... does ...");
  ScenarioJob job;
  job.name = words[1];
  std::string nodes = "1", limit = "10m";
  bool requeue = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "does") {
      job.does =
          fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end(), " "));
      break;
    }
    if (key == "nodes") {
      nodes = value;
    } else if (key == "user") {
      job.user = value;
    } else if (key == "array") {
      job.sbatch_options.push_back("--array=" + value);
    } else if (key == "option") {
      job.sbatch_options.push_back(value);
    } else if (key == "deliver") {
      job.options.set("deliver", true);
    } else if (key == "until-verdict") {
      job.options.set("until_verdict", true);
    } else if (key == "no-rerun") {
      job.options.set("rerun", false);
    } else if (key == "folder") {
      const auto bytes = parse_size(value, BareUnit::bytes);
      if (!bytes) return fail(bytes.error());
      job.folder.bytes = bytes->count;
      job.own_folder = true;
    } else if (key == "files") {
      const auto files = number(value);
      if (!files) return bad(fmt::format("'{}' is no count", value));
      job.folder.files = static_cast<std::int64_t>(*files);
      job.own_folder = true;
    } else if (key == "input") {
      job.inputs.push_back(value);
      job.own_folder = true;
    } else if (key == "no-output-folder") {
      job.no_output_folder = true;
    } else if (key == "without-case") {
      job.without_case = true;
    } else if (key == "replays") {
      job.replays = value;
      job.own_folder = true;
    } else if (key == "dependency") {
      job.dependency = value;
    } else if (key == "features") {
      job.sbatch_options.push_back("--constraint=" + value);
    } else if (key == "reservation") {
      job.sbatch_options.push_back("--reservation=" + value);
    } else if (key == "rerun" && identify::rerun_way_from(value)) {
      job.options.set("rerun", value);
    } else if (key == "digest") {
      job.more.set("script_digest", value);
    } else if (key == "recover") {
      job.options.set("recover", true).set("requeue", requeue = true);
    } else if (key == "requeue") {
      job.options.set("requeue", requeue = true);
    } else if (key == "expect-time" || key == "limit" || key == "at") {
      const auto time = parse_duration(value);
      if (!time) return fail(time.error());
      if (key == "limit") limit = value;
      if (key == "at") job.at = *time;
      if (key == "expect-time")
        job.options.set("expect_time_s", std::chrono::duration_cast<std::chrono::seconds>(*time).count());
    } else {
      return bad(fmt::format("a job has no '{}'", key));
    }
  }
  const auto time = parse_duration(limit);
  job.sbatch_options.insert(
      job.sbatch_options.begin(),
      {"--nodes=" + nodes,
       "--time=" + format_time_limit(TimeLimit::of(std::chrono::duration_cast<std::chrono::seconds>(*time))),
       requeue ? "--requeue" : "--no-requeue"});
  if (const auto behaviour = behaviour_of_script("#SIM " + job.does); !behaviour)
    return fail(behaviour.error());
  into.jobs.push_back(std::move(job));
  return {};
}

}  // namespace sickbay::sim
