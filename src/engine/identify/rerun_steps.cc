// SPDX-License-Identifier: Apache-2.0
// What is done before a re-run may start, one step after the other: ask, wait for the user's other jobs, make
// its place ready.  Each step is asked again in every look, and goes on when its answer is in the state.
#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "engine/identify/look.h"
#include "engine/identify/rerun.h"
#include "model/verbs.h"

namespace sickbay::identify {
namespace {

using PlaceStage = Place::Stage;

// The user's other jobs come and go: what was seen of them holds this long.  Who has held it for long is
// asked about less often, as each look costs slurmctld a list of the user's jobs.
constexpr std::chrono::seconds kLookAgain{60}, kLookSeldom{600};
constexpr int kShareOfWait = 10;  // looks come after so many parts of the time that it has been held

// Slurm's stamps are whole seconds of slurmctld's clock, a file's is of the clock of its server.  What a run
// wrote after its end was written by processes that Slurm had still to kill (KillWait, 30 s as a rule).
constexpr std::chrono::seconds kClocksDiffer{3}, kWritesOn{5}, kKilledSlowly{35};

void add_time(Json& list, TimePoint from, TimePoint to, const std::string& state) {
  if (from == kNoTime || to == kNoTime || to < from) return;
  const bool by_itself = state == "FAILED" || state == "COMPLETED";
  list.push(Json::object({{"from", to_micros(from - kClocksDiffer)},
                          {"to", to_micros(to + (by_itself ? kWritesOn : kKilledSlowly))}}));
}

// When runs of the job could write to the user's own folder: what was changed then was changed by them.
Json times_of_runs(const Case& c) {
  Json list = Json::array();
  for (const Run& run : c.programs) {
    if (run.id.n > 1 && !c.reruns.comparing.contains(run.key())) continue;  // in a copy
    for (const Incarnation& one : run.earlier) add_time(list, one.start, one.ended_at, one.state);
    add_time(list, run.job.start, run.job.end, run.job.state);
  }
  return list;
}

// What sickbay-folder is told of the folder and of what the first run read in it.
Json folder_args(const Known& known, const Case& c, const RunId& id, int attempt, RerunWay how) {
  return Json::object({{"run", id.text()},
                       {"attempt", attempt},
                       {"how", to_string(how)},
                       {"work_dir", run_folder(c)},
                       {"output_dir", c.output_dir},
                       {"uid", c.owner.uid},
                       {"inputs", c.inputs},
                       {"ran", times_of_runs(c)},
                       {"max_bytes", known.policy.copy_max_bytes},
                       {"max_files", known.policy.copy_max_files}});
}

// The copy of the attempt before, where the program never began in it: a further one would be the same.
std::string copy_to_reuse(const Case& c, int n, int attempt) {
  const Run* before = c.program(n);
  if (c.reruns.way() != RerunWay::copy || before == nullptr || before->attempt + 1 != attempt) return {};
  if (!before->refused_its_nodes() && before->outcome != Outcome::not_started && !before->never_began())
    return {};
  const auto copy = c.reruns.copies.find(before->key());
  return copy == c.reruns.copies.end() ? std::string() : copy->second;
}

}  // namespace

bool Look::may_run_again(int n, int attempt) {
  const Reruns& r = c_.reruns;
  if (no_more_runs(c_)) return false;
  if (!r.checked) return true;
  if (r.asking) {
    const TimePoint until = r.asked_at + known_.policy.ask_wait;
    if (known_.now >= until)
      give_up_rerun(fmt::format("nobody answered within {}: {}", describe_duration(known_.policy.ask_wait),
                                r.question));
    else
      wake(until);
    return false;
  }
  // Its run was counted with its first attempt; to ask again because Slurm refused that one asks for nothing.
  if (const auto question = question_before(known_, c_);
      question && (attempt == 1 || question->reason != kBudget)) {
    ask(question->reason, question->text);
    return false;
  }
  // The place comes last: a copy is what the folder is at that time, and the jobs that hold the run may
  // still write to it.
  return nobody_holds_it() && place_is_ready(n, attempt);
}

void Look::ask(const std::string& reason, const std::string& text) {
  record(kRerunAsked, Json::object({{"reason", reason}, {"text", text}}));
}

void Look::give_up_rerun(const std::string& why) { record(kRerunGivenUp, Json::object({{"why", why}})); }

// Jobs that depend on this one, and singletons of its name, read and write the same files as a rule.
bool Look::nobody_holds_it() {
  const Reruns& r = c_.reruns;
  // (An operator or the owner has said that it may run all the same.)
  if (r.look_waived) return true;
  if (r.looking) return false;
  if (r.look_failed) {
    ask("dependents_unknown", "which jobs wait for this one could not be found out");
    return false;
  }
  const bool held = !r.holders.empty();
  if (held && known_.now >= r.held_since + known_.policy.rerun_wait) {
    give_up_rerun(fmt::format("jobs of the same user that may use the same files had not ended after {}",
                              describe_duration(known_.policy.rerun_wait)));
    return false;
  }
  const Micros pause =
      held ? std::clamp<Micros>((r.looked_at - r.held_since) / kShareOfWait, kLookAgain, kLookSeldom)
           : kLookAgain;
  if (r.looked_at != kNoTime && known_.now < r.looked_at + pause) {
    // Without a wake nothing would happen: other jobs of the user's make no events of this case.
    if (held) wake(r.looked_at + pause);
    return !held;
  }
  const Run& first = c_.programs.front();
  command(fmt::format("{}.d{}:dependents", c_.name(), r.looks + 1), verb::kFindDependents,
          Json::object({{"job_id", first.job.job_id},
                        {"uid", c_.owner.uid},
                        {"name", first.job.name},
                        {"work_dir", run_folder(c_)}}));
  return false;
}

bool Look::place_is_ready(int n, int attempt) {
  const Place& place = c_.reruns.place;
  const RunId id{c_.no, RunKind::program, n};
  const std::string key = fmt::format("{}.a{}", id.text(), attempt);
  // Under way: a folder is copied by a process that may take minutes.
  if (place.stage == PlaceStage::wanted) return false;
  const bool begun = place.key == key;
  // What was made ready for another way than the one that was answered since is of no use.
  const bool fits = begun && place.how == c_.reruns.way();
  if (fits && place.stage == PlaceStage::ready) return true;
  if (fits && place.stage == PlaceStage::trouble) {
    ask(place.reason, place.trouble);
    return false;
  }
  // A second try is a new key: the ledger would take the old one for done.
  const int tries = begun ? place.tries + 1 : 1;
  Json args = folder_args(known_, c_, id, attempt, c_.reruns.way());
  args.set("opened", to_micros(c_.opened));
  if (std::string copy = copy_to_reuse(c_, n, attempt); !copy.empty()) args.set("reuse", std::move(copy));
  command(fmt::format("{}:prepare{}", key, tries == 1 ? "" : std::to_string(tries)), verb::kPrepareRerun,
          std::move(args));
  return false;
}

// A run in the user's own folder may have waited for hours: were its inputs still those of the first run?
void Look::compare_inputs(const Run& run) {
  if (!c_.reruns.comparing.contains(run.key()) || c_.reruns.compared.contains(run.key())) return;
  // Only a run with an outcome has something to be compared for.
  if (!has_spoken(run.outcome)) return;
  command(run.key() + ":compare", verb::kPrepareRerun,
          folder_args(known_, c_, run.id, run.attempt, RerunWay::same));
}

bool Look::copies_are_gone() {
  const Reruns& r = c_.reruns;
  // A copy that is still being made would outlive its case.
  if (r.place.stage == PlaceStage::wanted) return false;
  const std::vector<std::string> folders = copies_to_clean(c_);
  if (folders.empty() || r.cleaned) return true;
  // Each order for further runs may leave copies of its own.
  const int round = c_.further ? c_.further->round + 1 : 1;
  if (!r.cleaning)
    command(fmt::format("{}:clean{}", c_.name(), round == 1 ? "" : std::to_string(round)), verb::kCleanFolder,
            Json::object({{"folders", folders}, {"uid", c_.owner.uid}, {"opened", to_micros(c_.opened)}}));
  return false;
}

}  // namespace sickbay::identify
