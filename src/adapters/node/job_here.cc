// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/job_here.h"

#include <map>
#include <string>

#include "adapters/node/process_table.h"
#include "adapters/node/tree.h"
#include "base/text.h"

namespace sickbay {

std::optional<bool> a_step_runs_here(std::string_view root) {
  using namespace std::string_view_literals;
  const node::Tree tree(root);
  bool any = false;
  std::string text;
  for (const std::string& name : tree.list("/proc")) {
    if (!is_digit(name[0])) continue;
    any = true;
    if (!tree.read_into("/proc/" + name + "/comm", text, 64) || !text.starts_with("slurmstepd")) continue;
    // Its arguments, each with a NUL behind it.  Of one that has vanished there are none: it was a step.
    if (!tree.read_into("/proc/" + name + "/cmdline", text, 4096) ||
        text.find("\0infinity\0"sv) == std::string::npos)
      return true;
  }
  // A /proc without processes is not mounted, or hidden from us.
  if (!any) return std::nullopt;
  return false;
}

Json jobs_here(std::string_view root) {
  constexpr std::size_t kMost = 64;
  const node::Tree tree(root);
  node::ProcessTable table(tree);
  const auto list = table.all();
  std::map<std::int64_t, std::optional<std::int64_t>> jobs;
  if (list)
    for (node::ProcessTable::Process& p : **list) {
      const auto job = table.job(p);
      if (!job) continue;
      auto& uid = jobs[*job];
      // Slurm's own are root's; so are those of a job that root submitted.
      if (p.stat.name == "slurmstepd" || (uid && *uid != 0)) continue;
      if (const auto of = table.uid(p)) uid = *of;
    }
  Json told = Json::array();
  for (const auto& [job, uid] : jobs) {
    if (told.size() >= kMost) break;
    Json one = Json::object({{"job", job}});
    if (uid) one.set("uid", *uid);
    told.push(std::move(one));
  }
  return told;
}

}  // namespace sickbay
