// SPDX-License-Identifier: Apache-2.0
// Every endpoint for every kind of caller on both ways in: who is let through, and what the others are told.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "service/api_call.h"
#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using testing::HasSubstr;

// The callers.  alice owns c1 and its job 7; agents call from the address of their node, n1.
constexpr auto kCallers =
    std::to_array<const char*>({"root", "ops", "alice", "bob", "root@10.0.0.1", "root@10.0.0.99",
                                "ops@10.0.0.99", "alice@10.0.0.99", "bob@10.0.0.99"});

// What becomes of a request: `+` it is let through, `-` denied (403).
struct Expectation {
  const char *method, *pattern;
  const char* target;  // one that fits
  const char* body;
  const char* answers;  // for each of kCallers
};
constexpr const char* kHello =
    R"({"node":"n1","boot_id":"b","version":"1","digests":{},"items":[],"task":1,"runs":[]})";
// The columns: root ops alice bob | root of n1, root of a login host, ops, alice, bob over TCP.
constexpr auto kExpected = std::to_array<Expectation>({
    {"POST", "/v1/cases", "/v1/cases", "submission", "++++--+++"},
    {"POST", "/v1/cases/*/job", "/v1/cases/c1/job", R"({"job_id":7})", "+++---++-"},
    {"POST", "/v1/cases/*/cancel", "/v1/cases/c1/cancel", "{}", "+++---++-"},
    {"POST", "/v1/cases/*/rerun", "/v1/cases/c1/rerun", R"({"how":"never"})", "+++---++-"},
    {"POST", "/v1/cases/*/requeue", "/v1/cases/c1/requeue", "{}", "+++---++-"},
    {"GET", "/v1/cases", "/v1/cases", "", "++++--+++"},
    {"GET", "/v1/cases/*", "/v1/cases/c1", "", "+++---++-"},
    {"GET", "/v1/jobs/*/case", "/v1/jobs/7/case", "", "+++---++-"},
    {"GET", "/v1/jobs/*/pending", "/v1/jobs/7/pending", "", "++++--+++"},  // the job's owner: pending_api.cc
    {"GET", "/v1/jobs/*/failure", "/v1/jobs/7/failure", "", "++++--+++"},  // likewise: failures_api.cc
    {"GET", "/v1/nodes", "/v1/nodes", "", "++++--+++"},
    {"GET", "/v1/nodes/*", "/v1/nodes/n1", "", "++++--+++"},
    {"POST", "/v1/undo-drains", "/v1/undo-drains", R"({"nodes":"n1"})", "++----+--"},
    {"GET", "/v1/spares", "/v1/spares", "", "++++--+++"},
    {"GET", "/v1/patrol", "/v1/patrol", "", "++++--+++"},
    {"POST", "/v1/patrol", "/v1/patrol", R"({"nodes":"n1"})", "++----+--"},
    {"POST", "/v1/patrol/stop", "/v1/patrol/stop", "{}", "++----+--"},
    {"GET", "/v1/tree", "/v1/tree", "", "++++--+++"},
    {"GET", "/v1/recoveries", "/v1/recoveries", "", "++++--+++"},
    {"POST", "/v1/recoveries", "/v1/recoveries", R"({"node":"n1","dry_run":true})", "++----+--"},
    {"POST", "/v1/recoveries/*/stop", "/v1/recoveries/r1/stop", "{}", "++----+--"},
    {"POST", "/v1/checkpoints", "/v1/checkpoints",
     R"({"job":7,"checkpoint":1,"event":"taken","folder":"/s"})",
     "+++---++-"},                                                 // the job's owner: history_api.cc
    {"GET", "/v1/history", "/v1/history?job=7", "", "+++---++-"},  // likewise
    {"POST", "/v1/undo", "/v1/undo", R"({"job":7,"do":"rewind","op":"start","dry_run":true})", "+++---++-"},
    {"GET", "/v1/acts", "/v1/acts", "", "++----+--"},
    {"POST", "/v1/acts/undo", "/v1/acts/undo", R"({"act":"x"})", "++----+--"},
    {"POST", "/v1/spares", "/v1/spares", R"({"partition":"batch","count":1})", "++----+--"},
    {"GET", "/v1/faults", "/v1/faults?node=n1", "", "++++--+++"},
    {"POST", "/v1/nodes/*/diagnose", "/v1/nodes/n1/diagnose", R"({"mode":"quick"})", "++----+--"},
    {"GET", "/v1/tasks/*", "/v1/tasks/1", "", "++----+--"},
    {"POST", "/v1/agent/hello", "/v1/agent/hello", kHello, "----+----"},
    {"GET", "/v1/agent/tasks", "/v1/agent/tasks?node=n1", "", "----+----"},
    {"POST", "/v1/agent/findings", "/v1/agent/findings", kHello, "----+----"},
    {"POST", "/v1/agent/results", "/v1/agent/results", kHello, "----+----"},
    {"POST", "/v1/agent/silent", "/v1/agent/silent", kHello, "----+----"},
    {"POST", "/v1/agent/ranks", "/v1/agent/ranks", kHello, "----+----"},
    {"POST", "/v1/agent/peer", "/v1/agent/peer", kHello, "----+----"},
    {"POST", "/v1/jobs/*/detect", "/v1/jobs/7/detect", R"({"detect":"fast"})",
     "++++--+++"},  // its owner: swim_groups.cc
    {"GET", "/v1/events", "/v1/events", "", "++++--+++"},
    {"GET", "/v1/status", "/v1/status", "", "++++--+++"},
    {"GET", "/metrics", "/metrics", "", "++++--+++"},
    {"POST", "/v1/lab/truth", "/v1/lab/truth", R"({"subject":"node:n1","kind":"lab_fault","body":{}})",
     "+--------"},
});

class ApiRoles : public ApiTest {
 protected:
  ApiRoles() {
    api_->serve_agents(daemon_->agents);
    ask("alice", "POST", "/v1/cases", submission());
    ask("alice", "POST", "/v1/cases/c1/job", R"({"job_id":7})");
  }
};

TEST_F(ApiRoles, EveryEndpointForEveryCaller) {
  for (const Expectation& row : kExpected)
    for (std::size_t i = 0; i < kCallers.size(); ++i) {
      const std::string body = row.body == std::string_view("submission") ? submission() : row.body;
      const auto answer = ask(kCallers[i], row.method, row.target, body);
      // (What waits for something was let through; so was what is refused for another reason.)
      const bool denied = answer->answered && (answer->response.status == 403);
      EXPECT_EQ(denied ? '-' : '+', row.answers[i])
          << row.method << " " << row.target << " by " << kCallers[i] << ": " << answer->response.body;
    }
}

// A fault names the users on the node to whom it is told; that is no matter of everybody's.
TEST_F(ApiRoles, WhoseJobsWereOnANodeIsForOperators) {
  controller_->take(
      {new_event("f1", kFinding,
                 Json::object({{"node", "n1"},
                               {"boot_id", "b"},
                               {"n", 1},
                               {"specification", "node"},
                               {"rule", "full"},
                               {"result", "fault"},
                               {"action", "none"},
                               {"text", "it is full"},
                               {"jobs", Json::array({Json::object({{"job", 17}, {"user", "bob"}})})}}))},
      [](Status) {});
  pass(std::chrono::seconds(1));
  const auto seen = [&](const char* user) { return ask(user, "GET", "/v1/events?subject=f1")->streamed; };
  EXPECT_NE(seen("ops").find("\"user\":\"bob\""), std::string::npos) << seen("ops");
  EXPECT_NE(seen("alice").find("it is full"), std::string::npos) << seen("alice");
  EXPECT_EQ(seen("alice").find("bob"), std::string::npos) << seen("alice");
}

TEST_F(ApiRoles, NoEndpointIsWithoutAnExpectation) {
  std::set<std::pair<std::string, std::string>> expected, there;
  for (const Expectation& row : kExpected) {
    EXPECT_EQ(std::string_view(row.answers).size(), kCallers.size());
    EXPECT_TRUE(expected.emplace(row.method, row.pattern).second) << row.pattern << " twice";
  }
  for (const Api::Row& row : Api::rows()) there.emplace(row.method, row.pattern);
  EXPECT_EQ(expected, there);
}

// The rows of the table in doc/security.md: what is expected above, in the order of the code's own table.
std::string security_table() {
  // kCallers, in the order of the page.
  constexpr std::size_t kColumns[] = {3, 2, 1, 0, 8, 7, 6, 4, 5};
  std::string text =
      "| endpoint | socket: user | owner | operator | root | TCP: user | owner | operator | agent | root |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Api::Row& row : Api::rows())
    for (const Expectation& expected : kExpected) {
      if (row.method != expected.method || row.pattern != expected.pattern) continue;
      text += "| `" + std::string(row.method) + " " + std::string(row.pattern) + "` |";
      for (const std::size_t column : kColumns) text += expected.answers[column] == '+' ? " yes |" : " - |";
      text += "\n";
    }
  return text;
}

// To write it anew, run this test with SB_REWRITE=doc/security.md from the top folder.
TEST_F(ApiRoles, ThePageOfSecuritySaysWhatTheCodeDoes) {
  const std::string begin = "<!-- endpoints -->\n", end = "<!-- end of endpoints -->";
  std::ifstream file(SB_SOURCE "/doc/security.md");
  std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::size_t first = from + begin.size();
  const std::string kept = page.substr(first, to - first);
  if (const char* rewrite = std::getenv("SB_REWRITE"))
    std::ofstream(rewrite) << page.replace(first, to - first, security_table());
  EXPECT_EQ(kept, security_table()) << "run this test with SB_REWRITE=doc/security.md";
}

TEST_F(ApiRoles, RootOfAnotherHostIsToldWhomToAsk) {
  const Json told = body_of(ask("root@10.0.0.99", "GET", "/v1/cases/c1"));
  EXPECT_EQ(told["code"].as_string(), "denied");
  EXPECT_THAT(told["what"].as_string(), HasSubstr("root of another host"));
  EXPECT_THAT(told["remedy"].as_string(), HasSubstr("your own account"));
  EXPECT_THAT(told["remedy"].as_string(), HasSubstr("on the controller"));
}

TEST_F(ApiRoles, TheWordOfALabIsTakenInALabAlone) {
  lab_ = false;
  restart();
  const std::size_t before = journal_.events().size();
  const auto told =
      ask("root", "POST", "/v1/lab/truth", R"({"subject":"node:n1","kind":"lab_fault","body":{}})");
  EXPECT_EQ(told->response.status, 403);
  EXPECT_THAT(body_of(told)["cause"].as_string(), HasSubstr("SICKBAY_ROOT"));
  EXPECT_EQ(journal_.events().size(), before);
}

TEST_F(ApiRoles, ASiteMayRefuseSubmissionsFromOtherHosts) {
  api_->refuse_remote_submissions();
  const Json told = body_of(ask("alice@10.0.0.99", "POST", "/v1/cases", submission()));
  EXPECT_EQ(told["code"].as_string(), "denied");
  EXPECT_THAT(told["cause"].as_string(), HasSubstr("client.submit"));
  EXPECT_EQ(ask("alice", "POST", "/v1/cases", submission())->response.status, 201);
  EXPECT_EQ(ask("alice@10.0.0.99", "GET", "/v1/cases/c1")->response.status, 200);
}

TEST_F(ApiRoles, APartOfAStreamOverTcpSaysWhereToGoOn) {
  // Everything since the start is alice's: bob sees none of it, and must not read it again and again.
  const auto part = ask("bob@10.0.0.99", "GET", "/v1/events?subject=c1&follow=1");
  EXPECT_THAT(part->streamed, HasSubstr("\"position\""));
}

TEST_F(ApiRoles, OverTcpTheEventsAreFilteredAlike) {
  const auto events_of = [&](const std::string& user) {
    return ask(user, "GET", "/v1/events?subject=c1")->streamed;
  };
  EXPECT_THAT(events_of("alice@10.0.0.99"), HasSubstr("case_opened"));
  EXPECT_THAT(events_of("ops@10.0.0.99"), HasSubstr("case_opened"));
  EXPECT_EQ(events_of("bob@10.0.0.99").find("case_opened"), std::string::npos);
}

}  // namespace
}  // namespace sickbay
