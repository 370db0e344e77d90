// SPDX-License-Identifier: Apache-2.0
// Why a job waits, whatever its owner wrote: five lines are the constraint, a node's features, the devices
// wanted, a node's devices, and the dependency.  Every job gets an answer, and no node is lost in the
// sorting.
#include <algorithm>
#include <array>

#include "engine/pending/dependency_text.h"
#include "engine/pending/explain.h"
#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  std::array<std::string, 5> line;
  std::size_t n = 0;
  for (const char c : fuzz::as_text(bytes, size)) {
    if (c == '\n') ++n;
    if (n == line.size()) break;
    if (c != '\n') line[n] += c;
  }
  const auto met = meets_constraint(line[0], line[1]);
  const auto none = meets_constraint(line[0], "");
  SB_CHECK(met.has_value() == none.has_value(), "whether it can be read is not a matter of the node");
  SB_CHECK(!none.value_or(false), "a node without features meets no constraint");
  if (met)
    SB_CHECK(meets_constraint("(" + line[0] + ")", line[1]).value_or(*met) == *met,
             "brackets change nothing");

  PendingFacts facts;
  facts.job_id = 17;
  facts.state = "PENDING";
  facts.request.features = line[0];
  facts.request.devices = line[2];
  facts.request.dependency = line[4];
  std::vector<NodeOffer> offers(2);
  offers[0].name = "n1", offers[1].name = "n2";
  offers[0].features = line[1];
  offers[0].devices = line[3];
  facts.nodes = sort_nodes(facts.request, offers);
  std::uint32_t sorted = 0;
  for (const PendingNodes& group : facts.nodes) sorted += group.count;
  SB_CHECK(sorted == offers.size(), "every node is in one group");

  for (const std::string_view reason : {std::string_view("Resources"), std::string_view("Dependency"),
                                        std::string_view("Licenses"), std::string_view(line[4])}) {
    facts.reason = reason;
    const auto explanation = pending::explain(facts, from_unix_seconds(1'795'000'000));
    SB_CHECK(!explanation.hindrances.empty() && explanation.sentence.starts_with("Job 17 "),
             "there is an answer");
  }
  return 0;
}
