// SPDX-License-Identifier: Apache-2.0
// What a job looked like to the last: each way to end, and each way to go on.
#include "engine/hang/last_suspicion.h"

#include <gmock/gmock.h>

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;

struct Look {
  Micros after;  // the look before
  Word word;
  std::size_t ranks;
  Micros held{0}, nowhere{0};
};

Look goes_on(Micros after, std::size_t ranks = 8) { return {after, Word::progress, ranks}; }
Look waits(Micros after, Micros held, std::size_t ranks = 8) { return {after, Word::suspicion, ranks, held}; }
Look nowhere(Micros after, Micros so_long, std::size_t ranks = 8) {
  return {after, Word::suspicion, ranks, 0s, so_long};
}
constexpr std::size_t kNobody = 0;

// The text of the suspicion that stands at the end is the number of its look, the first is 1; 0: none.
int stands_after(const std::vector<Look>& looks) {
  LastSuspicion last;
  TimePoint now = from_micros(1'700'000'000'000'000);
  int number = 0;
  for (const Look& look : looks) {
    now += look.after;
    Judgement j;
    j.word = look.word;
    j.ranks = look.ranks;
    j.nobody = look.ranks == kNobody;
    j.held = look.held;
    j.nowhere = look.nowhere;
    j.text = std::to_string(++number);
    last.take(j, now);
  }
  return last.standing() ? std::stoi(last.standing()->text) : 0;
}

TEST(LastSuspicion, EachWayToEndAndToGoOn) {
  const struct {
    const char* what;
    std::vector<Look> looks;
    int stands;
  } rows[] = {
      {"nothing was seen", {}, 0},
      {"it always went on", {goes_on(0s), goes_on(9s), goes_on(9s)}, 0},
      {"it waited for a while only", {waits(0s, 29s)}, 0},
      {"it waited to the last", {waits(0s, 45s), waits(2s, 47s)}, 2},
      {"it asked to the last", {nowhere(0s, 60s), nowhere(2s, 62s)}, 2},
      {"of those who ask one look sees all wait", {nowhere(0s, 60s), {2s, Word::suspicion, 8, 0s, 62s}}, 2},
      {"a hang that is told of speaks for itself", {waits(0s, 45s), {2s, Word::hang, 8, 47s}}, 1},
      {"a glimpse", {waits(0s, 45s), goes_on(2s)}, 1},
      {"a glimpse, then nobody",
       {waits(0s, 45s), goes_on(2s), goes_on(2s, kNobody), goes_on(9s, kNobody)},
       1},
      {"two glimpses apart", {waits(0s, 45s), goes_on(2s), waits(2s, 49s), goes_on(4s)}, 3},
      {"it went on", {waits(0s, 45s), goes_on(2s), goes_on(3s), goes_on(2s)}, 0},
      {"it went on in between", {waits(0s, 45s), waits(60s, 9s)}, 0},
      {"it went on a moment ago", {waits(0s, 45s), waits(60s, 2s)}, 1},
      {"it went on, with waits", {waits(0s, 45s), waits(2s, 1s), goes_on(2s), waits(2s, 1s)}, 0},
      {"it went on, and stands again", {waits(0s, 45s), goes_on(2s), goes_on(9s), waits(60s, 55s)}, 4},
      {"the ranks end one by one", {nowhere(0s, 60s), goes_on(2s, 7), goes_on(3s, 4), goes_on(3s, 1)}, 1},
      {"one that is gone is missed", {nowhere(0s, 60s), waits(2s, 40s, 7), waits(3s, 43s, 1)}, 1},
      {"one is not heard", {waits(0s, 45s), goes_on(2s, 4), waits(2s, 49s), goes_on(2s, 4)}, 3},
      {"a glimpse before the end",
       {waits(0s, 45s), goes_on(2s), goes_on(2s, 7), goes_on(2s, 6), goes_on(2s, kNobody)},
       1},
      {"before the end of a sound one", {goes_on(0s), waits(2s, 40s, 7), goes_on(2s, kNobody)}, 0},
      {"the next step is smaller",
       {waits(0s, 45s), goes_on(2s, 4), goes_on(1min, 4), goes_on(1min, 4), goes_on(6s, 4)},
       0},
      {"the next step is smaller and stands", {waits(0s, 45s), waits(2s, 1s, 4), waits(119s, 2min, 4)}, 3},
      {"the next step is larger", {waits(0s, 45s), goes_on(2s, 16), goes_on(6s, 16)}, 0},
  };
  for (const auto& row : rows) EXPECT_EQ(stands_after(row.looks), row.stands) << row.what;
}

}  // namespace
}  // namespace sickbay::hang
