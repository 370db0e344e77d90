// SPDX-License-Identifier: Apache-2.0
#include "service/submissions.h"

#include <algorithm>

#include "engine/identify/further.h"
#include "engine/identify/resume.h"
#include "model/ids.h"
#include "service/case_store.h"
#include "service/controller.h"

namespace sickbay {
namespace {

// What `sickbay requeue` needs; so long it is said that it may be asked for.
constexpr std::chrono::seconds kUndecided = std::chrono::hours(24);

}  // namespace

Submissions::Submissions(Loop& loop, Controller& controller, CaseStore& cases, std::chrono::seconds keep,
                         Complain complain)
    : loop_(loop), controller_(controller), cases_(cases), keep_(keep), complain_(std::move(complain)) {
  controller_.on_committed(lifetime_.guard([this](const Event& event) {
    const auto no = parse_case_name(event.subject);
    // (One that the controller has dropped by now was archived: sweep() and the timer see to those.)
    const auto& known = controller_.seats().cases().state().cases;
    const auto it = no ? known.find(*no) : known.end();
    if (it == known.end()) return;
    if (const std::int64_t first = it->second.first; first != 0 && it->second.is_closed()) settle(first);
    settle(*no);
  }));
}

Submissions::~Submissions() { loop_.cancel(timer_); }

std::size_t Submissions::sweep() {
  const auto stored = cases_.list();
  if (!stored) {
    complain_(stored.error());
    return 0;
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(*stored, [this](std::int64_t no) { return settle(no); }));
}

// Removes it, notes when it will be due, or leaves it to a later event of its case.  True: it went.
bool Submissions::settle(std::int64_t no) {
  const auto& cases = controller_.seats().cases().state().cases;
  const auto it = cases.find(no);
  if (it == cases.end()) return remove(no);
  if (!it->second.is_closed()) return false;
  const std::string name = case_name(no);
  // Its done or failed brings us here again.
  if (std::ranges::any_of(controller_.ledger().unfinished(),
                          [&](const Command& command) { return command.subject == name; }))
    return false;
  // A case that is not decided may be asked for further runs.
  const identify::Case& subject = it->second;
  const bool may_go_on = subject.verdict && !identify::refuses_further(subject);
  // Nor is one whose job goes on: the next case comes a moment later, and its runs are of the same.
  const auto closed = subject.options.recover
                          ? identify::all_closed_at(controller_.seats().cases().state(), subject)
                          : std::optional(subject.closed);
  if (!closed) return false;
  const bool waits = may_go_on || (subject.verdict && identify::goes_back(subject, *subject.verdict));
  const TimePoint due = *closed + (waits ? std::max(keep_, kUndecided) : keep_);
  if (due <= loop_.now()) return remove(no);
  if (std::ranges::none_of(due_, [no](const auto& one) { return one.second == no; })) due_.emplace(due, no);
  wait_for_next();
  return false;
}

bool Submissions::remove(std::int64_t no) {
  const Status removed = cases_.remove(no);
  if (!removed) complain_(Error(removed.error()).in("removing what was submitted for " + case_name(no)));
  return removed.has_value();
}

void Submissions::wait_for_next() {
  if (due_.empty() || (timer_ != 0 && timer_due_ <= due_.begin()->first)) return;
  loop_.cancel(timer_);  // cases do not close in the order of their numbers, in which the sweep comes by them
  timer_due_ = due_.begin()->first;
  timer_ = loop_.at(timer_due_, [this] {
    timer_ = 0;
    while (!due_.empty() && due_.begin()->first <= loop_.now()) {
      const std::int64_t no = due_.begin()->second;
      due_.erase(due_.begin());
      settle(no);
    }
    wait_for_next();
  });
}

}  // namespace sickbay
