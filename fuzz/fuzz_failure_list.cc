// SPDX-License-Identifier: Apache-2.0
// Lists of failures: what was read prints, parses back alike and keeps its promises; a refusal has a remedy.
#include "plan/failure_list.h"

#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const auto list = plan::parse_failure_list(text);
  if (!list) {
    fuzz::check_refusal(list.error());
  } else {
    std::size_t kept = 0;
    for (const plan::System& one : list->systems) {
      SB_CHECK(!one.failures.empty(), "a system has a failure");
      kept += one.failures.size();
      std::vector<TimePoint> up_since(one.nodes.size(), kNoTime);
      TimePoint last = kNoTime;
      for (const plan::Failure& f : one.failures) {
        SB_CHECK(f.node < one.nodes.size() && f.start <= f.end && last <= f.start,
                 "sorted and within bounds");
        SB_CHECK(up_since[f.node] <= f.start, "the failures of a node do not overlap");
        up_since[f.node] = f.end == kNever ? f.start : f.end;
        SB_CHECK(one.from <= f.start && up_since[f.node] <= one.until, "within the list's time");
        last = f.start;
      }
    }
    SB_CHECK(kept + list->merged + list->bad_rows == list->rows, "every row is kept, merged or told");
    const auto again = plan::parse_failure_list(plan::failure_list_text(*list));
    SB_CHECK(again && again->systems == list->systems, "what is printed parses back");
  }
  if (const auto journal = plan::failures_of_journal(text); !journal) fuzz::check_refusal(journal.error());
  return 0;
}
