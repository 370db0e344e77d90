// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/live_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "apps/cli/child.h"
#include "base/text.h"

namespace sickbay::cli {
namespace {

constexpr std::chrono::milliseconds kPause{300};  // one question to slurmctld each

// "sickbay:c17.r2" in a comment.
bool is_run_of(std::string_view comment, const std::string& case_name) {
  return comment.find("sickbay:" + case_name + ".") != comment.npos;
}

}  // namespace

std::vector<LiveJob> parse_live_jobs(std::string_view text) {
  std::vector<LiveJob> jobs;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto blank = line.find(' ');
    const auto first = line.find('\t');
    const auto second = first == line.npos ? line.npos : line.find('\t', first + 1);
    if (blank == line.npos || second == line.npos || blank > first) continue;
    const auto job = parse_job_id(line.substr(0, blank));
    if (!job) continue;
    jobs.push_back({*job, std::string(trimmed(line.substr(blank, first - blank))),
                    std::string(line.substr(first + 1, second - first - 1)),
                    std::string(line.substr(second + 1))});
  }
  return jobs;
}

std::vector<LiveJob> concerning(std::vector<LiveJob> all, std::span<const JobId> jobs,
                                std::span<const std::string> cases, const std::string& folder) {
  std::erase_if(all, [&](const LiveJob& one) {
    // Jobs of the history wherever they run; runs of their cases only in this folder, for one in a copy does
    // no harm.
    if (std::ranges::find(jobs, one.job) != jobs.end()) return false;
    return one.folder != folder ||
           std::ranges::none_of(cases, [&](const std::string& name) { return is_run_of(one.comment, name); });
  });
  return all;
}

Result<std::vector<LiveJob>> live_jobs() {
  std::string text;
  auto code = run_child({{"squeue", "-h", "-u", std::to_string(::getuid()), "-o", kSqueueFormat}, {}},
                        [&](std::string_view line) { text += line; });
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(Error(ErrorCode::slurm_away, fmt::format("squeue failed with exit code {}", *code))
                    .because("what still runs must be known before files are put back")
                    .remedied_by("try again when slurmctld answers (scontrol ping)"));
  return parse_live_jobs(text);
}

Status end_jobs(const std::vector<LiveJob>& jobs, std::chrono::seconds patience) {
  if (jobs.empty()) return {};
  ChildSpec scancel{{"scancel"}, {}};
  std::string names;
  for (const LiveJob& one : jobs) {
    scancel.argv.push_back(std::to_string(one.job));
    names += (names.empty() ? "" : ", ") + std::to_string(one.job);
  }
  auto code = run_child(scancel, [](std::string_view) {});
  if (!code) return fail(code.error());
  if (*code != 0)
    return fail(Error(ErrorCode::refused_by_slurm,
                      fmt::format("scancel of {} failed with exit code {}", names, *code))
                    .because("no file was changed"));
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto left = live_jobs();
    if (!left) return fail(left.error());
    // Gone from squeue, not merely cancelled: a job that is completing may still write.
    const bool gone = std::ranges::none_of(*left, [&](const LiveJob& one) {
      return std::ranges::find(jobs, one.job, &LiveJob::job) != jobs.end();
    });
    if (gone) return {};
    if (std::chrono::steady_clock::now() >= until)
      return fail(
          Error(ErrorCode::timed_out, fmt::format("{} did not end within {} s", names, patience.count()))
              .because("no file was changed")
              .remedied_by("see 'squeue'; where a node hangs its operator must help; then try again"));
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace sickbay::cli
