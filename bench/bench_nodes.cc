// SPDX-License-Identifier: Apache-2.0
// GET /v1/nodes at size: 10,000 nodes, and cases with a verdict against one of them each, or open ones.
//
// What is measured is the answer alone, from the request to its JSON text, with a look at the nodes that is
// fresh: nothing is asked of slurmctld.  Each request comes behind an event, so that the list that is kept is
// an old one, and 20 ms after the answer to the one before: the loop answers nothing else meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/sim/sim_cluster.h"
#include "adapters/sim/sim_journal.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_processes.h"
#include "figure.h"
#include "service/api.h"
#include "service/case_store.h"
#include "service/effects.h"

namespace {

using namespace sickbay;

constexpr int kNodes = 10'000, kRequests = 200;

struct Reply : HttpReply {
  HttpResponse response;
  void respond(HttpResponse r) override { response = std::move(r); }
  void begin_stream(std::string) override {}
  bool write(std::string) override { return false; }
  void end() override {}
  void on_close(std::function<void()>) override {}
  bool is_open() const override { return true; }
};

struct NoStore : CaseStore {
  Status save(std::int64_t, const Submission&) override { return {}; }
  Result<Submission> load(std::int64_t) override { return fail(ErrorCode::not_found, ""); }
  Status remove(std::int64_t) override { return {}; }
  Result<std::vector<std::int64_t>> list() const override { return std::vector<std::int64_t>(); }
};

// Virtual time, but while a request is answered real time goes by.
struct RequestLoop : Loop {
  using Clock = bench::ThreadTime;  // it only computes, on a machine that others use, too
  explicit RequestLoop(sim::SimLoop& s) : sim(s) {}
  TimePoint now() const override {
    return sim.now() + (asked ? std::chrono::duration_cast<Micros>(Clock::now() - *asked) : Micros(0));
  }
  void post(std::function<void()> task) override { sim.post(std::move(task)); }
  TimerId at(TimePoint when, std::function<void()> task) override { return sim.at(when, std::move(task)); }
  void cancel(TimerId timer) override { sim.cancel(timer); }
  void watch(int, std::function<void()>) override {}
  void unwatch(int) override {}
  void run() override { sim.run(); }
  void stop() override { sim.stop(); }
  sim::SimLoop& sim;
  std::optional<std::chrono::steady_clock::time_point> asked;
};

Event event_of(std::int64_t no, std::string_view kind, Json body) {
  Event event;
  event.at = from_unix_seconds(1'700'000'000 + no);
  event.subject = case_name(no);
  event.kind = kind;
  event.body = std::move(body);
  return event;
}

// A journal of `cases` closed cases, each of which blames one node, and of so many open ones.
void fill(Journal& journal, int cases, int open) {
  std::vector<Event> events;
  for (std::int64_t no = 1; no <= cases; ++no) {
    identify::Verdict verdict;
    verdict.cause = identify::Cause::node;
    verdict.final = true;
    verdict.nodes = {fmt::format("n{}", 1 + no % kNodes)};
    events.push_back(event_of(no, identify::kCaseOpened,
                              Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()}})));
    events.push_back(event_of(no, kVerdict, verdict.to_json()));
    events.push_back(event_of(no, kCaseClosed, Json::object()));
  }
  for (std::int64_t no = cases + 1; no <= cases + open; ++no)
    events.push_back(event_of(no, identify::kCaseOpened,
                              Json::object({{"owner", Owner{"alice", 60001, 60001}.to_json()}})));
  bench::require(journal.append(events).has_value(), "the journal takes the cases");
}

struct Figures {
  double median = 0, p99 = 0;
};

Figures list_ms(int cases, int open = 0) {
  sim::SimLoop sim_loop;
  sim::SimCluster cluster(sim_loop, {.partitions = {{"batch", fmt::format("n[1-{}]", kNodes)}}});
  sim::SimJournal journal;
  fill(journal, cases, open);
  sim::SimProcesses processes(sim_loop, cluster);
  NoStore store;
  Config config;
  config.identify.bind_limit = std::chrono::hours(24 * 365 * 100);
  RequestLoop loop(sim_loop);
  Effects effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0});
  Seats seats(config);
  Controller controller(loop, journal, cluster, effects, seats, config);
  Api api(controller, store, cluster, {"bench", 1, loop.now()}, [](const Caller&) { return false; });
  bench::require(controller.replay().has_value(), "the journal is read");
  controller.start();
  sim_loop.run_until(sim_loop.now() + std::chrono::seconds(1));
  bench::require(controller.watch().nodes().size() == kNodes, "the nodes are there");

  std::vector<double> times;
  std::string body;
  for (int i = 0; i < kRequests; ++i) {
    controller.take({new_event("cluster", "note", Json::object())});
    sim_loop.run_until(sim_loop.now() + std::chrono::milliseconds(20));
    const auto reply = std::make_shared<Reply>();
    HttpRequest request;
    request.method = "GET";
    request.path = "/v1/nodes";
    request.caller.uid = 60001;
    loop.asked = RequestLoop::Clock::now();
    api.serve(std::move(request), reply);
    const auto took = RequestLoop::Clock::now() - *loop.asked;
    loop.asked.reset();
    sim_loop.run_until(sim_loop.now() + std::chrono::duration_cast<Micros>(took));
    if (reply->response.body.empty()) continue;  // it waits for a look at the nodes, which takes no real time
    times.push_back(std::chrono::duration<double, std::milli>(took).count());
    body = std::move(reply->response.body);
  }
  bench::require(times.size() > kRequests / 2, "most requests are answered at once");
  const Json list = Json::parse(body).value_or(Json());
  std::size_t blamed = 0;
  for (const Json& node : list["items"].items())
    blamed += node["verdicts"].size() + static_cast<std::size_t>(node["verdicts_more"].as_int());
  bench::require(blamed == static_cast<std::size_t>(cases), "each case is named or counted by its node");
  std::ranges::sort(times);
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

void print(const char* name, Figures figures) {
  bench::figure(name, figures.median, "ms");
  bench::figure(fmt::format("{}_p99", name).c_str(), figures.p99, "ms");
}

}  // namespace

int main() {
  print("list_no_cases", list_ms(0));
  print("list_10k_cases", list_ms(10'000));
  print("list_200k_cases", list_ms(200'000));
  print("list_10k_open", list_ms(0, 10'000));
  return 0;
}
