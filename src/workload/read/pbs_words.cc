// SPDX-License-Identifier: Apache-2.0
#include "workload/read/pbs_words.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "workload/job/values.h"
#include "workload/read/hosts.h"

namespace sickbay::workload {
namespace {

// What a negative Exit_status says: the server's or the node's word, not the job's.  From -8 on the two
// differ. Sources: PBS Professional Reference Guide ("Job Exit Status Codes"), TORQUE 6.1.2 Administrator
// Guide
// ("Job Exit Status").
struct End {
  std::int64_t status;
  std::string_view state;
  std::string_view reason;
};
// clang-format off
constexpr auto kCommonEnds = std::to_array<End>({
    {-1,  "BOOT_FAIL",     "JOB_EXEC_FAIL1"},        // failed before its files were there, no retry
    {-2,  "BOOT_FAIL",     "JOB_EXEC_FAIL2"},        // failed after its files were there, no retry
    {-3,  "REQUEUED",      "JOB_EXEC_RETRY"},        // failed to begin; it is tried again
    {-4,  "NODE_FAIL",     "JOB_EXEC_INITABT"},      // the node's daemon began anew and gave the job up
    {-5,  "NODE_FAIL",     "JOB_EXEC_INITRST"},      // the same, checkpointed
    {-6,  "NODE_FAIL",     "JOB_EXEC_INITRMG"},      // the same, checkpointed, may move
    {-7,  "FAILED",        "JOB_EXEC_BADRESRT"},     // its restart failed
});
constexpr auto kProEnds = std::to_array<End>({
    {-8,  "BOOT_FAIL",     "JOB_EXEC_FAILUID"},      // no such user on the node
    {-9,  "REQUEUED",      "JOB_EXEC_RERUN"},        // it is run again
    {-10, "REQUEUED",      "JOB_EXEC_CHKP"},         // checkpointed and stopped
    {-11, "BOOT_FAIL",     "JOB_EXEC_FAIL_PASSWORD"},
    {-12, "REQUEUED",      "JOB_EXEC_RERUN_ON_SIS_FAIL"},
    {-13, "REQUEUED",      "JOB_EXEC_QUERST"},
    {-14, "REQUEUED",      "JOB_EXEC_FAILHOOK_RERUN"},
    {-15, "CANCELLED",     "JOB_EXEC_FAILHOOK_DELETE"},
    {-16, "REQUEUED",      "JOB_EXEC_HOOK_RERUN"},
    {-17, "CANCELLED",     "JOB_EXEC_HOOK_DELETE"},
    {-18, "REQUEUED",      "JOB_EXEC_RERUN_MS_FAIL"},
    {-19, "BOOT_FAIL",     "JOB_EXEC_FAIL_SECURITY"},
    {-20, "BOOT_FAIL",     "JOB_EXEC_HOOKERROR"},
    {-24, "CANCELLED",     "JOB_EXEC_KILL_NCPUS_BURST"},  // more cores used than asked for
    {-25, "CANCELLED",     "JOB_EXEC_KILL_NCPUS_SUM"},
    {-26, "OUT_OF_MEMORY", "JOB_EXEC_KILL_VMEM"},
    {-27, "OUT_OF_MEMORY", "JOB_EXEC_KILL_MEM"},
    {-28, "TIMEOUT",       "JOB_EXEC_KILL_CPUT"},         // a limit on CPU time is a limit on time
    {-29, "TIMEOUT",       "JOB_EXEC_KILL_WALLTIME"},
});
constexpr auto kTorqueEnds = std::to_array<End>({
    {-8,  "BOOT_FAIL",     "JOB_EXEC_CMDFAIL"},      // its script could not be executed
    {-9,  "BOOT_FAIL",     "JOB_EXEC_STDOUTFAIL"},   // its output could not be opened
    {-10, "OUT_OF_MEMORY", "JOB_EXEC_OVERLIMIT_MEM"},
    {-11, "TIMEOUT",       "JOB_EXEC_OVERLIMIT_WT"},
    {-12, "TIMEOUT",       "JOB_EXEC_OVERLIMIT_CPUT"},
    {-13, "REQUEUED",      "JOB_EXEC_RETRY_CGROUP"},
    {-14, "REQUEUED",      "JOB_EXEC_RETRY_PROLOGUE"},
});
// clang-format on

const End* find_end(PbsDialect dialect, std::int64_t status) {
  for (const End& end : kCommonEnds)
    if (end.status == status) return &end;
  if (dialect == PbsDialect::pro) {
    for (const End& end : kProEnds)
      if (end.status == status) return &end;
  } else {
    for (const End& end : kTorqueEnds)
      if (end.status == status) return &end;
  }
  return nullptr;
}

// A word that begins like "Resource_List.ncpus=".
bool begins_with_key(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (is_digit(text[n]) || (to_lower(text[n]) >= 'a' && to_lower(text[n]) <= 'z') ||
                             text[n] == '_' || text[n] == '.' || text[n] == '-'))
    ++n;
  return n > 0 && n < text.size() && text[n] == '=' && !is_digit(text[0]) && text[0] != '-' && text[0] != '.';
}

// The sum of N in "(c1:ncpus=N:mem=..)+(c2:ncpus=N)", or in "1:ncpus=N+2:ncpus=M" times the chunks
// (`select`).
std::int64_t sum_of(std::string_view text, std::string_view name, bool counted) {
  std::int64_t sum = 0;
  while (!text.empty()) {
    const std::size_t plus = text.find('+');
    std::string_view part = text.substr(0, plus);
    text.remove_prefix(plus == std::string_view::npos ? text.size() : plus + 1);
    std::int64_t times = 1, n = 0;
    if (counted && !parse_integer(part.substr(0, part.find(':')), times)) times = 1;
    const std::size_t at = part.find(name);
    if (at == std::string_view::npos) continue;
    part.remove_prefix(at + name.size());
    std::size_t digits = 0;
    while (digits < part.size() && is_digit(part[digits])) ++digits;
    if (!parse_integer(part.substr(0, digits), n) || n > 1'000'000'000 || times > 1'000'000'000 || times < 0)
      continue;
    if (__builtin_add_overflow(sum, n * times, &sum)) return 0;
  }
  return sum;
}

// The cores that the slots of one host stand for: "0*16" is 16, "0" one, "0-15,18" 17 (TORQUE 6).
std::int64_t count_slots(std::string_view slots) {
  std::int64_t n = 0;
  if (const std::size_t star = slots.find('*'); star != std::string_view::npos)
    return parse_integer(slots.substr(star + 1), n) && n > 0 && n < 1'000'000'000 ? n : 1;
  std::int64_t count = 0;
  while (!slots.empty()) {
    const std::size_t comma = slots.find(',');
    const auto range = slots.substr(0, comma);
    slots.remove_prefix(comma == std::string_view::npos ? slots.size() : comma + 1);
    std::int64_t first = 0, last = 0;
    const std::size_t dash = range.find('-');
    const bool whole = dash != std::string_view::npos && parse_integer(range.substr(0, dash), first) &&
                       parse_integer(range.substr(dash + 1), last) && last >= first && last < 1'000'000'000;
    count += whole ? last - first + 1 : 1;
  }
  return std::max<std::int64_t>(count, 1);
}

}  // namespace

bool take_pbs_value(std::string_view& rest, std::string_view& key, std::string_view& value) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  // What is no key stands alone and tells nothing ("Job deleted at request of ...").
  while (!rest.empty() && !begins_with_key(rest)) {
    const std::size_t blank = rest.find(' ');
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  if (rest.empty()) return false;
  const std::size_t equals = rest.find('=');
  key = rest.substr(0, equals);
  rest.remove_prefix(equals + 1);
  if (!rest.empty() && rest.front() == '"') {
    const std::size_t end = rest.find('"', 1);
    if (end != std::string_view::npos && (end + 1 == rest.size() || rest[end + 1] == ' ')) {
      value = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      return true;
    }
  }
  std::size_t end = 0;
  while (true) {
    end = rest.find(' ', end);
    if (end == std::string_view::npos) end = rest.size();
    if (end == rest.size() || begins_with_key(rest.substr(end + 1))) break;
    ++end;
  }
  value = trimmed(rest.substr(0, end));
  rest.remove_prefix(end);
  return true;
}

void set_pbs_end(PbsDialect dialect, const PbsFacts& facts, Row& row) {
  if (!facts.has_exit) {
    // Ended, and nobody knows how: TORQUE leaves it out where the node's daemon was lost.
    row.set(Text::state, "FAILED");
    row.set(Text::reason, "no Exit_status");
    return;
  }
  const std::int64_t status = facts.exit_status;
  const bool at_limit = row.has(Num::time_limit) && row.get(Num::time_limit) > 0 &&
                        std::max(row.get(Num::elapsed), facts.walltime) >= row.get(Num::time_limit);
  if (status < 0) {
    const End* end = find_end(dialect, status);
    row.set(Text::state, end != nullptr ? end->state : "FAILED");
    row.set(Text::reason, end != nullptr ? end->reason : "unknown negative Exit_status");
    row.set(Num::exit_code, status);
    return;
  }
  // 256 + signal: killed by it.  qdel and the limits send TERM, then KILL.
  const std::int64_t signal = status > 256 && status < 256 + 65 ? status - 256 : 0;
  row.set(Num::exit_code, signal == 0 ? status : 0);
  row.set(Num::exit_signal, signal);
  if (status == 0)
    row.set(Text::state, "COMPLETED");
  else if (at_limit && (signal == 15 || signal == 9 || status == 143 || status == 137))
    row.set(Text::state, "TIMEOUT");
  else if (signal == 15 || signal == 9)
    row.set(Text::state, "CANCELLED");
  else
    row.set(Text::state, "FAILED");
}

void set_pbs_places(const PbsFacts& facts, Arena& arena, Row& row) {
  // Asked for as a whole: "2:ppn=6" (TORQUE), "5:ncpus=13" (PBS Pro).
  if (!facts.asked.empty()) {
    if (const auto n = sum_of(facts.asked, "ppn=", true); n > row.get(Num::req_cpus))
      row.set(Num::req_cpus, n);
    if (!row.has(Num::req_cpus))
      if (const auto n = sum_of(facts.asked, "ncpus=", true); n > 0) row.set(Num::req_cpus, n);
    if (!row.has(Num::req_gpus))
      if (const auto n = sum_of(facts.asked, "gpus=", true); n > 0) row.set(Num::req_gpus, n);
  }
  if (facts.exec_host.empty()) return;
  thread_local std::vector<std::string> names;
  names.clear();
  std::int64_t slots = 0;
  for (std::string_view rest = facts.exec_host; !rest.empty();) {
    const std::size_t plus = rest.find('+');
    const auto part = rest.substr(0, plus);
    rest.remove_prefix(plus == std::string_view::npos ? rest.size() : plus + 1);
    const std::size_t slash = part.find('/');
    if (slash == 0 || part.empty()) continue;
    slots += slash == std::string_view::npos ? 1 : count_slots(part.substr(slash + 1));
    const auto name = part.substr(0, slash);
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  set_hosts(names, arena, row);
  std::int64_t cpus = sum_of(facts.exec_vnode, "ncpus=", false);
  if (cpus == 0) cpus = facts.used_cpus;
  if (cpus == 0) cpus = std::max(facts.slots, slots);
  if (cpus > 0) row.set(Num::cpus, cpus);
  std::int64_t gpus = sum_of(facts.exec_vnode, "ngpus=", false);
  if (gpus == 0) gpus = row.get(Num::req_gpus);
  if (gpus > 0) row.set(Num::gpus, gpus);
}

}  // namespace sickbay::workload
