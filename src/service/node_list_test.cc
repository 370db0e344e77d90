// SPDX-License-Identifier: Apache-2.0
// The list of nodes is written as text; here the same list is made as a JSON value, member by member, as it
// is described in doc/formats/api.md, and the two are compared after each act of random stories.
#include "service/node_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "base/json_text.h"
#include "engine/drain/parts.h"
#include "engine/identify/blame.h"
#include "engine/identify/suspects.h"
#include "model/ids.h"
#include "model/slurm_state.h"
#include "service/api_call.h"
#include "service/api_test_parts.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;

Json slow_service(const drain::Known& known, const std::string& name) {
  const auto it = known.state.nodes.find(name);
  const bool is = it != known.state.nodes.end();
  std::vector<drain::Reason> told;
  if (is)
    for (const auto& [source, r] : it->second.reasons) told.push_back(r);
  std::size_t more = 0;
  if (told.size() > NodeList::kListed) {
    std::ranges::stable_sort(told, {}, &drain::Reason::since);
    more = told.size() - NodeList::kListed;
    // The oldest that stands takes the place of the oldest that would be told.
    for (std::size_t i = 0; i < more; ++i)
      if (told[i].gone_at == kNoTime) {
        told[more] = told[i];
        break;
      }
    told.erase(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(more));
  }
  Json reasons = Json::array();
  for (const drain::Reason& r : told)
    reasons.push(Json::object({{"source", r.source},
                               {"rule", r.rule},
                               {"action", r.action},
                               {"text", r.text},
                               {"since", to_micros(r.since)},
                               {"gone", to_micros(r.gone_at)},
                               {"observed", r.observed}}));
  return Json::object({{"standing", drain::standing(known, name)},
                       {"reasons", std::move(reasons)},
                       {"reasons_more", more},
                       {"since", to_micros(is && it->second.ours ? it->second.drained_at : kNoTime)},
                       {"refused", is ? it->second.refused : std::string()},
                       {"wish", drain::wish_text(known, name)},
                       {"gate", drain::gate_text(known, name)},
                       {"kept", drain::kept_text(known, name)},
                       {"observe_only", !known.policy.act}});
}

Json slow_verified(const identify::State& state, const std::string& name) {
  const auto words = state.words.find(name);
  if (words == state.words.end() || words->second.empty()) return {};
  const identify::Word& last = words->second.back();
  return Json::object(
      {{"result", last.result}, {"reason", last.reason}, {"by", last.run}, {"at", to_micros(last.began)}});
}

// The newest of a node's cases, and how many others there are.
void set_slow_cases(Json& item, const identify::State& state, std::size_t most) {
  const std::string& name = item["name"].as_string();
  const auto& all = identify::blamers(state, name);
  const auto suspicions = identify::suspected_in(state, name);
  Json verdicts = Json::array(), suspect = Json::array();
  std::size_t verdicts_more = all.size(), suspect_more = suspicions.size();  // that come behind this one
  for (const std::int64_t no : all)
    if (verdicts_more-- <= most) verdicts.push(case_name(no));
  for (const auto& [no, at] : suspicions)
    if (suspect_more-- <= most) suspect.push(Json::object({{"case", case_name(no)}, {"at", to_micros(at)}}));
  item.set("verdicts", verdicts).set("verdicts_more", all.size() - verdicts.size());
  item.set("suspect", suspect).set("suspect_more", suspicions.size() - suspect.size());
}

std::string slow_list(const Controller& controller, const Agents* agents, bool stale) {
  const auto& seats = controller.seats();
  const TimePoint now = controller.now();
  const identify::State& cases = seats.cases().state();
  const auto odd = fleet::views(seats.fleet().state());
  Json items = Json::array();
  for (const auto& [name, node] : controller.watch().nodes()) {
    Json item = node.to_json();
    for (const auto& [partition, pool] : seats.nonstop().state().pools)
      if (pool.members.contains(name)) item.set("spare", partition);
    const auto state = parse_node_state(node.state, node.flags);
    item.set("usable", state && usable(*state));
    item.set("agent", agents != nullptr ? agents->view(name) : Json());
    item.set("findings", agents != nullptr ? agents->findings(name) : Json::array());
    set_slow_cases(item, cases, NodeList::kListed);
    item.set("service", slow_service(seats.drains().known(now), name));
    item.set("claim", claim_view(controller, node_subject(name)));
    item.set("silent", detect::complaint_view(seats.detects().state(), name, now));
    item.set("verified", slow_verified(cases, name));
    const auto differs = odd.find(name);
    item.set("odd", differs == odd.end() ? Json::array() : differs->second);
    item.set("jobs_fail", blackhole::suspicion_view(seats.blackholes().state(), name));
    items.push(std::move(item));
  }
  return Json::object({{"items", std::move(items)}, {"next", Json()}, {"stale", stale}}).dump() + "\n";
}

class NodeListTest : public ApiTest {
 protected:
  NodeListTest() {
    config_.drain.act = config_.drain.reboot = true;
    restart();
  }
  void say(const std::string& subject, std::string_view kind, Json body) {
    controller_->take({new_event(subject, kind, std::move(body))});
  }
  std::string any_node() { return "n" + std::to_string(1 + random_() % 6); }
  std::string any(std::initializer_list<const char*> words) {
    return words.begin()[random_() % words.size()];
  }

  void act();
  void finding();
  void verdict();

  std::mt19937 random_{1};
  int findings_ = 0, cases_ = 0;
};

void NodeListTest::finding() {
  say("f" + std::to_string(++findings_), kFinding,
      Json::object({{"node", any_node()},
                    {"boot_id", any({"b1", "b2"})},
                    {"specification", "node"},
                    {"rule", any({"disk", "memory", "fan"})},
                    {"result", any({"fault", "fault", "ok", "unknown"})},
                    {"action", any({"none", "notify", "drain", "reboot", "power_off"})},
                    {"text", any({"the disk is gone", "a \"quoted\" word", "caf\xc3\xa9 \x01\xff\n"})}}));
}

void NodeListTest::verdict() {
  const std::string name = case_name(100 + (cases_++ % 5));
  say(name, identify::kCaseOpened, Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()}}));
  identify::Verdict v;
  v.cause = random_() % 3 == 0 ? identify::Cause::program : identify::Cause::node;
  v.final = random_() % 2 == 0;
  if (v.cause == identify::Cause::node) v.nodes = {any_node(), any_node()};
  say(name, kVerdict, v.to_json());
  if (random_() % 2 == 0) say(name, kCaseClosed, Json::object());
}

void NodeListTest::act() {
  const std::string node = any_node();
  switch (random_() % 13) {
    case 0:
      return cluster_.set_down(node, any({"", "Not responding", "by hand"}));
    case 1:
      return cluster_.set_drain(node, "disk \"exchange\"");
    case 2:
      return cluster_.cut_node(node);
    case 3:
    case 4:
      return cluster_.heal(node);
    case 5:
      return verdict();
    case 6:
      return daemon_->agents.hello(node,
                                   Json::object({{"boot_id", "b1"},
                                                 {"version", any({"1", "2"})},
                                                 {"digests", Json::object({{"rules", any({"x", "y"})}})},
                                                 {"mode", "act"},
                                                 {"period", "quick"}}),
                                   [](Result<Json>) {});
    case 7:
      return say(
          node_subject(node), detect::kNodeSilent,
          Json::object({{"job", 17}, {"group", 6}, {"by", Json(std::vector<std::string>{any_node()})}}));
    case 8:
      return say("fleet", kFleetOdd,
                 Json::object({{"key", any({"a", "b"})},
                               {"what", "odd"},
                               {"fact", "mount:/home"},
                               {"nodes", node},
                               {"severity", any({"warn", "drain"})},
                               {"text", "lacks /home"},
                               {"over", random_() % 3 == 0}}));
    case 9:
      return say("p3", kVerified,
                 Json::object({{"run", "p3.v1"},
                               {"began", to_micros(loop_.now())},
                               {"alone", true},
                               {"results", Json::array({Json::object({{"node", node},
                                                                      {"peer", ""},
                                                                      {"result", any({"ok", "failed"})},
                                                                      {"fault", ""},
                                                                      {"reason", "why"}})})}}));
    case 10:
      (void)ask("ops", "POST", "/v1/undo-drains", Json::object({{"nodes", node}}).dump());
      return;
    case 11:
      return say(node_subject(node), kBlackHoleSuspected, Json::object({{"sentence", "jobs fail"}}));
    default:
      return finding();
  }
}

TEST_F(NodeListTest, SaysWhatAListOfValuesSays) {
  // What the stories must have shown, so that it was compared.
  std::set<std::string> missing{"\"out\"",
                                "\"jobs_fail\":{",
                                "\"waits\"",
                                "\"result\":\"failed\"",
                                "\"set_down\"",
                                "{\"rules\":",
                                "\"fact\":\"mount:/home\"",
                                "\"verdicts\":[\"",
                                "\"verdicts_more\":1,",
                                "\"wish\":\"to be rebooted",
                                "\"rule\":\"node/disk\"",
                                "\"observed\":true"};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    random_.seed(seed);
    NodeList kept(*controller_);  // with the rows of the list before
    for (int i = 0; i < 40; ++i) {
      act();
      pass(std::chrono::seconds(random_() % 2 == 0 ? 3 : 200));
      (void)ask("alice", "GET", "/v1/nodes");  // has somebody look at them
      const bool stale = random_() % 2 == 0;
      const Agents* const agents = random_() % 4 == 0 ? nullptr : &daemon_->agents;
      const std::string slow = slow_list(*controller_, agents, stale);
      EXPECT_EQ(NodeList(*controller_).text(stale, agents), slow) << "seed " << seed << ", act " << i;
      // (What is kept is told for another 2 s; these have passed.)
      EXPECT_EQ(kept.text(stale, agents), slow) << "seed " << seed << ", act " << i;
      if (HasFailure()) return;
      std::erase_if(missing, [&](const std::string& told) { return slow.find(told) != std::string::npos; });
    }
    restart();
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

// Two hundred thousand cases on ten thousand nodes are megabytes of names that nobody reads in a list.
TEST_F(NodeListTest, HasTheNewestCasesOfANodeAndANodeAloneHasAll) {
  const auto blame = [&](std::int64_t no) {
    identify::Verdict v;
    v.cause = identify::Cause::node;
    v.final = true;
    v.nodes = {"n3"};
    say(case_name(no), identify::kCaseOpened,
        Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()}}));
    say(case_name(no), kVerdict, v.to_json());
    say(case_name(no), kCaseClosed, Json::object());
    pass(50ms);
  };
  const auto in_list = [&] {
    pass(3s);
    const Json list = body_of(ask("alice", "GET", "/v1/nodes"));
    for (const Json& item : list["items"].items())
      if (item["name"].as_string() == "n3") return item;
    return Json();
  };
  for (std::int64_t no = 1; no <= 3; ++no) blame(no);
  EXPECT_EQ(in_list()["verdicts"].dump(), R"(["c1","c2","c3"])");
  EXPECT_EQ(in_list()["verdicts_more"].as_int(), 0);
  for (std::int64_t no = 4; no <= 20; ++no) blame(no);
  EXPECT_EQ(in_list()["verdicts"].dump(), R"(["c18","c19","c20"])");
  EXPECT_EQ(in_list()["verdicts_more"].as_int(), 17);
  // Each verdict is a reason to leave.
  EXPECT_EQ(in_list()["service"]["reasons"].size(), NodeList::kListed);
  EXPECT_EQ(in_list()["service"]["reasons"].items()[0]["source"].as_string(), "c1") << "as Slurm has it";
  EXPECT_EQ(in_list()["service"]["reasons"].items()[2]["source"].as_string(), "c20");
  EXPECT_EQ(in_list()["service"]["reasons_more"].as_int(), 17);
  EXPECT_EQ(NodeList(*controller_).text(false, nullptr), slow_list(*controller_, nullptr, false));

  const Json alone = body_of(ask("alice", "GET", "/v1/nodes/n3"));
  EXPECT_EQ(alone["name"].as_string(), "n3");
  EXPECT_EQ(alone["verdicts"].size(), 20U);
  EXPECT_EQ(alone["verdicts_more"].as_int(), 0);
  EXPECT_EQ(alone["service"]["reasons"].size(), 20U);
  EXPECT_EQ(alone["service"]["reasons_more"].as_int(), 0);
  EXPECT_FALSE(alone["stale"].as_bool());
  Json listed = in_list();
  for (const auto& [name, value] : listed.members())
    if (!name.starts_with("verdicts") && name != "service") {
      EXPECT_EQ(alone[name].dump(), value.dump()) << name;
    }
  EXPECT_EQ(ask("alice", "GET", "/v1/nodes/n33")->response.status, 404);
}

}  // namespace
}  // namespace sickbay
