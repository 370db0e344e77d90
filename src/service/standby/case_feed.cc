// SPDX-License-Identifier: Apache-2.0
#include "service/standby/case_feed.h"

#include <algorithm>
#include <utility>

namespace sickbay {
namespace {

// About what it takes in the answer; what is escaped there takes more.
std::size_t size_of(const Submission& s) {
  std::size_t bytes = s.script.size();
  for (const auto* texts : {&s.sbatch_options, &s.script_args, &s.environment})
    for (const std::string& text : *texts) bytes += text.size();
  return bytes;
}

}  // namespace

Result<Json> CaseFeed::answer(const Json& body) {
  const auto ask = cases_ask_from(body);
  if (!ask) return fail(ask.error());
  const StandbyFeed::Standing standing = standing_();
  if (standing.term == 0)
    return fail(
        Error(ErrorCode::busy, "this sickbayd is not the active one").because("it does not hold the lease"));
  CasesAnswer answer;
  answer.name = standing.name;
  answer.term = standing.term;
  if (ask->cases.empty()) {
    auto all = cases_.list();
    if (!all) return fail(std::move(all.error()));
    std::erase_if(*all, [&](std::int64_t no) { return no <= ask->after; });
    std::sort(all->begin(), all->end());
    answer.is_end = all->size() <= kMostCases;
    if (!answer.is_end) all->resize(kMostCases);
    answer.listed = std::move(*all);
  }
  std::size_t bytes = 0;
  for (const std::int64_t no : ask->cases) {
    if (bytes > kPageBytes) break;
    auto submission = cases_.load(no);
    if (submission) {
      bytes += size_of(*submission);
      answer.submitted.emplace_back(no, std::move(*submission));
    } else {
      // One that is damaged keeps the others from nobody; what the standby has of it may be whole.
      const bool is_gone = submission.error().code == ErrorCode::not_found;
      (is_gone ? answer.gone : answer.unreadable).push_back(no);
    }
  }
  return to_json(answer);
}

}  // namespace sickbay
