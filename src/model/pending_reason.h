// SPDX-License-Identifier: Apache-2.0
// Why a job waits, from Slurm's one word: what it means, who can change it, and what would let the job run.
//
// One row per reason of slurm.h (enum job_state_reason of 22.05, and what 23.02 to 24.11 added), spelled here
// anew because only adapters/slurm may include slurm.h; a test reads the header and misses none.  The limits
// of accounts and QOS, three reasons in four, differ only in what they count: pending_limits.cc.
// Texts are for people who run jobs, and speak of things that sbatch and scontrol show.  Place holders such
// as {partition} stand for facts of the job at hand; fill_in() puts them there.
// Source: job_reason_codes and resource_limits of Slurm's documentation.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

struct PendingFacts;

/// Who can change that a job waits.
enum class PendingCure : std::uint8_t {
  time,       ///< nobody need do anything
  user,       ///< the owner of the job
  operators,  ///< those who run the cluster
};
std::string_view to_string(PendingCure cure);

/// Which facts say more about a reason than its word does.
enum class PendingSubject : std::uint8_t {
  nodes,       ///< the nodes that the job could run on, and their state
  partition,   ///< state and limits of its partition
  hold,        ///< it is held
  dependency,  ///< on other jobs
  begin,       ///< its begin time
  other,       ///< the word is all there is
};

struct PendingReason {
  std::string_view slurm_name;  ///< slurm.h's name; empty for one that 22.05 does not have
  std::string word;             ///< as squeue shows it
  std::string meaning;          ///< what follows on "Job 17 waits: ", without a full stop
  std::string remedy;           ///< what would let it run
  PendingCure cure = PendingCure::time;
  bool lasting = false;  ///< it stays so until somebody changes the job or the cluster
  PendingSubject about = PendingSubject::other;
  bool known = true;  ///< false: a newer Slurm's; `meaning` shows the word
};

/// The row of a word.  Total: a word without a row comes back as itself, with known == false.  Where Slurm
/// gives two reasons one word, the first.
PendingReason pending_reason(std::string_view word);
/// Whether jobs that wait for this could start if more nodes were free.
bool waits_for_nodes(std::string_view word);
/// All rows, in the order of slurm.h: for tests and documentation.
std::vector<PendingReason> pending_reasons();

/// `text` with its place holders ({job}, {partition}, {account}, ...: kHolders) filled.  A fact that is not
/// there is replaced by words.
std::string fill_in(std::string_view text, const PendingFacts& facts);

}  // namespace sickbay
