// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/snapshot_maker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "adapters/sqlite/journal.h"
#include "apps/daemon/snapshots.h"
#include "service/agents.h"
#include "service/api.h"
#include "service/controller.h"

namespace sickbay {
namespace {

constexpr int kNiceness = 19;

// Whoever has a state that a replay brings back, as sickbayd has them and in the same order
// (sickbayd_main.cc).
struct Replica {
  Replica(const SnapshotParts& p, Journal& journal)
      : effects(p.loop, p.manager, p.processes, p.cases, p.config, p.verification),
        seats(p.config),
        controller(p.loop, journal, p.manager, effects, seats, p.config),
        agents(p.loop, controller,
               [](const std::string&, Done<std::vector<std::string>> done) {
                 done(fail(ErrorCode::not_found, "nobody is looked up here"));
               }),
        api(controller, p.cases, p.manager, {"", 0, p.loop.now()}, [](const Caller&) { return false; }) {}

  Effects effects;
  Seats seats;
  Controller controller;
  Agents agents;
  Api api;
};

// The journal of a replay that reads nothing: what is in a state alone is looked at.
class NoEvents final : public Journal {
 public:
  Status append(std::vector<Event>&) override { return fail(ErrorCode::conflict, "nothing is written here"); }
  Status read(std::int64_t, const std::function<bool(const Event&)>&) override { return {}; }
  Status read_subject(const std::string&, std::int64_t, const std::function<bool(const Event&)>&) override {
    return {};
  }
  std::int64_t last_seq() const override { return 0; }
  TimePoint last_stamp() const override { return kNoTime; }
  std::int64_t size_bytes() const override { return 0; }
};

}  // namespace

Status make_snapshot(const SnapshotParts& parts, Snapshots& snapshots) {
  const auto began = std::chrono::steady_clock::now();
  // The last resort of a host that is busy with other things.  (Where it is refused it is made all the same.)
  (void)!::nice(kNiceness);
  const std::int64_t marked = parts.journal.last_seq();
  auto mark = parts.journal.mark_until(marked);
  if (!mark) return fail(std::move(mark.error()));
  const std::optional<KeptState> from = snapshots.load(parts.journal);
  std::optional<Replica> replica(std::in_place, parts, parts.journal);
  const auto replayed = replica->controller.replay(from ? &*from : nullptr);
  if (!replayed) return fail(replayed.error());
  const auto read_again = [&parts, &replica](const KeptState& state) -> Result<std::string> {
    // (The first one goes before the second comes: a state may be large.)
    replica.reset();
    NoEvents nothing;
    Replica again(parts, nothing);
    auto restored = again.controller.replay(&state);
    if (!restored) return fail(std::move(restored.error()));
    if (restored->unreadable) return fail(ErrorCode::internal, "the state cannot be read again");
    return again.controller.save();
  };
  const auto head =
      snapshots.write(parts.journal, replica->controller, replayed->last, marked, *mark, read_again);
  if (!head) return fail(head.error());
  std::printf("seq=%lld events=%lld from=%lld took_ms=%lld\n", static_cast<long long>(head->seq),
              static_cast<long long>(replayed->events), static_cast<long long>(replayed->from),
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                         std::chrono::steady_clock::now() - began)
                                         .count()));
  return {};
}

}  // namespace sickbay
