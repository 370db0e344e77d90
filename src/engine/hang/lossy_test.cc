// SPDX-License-Identifier: Apache-2.0
// Whose link loses packets, by what the ends of connections told.  "measured": in a lab, of sp on two and
// four nodes beside a compiler; elsewhere numbers are made.
#include "engine/hang/lossy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "base/words.h"

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;

std::string address_of(std::string_view name) {
  return fmt::format("10.0.{}.{}", name[0] == 'n' ? 0 : 1, name.substr(1));
}

// "n2>n1 314192 3506": n2 sent so many to n1 and lost so many; "n1?x1 2000 0": it asked a host outside.
std::map<std::string, TcpLosses> told(const std::vector<std::string>& ways, Micros seen = 90s) {
  std::map<std::string, TcpLosses> told;
  for (const std::string& text : ways) {
    std::string_view rest = text;
    const std::string_view pair = next_word(rest);
    const std::size_t at = pair.find_first_of(">?");
    for (const std::string_view end : {pair.substr(at + 1), pair.substr(0, at)})
      if (end.starts_with('n')) {
        told[std::string(end)].seen = seen;
        told[std::string(end)].own = {address_of(end)};
      }
    TcpLosses& node = told[std::string(pair.substr(0, at))];
    const std::string to = address_of(pair.substr(at + 1));
    const std::int64_t sent = *to_integer(next_word(rest)), lost = *to_integer(next_word(rest));
    if (pair[at] == '?')
      node.echoes.push_back({to, sent, lost});
    else
      node.peers.push_back({to, sent, lost});
  }
  return told;
}

// "n2: 3506 of 314192", "n1,n2: ..." where nobody is named, "" where nothing is bad.
std::string said(const std::map<std::string, TcpLosses>& words) {
  const auto found = lossy_network(words);
  if (!found) return "";
  return fmt::format("{}{}: {} of {}", found->node.empty() ? "? " : "",
                     found->node.empty() ? fmt::format("{}", fmt::join(found->nodes, ",")) : found->node,
                     found->lost, found->sent);
}

TEST(Lossy, WhoseLinkItIs) {
  struct Row {
    std::string_view what;
    std::vector<std::string> ways;
    std::string_view said;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"measured: a healthy job at load 8, 94 and 16 were sent again and had arrived",
            {"n1>n2 544938 0", "n2>n1 288793 0"},
            ""},
           {"measured: what n2 sends is lost; so is what comes to n1, if it is that",
            {"n1>n2 587528 1", "n2>n1 314192 3506"},
            "? n1,n2: 3506 of 314192"},
           {"measured: what comes to n2 is lost",
            {"n1>n2 627733 5968", "n2>n1 330573 0"},
            "? n1,n2: 5968 of 627733"},
           {"n2 loses what goes to others, too, and n1 does not",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 0", "n2?x1 2000 19"},
            "n2: 3506 of 314192"},
           {"it was n1, though n2 sends again",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 22", "n2?x1 2000 0"},
            "n1: 3506 of 314192"},
           {"both, or the host that was asked",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 22", "n2?x1 2000 24"},
            "? n1,n2: 3506 of 314192"},
           {"a second host tells them apart",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 22", "n2?x1 2000 40", "n1?x2 2000 0",
             "n2?x2 2000 21"},
            "n2: 3506 of 314192"},
           {"neither: it is what is between the two",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 0", "n2?x1 2000 0"},
            "? n1,n2: 3506 of 314192"},
           {"one has not answered yet",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n2?x1 2000 19"},
            "? n1,n2: 3506 of 314192"},
           {"a host that answers nobody is no witness",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 2000", "n2?x1 2000 2000"},
            "? n1,n2: 3506 of 314192"},
           {"a few of the packets are lost by any host that is busy",
            {"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 0", "n2?x1 2000 5"},
            "? n1,n2: 3506 of 314192"},
           {"storage is a witness like others",
            {"n1>n2 50000 0", "n2>n1 50000 500", "n1>x9 40000 0", "n2>x9 40000 400"},
            "n2: 500 of 50000"},
           {"a host far away that loses what all send it is none",
            {"n1>n2 50000 0", "n2>n1 50000 500", "n2>x9 40000 400", "n1?x1 2000 0", "n2?x1 2000 0"},
            "? n1,n2: 500 of 50000"},
           {"four nodes that all talk to each other: the sender",
            {"n1>n2 90000 0", "n1>n3 90000 0", "n2>n1 90000 900", "n2>n3 90000 910", "n3>n1 90000 0",
             "n3>n4 90000 0", "n4>n1 90000 1", "n2>n4 90000 880"},
            "n2: 2690 of 270000"},
           {"measured: four in a chain, of which n1 talks to n2 alone",
            {"n1>n2 145795 1", "n2>n1 78082 1100", "n2>n3 147555 1298", "n3>n2 77391 0", "n3>n4 146877 0",
             "n4>n3 77106 0", "n1>n3 29 0", "n1>n4 26 0", "n2>n4 24 0"},
            "n2: 2398 of 225637"},
           {"a chain that ends there: its neighbour loses, or what is between them",
            {"n1>n2 90000 900", "n2>n3 90000 0", "n3>n4 90000 0"},
            "? n1,n2: 900 of 90000"},
           {"and the receiver, which itself sends nothing again",
            {"n1>n2 90000 900", "n3>n2 90000 910", "n4>n2 90000 920", "n2>n1 90000 0", "n2>n3 90000 0",
             "n1>n3 90000 0", "n4>n1 90000 0"},
            "n2: 2730 of 270000"},
           {"a ring, whose neighbours have others beside them",
            {"n1>n2 90000 900", "n2>n1 90000 0", "n2>n3 90000 0", "n3>n2 90000 890", "n3>n4 90000 0",
             "n4>n1 90000 0"},
            "n2: 1790 of 180000"},
           {"a master of whose workers none talks to another",
            {"n1>n2 90000 900", "n1>n3 90000 900", "n1>n4 90000 900"},
            "? n1,n2,n3,n4: 2700 of 270000"},
           {"one link of four nodes",
            {"n1>n2 90000 900", "n1>n3 90000 0", "n1>n4 90000 0", "n2>n3 90000 0", "n2>n4 90000 0"},
            "? n1,n2: 900 of 90000"},
           {"two links of six of a node, and its others are good",
            {"n1>n2 90000 900", "n1>n3 90000 900", "n1>n4 90000 0", "n1>n5 90000 0", "n1>n6 90000 0",
             "n2>n3 90000 0"},
            "? n1,n2,n3: 1800 of 180000"},
           {"all of them: a switch, or a machine that is busy everywhere",
            {"n1>n2 90000 900", "n2>n3 90000 900", "n3>n1 90000 900"},
            "? n1,n2,n3: 2700 of 270000"},
           {"two nodes at once, and a pair that is well",
            {"n1>n3 90000 900", "n1>n4 90000 900", "n2>n3 90000 900", "n2>n4 90000 900", "n3>n4 90000 0"},
            "? n1,n2,n3,n4: 3600 of 360000"},
           {"too few segments to say that the others are well",
            {"n2>n1 90000 900", "n2>n3 90000 900", "n1>n3 700 0"},
            "? n1,n2,n3: 1800 of 180000"},
           {"too small a share: 1 of 1000", {"n1>n2 500000 500", "n2>n1 500000 0"}, ""},
           {"too few: 29", {"n1>n2 2900 29"}, ""},
           {"seen on a healthy link: 23 of 3254, had none of them arrived",
            {"n1>n2 3254 23", "n2>n1 3254 0"},
            ""},
           {"a loss each three seconds slows nothing by a tenth", {"n1>n2 3000 30"}, ""},
           {"what goes out of the job is not its own", {"n1>x1 90000 9000", "n2>x1 90000 9000"}, ""},
       })
    EXPECT_EQ(said(told(row.ways, row.what.find("each three") != std::string_view::npos ? 91s : 60s)),
              row.said)
        << row.what;
}

TEST(Lossy, NothingIsSaidOfAFewSeconds) {
  EXPECT_EQ(said(told({"n2>n1 90000 900"}, 19s)), "");
  EXPECT_TRUE(may_be_lossy(told({"n2>n1 90000 900"}, 20s).at("n2")));
  EXPECT_FALSE(may_be_lossy(told({"n2>n1 90000 29"}, 20s).at("n2")));
}

TEST(Lossy, TheWaysThatWereGoodAreToldBesides) {
  const auto found = lossy_network(told({"n1>n2 587528 1", "n2>n1 314192 3506", "n1?x1 2000 0",
                                         "n2?x1 2000 19", "n2?x2 2000 21", "n1?x2 2000 0"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->others_sent, 587528);
  EXPECT_EQ(found->others_lost, 1);
  EXPECT_EQ(found->echoes, 4000);
  EXPECT_EQ(found->echoes_lost, 40);
  EXPECT_EQ(found->seen, 90s);
  EXPECT_THAT(found->nodes, testing::ElementsAre("n1", "n2"));
}

// One address is known by whoever has it, whichever network of several it is of.
TEST(Lossy, ANodeHasMoreThanOneAddress) {
  auto words = told({"n1>n2 50000 0", "n2>n1 50000 500"});
  words["n1"].own = {"192.168.7.1", "10.0.0.1"};
  words["n2"].peers.push_back({"192.168.7.1", 50000, 500});
  EXPECT_EQ(said(words), "? n1,n2: 1000 of 100000");
  words["n2"].own.push_back("10.0.0.1");  // (two say that it is theirs: the first one has it)
  EXPECT_EQ(said(words), "? n1,n2: 1000 of 100000");
}

TEST(Lossy, OfTenThousandNodesEightAreTold) {
  std::vector<std::string> ways;
  for (int i = 1; i <= 5000; ++i) ways.push_back(fmt::format("n{}>n{} 9000 900", i, i + 5000));
  const auto found = lossy_network(told(ways));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes.size(), kMostNodesNamed);
  EXPECT_EQ(found->node, "");
}

TEST(Lossy, NumbersAtTheirBoundsAreNumbers) {
  const std::int64_t most = std::int64_t{1} << 48;
  EXPECT_EQ(said(told({fmt::format("n1>n2 {0} {0}", most), fmt::format("n2?x1 {0} {0}", most)})),
            fmt::format("? n1,n2: {0} of {0}", most));
}

}  // namespace
}  // namespace sickbay::hang
