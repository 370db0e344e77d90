// SPDX-License-Identifier: Apache-2.0
#include "service/peer_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "model/slurm_state.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostPeerName = 64;  // of a specification, an operation
constexpr std::size_t kMostPeerWhy = 300;
constexpr std::chrono::seconds kPeerSweep{5};
constexpr std::chrono::seconds kPeerStateAge{60};

}  // namespace

PeerTests::PeerTests(Loop& loop, Controller& controller, std::function<void(const std::string&)> wake,
                     std::function<bool(const std::string&)> has_leave)
    : loop_(loop), controller_(controller), wake_(std::move(wake)), has_leave_(std::move(has_leave)) {}
PeerTests::~PeerTests() { loop_.cancel(timer_); }

bool PeerTests::is_heard(const std::string& node) const {
  const auto it = heard_.find(node);
  return it != heard_.end() && loop_.now() - it->second < kSilent;
}

// A word that was under way when a test began says nothing of it.
void PeerTests::hear(const std::string& node, PeerWord word) {
  const TimePoint now = loop_.now();
  heard_[node] = now;
  for (auto it = tests_.begin(); it != tests_.end();) {
    const auto test = it++;
    if (test->second.begun == kNoTime || now - test->second.begun < kUnderWay) continue;
    if (test->second.tester == node && word.testing != test->first)
      drop(test);
    else if (test->second.peer == node && word.serving != test->first && !test->second.ended) {
      test->second.ended = true;
      test->second.why = "the agent of " + node + " runs it no more";
    }
  }
}

Json PeerTests::news(const std::string& node, PeerWord has) const {
  const auto mine = std::ranges::find_if(
      tests_, [&](const auto& entry) { return entry.second.peer == node && !entry.second.ended; });
  if (mine == tests_.end()) return has.serving == 0 ? Json() : Json::object({{"session", 0}});
  // (What it is to begin it is told until it says so; of a helper that has begun and is no more hear()
  // knows.)
  if (has.serving == mine->first || mine->second.begun != kNoTime) return {};
  return Json::object({{"session", mine->first},
                       {"specification", mine->second.specification},
                       {"operation", mine->second.operation},
                       {"for", mine->second.tester}});
}

void PeerTests::take(const std::string& node, const Json& body, Done<Json> done) {
  const std::string& act = body["act"].as_string();
  if (act == "want") return want(node, body, std::move(done));
  if (act == "over") return over(node, body["session"].as_int(), std::move(done));
  if (act == "begun") return begun(node, body, std::move(done));
  if (act == "ended") return ended(node, body, std::move(done));
  done(fail(Error(ErrorCode::bad_input, "'act' is " + quote_for_message(act))
                .remedied_by("choose want, begun, ended or over")));
}

std::string PeerTests::objection(const std::string& node) const {
  if (!is_heard(node)) return "no agent is heard there that can run a helper";
  if (std::ranges::any_of(tests_, [&](const auto& entry) {
        return entry.second.peer == node || entry.second.tester == node;
      }))
    return "it is in a test of two nodes already";
  return has_leave_(node) ? "it makes active checks of its own" : "";
}

// The next one after the last: a peer that is sick itself is met once in a while, and not each time.
Result<std::string> PeerTests::choose(const std::string& tester, const std::string& wish) const {
  const auto& nodes = controller_.watch().nodes();
  if (!wish.empty()) {
    if (wish == tester || !nodes.contains(wish))
      return fail(ErrorCode::not_found, quote_for_message(wish) + " is no other node of this cluster");
    if (const std::string why = objection(wish); !why.empty())
      return fail(Error(ErrorCode::conflict, wish + " cannot be the peer").because(why));
    return wish;
  }
  std::vector<std::string> free;
  for (const auto& [name, info] : nodes) {
    const auto state = parse_node_state(info.state, info.flags);
    if (name != tester && state && is_idle(*state) && usable(*state) && objection(name).empty())
      free.push_back(name);
  }
  if (free.empty())
    return fail(Error(ErrorCode::conflict, "there is no peer")
                    .because("no other node is idle, in service and free for it"));
  const auto last = last_peer_.find(tester);
  const auto next = std::ranges::upper_bound(free, last == last_peer_.end() ? tester : last->second);
  return next == free.end() ? free.front() : *next;
}

void PeerTests::want(const std::string& node, const Json& body, Done<Json> done) {
  const std::string specification = body["specification"].as_string(),
                    operation = body["operation"].as_string();
  if (specification.empty() || operation.empty() || specification.size() > kMostPeerName ||
      operation.size() > kMostPeerName)
    return done(fail(ErrorCode::bad_input, "a test names the specification and the operation of its helper"));
  // One at a time: who asks again has forgotten the first.
  for (auto it = tests_.begin(); it != tests_.end();) {
    const auto test = it++;
    if (test->second.tester == node)
      fail_test(test, Error(ErrorCode::conflict, "another test was asked for"));
  }
  controller_.watch().with_nodes(
      kPeerStateAge, lifetime_.guard([this, node, specification, operation, wish = body["peer"].as_string(),
                                      done = std::move(done)](Status) {
        if (std::ranges::any_of(tests_, [&](const auto& entry) { return entry.second.peer == node; }))
          return done(fail(ErrorCode::conflict, "this node is the peer of another one just now"));
        auto peer = choose(node, wish);
        if (!peer) return done(fail(std::move(peer.error())));
        // Never one of the sickbayd before this one.
        last_ = std::max(last_ + 1, to_micros(loop_.now()));
        Test& test = tests_[last_];
        test.tester = node;
        test.peer = last_peer_[node] = *peer;
        test.specification = specification;
        test.operation = operation;
        test.asked = loop_.now();
        test.done = done;
        look_again();
        wake_(*peer);
      }));
}

void PeerTests::begun(const std::string& node, const Json& body, Done<Json> done) {
  const auto test = tests_.find(body["session"].as_int());
  if (test == tests_.end() || test->second.peer != node || test->second.ended)
    return done(fail(ErrorCode::not_found, "nobody waits for this helper any more"));
  if (test->second.begun == kNoTime) {
    test->second.begun = loop_.now();
    const auto info = controller_.watch().nodes().find(node);
    const std::string address = info == controller_.watch().nodes().end() || info->second.address.empty()
                                    ? node
                                    : info->second.address;
    std::exchange(test->second.done,
                  nullptr)(Json::object({{"session", test->first}, {"peer", node}, {"address", address}}));
  }
  done(Json::object({{"session", body["session"]}}));
}

void PeerTests::ended(const std::string& node, const Json& body, Done<Json> done) {
  const auto test = tests_.find(body["session"].as_int());
  if (test != tests_.end() && test->second.peer == node && !test->second.ended) {
    const std::string why(whole_characters(body["text"].as_string(), kMostPeerWhy));
    if (test->second.begun == kNoTime) {
      fail_test(test,
                Error(ErrorCode::conflict, fmt::format("the helper on {} has not begun", node)).because(why));
    } else {
      test->second.ended = true;
      if (!body["ok"].as_bool()) test->second.why = why.empty() ? "it failed" : why;
    }
  }
  done(Json::object({{"session", body["session"]}}));
}

void PeerTests::over(const std::string& node, std::int64_t session, Done<Json> done) {
  const auto test = tests_.find(session);
  if (test == tests_.end() || test->second.tester != node)
    return done(Json::object({{"whole", false}, {"why", "sickbayd knows of no helper any more"}}));
  std::string why = test->second.why;
  if (!test->second.ended && !is_heard(test->second.peer)) why = test->second.peer + " is not heard any more";
  drop(test);
  done(Json::object({{"whole", why.empty()}, {"why", why}}));
}

void PeerTests::drop(Tests::iterator test) {
  const std::string peer = test->second.peer;
  tests_.erase(test);
  wake_(peer);
}

void PeerTests::fail_test(Tests::iterator test, Error why) {
  const Done<Json> done = std::exchange(test->second.done, nullptr);
  drop(test);
  if (done) done(fail(std::move(why)));
}

void PeerTests::look_again() {
  if (timer_ != 0 || tests_.empty()) return;
  timer_ = loop_.at(loop_.now() + kPeerSweep, [this] {
    timer_ = 0;
    sweep();
    look_again();
  });
}

void PeerTests::sweep() {
  const TimePoint now = loop_.now();
  for (auto it = tests_.begin(); it != tests_.end();) {
    const auto test = it++;
    if (test->second.begun == kNoTime && now - test->second.asked >= kBegin)
      fail_test(test, Error(ErrorCode::timed_out, fmt::format("{} did not begin the helper within {} s",
                                                              test->second.peer, kBegin.count())));
    else if (!is_heard(test->second.tester))
      fail_test(test, Error(ErrorCode::timed_out, "the agent that tests is not heard any more"));
  }
}

}  // namespace sickbay
