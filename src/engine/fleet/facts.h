// SPDX-License-Identifier: Apache-2.0
// What a fact is by its name, and how it is spoken of.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sickbay::fleet {

enum class FactKind : std::uint8_t {
  identity,  ///< what machine it is: nodes that differ in it are not compared
  hardware,  ///< a number that belongs to the machine and can get less: memory, processors
  number,    ///< a number besides: the speed of a link
  mount,     ///< whether it is there matters as much as what it is
  version,   ///< what an upgrade changes
  clock,     ///< milliseconds ahead of sickbayd's
};

struct FactRow {
  std::string_view prefix;  ///< a whole name, or what a name begins with, up to its ':'
  FactKind kind;
  std::string_view noun;  ///< "{}": what stands after the ':'
  std::string_view unit;
};

/// The row of a fact; one that nobody knows is spoken of by its name and taken for a version.
const FactRow& fact_row(std::string_view name);
/// "/home", "eth0": what stands after the ':'; the whole name where there is none.
std::string_view fact_subject(std::string_view name);

/// A number that a value stands for; not a number: 0.
double number_of(std::string_view value);
/// As numbers within 1 % of each other: firmware keeps some MiB for itself, and not always the same.
bool alike(double a, double b);

/// "which 9,998 others mount", "where 39 others have 64": the second half of a finding's sentence.
std::string usual_words(std::string_view fact, std::string_view usual, std::size_t agree);
/// "lack /home (nfs4)", "have processors 32", "mount /scratch (xfs)": the first half.  `one`: of one node.
std::string odd_words(std::string_view fact, std::string_view value, std::string_view usual, bool one);
/// Whether `fact` fits one of the site's patterns; a '*' at the end stands for anything.
bool fits(std::string_view pattern, std::string_view fact);

}  // namespace sickbay::fleet
