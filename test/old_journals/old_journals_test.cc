// SPDX-License-Identifier: Apache-2.0
// Journals of the version before the engines shared one state (test/fixtures/journals) give the same state.
//
// NAME.ndjson has its events: two are from a real Slurm in a lab, `random_*` are from that version's drain
// engine under random events, the rest from scenarios.  NAME.state is what that version itself said of its
// state after a replay.  A sickbayd is updated in place over its journal: a drain, a breaker or a verdict
// that read otherwise after the update would act on nodes for no reason that anybody could find.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "adapters/sqlite/salvage.h"
#include "base/digest/sha256.h"
#include "base/state_archive.h"
#include "legacy_text.h"
#include "service/config.h"

namespace sickbay {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> journals() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SB_JOURNALS))
    if (entry.path().extension() == ".ndjson") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Event> events_of(const std::string& name) {
  std::vector<Event> events;
  for (const std::string& line : lines_of(contents(SB_JOURNALS "/" + name + ".ndjson"))) {
    const auto event = Json::parse(line).and_then(Event::from_json);
    if (!event) throw std::runtime_error(name + ": " + line);
    events.push_back(*event);
  }
  return events;
}

class OldJournal : public testing::TestWithParam<std::string> {
 protected:
  void replay() {
    for (const Event& event : events_) seats_.replay(event);
  }

  const std::vector<Event> events_ = events_of(GetParam());
  const std::string then_ = contents(SB_JOURNALS "/" + GetParam() + ".state");
  const Config config_{};
  Seats seats_{config_};
};

TEST_P(OldJournal, GivesTheStateOfThen) {
  replay();
  // Line by line, since a difference is looked for in one node or case.
  const auto then = lines_of(then_), now = lines_of(legacy_text(seats_));
  for (std::size_t i = 0; i < std::min(then.size(), now.size()); ++i)
    ASSERT_EQ(now[i], then[i]) << "line " << i + 1;
  EXPECT_EQ(legacy_text(seats_), then_);
}

// At the end much is over and forgotten, so each event is looked at: NAME.digests has, in the order of the
// events, the first 16 digits of the SHA-256 of what that version said after it.
TEST_P(OldJournal, GivesTheStateOfThenAfterEveryEvent) {
  const auto then = lines_of(contents(SB_JOURNALS "/" + GetParam() + ".digests"));
  ASSERT_EQ(then.size(), events_.size());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    // Else the test would show nothing of the raising of old events.
    ASSERT_EQ(events_[i].v, 1) << events_[i].text();
    seats_.replay(events_[i]);
    ASSERT_EQ(sha256_hex(legacy_text(seats_)).substr(0, 16), then[i]) << events_[i].text();
  }
}

// A kept state of an old journal is that of a replay, at each moment, and goes on as it.
TEST_P(OldJournal, IsKeptAndComesBackAtAnyEvent) {
  const auto bytes_of = [](const Seats& seats) {
    StateWriter out;
    seats.save(out);
    return out.take();
  };
  for (std::size_t i = 0; i < events_.size(); ++i) {
    seats_.replay(events_[i]);
    if (i % (1 + events_.size() / 40) != 0) continue;
    const std::string bytes = bytes_of(seats_);
    StateReader in(bytes);
    Seats other(config_);
    other.restore(in);
    ASSERT_TRUE(in.done()) << i;
    ASSERT_EQ(other.canonical_text(), seats_.canonical_text()) << i;
    ASSERT_EQ(bytes_of(other), bytes) << i;
    for (std::size_t k = i + 1; k < std::min(i + 200, events_.size()); ++k) other.replay(events_[k]);
    Seats whole(config_);
    for (std::size_t k = 0; k < std::min(i + 200, events_.size()); ++k) whole.replay(events_[k]);
    ASSERT_EQ(bytes_of(other), bytes_of(whole)) << i;
  }
}

TEST_P(OldJournal, GivesEveryVerdictOfThen) {
  replay();
  std::size_t cases = 0;
  for (const std::string& line : lines_of(then_)) {
    if (!line.starts_with("{\"case\":")) continue;
    const Json then = *Json::parse(line);
    const auto& all = seats_.cases().state().cases;
    const auto it = all.find(*parse_case_name(then["case"].as_string()));
    ASSERT_NE(it, all.end()) << line;
    const auto& verdict = it->second.verdict;
    EXPECT_EQ((verdict ? verdict->to_json() : Json()).dump(), then["verdict"].dump());
    ++cases;
  }
  EXPECT_EQ(seats_.cases().state().cases.size(), cases);
}

// That version had no claims: what it had out must be claimed before anybody else may ask for it.
TEST_P(OldJournal, OwesClaimsOnExactlyWhatWasOut) {
  replay();
  const auto then = lines_of(then_);
  std::vector<std::string> owed, away;
  for (const cluster::Claim& claim : seats_.drains().owed()) {
    owed.emplace_back(node_of_subject(claim.on));
    EXPECT_EQ(claim.by, claim.on);
    EXPECT_EQ(claim.holder, drain::kName);
    EXPECT_TRUE(claim.out) << claim.on;
    EXPECT_EQ(claim.until, kNever);
    EXPECT_FALSE(claim.reason.empty());
  }
  std::string line = "away ";
  for (const std::string& name : owed) line += (name == owed.front() ? "" : ",") + name;
  EXPECT_EQ(line, then.back());
  // No case of it claims anything before it acts again.
  EXPECT_THAT(seats_.cases().owed(), testing::IsEmpty());
  EXPECT_THAT(seats_.cluster().claims.all(), testing::IsEmpty());
}

// A damaged journal is salvaged and replayed: whichever event it has lost, every engine goes on, and for what
// was given up nothing is done any more.
TEST_P(OldJournal, GoesOnWithoutAnyOneEvent) {
  for (std::size_t lost = 0; lost < events_.size(); ++lost) {
    const std::string& subject = events_[lost].subject;
    const bool given_up = is_given_up_by_loss(subject);
    Seats seats(config_);
    for (std::size_t i = 0; i < events_.size(); ++i)
      if (i != lost && !(given_up && events_[i].subject == subject)) seats.replay(events_[i]);
    if (given_up) seats.replay(new_event(subject, kArchived, Json::object()));
    const TimePoint now = events_.back().at + std::chrono::hours(1);
    for (const auto& seat : seats.all()) {
      seat->touch_all();
      if (given_up) seat->touch(subject);
      for (const std::string& touched : seat->take_touched()) {
        const Seat::Turn turn = seat->decide(touched, now);
        EXPECT_TRUE(turn.commands.empty() || !given_up || touched != subject)
            << seat->name() << " without " << events_[lost].text();
      }
      (void)seat->wish();
      (void)seat->watched_jobs();
      (void)seat->canonical_text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OldJournals, OldJournal, testing::ValuesIn(journals()),
                         [](const auto& name) { return name.param; });

// The fixtures are of use only as long as what they are chosen for is in them.
TEST(OldJournals, TellOfAllThatHasMoved) {
  std::string all;
  bool some_out = false;
  for (const std::string& name : journals()) {
    all += contents(SB_JOURNALS "/" + name + ".ndjson");
    some_out |= !lines_of(contents(SB_JOURNALS "/" + name + ".state")).back().ends_with("away ");
  }
  EXPECT_TRUE(some_out);
  for (const char* word : {"\"drain\"", "\"undrain\"", "\"reboot\"", "\"breaker_tripped\"", "\"undo_drains\"",
                           "\"job_lost\"", "\"controller_seen\"", "\"nodes_seen\"", "\"reason_ended\"",
                           "\"failed\"", "\"case_closed\"", "\"restart_cnt\":1", "\"gone\":true",
                           "\"counted\":true", "\"counted\":false", "\"cancel_requested\"", "DOWN"})
    EXPECT_THAT(all, testing::HasSubstr(word));
}

}  // namespace
}  // namespace sickbay
