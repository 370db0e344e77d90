// SPDX-License-Identifier: Apache-2.0
// The comparison of a fleet at size: 10,000 nodes of four kinds, 40 facts each.
//
// One report is what an agent sends when something has changed; one comparison is what sickbayd does once
// after such changes.  An upgrade that rolls through all nodes is counted in records: the journal must not
// grow with the nodes.
#include <fmt/format.h>

#include "engine/fleet/fleet.h"
#include "figure.h"
#include "model/ids.h"

namespace {

using namespace sickbay;

constexpr int kNodes = 10'000, kRuns = 11;

Json facts_of(int node, const char* kernel) {
  const int kind = node % 4;
  Json facts = Json::object({{"arch", "x86_64"},
                             {"cpu", fmt::format("Chip {}", kind)},
                             {"cores", std::to_string(32 << kind)},
                             {"memory_mib", std::to_string(191'800 + node % 7)},
                             {"kernel", kernel},
                             {"link:eth0", "25000"}});
  for (int i = 0; i < 12; ++i) facts.set(fmt::format("mount:/data{}", i), "nfs4");
  for (int i = 0; i < 22; ++i) facts.set(fmt::format("version:p{}", i), fmt::format("1.{}", i));
  return Json::object({{"facts", std::move(facts)}});
}

Event report(int node, const char* kernel, TimePoint at) {
  Event event = new_event(node_subject(fmt::format("n{}", node)), fleet::kFactsSeen, facts_of(node, kernel));
  event.at = at;
  return event;
}

}  // namespace

int main() {
  using bench::figure;
  using bench::ThreadTime;
  fleet::State state;
  const cluster::View view;
  const fleet::Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  for (int node = 1; node <= kNodes; ++node) (void)fleet::apply(state, view, report(node, "6.1.0-28", now));
  now += std::chrono::minutes(10);

  figure("report",
         bench::median_ms<ThreadTime>(
             kRuns, [] {}, [&] { (void)fleet::apply(state, view, report(77, "6.1.0-28", now)); }),
         "ms");
  fleet::Decision decision;
  figure("comparison",
         bench::median_ms<ThreadTime>(
             kRuns, [] {}, [&] { decision = fleet::decide(state, policy, now); }),
         "ms");
  figure("records_of_equal_nodes", static_cast<double>(decision.records.size()), "records");

  std::size_t records = 0;
  for (int node = 1; node <= kNodes; ++node) {
    now += std::chrono::seconds(1);
    (void)fleet::apply(state, view, report(node, "6.1.0-29", now));
    if (node % 50 != 0) continue;
    for (Event& record : fleet::decide(state, policy, now).records) {
      ++records;
      record.at = now;
      (void)fleet::apply(state, view, record);
    }
  }
  figure("records_of_an_upgrade", static_cast<double>(records), "records");
  if (decision.records.empty() && records == 1) return 0;
  std::fputs("bench_fleet: equal nodes were told of, or an upgrade not once\n", stderr);
  return 1;
}
