// SPDX-License-Identifier: Apache-2.0
#include "workload/report/count_rules.h"

#include <algorithm>
#include <array>

#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

constexpr auto kRules = std::to_array<CountRule>({
    {"ended", "page.counts.ended",
     "A job counts in the period in which it ended; without an end, in which it started, else was "
     "submitted."},
    {"started", "page.counts.started", "A job counts in the period in which it started."},
    {"submitted", "page.counts.submitted", "A job counts in the period in which it was submitted."},
    {"amounts", "page.counts.amounts",
     "Hours, energy and volumes are spread evenly over the run; the part within the period counts."},
    {"waits", "page.counts.waits", "Of queued core-hours the part within the period counts."},
    {"whole", "page.counts.whole", "Hours of the jobs counted are those of their whole run."},
    {"failures", "page.counts.failures",
     "Failures and checkpoints count in the period in which they happened."},
    {"outages", "page.counts.outages",
     "An outage of a node counts in the period in which it began, its hours in that in which they lie."},
    {"budgets", "page.counts.budgets",
     "Of a budget what was used from its first day to the end of the period counts, whatever the begin."},
    {"store", "page.counts.store", "The whole store counts, whatever the period."},
});

}  // namespace

std::span<const CountRule> count_rules() { return kRules; }

std::string counts_text(const Document& document, const ReportSpec& spec) {
  std::string text;
  for (const CountRule& rule : kRules)
    if (std::find(spec.counts.begin(), spec.counts.end(), rule.word) != spec.counts.end())
      text += (text.empty() ? "" : " ") + std::string(message(document, rule.key, rule.english));
  return text;
}

}  // namespace sickbay::workload
