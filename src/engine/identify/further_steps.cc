// SPDX-License-Identifier: Apache-2.0
// Further runs, one after the other: each is seen through to its end, then the next one is chosen by all that
// is known.  Two at a time would be faster; but the second of them could not be chosen by the first's
// outcome.
#include "engine/identify/further.h"
#include "engine/identify/look.h"
#include "engine/identify/rerun.h"
#include "engine/identify/verdict.h"
#include "engine/identify/verification.h"

namespace sickbay::identify {
namespace {

// V beside a run takes time from it, where time is what is looked at (as in the experiment before).
bool v_may_begin(const Case& c, const Run& run) {
  if (run.outcome == Outcome::running) return !time_matters(c.programs.front());
  return run.outcome == Outcome::ok ||
         (run.outcome == Outcome::failed && !run.never_began() && !run.was_taken());
}

}  // namespace

// The last word hears what V says of the last runs, but for one that is queued for long.
bool Look::v_may_speak_soon() {
  if (time_is_over()) return false;
  if (new_verification_) return true;
  bool soon = false;
  for (const Run& v : c_.verifications) {
    if (!is_chosen_run(c_, v.checks) || (ended(v.outcome) && !is_unread(v))) continue;
    const TimePoint limit = v.released_at + known_.policy.verification_wait;
    const bool queued = v.release_done && v.outcome == Outcome::pending;
    soon = soon || !queued || known_.now < limit;
    if (queued && known_.now < limit) wake(limit);
  }
  return soon;
}

void Look::further_steps() {
  const FurtherRuns& order = *c_.further;
  const int last = static_cast<int>(c_.programs.size());
  bool runs = false, reading = false;
  for (int n = order.first; n <= last; ++n) {
    drive_program(n);
    const Run& run = *c_.program(n);
    if (run.outcome == Outcome::failed) read_output(run);
    // Also where it completed: a fault that comes and goes may show itself to V.
    if (v_may_begin(c_, run)) drive_check(n);
    const bool settled = is_settled(known_, c_, n);
    runs = runs || !settled;
    reading = reading || (!settled && ended(run.outcome));
    // What is queued is not waited for any more, what runs is let end.
    if (time_is_over() && run.outcome == Outcome::pending) cancel(run, "the time of the case is over");
  }
  if (needs_control()) drive_check(0);
  for (const Run& v : c_.verifications) follow(v);
  wake(c_.began_at() + known_.policy.case_limit);
  if (reading) return;  // an outcome that is not read yet may be another one

  const std::string over = runs ? "" : why_no_further(known_, c_);
  if (!over.empty() && v_may_speak_soon()) return;
  Verdict verdict = further_verdict(known_, c_, over);
  add_rerun_words(c_, verdict);
  say(verdict);
  if (verdict.final) return wind_up(verdict);
  if (!runs && has_claim(c_.programs.front()) && may_run_again(last + 1, 1)) submit_program(last + 1, 1);
}

}  // namespace sickbay::identify
