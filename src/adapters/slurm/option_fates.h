// SPDX-License-Identifier: Apache-2.0
// What becomes of each option of sbatch when a job is run again: one row for each, with the reason.
//
// A re-run must be the same program with the same means, and must do no harm: it starts on nodes of Slurm's
// choice, without waiting for anything, writes to files of its own, and nobody but Sickbay hears of it.
// Source: doc/design/decisions.md 19.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sickbay::slurm {

enum class Fate : std::uint8_t {
  kept,      ///< passed on as given
  dropped,   ///< a re-run cannot have it: left out everywhere, and reported
  silent,    ///< left out everywhere; it changes nothing for the program, so nobody needs to be told
  replaced,  ///< ours stands in its place; nobody needs to be told
  refused,   ///< such a job cannot be run again
};

struct FateRow {
  std::string_view name;  ///< of model/sbatch_options.h, synonyms resolved
  Fate fate;
  std::string_view why;
};

/// Sorted by name; all options of the table have a row (a test compares).
std::span<const FateRow> option_fates();
/// Nothing: kept, or an option that nobody knows, which is passed on as well.
std::optional<Fate> fate_of(std::string_view option);
/// The reason of its row, "" where it has none.
std::string_view reason_of(std::string_view option);

}  // namespace sickbay::slurm
