// SPDX-License-Identifier: Apache-2.0
// A run as text: the names of its states, and the whole for replay equality.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/diagnose/run.h"

namespace sickbay::diagnose {
namespace {

constexpr std::string_view kPhases[] = {"before", "examine", "repair", "verify", "last", "over"};
constexpr std::string_view kEntries[] = {"predicate",    "operation", "unknown", "overwritten",
                                         "budget_spent", "initial",   "stopped", "refused"};
constexpr std::string_view kTruths[] = {"false", "true", "unknown"};

}  // namespace

std::string_view to_string(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }
std::string_view to_string(JournalEntry::Kind kind) { return kEntries[static_cast<std::size_t>(kind)]; }
std::string_view to_string(Truth truth) { return kTruths[static_cast<std::size_t>(truth)]; }

std::string canonical_text(const Run& run) {
  const Specification& s = run.rules->specification;
  std::string out = fmt::format("phase {} step {} stopped {}\n", to_string(run.phase), run.step, run.stopped);
  for (const Permit* permit : {&run.permits.repair, &run.permits.stress, &run.permits.active})
    out += permit->given ? "permitted\n" : fmt::format("not permitted: {}\n", permit->why);
  for (std::size_t z = 0; z < run.facts.size(); ++z) {
    const Fact& fact = run.facts[z];
    if (fact.state == Fact::State::none) continue;
    out += fmt::format("fact {} = {} from {} {}\n", s.characteristics[z].name,
                       fact.state == Fact::State::known ? sickbay::to_json(fact.value).dump() : "unknown",
                       static_cast<int>(fact.source), fact.why);
  }
  for (const Instance& i : run.instances)
    out +=
        fmt::format("instance {} of {} in {}: state {} spent {} refused {} from {} to {} result {} {} {}\n",
                    s.operations[i.operation].name, s.productions[i.production].name, to_string(i.phase),
                    static_cast<int>(i.state), i.budget_spent, i.refused, to_micros(i.started_at),
                    to_micros(i.ended_at), static_cast<int>(i.result), i.text, i.values.dump());
  out += fmt::format("queue {}\nrunning {}\n", fmt::join(run.queue, " "), fmt::join(run.running, " "));
  for (std::size_t p = 0; p < run.fired.size(); ++p)
    if (run.fired[p]) out += fmt::format("fired {}\n", s.productions[p].name);
  for (std::size_t c = 0; c < run.truths.size(); ++c)
    if (run.derived.evaluated[c])
      out += fmt::format("predicate {} {}\n", s.predicates[c].name, to_string(run.truths[c]));
  for (const auto& [o, runs] : run.unknown_runs)
    out += fmt::format("unknown {} {}\n", s.operations[o].name, runs);
  for (const auto& [o, runs] : run.spent) out += fmt::format("spent {} {}\n", s.operations[o].name, runs);
  for (const JournalEntry& e : run.journal)
    out += fmt::format("journal {} {} step {} {} {} {}\n", to_micros(e.at), to_string(e.kind), e.step, e.name,
                       static_cast<int>(e.instance), e.text);
  return out;
}

}  // namespace sickbay::diagnose
