// SPDX-License-Identifier: Apache-2.0
// Source: accounting(5) and sge_status(5) of Grid Engine 6.2u5 and 8.1.9, complex(5) for h_rt and h_vmem.
#include "workload/read/sge_words.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"
#include "workload/job/values.h"
#include "workload/read/lines.h"

namespace sickbay::workload {
namespace {

// What Grid Engine says of a job that it could not run, or not to its end.
struct Failed {
  std::int64_t first, last;
  std::string_view state, reason;  // no state: the script's exit status says it
};
// clang-format off
constexpr auto kFailed = std::to_array<Failed>({
    {1, 11,  "BOOT_FAIL", "failed before the job"},        // execd, its spool, processors, prolog, pe_start
    {12, 16, "",          "failed behind the job"},        // pe_stop, epilog, giving processors back
    {17, 17, "",          "failed through signal"},
    {18, 21, "NODE_FAIL", "failed, its shepherd is lost"}, // no exit status came from the node
    {24, 24, "REQUEUED",  "migrating"},                    // a checkpoint was taken, it goes on elsewhere
    {25, 25, "REQUEUED",  "rescheduling"},
    {26, 29, "BOOT_FAIL", "failed before the job"},        // output file, shell, folder, AFS
    {36, 36, "BOOT_FAIL", "failed before the job"},        // the daemon for interactive jobs
    {37, 37, "",          "failed, qmaster enforced h_rt, h_cpu or h_vmem"},
    {38, 38, "BOOT_FAIL", "failed before the job"},        // the group id that a job is known by
    {100, 100, "",        "failed behind the job"},        // a signal ended it: qdel's, a limit's, its own
});
// clang-format on

constexpr std::int64_t kEnforced = 37;
constexpr std::int64_t kBehindJob = 100;

// The state of a job that `signal` ended, where Grid Engine may have sent it.
std::string_view state_of_signal(const SgeFacts& facts, const Row& row, std::int64_t signal) {
  if (row.has(Num::time_limit) && facts.ran >= row.get(Num::time_limit)) return "TIMEOUT";
  if (row.has(Num::req_mem) && facts.max_vmem >= row.get(Num::req_mem)) return "OUT_OF_MEMORY";
  // Of h_cpu and the soft limits, which are sent before the hard ones.
  if (facts.failed == kEnforced || signal == SIGXCPU || signal == SIGUSR1) return "TIMEOUT";
  return signal == SIGKILL || signal == SIGTERM ? "CANCELLED" : "FAILED";
}

}  // namespace

std::string_view sge_request(std::string_view category, std::string_view name) {
  for (std::size_t at = category.find(name); at != std::string_view::npos; at = category.find(name, at + 1)) {
    const std::size_t behind = at + name.size();
    if (at == 0 || (category[at - 1] != ',' && category[at - 1] != ' ')) continue;
    if (behind >= category.size() || category[behind] != '=') continue;
    const std::string_view value = category.substr(behind + 1);
    return value.substr(0, value.find_first_of(", "));
  }
  return {};
}

void set_sge_requests(const SgeFacts& facts, Row& row) {
  std::int64_t n = 0;
  if (parse_elapsed_ms(sge_request(facts.category, "h_rt"), n) && n > 0) row.set(Num::time_limit, n / 1000);
  // The execution daemon bounds the job by as much for each slot.
  if (parse_bytes(sge_request(facts.category, "h_vmem"), 1, n) && n > 0 &&
      multiply(n, std::max<std::int64_t>(1, facts.slots), n))
    row.set(Num::req_mem, n);
}

void set_sge_end(const SgeFacts& facts, Row& row) {
  const std::int64_t status = facts.exit_status;
  const std::int64_t signal = status > 128 && status < 128 + 65 ? status - 128 : 0;
  row.set(Num::exit_code, status);
  row.set(Num::exit_signal, 0);
  const auto known = std::find_if(kFailed.begin(), kFailed.end(), [&](const Failed& f) {
    return f.first <= facts.failed && facts.failed <= f.last;
  });
  if (known != kFailed.end()) row.set(Text::reason, known->reason);
  if (facts.failed == 0) return row.set(Text::state, status == 0 ? "COMPLETED" : "FAILED");
  if (known == kFailed.end()) {
    row.set(Text::reason, "failed, by a code of a newer Grid Engine");
    return row.set(Text::state, "FAILED");
  }
  if (!known->state.empty()) {
    if (known->state == "REQUEUED") row.kind = RowKind::rerun;  // another run of it follows
    return row.set(Text::state, known->state);
  }
  if (facts.failed == kEnforced || facts.failed == kBehindJob || facts.failed == 17) {
    if (signal != 0) {
      row.set(Num::exit_code, 0);
      row.set(Num::exit_signal, signal);
    }
    return row.set(Text::state, state_of_signal(facts, row, signal));
  }
  row.set(Text::state, status == 0 ? "COMPLETED" : "FAILED");
}

}  // namespace sickbay::workload
