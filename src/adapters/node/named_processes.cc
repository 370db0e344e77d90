// SPDX-License-Identifier: Apache-2.0
// process_match, process_use, kswapd, stray_processes: processes by their command lines, as ps shows them.
//
// Kernel threads are among them, in brackets: sites ask for those of file systems.  A pass of its own over
// /proc, on a thread: command lines lie in the memory of their processes, and reading one can wait for it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "adapters/node/families.h"
#include "adapters/node/process_table.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

struct Named {
  ProcessStat stat = {};
  std::int64_t uid = -1;
  std::int64_t virtual_bytes = 0;
  std::string line = {}, program = {};  // the command line; its first word
};

class Processes {
 public:
  explicit Processes(const Call& call) : call_(call), passwd_(call.tree->read("/etc/passwd").value_or("")) {}

  // By pid.  Errors: no /proc; nobody waits any more.
  Result<std::vector<Named>> all() const {
    std::vector<Named> list;
    const Tree& tree = *call_.tree;
    std::string text;
    for (const std::string& name : tree.list("/proc")) {
      if (call_.cancelled != nullptr && *call_.cancelled)
        return fail(ErrorCode::timed_out, "nobody waits any more");
      const auto pid = to_integer(name);
      if (!pid || !tree.read_into("/proc/" + name + "/stat", text, 4096)) continue;
      auto stat = parse_process_stat(text);
      if (!stat || stat->pid != *pid) continue;
      Named one{.stat = std::move(*stat)};
      if (!tree.read_into("/proc/" + name + "/status", text, 16384)) continue;
      one.uid = parse_uid(text).value_or(-1);
      one.virtual_bytes = field_of(text, "VmSize").value_or(0);
      // Empty for a kernel thread and for a zombie, whose memory is gone: those are shown as ps shows them.
      if (tree.read_into("/proc/" + name + "/cmdline", text, 4096) && !text.empty()) {
        while (!text.empty() && text.back() == '\0') text.pop_back();
        std::ranges::replace(text, '\0', ' ');
        one.line = text;
      } else {
        one.line = fmt::format("[{}]{}", one.stat.name, one.stat.state == 'Z' ? " <defunct>" : "");
      }
      one.program = one.line.substr(0, one.line.find(' '));
      list.push_back(std::move(one));
    }
    if (list.empty()) return fail(ErrorCode::not_found, "/proc lists no process");
    std::ranges::sort(list, {}, [](const Named& p) { return p.stat.pid; });
    return list;
  }

  std::string user(const Named& p) const {
    return user_name(passwd_, p.uid).value_or(std::to_string(p.uid)).substr(0, kMostShown);
  }
  // A pattern of names, or a number.
  bool is_of(const Named& p, const Pattern& user_pattern) const {
    return user_pattern.fits(user(p)) ||
           // Negated, a number would fit whoever has another name: there the name alone decides.
           (!user_pattern.negated() && user_pattern.written() == std::to_string(p.uid));
  }

 private:
  const Call& call_;
  std::string passwd_;
};

// The arguments that say which processes are meant.
struct Choice {
  Pattern match, contains, user;
  bool whole = false;
};
Result<Choice> choice_of(const Call& call, bool contains) {
  auto match = Pattern::parse(call.text("match")), user = Pattern::parse(call.text("user")),
       part = Pattern::parse(contains ? "*" + call.text("contains") + "*" : "*");
  for (auto* one : {&match, &user, &part})
    if (!*one) return fail(std::move(one->error()));
  return Choice{std::move(*match), std::move(*part), std::move(*user), call.flag("whole")};
}
bool is_chosen(const Choice& choice, const Processes& processes, const Named& p) {
  return choice.match.fits(choice.whole ? p.line : p.program) && choice.contains.fits(p.line) &&
         processes.is_of(p, choice.user);
}

double hertz(const Call& call) {
  // 100 is what every Linux of a recorded tree has.
  return call.tree->is_this_machine() ? static_cast<double>(::sysconf(_SC_CLK_TCK)) : 100;
}

}  // namespace

OperationEnd process_match(const Call& call) {
  const Processes processes(call);
  const auto choice = choice_of(call, true);
  if (!choice) return unknown(choice.error().what);
  const auto list = processes.all();
  if (!list) return unknown(list.error().what);
  std::int64_t count = 0;
  const Named* first = nullptr;
  for (const Named& p : *list) {
    if (!is_chosen(*choice, processes, p)) continue;
    ++count;
    if (first == nullptr) first = &p;
  }
  return found(
      Json::object({{"processes_matched", count},
                    {"process_matched_pid", first != nullptr ? Json(first->stat.pid) : Json()},
                    {"process_matched_user", first != nullptr ? Json(processes.user(*first)) : Json()}}));
}

OperationEnd process_use(const Call& call) {
  const Processes processes(call);
  const auto choice = choice_of(call, false);
  if (!choice) return unknown(choice.error().what);
  const auto list = processes.all();
  if (!list) return unknown(list.error().what);
  const auto meminfo = call.tree->read("/proc/meminfo");
  const auto memory = meminfo ? field_of(*meminfo, "MemTotal") : std::nullopt;
  const auto uptime_text = call.tree->word("/proc/uptime").value_or("");
  std::string_view rest = uptime_text;
  const auto uptime = to_fraction(next_word(rest));
  if (!memory || *memory == 0 || !uptime) return unknown("neither memory nor uptime is told by /proc");
  const double tick = hertz(call);
  const double page = call.tree->is_this_machine() ? static_cast<double>(::sysconf(_SC_PAGESIZE)) : 4096;
  // As ps: what a process used of the time that it lives.
  const auto cpu = [&](const Named& p) {
    const double lives = *uptime - static_cast<double>(p.stat.started) / tick;
    return lives > 0 ? 100.0 * static_cast<double>(p.stat.ticks) / tick / lives : 0;
  };
  const auto resident = [&](const Named& p) { return static_cast<double>(p.stat.pages) * page; };
  struct Limit {
    const char* argument;
    std::function<double(const Named&)> used;
  };
  const Limit kLimits[] = {
      {"cpu_percent", [&](const Named& p) { return std::floor(cpu(p)); }},
      {"memory_percent",
       [&](const Named& p) { return std::floor(100.0 * resident(p) / static_cast<double>(*memory)); }},
      {"resident", resident},
      {"virtual", [](const Named& p) { return static_cast<double>(p.virtual_bytes); }},
      {"cpu_seconds", [&](const Named& p) { return std::floor(static_cast<double>(p.stat.ticks) / tick); }},
  };
  std::int64_t over = 0;
  Json pid, name, user;
  for (const Named& p : *list) {
    if (p.uid < call.integer("first_uid") || !is_chosen(*choice, processes, p)) continue;
    const bool reaches = std::ranges::any_of(kLimits, [&](const Limit& limit) {
      const std::int64_t most = call.integer(limit.argument);
      // 0: no limit is given.
      return most > 0 && limit.used(p) >= static_cast<double>(most);
    });
    if (!reaches) continue;
    if (++over > 1) continue;
    pid = p.stat.pid;
    name = p.program.substr(0, kMostShown);
    user = processes.user(p);
  }
  return found(Json::object({{"processes_over", over},
                             {"process_over_pid", pid},
                             {"process_over_name", name},
                             {"process_over_user", user}}));
}

OperationEnd kswapd(const Call& call) {
  const auto list = Processes(call).all();
  if (!list) return unknown(list.error().what);
  std::int64_t threads = 0, lowest = 0, highest = 0;
  for (const Named& p : *list) {
    // The bracket means a kernel thread: no user's program of this name counts.
    if (!p.line.starts_with("[kswapd")) continue;
    const auto seconds = static_cast<std::int64_t>(static_cast<double>(p.stat.ticks) / hertz(call));
    lowest = threads == 0 ? seconds : std::min(lowest, seconds);
    highest = std::max(highest, seconds);
    ++threads;
  }
  return found(
      Json::object({{"kswapd_threads", threads}, {"kswapd_lowest", lowest}, {"kswapd_highest", highest}}));
}

OperationEnd stray_processes(const Call& call) {
  const Processes processes(call);
  const auto above = Pattern::parse(call.text("above"));
  if (!above) return unknown(above.error().what);
  const auto list = processes.all();
  if (!list) return unknown(list.error().what);
  std::map<std::int64_t, const Named*> by_pid;
  for (const Named& p : *list) by_pid.emplace(p.stat.pid, &p);
  std::vector<std::string> except;
  for (std::string_view rest = call.text("except"); !rest.empty();)
    except.emplace_back(trimmed(next_part(rest, ',')));
  std::int64_t strays = 0;
  Json pid, user;
  for (const Named& p : *list) {
    if (p.uid < call.integer("first_uid")) continue;
    const std::string owner = processes.user(p);
    if (std::ranges::find(except, owner) != except.end() ||
        std::ranges::find(except, std::to_string(p.uid)) != except.end())
      continue;
    // Its own program first, then whoever is above it, up to process 1.
    bool below = above->fits(p.program);
    const Named* at = &p;
    // Bounded, since numbers are given again while we look.
    for (int i = 0; i < 1000 && !below && at != nullptr && at->stat.pid != 1; ++i) {
      const auto parent = by_pid.find(at->stat.parent);
      at = parent == by_pid.end() ? nullptr : parent->second;
      below = at != nullptr && above->fits(at->line);
    }
    if (below || ++strays > 1) continue;
    pid = p.stat.pid;
    user = owner;
  }
  return found(Json::object({{"stray_processes", strays}, {"stray_pid", pid}, {"stray_user", user}}));
}

}  // namespace sickbay::node
