// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/sacct_query.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "apps/cli/child.h"
#include "base/descriptor.h"
#include "base/time.h"

namespace sickbay::cli {
namespace {

// A control character: nobody has it in a job's name.
constexpr char kDelimiter[] = "\x1f";

constexpr const char* kColumns[] = {"JobID",
                                    "JobIDRaw",
                                    "Cluster",
                                    "JobName",
                                    "User",
                                    "UID",
                                    "Group",
                                    "Account",
                                    "Partition",
                                    "QOS",
                                    "Reservation",
                                    "State",
                                    "Reason",
                                    "ExitCode",
                                    "DerivedExitCode",
                                    "Priority",
                                    "Restarts",
                                    "Submit",
                                    "Eligible",
                                    "Start",
                                    "End",
                                    "ElapsedRaw",
                                    "Timelimit",
                                    "Suspended",
                                    "ReqCPUS",
                                    "AllocCPUS",
                                    "ReqNodes",
                                    "AllocNodes",
                                    "NTasks",
                                    "ReqMem",
                                    "ReqTRES",
                                    "AllocTRES",
                                    "CPUTimeRAW",
                                    "TotalCPU",
                                    "UserCPU",
                                    "SystemCPU",
                                    "MaxRSS",
                                    "AveRSS",
                                    "MaxVMSize",
                                    "AveDiskRead",
                                    "AveDiskWrite",
                                    "TRESUsageInTot",
                                    "TRESUsageOutTot",
                                    "TRESUsageInAve",
                                    "TRESUsageInMax",
                                    "ConsumedEnergyRaw",
                                    "NodeList",
                                    "WorkDir",
                                    "SubmitLine",
                                    "Comment",
                                    "Constraints",
                                    "FailedNode",
                                    "Flags"};

// Of kColumns those that this sacct knows: it refuses to start for one that it does not.
Result<std::string> known_columns() {
  std::set<std::string> known;
  auto code = run_child({{"sacct", "--helpformat"}, {}}, [&](std::string_view line) {
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;) known.insert(word);
  });
  if (!code) return fail(std::move(code.error()));
  std::string columns;
  for (const char* column : kColumns)
    if (known.contains(column)) columns += (columns.empty() ? "" : ",") + std::string(column);
  if (*code != 0 || columns.empty())
    return fail(ErrorCode::refused_by_slurm,
                fmt::format("'sacct --helpformat' failed with exit code {}", *code));
  return columns;
}

std::string sacct_time(std::int64_t seconds) {
  std::string text = format_time(from_unix_seconds(seconds));
  text.pop_back();  // Z
  return text;
}

Error os_error(const std::string& doing, int code) {
  return {code == ENOSPC ? ErrorCode::storage_full : ErrorCode::os, doing + ": " + std::strerror(code)};
}

}  // namespace

Result<workload::AskedLog> ask_sacct(std::int64_t from, std::optional<std::int64_t> to) {
  auto columns = known_columns();
  if (!columns) return fail(std::move(columns.error()));
  const char* folder = std::getenv("TMPDIR");
  std::string name =
      std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/sickbay-sacct-XXXXXX";
  const auto file = std::make_shared<Descriptor>(mkostemp(name.data(), O_CLOEXEC));
  if (!*file) return fail(os_error("cannot make a file for what sacct says", errno));
  // Without a name it is there, under /proc, for as long as somebody holds it.
  unlink(name.c_str());

  // In UTC, so that the hour that comes twice a year is told apart.
  ChildSpec sacct;
  sacct.argv = {"env",
                "TZ=UTC",
                "SLURM_TIME_FORMAT=standard",
                "sacct",
                "--parsable2",
                "--allusers",
                "--duplicates",
                std::string("--delimiter=") + kDelimiter,
                "--starttime=" + sacct_time(from),
                "--format=" + *columns};
  if (to) sacct.argv.push_back("--endtime=" + sacct_time(*to));
  std::optional<Error> broken;
  std::string pending;
  const auto flush = [&] {
    for (std::size_t at = 0; at < pending.size() && !broken;) {
      const ssize_t n = ::write(file->get(), pending.data() + at, pending.size() - at);
      if (n < 0 && errno != EINTR) broken = os_error("cannot keep what sacct says", errno);
      at += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    pending.clear();
  };
  auto code = run_child(sacct, [&](std::string_view line) {
    pending += line;
    if (pending.size() > (std::size_t{1} << 18)) flush();
  });
  flush();
  if (!code) return fail(std::move(code.error()));
  if (broken) return fail(std::move(*broken));
  if (*code != 0)
    return fail(Error(ErrorCode::refused_by_slurm, fmt::format("sacct failed with exit code {}", *code))
                    .remedied_by("see what it said above; 'sacctmgr ping' tells whether slurmdbd answers"));
  workload::ReadOptions read;
  read.format = "sacct";
  read.delimiter = kDelimiter;
  return workload::AskedLog{fmt::format("/proc/self/fd/{}", file->get()), read, file};
}

}  // namespace sickbay::cli
