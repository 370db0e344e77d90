// SPDX-License-Identifier: Apache-2.0
// What a card says of what it counts: the words of the head's "counts", each with its sentence.
//
// The definition itself is in_period.h; here it is told to people.  A shipped report without a rule is an
// error of a test; one of a site may be silent.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "workload/report/report.h"

namespace sickbay::workload {

struct CountRule {
  std::string_view word;          ///< in a head
  std::string_view key, english;  ///< the sentence
};
std::span<const CountRule> count_rules();

/// The rules of a report as sentences in the language of the page; empty: it names none.
std::string counts_text(const Document& document, const ReportSpec& spec);

}  // namespace sickbay::workload
