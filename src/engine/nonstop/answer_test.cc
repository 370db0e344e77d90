// SPDX-License-Identifier: Apache-2.0
// Every request in every state of its node and job, and what it is told; and who may ask.
#include "engine/nonstop/answer.h"

#include <functional>

#include "engine/nonstop/nonstop_test_parts.h"

namespace sickbay::nonstop {
namespace {

using C = wire::Command;

struct Row {
  const char* state;
  std::function<void(World&)> make;
  const char *replace, *drop, *extend, *fail_nodes;
};

void waiting(World& w) {
  w.nodes("n2", "DOWN");
  w.replace({"n2"});
  w.failed("busy");
  w.done(World::donor({}));
}

const Row kRows[] = {
    // state of n2 and its job                 make                                     REPLACE DROP TIME_INCR
    // 1             GET_FAIL_NODES
    {"well", [](World&) {}, "ENODENOTFAIL", "ENODENOTFAIL", "ENOINCREASETIMELIMIT", "ENOERROR"},
    {"failed", [](World& w) { w.nodes("n2", "DOWN"); }, "wait", "ENOERROR", "wait", "ENOERROR"},
    {"failing", [](World& w) { w.nodes("n2", "ALLOCATED+FAIL"); }, "wait", "wait", "ENOINCREASETIMELIMIT",
     "ENOERROR"},
    {"another's",
     [](World& w) {
       w.job(17, {"n1", "n3"});
     },
     "ENODENOCPU", "NODENOTINJOB", "ENOINCREASETIMELIMIT", "ENOERROR"},
    {"waits for its replacement", waiting, "EREPLACELATER", "ENOERROR", "wait", "ENOERROR"},
    {"replaced",
     [](World& w) {
       w.nodes("n2", "DOWN");
       w.replace({"n2"});
       w.done(World::donor({"n4"}));
       w.done(World::set({"n1", "n3", "n4"}));
     },
     "ENOERROR", "NODENOTINJOB", "wait", "ENOERROR"},
    {"dropped",
     [](World& w) {
       w.nodes("n2", "DOWN");
       w.drop({"n2"});
     },
     "ENODENOCPU", "ENOERROR", "wait", "ENOERROR"},
    {"another is replaced",
     [](World& w) {
       w.nodes("n[2-3]", "DOWN");
       w.replace({"n3"});
     },
     "EREPLACEPENDING", "ENOERROR", "wait", "ENOERROR"},
    {"failed, too many replaced",
     [](World& w) {
       w.policy.config.max_spare_nodes = 1;
       w.nodes("n3", "DOWN");
       w.replace({"n3"});
       w.done(World::donor({"n4"}));
       w.done(World::set({"n1", "n2", "n4"}));
       w.nodes("n2", "DOWN");
     },
     "EMAXSPARECOUNT", "ENOERROR", "wait", "ENOERROR"},
    {"failing, with the batch script",
     [](World& w) {
       w.job(17, {"n1", "n2", "n3"}, 61, kNoTime, "n2");
       w.nodes("n2", "ALLOCATED+FAIL");
     },
     "ENODEREPLACEFAIL", "EJOBUPDATE", "ENOINCREASETIMELIMIT", "ENOERROR"},
    {"failed, of a het job",
     [](World& w) {
       w.job(17, {"n1", "n2", "n3"}, 61, kNoTime, "", 16);
       w.nodes("n2", "DOWN");
     },
     "ENODEREPLACEFAIL", "ENOERROR", "wait", "ENOERROR"},
    {"Slurm says no",
     [](World& w) {
       w.nodes("n2", "DOWN");
       w.replace({"n2"});
       w.failed("conflict", "permit_job_expansion");
     },
     "wait", "ENOERROR", "wait", "ENOERROR"},
    {"the job has ended", [](World& w) { w.over(17); }, "EJOBNOTRUN", "EJOBNOTRUN", "EJOBNOTRUN",
     "EJOBNOTRUN"},
    {"the job has ended, its donor not yet",
     [](World& w) {
       waiting(w);
       w.over(17);
     },
     "EJOBNOTRUN", "EJOBNOTRUN", "EJOBNOTRUN", "EJOBNOTRUN"},
    {"nobody knows the job",
     [](World& w) {
       w.over(17);
       w.pass(2s);
       w.state.ended.clear();
     },
     "look", "look", "look", "look"},
};

TEST(NonstopAnswer, EveryRequestInEveryState) {
  for (const Row& row : kRows) {
    const auto in = [&](auto ask) {
      World w;
      row.make(w);
      return w.code(ask(w));
    };
    EXPECT_EQ(in([](World& w) { return w.replace({"n2"}); }), row.replace) << row.state;
    EXPECT_EQ(in([](World& w) { return w.drop({"n2"}); }), row.drop) << row.state;
    EXPECT_EQ(in([](World& w) { return w.extend(1); }), row.extend) << row.state;
    EXPECT_EQ(in([](World& w) { return w.ask(C::get_fail_nodes); }), row.fail_nodes) << row.state;
  }
}

TEST(NonstopAnswer, WhoMayAskWhat) {
  struct Who {
    std::uint32_t uid;
    C command;
    const char* code;
  };
  const Who rows[] = {
      {1001, C::get_fail_nodes, "ENOERROR"},
      {0, C::get_fail_nodes, "ENOERROR"},
      {1002, C::get_fail_nodes, "EPERM"},
      {1001, C::show_job, "ENOERROR"},
      {0, C::show_job, "ENOERROR"},
      {1002, C::show_job, "EPERM"},
      {1001, C::callback, "ENOERROR"},
      {0, C::callback, "ENOERROR"},
      {1002, C::callback, "EPERM"},
      {1001, C::events, "ENOERROR"},
      {0, C::events, "ENOERROR"},
      {1002, C::events, "EPERM"},
      {1001, C::time_incr, "wait"},
      {0, C::time_incr, "wait"},
      {1002, C::time_incr, "EPERM"},
      {1001, C::replace_node, "wait"},
      {0, C::replace_node, "wait"},
      {1002, C::replace_node, "EPERM"},
      {1001, C::drop_node, "ENOERROR"},
      {0, C::drop_node, "ENOERROR"},
      {1002, C::drop_node, "EPERM"},
      {1001, C::show_config, "ENOERROR"},
      {0, C::show_config, "ENOERROR"},
      {1002, C::show_config, "ENOERROR"},
      {1001, C::drain, "EPERM"},
      {0, C::drain, "wait"},
      {1002, C::drain, "EPERM"},
  };
  for (const Who& who : rows) {
    World w;
    w.nodes("n2", "DOWN");
    const auto a = w.ask(who.command, {who.command == C::drain ? "n3" : "n2"}, 0, who.uid);
    EXPECT_EQ(w.code(a), who.code) << wire::command_name(who.command) << " by " << who.uid;
  }
}

TEST(NonstopAnswer, DrainsAreForThoseNamedAndTheirOwnNodes) {
  World w;
  EXPECT_FALSE(may_drain(w.policy.config, {1001, "alice", false, ""}));
  w.policy.config.drain_allow.all = true;
  w.policy.config.drain_deny.names = {"bob", "1003"};
  EXPECT_TRUE(may_drain(w.policy.config, {1001, "alice", false, ""}));
  EXPECT_FALSE(may_drain(w.policy.config, {1002, "bob", false, ""}));
  EXPECT_FALSE(may_drain(w.policy.config, {1003, "", false, ""}));
  EXPECT_EQ(w.code(w.ask(C::drain, {"n7"})), "EPERM") << "no job of his is there";
  EXPECT_EQ(w.code(w.ask(C::drain, {"n77"})), "EUPDNODE") << "the plugin's";
  EXPECT_EQ(w.code(w.ask(C::drain, {"n3"})), "wait");
}

TEST(NonstopAnswer, ACallbackIsKeptAndCleared) {
  World w;
  auto a = w.ask(C::callback);
  a.request.port = 7000;
  for (Event& event : w.again(a).events) w.say(std::move(event));
  EXPECT_EQ(w.of_job().callbacks.at("10.0.0.9"), 7000);
  EXPECT_TRUE(w.again(a).events.empty());
  a.request.port = 0;
  for (Event& event : w.again(a).events) w.say(std::move(event));
  EXPECT_TRUE(w.of_job().callbacks.empty());
}

TEST(NonstopAnswer, TwoClientsWhoAskAtOnceShareOneRequest) {
  World w;
  w.nodes("n2", "DOWN");
  World::Asked a = w.ask(C::show_job), b = a;
  a.request.command = b.request.command = C::replace_node;
  a.request.names = b.request.names = {"n2"};
  a.token = "a", b.token = "b";
  // Both are answered before either's event is taken.
  auto first = w.again(a).events, second = w.again(b).events;
  for (auto* events : {&first, &second})
    for (Event& event : *events) w.take(std::move(event));
  w.settle();
  EXPECT_EQ(w.doing(), "allocate_donor");
  w.done(World::donor({"n4"}));
  w.done(World::set({"n1", "n3", "n4"}));
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_EQ(w.code(b), "ENOERROR");
  EXPECT_EQ(w.of_job().replaced_count, 1);
}

TEST(NonstopAnswer, WhoHasWaitedEnoughIsToldLater) {
  World w;
  waiting(w);
  wire::Request request;
  request.job = 17;
  request.command = C::replace_node;
  EXPECT_EQ(later(w.state, request).code, Code::ereplacelater);
  request.command = C::time_incr;
  EXPECT_EQ(later(w.state, request).code, Code::ejobupdate);
}

}  // namespace
}  // namespace sickbay::nonstop
