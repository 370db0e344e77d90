// SPDX-License-Identifier: Apache-2.0
// What events change of a case's re-runs.  Like all of apply() it takes whatever comes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/identify/apply.h"
#include "engine/identify/rerun.h"
#include "model/verbs.h"

namespace sickbay::identify {
namespace {

using PlaceStage = Place::Stage;

constexpr std::chrono::hours kRemembered{24};  // budgets look back this far

constexpr std::size_t kTold = 300;  // bytes of paths in one note

std::string attempt_of(std::string_view key) { return std::string(key.substr(0, key.find(':'))); }
bool is_comparison(std::string_view key) { return key.ends_with(":compare"); }

// "job.sh was changed, data.in is gone since job 17 was submitted"; empty where nothing was.
std::string changes_text(const Case& c, const Json& changed) {
  std::string text;
  for (const Json& one : changed.items()) {
    const std::string& how = one["how"].as_string();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one["path"].as_string(),
                        how == "gone"         ? "is gone"
                        : how == "unreadable" ? "cannot be read any more"
                                              : "was changed");
  }
  if (!text.empty() && !c.programs.empty())
    text += fmt::format(" after job {} was submitted, so that a second run is none of the same job",
                        c.programs.front().job.job_id);
  return text;
}

// What makes a run in a copy do harm, or another run than the first: it is asked for, however small the
// folder.
struct Flaw {
  std::string_view reason;  // as sickbay-folder names it
  std::string_view text;    // of how many, folder, user, one of them
};
constexpr auto kFlaws = std::to_array<Flaw>({
    {"links_out",
     "{0} of the links in {1} lead out of it to what {2} may write to ({3}), and a run in a copy would write "
     "there too"},
    {"unreadable", "{0} of the files in {1} cannot be read by {2} and are not in a copy ({3})"},
    {"left_out",
     "{0} devices or folders of other file systems in {1} are not in a copy, which {2} may need ({3})"},
});
bool is_flaw(std::string_view reason) {
  return std::ranges::find(kFlaws, reason, &Flaw::reason) != kFlaws.end();
}

struct Flaws {
  std::string reason, text;  // of the first of them; of all
};
Flaws flaws_of(const Case& c, const Json& result) {
  Flaws found;
  // An answer of an older version counted all links, harmless ones too, and nobody was asked.
  if (!result.has("pipes")) return found;
  for (const Flaw& flaw : kFlaws) {
    std::int64_t n = result[flaw.reason].as_int();
    if (flaw.reason == "left_out") n -= result["pipes"].as_int();
    if (n <= 0) continue;
    if (found.reason.empty()) found.reason = flaw.reason;
    found.text += (found.text.empty() ? "" : "; ") + fmt::format(fmt::runtime(flaw.text), n, run_folder(c),
                                                                 c.owner.user,
                                                                 result["first"][flaw.reason].as_string());
  }
  if (!found.text.empty()) found.text += ". --copy runs it in the copy all the same";
  return found;
}

// Of inputs that are not what they were and keep no run away; told once for each.
void tell(Case& c, const Json& noted, bool with_writes) {
  std::string written;
  std::size_t more = 0;
  for (const Json& one : noted.items()) {
    const std::string& path = one["path"].as_string();
    if (one["how"].as_string() == "gone")
      note_once(c, path + " is gone since the job was submitted: a second run begins without it");
    else if (!written.empty() && written.size() > kTold)
      ++more;
    else
      written += (written.empty() ? "" : ", ") + path;
  }
  if (more > 0) written += fmt::format(" and {} more", more);
  if (with_writes && !written.empty())
    note_once(c, written + " was written by the first run itself: the second begins with what it left");
}

// Who holds the re-run, by the last look.  held_since goes on as long as anybody does: the wait is bounded
// as a whole, not for each job.
void on_looked(Case& c, const Event& e) {
  Reruns& r = c.reruns;
  if (e.kind == kIntent) {
    ++r.looks;
    r.looking = true;
    return;
  }
  r.looking = false;
  r.look_failed = e.kind == kFailed;
  if (e.kind == kFailed) return;
  r.looked_at = e.at;
  r.holders.clear();
  for (const Json& job : e.body["result"]["jobs"].items()) {
    // It will never run, so it uses nothing any more: to wait for it would be to wait for good.
    if (job["state"].as_string() == "DependencyNeverSatisfied" ||
        job["reason"].as_string() == "DependencyNeverSatisfied")
      continue;
    r.holders.push_back({static_cast<JobId>(job["job_id"].as_int()), job["name"].as_string(),
                         job["state"].as_string(), job["why"].as_string()});
  }
  if (r.holders.empty())
    r.held_since = kNoTime;
  else if (r.held_since == kNoTime)
    r.held_since = e.at;
}

void on_compared(Case& c, const Event& e) {
  Reruns& r = c.reruns;
  const std::string key = attempt_of(e.body["key"].as_string());
  if (e.kind == kIntent) return;
  r.compared.insert(key);
  if (e.kind == kFailed)
    c.notes.push_back("whether the inputs of " + key +
                      " are still the same is not known: " + e.body["error"]["what"].as_string());
  else if (std::string what = changes_text(c, e.body["result"]["changed"]); !what.empty())
    r.disturbed[key] = std::move(what);
  else
    tell(c, e.body["result"]["noted"], false);  // what the runs wrote is what they do
}

// What sickbayd or sickbay-folder found: the place is ready, or there is a trouble that somebody must decide
// about, or the re-run is given up.  The weightiest comes first.
void on_prepared(Case& c, const Event& e) {
  Reruns& r = c.reruns;
  Place& place = r.place;
  const std::string key = attempt_of(e.body["key"].as_string());
  if (e.kind == kIntent) {
    // A second try of the same attempt goes on counting: each has a key of its own (rerun_steps.cc).
    place = {.key = key,
             .tries = place.key == key ? place.tries + 1 : 1,
             .stage = PlaceStage::wanted,
             .how = rerun_way_from(e.body["args"]["how"].as_string()).value_or(RerunWay::same),
             .folder = {},
             .trouble = {},
             .reason = {}};
    return;
  }
  // A late answer to an attempt that a newer one has replaced says nothing of the new one.
  if (place.key != key || place.stage != PlaceStage::wanted) return;
  if (e.kind == kFailed) {
    const Json& error = e.body["error"];
    // sickbayd's host need not mount what the compute nodes do: a folder that is not here may still be
    // there.
    const bool absent = error["code"].as_string() == "not_found";
    if (absent && place.how == RerunWay::same) {
      // Its nodes may have it all the same; where they have not, the run ends otherwise than the first did.
      place.stage = PlaceStage::ready;
      c.notes.push_back("the inputs of " + key + " could not be compared: " + error["what"].as_string());
    } else if (absent && !c.programs.empty() && c.programs.front().never_began()) {
      // The node could not open the first run's output there either: it is not there at all.
      place.stage = PlaceStage::none;
      r.given_up = error["what"].as_string();
    } else if (absent) {
      place.stage = PlaceStage::trouble;
      place.reason = "not_here";
      place.trouble = fmt::format("{}: it is gone, or this host does not have it, and no copy can be made",
                                  error["what"].as_string());
    } else {
      place.stage = PlaceStage::trouble;
      place.reason = "not_prepared";
      place.trouble = "its folder could not be made ready: " + error["what"].as_string();
    }
    return;
  }
  const Json& result = e.body["result"];
  place.folder = result["folder"].as_string();
  if (!place.folder.empty()) {
    // One of an attempt before it that never began is this attempt's now.
    std::erase_if(r.copies, [&place](const auto& copy) { return copy.second == place.folder; });
    r.copies[key] = place.folder;
  } else if (auto unused = r.copies.extract(key); !unused.empty()) {
    // Made before somebody said that it shall run in his own folder: no result to be kept.
    unused.key() = key + ":unused";
    r.copies.insert(std::move(unused));
  }
  // First of all: a run on other inputs is no second run of this job, however it is answered.
  if (std::string what = changes_text(c, result["changed"]); !what.empty()) {
    place.stage = PlaceStage::none;
    r.given_up = std::move(what);
  } else if (result["too_large"].as_bool() || (place.how == RerunWay::copy && place.folder.empty())) {
    const bool large = result["too_large"].as_bool();
    place.stage = PlaceStage::trouble;
    place.reason = large ? "too_large" : "not_copied";
    place.trouble =
        fmt::format("{} {}", run_folder(c), large ? "is too large to be copied" : "could not be copied");
    if (const std::string& why = result["why"].as_string(); !why.empty()) place.trouble += ": " + why;
  } else if (Flaws flaws = flaws_of(c, result); place.how == RerunWay::copy && !flaws.reason.empty() &&
                                                !(r.answer == RerunWay::copy && is_flaw(r.reason))) {
    place.stage = PlaceStage::trouble;
    place.reason = std::move(flaws.reason);
    place.trouble = std::move(flaws.text);
  } else {
    place.stage = PlaceStage::ready;
    tell(c, result["noted"], true);
    // In the user's own folder a run may wait for hours while its inputs change: looked at again at its end.
    if (place.how == RerunWay::same && c.inputs.size() > 0) r.comparing.insert(key);
  }
}

void on_cleaned(Case& c, const Event& e) {
  // Also at the intent: asked for once in each closing, however the order ends.
  c.reruns.cleaning = true;
  if (e.kind == kIntent) return;
  c.reruns.cleaned = true;
  for (const std::string& folder : e.body["result"]["kept"].as_strings())
    c.notes.push_back(folder + " was not removed: it does not say that it was made for this case");
  if (e.kind == kFailed)
    c.notes.push_back("the copies of the folder could not be removed: " +
                      e.body["error"]["what"].as_string());
}

}  // namespace

void open_reruns(Case& c, const Json& body) {
  const Json& wish = body["options"]["rerun"];
  c.inputs = body["inputs"];
  c.script_digest = body["script_digest"].as_string();
  c.names_folder = body["names_folder"].as_bool();
  c.submits_jobs = body["submits_jobs"].as_bool();
  Reruns& r = c.reruns;
  r.checked = wish.is_string();
  // To ask does no harm, whatever a word of another version means.
  r.wish = rerun_way_from(wish.as_string()).value_or(RerunWay::ask);
  if (r.checked) {
    c.options.rerun = r.wish != RerunWay::never;
    return;
  }
  // As it was meant before there were more ways than two.
  r.wish = c.options.workdir == "copy" ? RerunWay::copy : RerunWay::same;
  if (!c.options.rerun) r.wish = RerunWay::never;
}

bool take_preparation(Case& c, const Event& e) {
  const std::string& did = e.body["verb"].as_string();
  if (did == verb::kFindDependents)
    on_looked(c, e);
  else if (did == verb::kPrepareRerun)
    // One verb for two things: it makes the place before a run, and looks at the inputs again after it.
    is_comparison(e.body["key"].as_string()) ? on_compared(c, e) : on_prepared(c, e);
  else if (did == verb::kCleanFolder)
    on_cleaned(c, e);
  else
    return false;
  return true;
}

void note_rerun(State& s, const Case& c, const RunId& run, TimePoint at) {
  // The first run is the user's own and costs no budget.
  if (!c.reruns.checked || run.kind != RunKind::program || run.n < 2) return;
  // However often it is submitted, it is one run.
  std::erase_if(s.reruns, [&](const LateRerun& late) {
    return late.at + kRemembered <= at || (late.case_no == c.no && late.n == run.n);
  });
  s.reruns.push_back({at, c.no, run.n});
}

void on_rerun_asked(Case& c, const Event& e) {
  Reruns& r = c.reruns;
  r.asking = true;
  r.reason = e.body["reason"].as_string();
  r.question = e.body["text"].as_string();
  r.asked_at = e.at;
}

void on_rerun_answered(Case& c, const Event& e) {
  Reruns& r = c.reruns;
  const auto how = rerun_way_from(e.body["how"].as_string());
  // "ask" is no answer: the question would stay.
  if (!how || how == RerunWay::ask) return;
  // Whoever answers that question takes the risk: the look that failed is not asked for again.
  if (r.asking && r.reason == "dependents_unknown") r.look_waived = true;
  r.asking = false;
  r.answer = how;
  r.answered_by = e.body["by"].as_string();
  r.look_failed = false;
  if (r.place.stage == PlaceStage::trouble) r.place.stage = PlaceStage::none;  // to be tried once more
}

void on_rerun_given_up(Case& c, const Event& e) {
  c.reruns.asking = false;
  c.reruns.given_up = e.body["why"].as_string();
}

}  // namespace sickbay::identify
