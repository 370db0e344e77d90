// SPDX-License-Identifier: Apache-2.0
// GET /v1/nodes at size: 10,000 nodes, and cases with a verdict against one of them each.
//
// What is measured is the answer alone, from the request to its JSON text, with a look at the nodes that is
// fresh: nothing is asked of slurmctld.  The figures must not grow with the cases beyond the names of the
// cases themselves: the list is `sickbay nodes`, and the loop answers nothing else meanwhile.
#include <fmt/format.h>

#include <memory>

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

constexpr int kNodes = 10'000;

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
  void remove(std::int64_t) override {}
};

Event event_of(std::int64_t no, std::string_view kind, Json body) {
  Event event;
  event.at = from_unix_seconds(1'700'000'000 + no);
  event.subject = case_name(no);
  event.kind = kind;
  event.body = std::move(body);
  return event;
}

// A journal of `cases` closed cases, each of which blames one node.
void fill(Journal& journal, int cases) {
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
  bench::require(journal.append(events).has_value(), "the journal takes the cases");
}

double list_ms(int cases) {
  sim::SimLoop loop;
  sim::SimCluster cluster(loop, {.partitions = {{"batch", fmt::format("n[1-{}]", kNodes)}}});
  sim::SimJournal journal;
  fill(journal, cases);
  sim::SimProcesses processes(loop, cluster);
  NoStore store;
  Config config;
  Effects effects(loop, cluster, processes, store, config, {"#!/bin/sh\n", {}, 0, 0});
  Controller controller(loop, journal, cluster, effects, config);
  Api api(controller, store, cluster, {"bench", 1, loop.now()}, [](const Caller&) { return false; });
  bench::require(controller.replay().has_value(), "the journal is read");
  controller.start();
  loop.run_until(loop.now() + std::chrono::seconds(1));
  bench::require(controller.watch().nodes().size() == kNodes, "the nodes are there");

  auto reply = std::make_shared<Reply>();
  const double ms = bench::median_ms(
      5, [&] { reply = std::make_shared<Reply>(); },
      [&] {
        HttpRequest request;
        request.method = "GET";
        request.path = "/v1/nodes";
        request.caller.uid = 60001;
        api.serve(std::move(request), reply);
      });
  const Json list = Json::parse(reply->response.body).value_or(Json());
  std::size_t blamed = 0;
  for (const Json& node : list["items"].items()) blamed += node["verdicts"].size();
  bench::require(blamed == static_cast<std::size_t>(cases), "each case is named by its node");
  return ms;
}

}  // namespace

int main() {
  bench::figure("list_no_cases", list_ms(0), "ms");
  bench::figure("list_10k_cases", list_ms(10'000), "ms");
  bench::figure("list_200k_cases", list_ms(200'000), "ms");
  return 0;
}
