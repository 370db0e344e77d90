// SPDX-License-Identifier: Apache-2.0
#include "engine/identify/explains.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "engine/identify/fingerprints.h"
#include "engine/identify/verdict.h"
#include "model/verify_report.h"

namespace sickbay::identify {
namespace {

// Symptoms as bits.
enum : std::uint8_t { by_exit = 1, by_stall = 2, by_time = 4, by_result = 8, by_death = 16, by_any = 31 };

std::uint8_t symptom_bit(Symptom symptom) {
  constexpr auto kBits = std::to_array<std::uint8_t>({0, by_death, by_exit, by_stall, by_time, by_result,
                                                      // A step ends as badly as a job does; its time is
                                                      // the job's.
                                                      by_exit | by_stall | by_result});
  static_assert(kBits.size() == static_cast<std::size_t>(Symptom::steps_failed) + 1);
  return kBits[static_cast<std::size_t>(symptom)];
}

bool any_signal(int) { return true; }
// A page of a file that cannot be read is a bus error; no other fault of a program comes from a disk.
bool signal_of_a_disk(int signal) { return signal == 0 || signal == SIGBUS; }
// MPI gives up with an abort.
bool signal_of_a_network(int signal) { return signal == 0 || signal == SIGABRT; }

struct FaultRow {
  VerifyFault fault;
  std::uint8_t symptoms;             ///< that it can explain
  bool (*signal)(int fault_signal);  ///< of P's ranks, 0 for none
  bool only_if_output_says_so = false;
};
constexpr auto kFaultRows = std::to_array<FaultRow>({
    // These four can make a program do anything, also give a wrong result.
    {VerifyFault::compute, by_any, any_signal},
    {VerifyFault::died, by_any, any_signal},
    {VerifyFault::lost, by_any, any_signal},
    {VerifyFault::other, by_any, any_signal},
    {VerifyFault::stopped, by_exit | by_stall | by_time | by_death, any_signal},
    {VerifyFault::disk, by_exit | by_stall | by_time | by_result, signal_of_a_disk},
    {VerifyFault::storage, by_exit | by_stall | by_time | by_result, signal_of_a_disk},
    {VerifyFault::network, by_exit | by_stall | by_time | by_result, signal_of_a_network},
    {VerifyFault::launch, by_exit | by_stall | by_death, any_signal},
    {VerifyFault::slow, by_stall | by_time, any_signal},
    // Room that is lacking explains only a program that tried to write: else P ran well beside the full
    // disk.
    {VerifyFault::space, by_any, any_signal, true},
});

}  // namespace

bool convicts(const NodeResult& result, bool slow_counts) {
  return result.result == "failed" || (slow_counts && result.result == "slow");
}

bool concerns(const NodeResult& result, const Run& program) {
  const auto on = [&](const std::string& name) {
    return program.nodes.empty() ||
           std::find(program.nodes.begin(), program.nodes.end(), name) != program.nodes.end();
  };
  return on(result.node) && (result.peer.empty() || on(result.peer));
}

bool is_bad(const NodeResult& result, const Run& program) {
  return convicts(result, time_matters(program)) && concerns(result, program);
}

bool is_full(const NodeResult& result) {
  return result.result == "failed" && verify_fault_from(result.fault) == VerifyFault::space;
}

bool explains(const NodeResult& result, const Run& program) {
  if (!is_bad(result, program)) return false;
  const VerifyFault fault = verify_fault_from(result.fault);
  const auto row = std::find_if(kFaultRows.begin(), kFaultRows.end(),
                                [&](const FaultRow& each) { return each.fault == fault; });
  return row != kFaultRows.end() && (row->symptoms & symptom_bit(program.symptom)) != 0 &&
         row->signal(fault_signal(program)) &&
         (!row->only_if_output_says_so || output_speaks_of_writing(program));
}

std::string full_folder(const NodeResult& result) {
  const std::size_t at = result.reason.find(" in /");
  if (at == std::string::npos) return "a file system";
  const std::size_t from = at + 4;
  return result.reason.substr(from, result.reason.find_first_of(": ", from) - from);
}

}  // namespace sickbay::identify
