// SPDX-License-Identifier: Apache-2.0
// Watchers and timers: background processes that make a fault strike, rest and end.
#include "lab/watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "lab/cleanup.h"
#include "lab/daemons.h"
#include "lab/fault_effects.h"
#include "lab/lab.h"
#include "lab/machines.h"
#include "lab/truth.h"

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{50};
constexpr std::chrono::seconds kAsk{2};
// A rank that dies before MPI_Init says less than one that dies at work.
constexpr milliseconds kGrace{300};

void pause_for(milliseconds time) {
  timespec left{time.count() / 1000, (time.count() % 1000) * 1'000'000};
  while (::nanosleep(&left, &left) != 0) {
  }
}

// Descendants of a process, by the kernel's own lists: cheap enough to look 20 times a second.
void descend(pid_t pid, std::vector<pid_t>& found) {
  std::istringstream children(slurp(fmt::format("/proc/{0}/task/{0}/children", pid)));
  for (pid_t child; children >> child;) {
    found.push_back(child);
    descend(child, found);
  }
}

// One random bit in a random writable private mapping of a process, weighted by size: the program's data, as
// a fault of a memory module hits it.  Stacks and libraries are left alone (they crash, and prove nothing).
bool flip_bit(const Process& process, std::mt19937_64& dice) {
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges;
  std::uint64_t total = 0;
  std::istringstream maps(slurp(fmt::format("/proc/{}/maps", process.pid)));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string span, rights, offset, device, inode, name;
    words >> span >> rights >> offset >> device >> inode >> name;
    if (rights != "rw-p" || (!name.empty() && name != "[heap]")) continue;
    Range r{};
    char dash = 0;
    std::istringstream(span) >> std::hex >> r.begin >> dash >> r.end;
    ranges.push_back(r), total += r.end - r.begin;
  }
  if (total == 0) return false;
  const int memory = ::open(fmt::format("/proc/{}/mem", process.pid).c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return false;
  bool flipped = false;
  // Mostly untouched pages read as zero; a flip there is felt by nobody, so look for bytes in use.
  for (int attempt = 0; attempt < 64 && !flipped; ++attempt) {
    std::uint64_t at = std::uniform_int_distribution<std::uint64_t>(0, total - 1)(dice);
    for (const Range& r : ranges) {
      if (at >= r.end - r.begin) {
        at -= r.end - r.begin;
        continue;
      }
      unsigned char byte = 0;
      const auto place = static_cast<off_t>(r.begin + at);
      if (::pread(memory, &byte, 1, place) == 1 && byte != 0) {
        byte = static_cast<unsigned char>(byte ^ (1U << (dice() % 8)));
        flipped = ::pwrite(memory, &byte, 1, place) == 1;
      }
      break;
    }
  }
  ::close(memory);
  return flipped;
}

// What one watcher knows while it runs.
class Watch {
 public:
  Watch(const Layout& layout, ActiveFault fault, Process holder)
      : layout_(layout), fault_(std::move(fault)), holder_(holder), dice_(std::random_device{}()) {}

  int run() {
    const FaultKind kind = fault_.spec.kind;
    const double rate = kind == FaultKind::bitflip ? std::stod(fault_.spec.value) : 0;
    const milliseconds beat =
        rate > 0 ? milliseconds(std::clamp<int>(static_cast<int>(1000 / rate), 5, 50)) : kLook;
    for (; alive(holder_); pause_for(beat)) {
      const std::vector<Rank> ranks = ranks_on(holder_);
      for (const Rank& rank : ranks)
        if (seen_.insert(rank.step).second && lucky()) struck_.insert(rank.step), strike(rank);
      if (kind == FaultKind::bitflip)
        for (const Rank& rank : ranks)
          if (struck_.contains(rank.step) && wanted(rank) && at_work(rank)) flip_bit(rank.process, dice_);
      if (effect_on_ && !fault_.spec.row().stays && over(ranks)) rest();
    }
    return 0;
  }

 private:
  // Whether the step that set the fault off is over: its ranks are gone, or Slurm runs the job no more
  // (behind a dead link ranks live on, and nobody can tell them).
  bool over(const std::vector<Rank>& ranks) {
    if (std::none_of(ranks.begin(), ranks.end(), [&](const Rank& r) { return r.step == cause_; }))
      return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < kAsk) return false;
    asked_ = now;
    auto job = ask_slurm(
        layout_, {"squeue", "-h", "-j", cause_.substr(0, cause_.find('.')), "-t", "RUNNING", "-o", "%i"});
    return job && job->empty();
  }
  bool lucky() { return std::uniform_real_distribution<>(0, 1)(dice_) < fault_.spec.probability; }
  // Whether it has had the time to start: before, a flip only shows in the loader.
  static bool at_work(const Rank& rank) {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto age = static_cast<std::uint64_t>(now.tv_sec) * 1000 +
                     static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000 - rank.process.start * 1000 / ticks;
    return age >= static_cast<std::uint64_t>(kGrace.count());
  }
  bool wanted(const Rank& rank) const {
    const auto note = fault_.notes.find("host_pid");
    return note == fault_.notes.end() || std::to_string(rank.process.pid) == note->second;
  }
  // The file is the truth; who started this watcher wrote into it after the fork.
  void reload() {
    if (auto text = read_text(layout_.path("faults/" + fault_.id)))
      if (auto fault = parse_active(fault_.id, *text)) fault_ = std::move(*fault);
  }
  void tell(const char* kind, const std::string& step) {
    (void)write_truth(layout_, fault_.spec.node, kind, Json::object({{"fault", fault_.id}, {"step", step}}));
  }

  void strike(const Rank& rank) {
    switch (fault_.spec.kind) {
      case FaultKind::rank_kill: {
        while (alive(rank.process) && !at_work(rank)) pause_for(kLook);
        // The signal first: to be told of is a commit to disk, which on a busy one takes longer than a short
        // step does.
        if (auto signal = parse_signal(fault_.spec.value); signal && send_signal(rank.process, *signal))
          tell("lab_fired", rank.step);
        else
          seen_.erase(rank.step);  // it was no rank but something short-lived before one: the next is struck
        return;
      }
      case FaultKind::bitflip:
        tell("lab_fired", rank.step);
        return;
      default:
        break;
    }
    if (effect_on_) return;
    auto lock = LabLock::take(layout_.dir());
    reload();
    auto target = target_of(layout_, fault_);
    if (!lock || !target) return;
    tell("lab_fired", rank.step);
    cause_ = rank.step;
    effect_on_ = true;
    fault_.fired = true;
    (void)save_active(layout_, fault_);
    if (!effect_row(fault_.spec.kind).inject(*target))
      rest_locked(*target);
    else
      (void)save_active(layout_, fault_);
  }

  void rest() {
    auto lock = LabLock::take(layout_.dir());
    reload();
    auto target = target_of(layout_, fault_);
    if (lock && target) rest_locked(*target);
  }
  void rest_locked(Target& target) {
    for (auto it = fault_.processes.begin(); it != fault_.processes.end();) {
      const bool mine = it->first == "watcher" || it->first == "timer";
      if (!mine) end_process(it->second, milliseconds{2000});
      it = mine ? std::next(it) : fault_.processes.erase(it);
    }
    (void)effect_row(fault_.spec.kind).heal(target);
    effect_on_ = false;
    fault_.fired = false;
    (void)save_active(layout_, fault_);
    tell("lab_rested", cause_);
  }

  const Layout& layout_;
  ActiveFault fault_;
  Process holder_;
  std::mt19937_64 dice_;
  std::set<std::string> seen_, struck_;
  bool effect_on_ = false;
  std::string cause_;
  std::chrono::steady_clock::time_point asked_{};
};

}  // namespace

std::string step_of_environment(const std::string& block) {
  std::string job, step;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\0', at), block.size());
    const std::string entry = block.substr(at, end - at);
    if (entry.rfind("SLURM_JOB_ID=", 0) == 0) job = entry.substr(13);
    if (entry.rfind("SLURM_STEP_ID=", 0) == 0) step = entry.substr(14);
    at = end + 1;
  }
  const auto number = [](const std::string& s) {
    return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos;
  };
  return number(job) && number(step) ? job + "." + step : "";
}

std::vector<Rank> ranks_on(const Process& holder) {
  std::vector<pid_t> pids;
  descend(holder.pid, pids);
  std::vector<Rank> ranks;
  for (const pid_t pid : pids) {
    const auto stat = read_stat(pid);
    if (!stat || stat->state == 'Z' || stat->comm == "slurmstepd") continue;
    const auto parent = read_stat(stat->parent);
    if (!parent || parent->comm != "slurmstepd") continue;
    const std::string step = step_of_environment(slurp(fmt::format("/proc/{}/environ", pid)));
    if (!step.empty()) ranks.push_back({{pid, stat->start}, step});
  }
  return ranks;
}

bool needs_watcher(const FaultSpec& spec) {
  return spec.probability < 1 || spec.kind == FaultKind::bitflip ||
         (spec.kind == FaultKind::rank_kill && spec.pid == 0);
}

Status start_watcher(const Layout& l, ActiveFault& fault) {
  auto holder = holder_of(l, fault.spec.node);
  if (!holder) return tl::unexpected(holder.error());
  auto started = start_background(
      "lab-watch-" + fault.id, 0,
      [&](const Process& p) -> Status {
        fault.processes["watcher"] = p;
        if (auto kept = CleanupList(l.dir()).add_process(p, "watcher-" + fault.id); !kept) return kept;
        return save_active(l, fault);
      },
      [&] { return Watch(l, fault, *holder).run(); });
  if (!started) return tl::unexpected(started.error());
  return {};
}

Status start_timer(const Layout& l, ActiveFault& fault) {
  auto started = start_background(
      "lab-timer-" + fault.id, 0,
      [&](const Process& p) -> Status {
        fault.processes["timer"] = p;
        if (auto kept = CleanupList(l.dir()).add_process(p, "timer-" + fault.id); !kept) return kept;
        return save_active(l, fault);
      },
      [&] {
        pause_for(std::chrono::seconds(fault.spec.for_seconds));
        auto lock = LabLock::take(l.dir());
        return lock && heal_fault(l, fault.id) ? 0 : 1;
      });
  if (!started) return tl::unexpected(started.error());
  return {};
}

}  // namespace sickbay::lab
