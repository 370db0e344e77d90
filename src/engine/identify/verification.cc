// SPDX-License-Identifier: Apache-2.0
// On a busy cluster V waits for its nodes as long as its case is open: a verdict that comes late is worth
// more than "inconclusive".  It does not wait for what may never come: nodes that are out of service are left
// out, and asked about when they are back.  Source: doc/design/identify.md, "Busy clusters".
#include "engine/identify/verification.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "engine/identify/evidence.h"
#include "engine/identify/explains.h"
#include "engine/identify/locating.h"
#include "engine/identify/look.h"
#include "engine/identify/placement.h"
#include "engine/identify/verdict.h"

namespace sickbay::identify {
namespace {

// Verifications of run `n` as it was last submitted: older ones speak of other nodes.
template <class Visit>
void each_check_of(const Case& subject, int n, Visit visit) {
  const Run* judged = subject.program(n);
  for (const Run& v : subject.verifications)
    if (v.checks == n && !(judged && v.wanted_at < judged->wanted_at)) visit(v);
}

bool has_convicted(const Case& subject, int n) {
  const Run* p = subject.program(n);
  bool found = false;
  each_check_of(subject, n, [&](const Run& v) {
    for (const NodeResult& r : v.results) found = found || (p ? is_bad(r, *p) : convicts(r, false));
  });
  return found;
}

bool said_something(const Run& v) {
  return std::any_of(v.results.begin(), v.results.end(),
                     [](const NodeResult& r) { return r.result != "unknown"; });
}

bool in_service(const Known& known, const Run* judged, const std::string& name) {
  return serves(known.view, name, judged ? judged->job.reservation : "");
}

// Third nodes for a bad link between `ends`: outside the case, else those of its other runs, for which V then
// waits.  Two, for one of them may be cut off itself.
std::vector<std::string> witnesses(const Known& known, const Case& subject, int n,
                                   const std::vector<std::string>& ends) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> names = nodes_outside(known, subject, kMost);
  for (const Run& run : subject.programs)
    for (const std::string& name : run.nodes)
      if (run.id.n != n && names.size() < kMost && !has_host(ends, name) &&
          std::find(names.begin(), names.end(), name) == names.end() &&
          in_service(known, subject.program(n), name))
        names.push_back(name);
  return names;
}

}  // namespace

bool is_unread(const Run& v) {
  return v.outcome != Outcome::not_started && v.outcome != Outcome::lost && v.job.start != kNoTime &&
         !v.output_read;
}

std::vector<std::string> judged_nodes(const Case& subject, int n) {
  std::vector<std::string> names;
  each_check_of(subject, n, [&](const Run& v) {
    for (const NodeResult& r : v.results)
      if (r.peer.empty() && r.result != "unknown") names.push_back(r.node);
  });
  return sorted_hosts(std::move(names));
}

std::vector<std::string> ends_without_witness(const Case& subject, int n) {
  const Run* p = subject.program(n);
  const Run* v = subject.check_of(n);
  std::vector<std::string> ends;
  if (p == nullptr || v == nullptr || !ended(v->outcome) || is_unread(*v)) return ends;
  for (const NodeResult& r : v->results) {
    if (!is_bad(r, *p)) continue;
    // V convicts a node by itself: the bad links are explained by it, and no third node need be asked.
    if (r.peer.empty()) return {};
    ends.push_back(r.node);
    ends.push_back(r.peer);
  }
  ends = sorted_hosts(std::move(ends));
  // A third node of the run that is well has tried both ends already.
  const bool witnessed = std::any_of(v->results.begin(), v->results.end(), [&](const NodeResult& r) {
    return r.peer.empty() && r.result == "ok" && !has_host(ends, r.node);
  });
  return witnessed ? std::vector<std::string>() : ends;
}

bool wants_witness(const Known& known, const Case& subject, int n) {
  const std::vector<std::string> ends = ends_without_witness(subject, n);
  return !ends.empty() && may_try_more(known, subject, n) &&
         std::all_of(ends.begin(), ends.end(),
                     [&](const std::string& name) { return in_service(known, subject.program(n), name); }) &&
         !witnesses(known, subject, n, ends).empty();
}

std::vector<std::string> nodes_to_verify(const Known& known, const Case& subject, int n) {
  std::vector<std::string> nodes;
  // 0 is the control run: one node outside the case.
  if (n == 0) {
    if (std::string name = control_node(known, subject); !name.empty()) nodes.push_back(std::move(name));
    return nodes;
  }
  const Run* p = subject.program(n);
  // Both ends again, now with third nodes: V tries links only between nodes of one run.
  if (wants_witness(known, subject, n)) {
    nodes = ends_without_witness(subject, n);
    for (std::string& name : witnesses(known, subject, n, nodes)) nodes.push_back(std::move(name));
    return sorted_hosts(std::move(nodes));
  }
  // One conviction answers for the run; the other nodes could only add to it.
  if (p == nullptr || has_convicted(subject, n)) return nodes;
  // On a node that is out of service V would wait in the queue.  It is left out, and cannot be acquitted
  // thereby.
  for (std::string& name : hosts_without(p->nodes, judged_nodes(subject, n)))
    if (in_service(known, p, name)) nodes.push_back(std::move(name));
  return nodes;
}

bool time_is_over(const Known& known, const Case& subject) {
  const TimePoint began = subject.began_at();
  return began != kNoTime && known.now >= began + known.policy.case_limit;
}

bool may_try_more(const Known& known, const Case& subject, int n) {
  int tries = 0;
  each_check_of(subject, n, [&](const Run& v) {
    // Words of other cases cost no node time, so they use up no attempt.
    const bool said_by_others = !v.results.empty() && !v.results.front().from.empty();
    if (!said_by_others) tries += v.tries();
  });
  return tries < known.policy.verification_attempts && !time_is_over(known, subject);
}

// A run that is still going has no symptom yet: it may become one of time.  Not where the first one was none
// of time, nor where it hung for good: what it is that the program waits for no processor brings sooner, and
// what a second run meets on other nodes cannot turn that around.
bool wants_whole_nodes(const Case& subject, int n) {
  const Run* judged = subject.program(n);
  if (judged == nullptr) return false;
  const Run& first = subject.programs.front();
  if (first.symptom == Symptom::abnormal_exit || first.hangs_however_fast()) return false;
  return ended(judged->outcome) ? time_matters(*judged) : !judged->hangs_however_fast();
}

bool may_verify_more(const Known& known, const Case& subject) {
  for (int n = 1; n <= static_cast<int>(subject.programs.size()); ++n) {
    const Run* p = subject.program(n);
    // Nobody asks about the nodes of a re-run that completed.  Those of the first run matter in any case.
    if (n > 1 && p->outcome != Outcome::failed) continue;
    if (has_convicted(subject, n) || !may_try_more(known, subject, n)) continue;
    for (const std::string& name : hosts_without(p->nodes, judged_nodes(subject, n)))
      // A drain or a reservation ends some day; a node that is down, or that Slurm has no more, is not waited
      // for.
      if (known.view.node(name) != nullptr && !known.view.is_down(name)) return true;
  }
  return false;
}

bool Look::time_is_over() const { return identify::time_is_over(known_, c_); }

// One step of V for run n: words of others, a search by halves, the V that is under way, and only then a new
// one, for the nodes that nobody has judged.
void Look::drive_check(int n) {
  // What is known already comes first: it costs no run.
  if (n > 0 && take_words(n)) return;
  if (n > 0 && locate_by_halves(n)) return;
  const Run* v = c_.check_of(n);
  if (v != nullptr) {
    follow(*v);
    if (!ended(v->outcome)) return give_up_waiting(*v, c_.program(n));
    if (is_unread(*v)) return;
  }
  // None to ask about: check_of() makes it unknown, or the control's question stays without an answer.
  const std::vector<std::string> nodes = nodes_to_verify(known_, c_, n);
  if (nodes.empty()) return;
  const int next = static_cast<int>(c_.verifications.size()) + 1;
  // (It tells the others when it ends; where it is cancelled instead, this case is asked again, too.)
  const Run* p = c_.program(n);
  if (p && p->outcome == Outcome::failed &&
      !asked_by_another(known_.state, c_, *p, nodes, known_.now).empty()) {
    // Had the other V not begun by then, it could not acquit, and this case needs its own.
    if (known_.now <= acquits_until(*p)) wake(acquits_until(*p) + std::chrono::seconds(1));
    return;
  }
  const auto submit_new = [&] {
    // The number of the next one is made from those in the journal: two of one look would get the same.
    if (new_verification_) return;
    new_verification_ = true;
    submit_verification(n, next, 1, nodes);
  };
  if (v == nullptr) return submit_new();
  const bool said = said_something(*v);
  if (!may_try_more(known_, c_, n) || (n == 0 && said)) return;
  // What kept V from speaking of them (storage, a refusal) gets time to pass.  One that waited in vain, or
  // that Slurm lost, goes again at once, and so do nodes that it was not asked about.
  const bool spoke_badly = v->outcome != Outcome::lost && !wants_witness(known_, c_, n) &&
                           (v->job.start != kNoTime || v->outcome == Outcome::not_started) &&
                           !hosts_in_both(v->nodes, nodes).empty();
  const TimePoint when =
      v->ended_at + (spoke_badly ? known_.policy.verification_retry : std::chrono::seconds(0));
  if (known_.now < when) return wake(when);
  if (said)
    submit_new();
  else
    submit_verification(n, v->id.n, v->attempt + 1, nodes);
}

// Words of other cases answer like a V of this case: what convicts is taken alone, an acquittal only whole.
bool Look::take_words(int n) {
  if (new_verification_) return false;
  const Run* p = c_.program(n);
  if (p == nullptr || p->outcome != Outcome::failed || has_convicted(c_, n)) return false;
  const Run* v = c_.check_of(n);
  // One that is on its way to Slurm, or that runs, speaks soon enough.
  const bool waits = v && v->live() && v->outcome == Outcome::pending;
  if (v && !waits && (!ended(v->outcome) || is_unread(*v))) return false;
  const std::vector<std::string> open = hosts_without(p->nodes, judged_nodes(c_, n));
  std::vector<std::string> asked = nodes_to_verify(known_, c_, n);
  if (asked.empty()) asked = open;
  Json results = Json::array();
  bool bad = false;
  TimePoint began = kNever;
  std::string who;
  for (const std::string& name : open) {
    const auto word = word_for(known_.state, c_, *p, name, asked);
    // Whatever V said of a node before: now that it is DOWN, Slurm's word stands.
    if (!word || known_.view.is_down(name)) continue;
    // A file system that is full explains no floating point exception: V shall look at the other nodes, too.
    bad = bad || explains({name, "", word->result, word->reason, word->fault}, *p);
    began = std::min(began, word->began);
    who = word->run;
    results.push(Json::object(
        {{"node", name},
         {"result", word->result},
         {"reason", fmt::format("{}{}said by {}", word->reason, word->reason.empty() ? "" : "; ", word->run)},
         {"from", word->run},
         {"fault", word->fault}}));
  }
  if (results.size() == 0) return false;
  // Part of an answer spares V these nodes where it is not in the queue yet; it is no reason to queue anew.
  if (waits && !bad && results.size() < open.size()) return false;
  if (waits) {
    // Its cancel is under way: with its end this is asked again.
    if (v->cancel_wanted) return false;
    cancel(*v, who + " has answered for its nodes");
  }
  const RunId id{c_.no, RunKind::verification, static_cast<int>(c_.verifications.size()) + 1};
  new_verification_ = true;
  record(
      kVerifiedElsewhere,
      Json::object(
          {{"run", id.text()}, {"checks", n}, {"began", to_micros(began)}, {"results", std::move(results)}}));
  return true;
}

void Look::give_up_waiting(const Run& v, const Run* p) {
  if (!v.live() || v.outcome != Outcome::pending) return;
  // It names its nodes, so it can start on no others.
  if (std::any_of(v.nodes.begin(), v.nodes.end(),
                  [&](const std::string& name) { return known_.view.is_down(name); }))
    return cancel(v, "a node that it waits for went down");
  // While P is on the nodes itself V may have to wait for it: the time counts from its end.
  if (!v.release_done || (p && !ended(p->outcome))) return;
  std::vector<std::string> out;
  for (const std::string& name : v.nodes)
    if (!in_service(known_, p, name)) out.push_back(name);
  if (out.empty()) return;  // they are busy, no more
  const TimePoint limit =
      std::max(v.released_at, p ? p->ended_at : kNoTime) + known_.policy.verification_wait;
  if (known_.now < limit) return wake(limit);
  cancel(v, fmt::format("{} {} out of service", compress_hostlist(out), out.size() == 1 ? "is" : "are"));
}

// A conviction is open because no other node has shown that V can pass (decisions.md 22).
bool Look::needs_control() const {
  for (int n = 1; n <= static_cast<int>(c_.programs.size()); ++n)
    if (check_of(known_, c_, n) == Check::open)
      if (const Run* v = c_.check_of(n); v && ended(v->outcome) && v->output_read && has_convicted(c_, n))
        return true;
  return false;
}

}  // namespace sickbay::identify
