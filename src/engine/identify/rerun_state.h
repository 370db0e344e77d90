// SPDX-License-Identifier: Apache-2.0
// What a case knows of its re-runs before they start: how they may run, what was asked, who holds them, and
// where they will run.  Plain values; what follows from them is said in rerun.h.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sickbay::identify {

/// How the program may run a second time.
enum class RerunWay : std::uint8_t {
  same,   ///< in the user's own folder
  copy,   ///< in a copy of it, where that is small enough; else the user is asked
  ask,    ///< only when somebody says how
  never,  ///< not at all: only V and the evidence speak
};
std::string_view to_string(RerunWay way);
std::optional<RerunWay> rerun_way_from(std::string_view word);

/// A job of the user's that may still use what a re-run would write to.
struct Holder {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  JobId job_id = 0;
  std::string name, state;
  std::string why;  ///< "dependency" or "singleton"
};

/// The place of one attempt of a re-run.
struct Place {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  enum class Stage : std::uint8_t {
    none,     ///< not asked for, or to be asked for again
    wanted,   ///< under way
    ready,    ///< the run may start in `folder`
    trouble,  ///< somebody must say what is to be done
  };
  std::string key;  ///< of the attempt: "c17.r2.a1"
  int tries = 0;
  Stage stage = Stage::none;
  RerunWay how = RerunWay::same;
  std::string folder;           ///< empty: the user's own
  std::string trouble, reason;  ///< in words, and as a word
};

struct Reruns {
  static constexpr int kFields = 23;  ///< base/state_archive.h
  /// Opened by a version that knows of all this.  Re-runs of older cases start as they did then.
  bool checked = false;
  RerunWay wish = RerunWay::same;  ///< the user's, or his site's

  // The question, and what was said to it.
  bool asking = false;
  std::string reason, question;
  TimePoint asked_at = kNoTime;
  std::optional<RerunWay> answer;
  std::string answered_by;

  // Who holds it.
  int looks = 0;         ///< asked for
  bool looking = false;  ///< the last has no answer yet
  bool look_failed = false, look_waived = false;
  TimePoint looked_at = kNoTime, held_since = kNoTime;
  std::vector<Holder> holders;  ///< as of the last look

  Place place;
  std::map<std::string, std::string> copies;     ///< folders that were made, by the key of their attempt
  std::set<std::string> comparing, compared;     ///< attempts in the user's own folder, looked at afterwards
  std::map<std::string, std::string> disturbed;  ///< of these, what was changed while they waited or ran
  std::string given_up;                          ///< why there is no (further) re-run; empty: there may be
  bool cleaning = false, cleaned = false;

  RerunWay way() const { return answer.value_or(wish); }
};

}  // namespace sickbay::identify
