// SPDX-License-Identifier: Apache-2.0
#include "service/config.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(Config, ReadsEachKindOfKey) {
  auto config = parse_config(R"(// site
{
  "operators": {"users": ["ops"], "groups": ["admins"]},
  "verify": {"script": "/etc/sickbay/v.sh", "time_limit": "10m", "environment": ["UCX_TLS=tcp"]},
  "identify": {"max_reruns": 1, "verification_wait": "1h"}
})",
                             "sickbay.json");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->operators.users, std::vector<std::string>{"ops"});
  EXPECT_EQ(config->verify.script, "/etc/sickbay/v.sh");
  EXPECT_EQ(config->verify.time_limit, std::chrono::minutes(10));
  EXPECT_EQ(config->identify.max_reruns, 1);
  EXPECT_EQ(config->identify.verification_wait, std::chrono::hours(1));
  EXPECT_EQ(config->refresh_floor, std::chrono::seconds(2)) << "a default";
}

TEST(Config, NamesThePlaceAndTheNearestKey) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"{\n  \"verfy\": {}\n}", "x.json:2:12: unknown key 'verfy'; did you mean 'verify'?"},
           Row{"{\"verify\": {\n \"time_limt\": \"5m\"}}",
               "x.json:2:15: unknown key 'time_limt' in 'verify'; did you mean 'time_limit'?"},
           Row{"{\"verify\": {\"time_limit\": 5}}",
               "x.json:1:27: 'verify.time_limit' must be a duration like \"30s\" or \"5m\", not integer"},
           Row{"{\"verify\": {\"time_limit\": \"0s\"}}",
               "x.json:1:27: 'verify.time_limit' must be more than 0"},
           Row{"{\"identify\": {\"max_reruns\": 7}}",
               "x.json:1:29: 'identify.max_reruns' must be a whole number from 1 to 2"},
           Row{"{\"operators\": {\"users\": \"root\"}}",
               "x.json:1:25: 'operators.users' must be a list of names, not string"},
           Row{"{\"operators\": {\"users\": [1]}}",
               "x.json:1:25: 'operators.users' must hold names only, not integer"},
           Row{"{\"verify\": 3}", "x.json:1:12: 'verify' must be an object, not integer"},
           Row{"{\"agent\": {\"listen\": \"6830\"}}",
               "x.json:1:22: 'agent.listen' must be \"off\" or an address and a port, as "
               "\"0.0.0.0:6830\" or \"[::]:6830\""},
           Row{"{\"identify\": {\"jobs\": \"some\"}}",
               "x.json:1:23: 'identify.jobs' must be \"submitted\" or \"all\""},
           Row{"{\"identify\": {\"hang\": 1}}",
               "x.json:1:23: 'identify.hang' must be \"off\", \"notify\" or \"cancel\""},
           Row{"{\"recover\": {\"dependent\": [\"n3\"]}}",
               "x.json:1:27: 'recover.dependent' must be sets of at least two nodes, as \"n[3-4]\""},
           Row{"[]", "x.json:1:1: the configuration must be an object, not array"},
       }) {
    auto config = parse_config(row.text, "x.json");
    ASSERT_FALSE(config) << row.text;
    EXPECT_EQ(config.error().code, ErrorCode::bad_input);
    EXPECT_EQ(config.error().what, row.message);
    EXPECT_FALSE(config.error().remedy().empty());
  }
}

TEST(Config, AgentsAreListenedToUnlessItIsOff) {
  EXPECT_EQ(parse_config("{}", "x")->agent.address, "0.0.0.0");
  EXPECT_EQ(parse_config("{}", "x")->agent.port, 6830);
  EXPECT_EQ(parse_config(R"({"agent": {"listen": "off"}})", "x")->agent.address, "");
  const auto six = parse_config(R"({"agent": {"listen": "[fd00::1]:7000"}, "munge": {"socket": "/m"}})", "x");
  EXPECT_EQ(six->agent.address, "fd00::1");
  EXPECT_EQ(six->agent.port, 7000);
  EXPECT_EQ(six->munge.socket, "/m");
}

TEST(Config, NodesThatDependOnEachOtherAreSetsOfNodes) {
  EXPECT_TRUE(parse_config("{}", "x")->recover.dependent.empty());
  const auto config = parse_config(R"({"recover": {"dependent": ["n[6-8]", "n4,n3"]}})", "x");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->recover.dependent,
            (std::vector<std::vector<std::string>>{{"n6", "n7", "n8"}, {"n3", "n4"}}));
  EXPECT_FALSE(parse_config(R"({"recover": {"dependent": ["n[6-"]}})", "x"));
}

TEST(Config, ReplacementsAreOffUntilSomebodyWantsThem) {
  EXPECT_FALSE(parse_config("{}", "x")->nonstop.on);
  EXPECT_EQ(parse_config("{}", "x")->nonstop_server.address, "0.0.0.0");
  EXPECT_EQ(parse_config("{}", "x")->nonstop_server.port, 0) << "that of nonstop.conf";
  struct Row {
    const char *text, *address;
    int port;
  };
  for (const Row& row :
       {Row{"10.0.0.1", "10.0.0.1", 0}, Row{"10.0.0.1:7000", "10.0.0.1", 7000}, Row{"[::]:7000", "::", 7000},
        Row{"[fd00::1]", "fd00::1", 0}, Row{"fd00::1", "fd00::1", 0}}) {
    const auto read =
        parse_config(std::string(R"({"nonstop": {"on": true, "listen": ")") + row.text + "\"}}", "x");
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_TRUE(read->nonstop.on);
    EXPECT_EQ(read->nonstop_server.address, row.address) << row.text;
    EXPECT_EQ(read->nonstop_server.port, row.port) << row.text;
  }
  for (const char* wrong : {":7000", "", "10.0.0.1:0", "10.0.0.1:70000", "10.0.0.1:x", "[::]:"})
    EXPECT_FALSE(parse_config(std::string(R"({"nonstop": {"listen": ")") + wrong + "\"}}", "x")) << wrong;
}

TEST(Config, TwiceTheSameKeyIsAnError) {
  EXPECT_FALSE(parse_config(R"({"verify": {"qos": "high", "qos": "low"}})", "x.json"));
}

}  // namespace
}  // namespace sickbay
