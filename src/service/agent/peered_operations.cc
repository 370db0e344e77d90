// SPDX-License-Identifier: Apache-2.0
#include "service/agent/peered_operations.h"

#include <utility>

#include "base/error_words.h"

namespace sickbay::agent {
namespace {

OperationEnd unknown(std::string why) {
  OperationEnd end;
  end.text = std::move(why);
  return end;
}

}  // namespace

struct PeeredOperations::Test {
  OperationCall call;
  std::function<void(OperationEnd)> done;
  std::int64_t session = 0;
  bool begun = false;  // sickbayd was asked
  bool over = false;   // whoever wanted it has his answer
};

void PeeredOperations::run(OperationCall call, std::function<void(OperationEnd)> done) {
  if (!call.peer) return inner_.run(std::move(call), std::move(done));
  if (!post_)
    return loop_.post([done = std::move(done)] {
      done(unknown("no sickbayd is named here (controller.host) that could find a peer"));
    });
  auto test = std::make_shared<Test>();
  test->call = std::move(call);
  test->done = std::move(done);
  // Until it runs; then its runner has a better way.
  if (test->call.early_end)
    test->call.early_end->on_ask(lifetime_.guard([this, test] {
      loop_.post(lifetime_.guard([this, test] { finish(test, unknown("it was ended before it began")); }));
    }));
  tests_.push_back(std::move(test));
  if (tests_.size() == 1) begin();
}

std::int64_t PeeredOperations::session() const { return tests_.empty() ? 0 : tests_.front()->session; }

void PeeredOperations::begin() {
  const std::shared_ptr<Test> test = tests_.front();
  test->begun = true;
  const OperationCall::Peer& peer = *test->call.peer;
  post_(Json::object({{"act", "want"},
                      {"specification", peer.specification},
                      {"operation", peer.operation},
                      {"peer", peer.node}}),
        lifetime_.guard([this, test](Result<Json> answer) {
          if (!answer) return finish(test, unknown(what_and_cause(answer.error())));
          test->session = (*answer)["session"].as_int();
          // Nobody waits for it any more: sickbayd is told, and so the helper ends.
          if (test->over) return settle(test, {});
          run_with(test, *answer);
        }));
}

void PeeredOperations::run_with(const std::shared_ptr<Test>& test, const Json& peer) {
  OperationCall call = test->call;
  call.peer.reset();
  call.inputs.set("peer", peer["address"]);
  call.input_names.emplace_back("peer");
  inner_.run(std::move(call),
             lifetime_.guard([this, test](OperationEnd end) { settle(test, std::move(end)); }));
}

void PeeredOperations::settle(const std::shared_ptr<Test>& test, OperationEnd end) {
  post_(Json::object({{"act", "over"}, {"session", test->session}}),
        lifetime_.guard([this, test, end = std::move(end)](Result<Json> answer) {
          OperationEnd told = end;
          if (!answer || !(*answer)["whole"].as_bool()) {
            told = unknown("its helper was not there to the end: " +
                           (answer ? (*answer)["why"].as_string() : what_and_cause(answer.error())));
            told.cpu = end.cpu;
            told.wall = end.wall;
          }
          finish(test, std::move(told));
        }));
}

// A test that was ended while sickbayd is asked for its peer keeps its place until that is answered.
void PeeredOperations::finish(const std::shared_ptr<Test>& test, OperationEnd end) {
  const bool waits_for_answer = test->begun && !test->over && test->session == 0 && test->call.early_end &&
                                test->call.early_end->asked();
  if (!std::exchange(test->over, true)) test->done(std::move(end));
  if (waits_for_answer) return;
  std::erase(tests_, test);
  if (!tests_.empty() && !tests_.front()->begun) begin();
}

}  // namespace sickbay::agent
