// SPDX-License-Identifier: Apache-2.0
#include "client/controller_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ControllerPlace, IsReadAsPeopleWriteIt) {
  struct Row {
    const char *text, *host;
    int port;
  };
  for (const Row& row : {Row{"head1", "head1", 6830}, Row{"head1.site.org:7000", "head1.site.org", 7000},
                         Row{"10.0.0.1:7000", "10.0.0.1", 7000}, Row{"fd00::1", "fd00::1", 6830},
                         Row{"[fd00::1]:7000", "fd00::1", 7000}, Row{"[fd00::1]", "fd00::1", 6830}}) {
    const auto place = parse_controller(row.text);
    ASSERT_TRUE(place) << row.text;
    EXPECT_EQ(place->host, row.host) << row.text;
    EXPECT_EQ(place->port, row.port) << row.text;
    EXPECT_EQ(parse_controller(place->text()).value(), *place) << row.text;
  }
  EXPECT_EQ(parse_controller("head1", 17003)->port, 17003);
}

TEST(ControllerPlace, RefusesWhatIsNone) {
  for (const char* text : {"", ":", "head1:", ":7000", "head1:0", "head1:65536", "head1:7000x", "head 1",
                           "-x", "[fd00::1", "[fd00::1]7000", "[]:1", "head1/x", "head1\n"})
    EXPECT_EQ(parse_controller(text).error().code, ErrorCode::bad_input) << text;
}

TEST(ControllerPlace, SlurmNamesItsHostsInOrder) {
  const char* said =
      "Configuration data as of 2026-11-22T14:00:00\n"
      "SlurmUser               = slurm(64030)\n"
      "SlurmctldAddr           = (null)\n"
      "SlurmctldHost[0]        = head1(10.0.0.1)\n"
      "SlurmctldHost[1]        = head2\n"
      "SlurmctldPort           = 6817";
  EXPECT_THAT(slurm_controllers(said, 7000),
              ElementsAre(ControllerPlace{"10.0.0.1", 7000}, ControllerPlace{"head2", 7000}));
  EXPECT_THAT(
      slurm_controllers("ClusterName=x\n slurmctldhost = head1(10.0.0.1)  # new\n#SlurmctldHost=head0\n"
                        "SlurmctldHost=head2\nSlurmctldHostname=head3\n",
                        7000),
      ElementsAre(ControllerPlace{"10.0.0.1", 7000}, ControllerPlace{"head2", 7000}))
      << "slurm.conf itself";
  EXPECT_THAT(slurm_controllers("", 1), IsEmpty());
  EXPECT_THAT(slurm_controllers("SlurmctldHost[0] = a b(c d)\nSlurmctldHost[1]\n", 1), IsEmpty());
}

// What a place says: "" answers.
Error says(ErrorCode code, const std::string& what, const std::string& cause = "") {
  return Error(code, what).because(cause);
}

TEST(ControllerRound, AStandbyIsPassedOverAndSoIsWhoIsAway) {
  const Error standby = standby_answer("head1", "head2:6830"),
              away = says(ErrorCode::daemon_away, "x", "refused");
  for (const Error& first : {standby, away}) {
    ControllerRound round({{"head1", 6830}, {"head2", 6830}});
    EXPECT_EQ(round.at().host, "head1");
    ASSERT_TRUE(round.goes_on(&first));
    EXPECT_EQ(round.at().host, "head2");
    EXPECT_FALSE(round.goes_on(nullptr));
    // The next question goes there at once.
    EXPECT_EQ(round.at().host, "head2");
  }
}

TEST(ControllerRound, WhoIsBusyOrRefusesIsNoStandby) {
  for (const Error& error :
       {says(ErrorCode::busy, "too much is under way"), says(ErrorCode::denied, "not root"),
        says(ErrorCode::not_found, "head1 is the standby")}) {
    ControllerRound round({{"head1", 6830}, {"head2", 6830}});
    EXPECT_FALSE(round.goes_on(&error)) << error.what;
    EXPECT_EQ(round.at().host, "head1");
  }
}

TEST(ControllerRound, EndsWhereNoneOfThemActs) {
  const Error away = says(ErrorCode::daemon_away, "no connection", "refused");
  ControllerRound round({{"head1", 6830}, {"head2", 6830}, {"head3", 6830}});
  const Error standby = standby_answer("head2", "head1:6830");
  ASSERT_TRUE(round.goes_on(&away));
  ASSERT_TRUE(round.goes_on(&standby));
  EXPECT_EQ(round.said(), "");
  EXPECT_FALSE(round.goes_on(&away));
  EXPECT_EQ(round.said(), "head1:6830: refused; head2:6830: head2 is the standby; head3:6830: refused");
  // A later question asks each of them once more.
  ASSERT_TRUE(round.goes_on(&away));
  EXPECT_FALSE(round.goes_on(nullptr));
  EXPECT_EQ(round.said(), "");
}

TEST(ControllerRound, WhoHasAnsweredStaysUnlessItIsTheStandbyNow) {
  const Error away = says(ErrorCode::daemon_away, "no connection", "refused"),
              standby = standby_answer("head1", "head2:6830");
  ControllerRound round({{"head1", 6830}, {"head2", 6830}});
  EXPECT_FALSE(round.goes_on(nullptr));
  EXPECT_FALSE(round.goes_on(&away));
  EXPECT_EQ(round.at().host, "head1");
  ASSERT_TRUE(round.goes_on(&standby));
  EXPECT_EQ(round.at().host, "head2");
  EXPECT_FALSE(round.goes_on(nullptr));
}

TEST(ControllerRound, OfOnePlaceTheAnswerIsTheAnswer) {
  const Error standby = standby_answer("head1", "head2:6830");
  ControllerRound round({{"head1", 6830}});
  EXPECT_FALSE(round.goes_on(&standby));
  EXPECT_EQ(round.said(), "head1:6830: head1 is the standby");
}

}  // namespace
}  // namespace sickbay
