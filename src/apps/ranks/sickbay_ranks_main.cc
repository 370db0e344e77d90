// SPDX-License-Identifier: Apache-2.0
// sickbay-ranks: looks at the ranks of a job on this node and prints what it saw, as JSON lines.
//
// The agent starts it: whatever a user's file does to the library that reads it ends this process and nobody
// else.  It bounds its own time and memory, works after everybody else (nice 19), and gives up root before it
// opens a file of the user's.  Output: doc/formats/ranks.md.
#include <fmt/format.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "adapters/ranks/counters.h"
#include "adapters/ranks/glance.h"
#include "adapters/ranks/look.h"
#include "base/words.h"

namespace sickbay {
namespace {

constexpr const char* kUsage =
    "usage: sickbay-ranks JOB [--uid UID] [options]\n"
    "       sickbay-ranks --pids PID,PID,... [options]\n"
    "Looks at the ranks of a job on this node several times and prints what it saw, one JSON line for each.\n"
    "  --uid UID      whose processes; default: the one user, not root, who has some in the job\n"
    "  --pids LIST    these processes, of one user, instead of a job's\n"
    "  --rounds N     how often it looks, 1 to 16; default 3\n"
    "  --every MS     milliseconds from one look to the next, 1 to 60000; default 700\n"
    "  --most N       ranks whose stacks are taken; default 256\n"
    "  --no-stacks    counters alone: no process is stopped\n"
    "  --glance LIST --seen US\n"
    "                 processes of ranks, PID,PID/PID,PID with a '/' between programs, that were looked at "
    "US\n"
    "                 microseconds after the node's start: where one of each program surely goes on, that "
    "is\n"
    "                 all that is said; else they are looked at as ever\n"
    "  --calls LIST   with --glance: calls in which they were seen, as for --prove: whose call returns goes "
    "on\n"
    "  --for MS       with --glance: again and again for so long, 0 to 600000, and a look at the end; "
    "default "
    "0: once,\n"
    "                 and no look\n"
    "  --again MS     with --for: milliseconds from one glance to the next, 100 to 600000; default 3000\n"
    "  --prove LIST   also whether they wait for certain: their other threads, their connections, and "
    "whether\n"
    "                 calls return, of the list PID:TID:ADDRESS,... or of '-', none\n"
    "Root may look at all processes, others at their own where the system permits it (ptrace(2)).\n";
constexpr rlim_t kCpuSeconds = 10;
constexpr rlim_t kMemory = rlim_t{4} << 30;  // a program with its debugging symbols may have 2 GiB, mapped

struct Wish {
  std::int64_t job = 0, uid = -1;
  std::vector<std::int64_t> pids;
  ranks::LookOrder order;
  ranks::GlanceOrder glance;
  std::chrono::milliseconds glance_again{3000}, glance_for{0};
};

tl::unexpected<Error> misused(std::string what) {
  return fail(Error(ErrorCode::usage, std::move(what)).remedied_by("see 'sickbay-ranks --help'"));
}

Result<std::int64_t> number(std::string_view name, const char* text, std::int64_t least, std::int64_t most) {
  const auto value = text == nullptr ? std::nullopt : to_integer(text);
  if (!value || *value < least || *value > most)
    return misused(fmt::format("{} needs a number from {} to {}", name, least, most));
  return *value;
}

Result<std::vector<std::int64_t>> read_list(std::string_view name, std::string_view list) {
  std::vector<std::int64_t> pids;
  while (!list.empty()) {
    const std::string one(next_part(list, ','));
    const auto value = number(name, one.c_str(), 1, INT32_MAX);
    if (!value) return fail(value.error());
    pids.push_back(*value);
  }
  if (pids.empty()) return misused(fmt::format("{} needs a list of numbers", name));
  return pids;
}

// "17:17:0x4011f3,17:19:0x7f0c", addresses with their 0x or without; "-": none.
Result<std::vector<CallReturn>> read_returns(std::string_view name, std::string_view list) {
  std::vector<CallReturn> returns;
  if (list == "-") return returns;
  while (!list.empty()) {
    std::string_view one = next_part(list, ',');
    const std::string pid(next_part(one, ':')), tid(next_part(one, ':'));
    const auto process = number(name, pid.c_str(), 1, INT32_MAX),
               thread = number(name, tid.c_str(), 1, INT32_MAX);
    const auto back = to_integer(one.starts_with("0x") ? one.substr(2) : one, 16);
    if (!process) return fail(process.error());
    if (!thread) return fail(thread.error());
    if (!back || *back <= 0 || returns.size() == kMostReturns)
      return misused(fmt::format("{} needs a list PID:TID:ADDRESS,... of {} at most", name, kMostReturns));
    returns.push_back({*process, *thread, static_cast<std::uint64_t>(*back)});
  }
  return returns;
}

Result<Wish> read_arguments(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto next = [&]() -> const char* { return i + 1 < argc ? argv[++i] : nullptr; };
    Result<std::int64_t> value = 0;
    if (arg == "--uid") {
      if ((value = number(arg, next(), 0, UINT32_MAX))) wish.uid = *value;
    } else if (arg == "--rounds") {
      if ((value = number(arg, next(), 1, kMostRounds))) wish.order.rounds = static_cast<std::size_t>(*value);
    } else if (arg == "--every") {
      if ((value = number(arg, next(), 1, 60000))) wish.order.every = std::chrono::milliseconds(*value);
    } else if (arg == "--most") {
      if ((value = number(arg, next(), 0, kMostRanksOfNode)))
        wish.order.most_stacks = static_cast<std::size_t>(*value);
    } else if (arg == "--no-stacks") {
      wish.order.stacks = false;
    } else if (arg == "--prove") {
      const char* list = next();
      auto returns = read_returns(arg, list == nullptr ? "" : list);
      if (!returns) return fail(std::move(returns.error()));
      wish.order.prove = true;
      wish.order.returns = std::move(*returns);
    } else if (arg == "--calls") {
      const char* list = next();
      auto calls = read_returns(arg, list == nullptr ? "" : list);
      if (!calls) return fail(std::move(calls.error()));
      wish.glance.calls = std::move(*calls);
    } else if (arg == "--pids") {
      const char* list = next();
      auto pids = read_list(arg, list == nullptr ? "" : list);
      if (!pids) return fail(std::move(pids.error()));
      wish.pids = std::move(*pids);
    } else if (arg == "--glance") {
      const char* list = next();
      for (std::string_view rest = list == nullptr ? "" : list; !rest.empty();) {
        auto pids = read_list(arg, next_part(rest, '/'));
        if (!pids) return fail(std::move(pids.error()));
        wish.glance.programs.push_back(std::move(*pids));
      }
    } else if (arg == "--seen") {
      if ((value = number(arg, next(), 1, INT64_MAX))) wish.glance.seen = from_micros(*value);
    } else if (arg == "--for") {
      if ((value = number(arg, next(), 0, 600000))) wish.glance_for = std::chrono::milliseconds(*value);
    } else if (arg == "--again") {
      if ((value = number(arg, next(), 100, 600000))) wish.glance_again = std::chrono::milliseconds(*value);
    } else if (!arg.starts_with('-') && wish.job == 0) {
      if ((value = number("JOB", argv[i], 1, UINT32_MAX))) wish.job = *value;
    } else {
      return misused(fmt::format("unknown argument '{}'", arg));
    }
    if (!value) return fail(std::move(value.error()));
  }
  wish.glance.uid = wish.uid;
  if (!wish.glance.programs.empty() && (wish.uid < 0 || wish.glance.seen == kNoTime))
    return misused("--glance needs --uid and --seen");
  if ((wish.job == 0) == wish.pids.empty()) return misused("name a job, or processes with --pids");
  return wish;
}

// Root is given up for good: from here on the files of that user are read with his rights.
Status become(std::int64_t uid, std::int64_t pid) {
  if (::geteuid() != 0 || uid <= 0) return {};
  struct stat owner {};
  // Files that his group may read are read with that group.
  // (Of a process that may not be looked at the folder is root's, and says nothing.)
  const bool known = ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0 && owner.st_uid == uid;
  const gid_t group = known && owner.st_gid != 0 ? owner.st_gid : 65534;
  const uid_t user = static_cast<uid_t>(uid);
  if (::setgroups(1, &group) != 0 || ::setresgid(group, group, group) != 0 ||
      ::setresuid(user, user, user) != 0)
    return fail(Error(ErrorCode::os, "root could not be given up: " + std::string(std::strerror(errno))));
  return {};
}

Status print(const RankLook& look) {
  const std::string text = format_rank_look(look);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail(ErrorCode::os, std::string("the output could not be written: ") + std::strerror(errno));
  return {};
}

Status run(const Wish& wish) {
  const node::Tree tree("/");
  auto glances = ranks::GlancesEnd::cannot_say;
  if (!wish.glance.programs.empty())
    glances = ranks::glance_for(tree, wish.glance, wish.glance_again, wish.glance_for);
  // Of a row of glances the whole look is the end.
  if (glances == ranks::GlancesEnd::over && wish.glance_for > std::chrono::milliseconds(0))
    glances = ranks::GlancesEnd::cannot_say;
  if (glances != ranks::GlancesEnd::cannot_say) {
    RankLook look;
    look.goes_on = true;
    look.cpu_us = ranks::own_cpu();
    return print(look);
  }
  // What a minute of glances took says nothing of how dear a look is.
  const std::int64_t before = wish.glance.programs.empty() ? 0 : ranks::own_cpu();
  node::ProcessTable table(tree);
  auto found =
      wish.pids.empty() ? ranks::find_ranks(table, wish.job, wish.uid) : ranks::name_ranks(table, wish.pids);
  if (!found) return fail(std::move(found.error()));
  const std::int64_t uid = found->uid, pid = found->ranks.empty() ? 0 : found->ranks.front().pid;
  auto look = ranks::look_at(tree, std::move(*found), wish.order, [uid, pid] { return become(uid, pid); });
  if (!look) return fail(look.error());
  look->cpu_us -= before;
  return print(*look);
}

}  // namespace
}  // namespace sickbay

int main(int argc, char** argv) {
  using namespace sickbay;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") return std::fputs(kUsage, stdout) < 0;
    if (std::string_view(argv[i]) == "--version")
      return std::printf("sickbay-ranks %s\n", SICKBAY_VERSION) < 0;
  }
  // The program that is watched goes first; and whatever a file makes of us has an end.
  ::setpriority(PRIO_PROCESS, 0, 19);
  const rlimit cpu{kCpuSeconds, kCpuSeconds}, memory{kMemory, kMemory}, none{0, 0};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &none);
  const auto wish = read_arguments(argc, argv);
  const Status done = wish ? run(*wish) : Status(tl::unexpected<Error>(wish.error()));
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message("sickbay-ranks").c_str());
  return error_row(done.error().code).exit_code;
}
