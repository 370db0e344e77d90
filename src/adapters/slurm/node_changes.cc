// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/node_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error_json.h"

namespace sickbay::slurm {

void NodeChanges::add(std::string change, Json args, Done<bool> done) {
  args.set("change", std::move(change));
  waiting_.push_back({std::move(args), std::move(done)});
  ask_for_turn();
}

void NodeChanges::ask_for_turn() {
  if (asked_ || waiting_.empty()) return;
  asked_ = true;
  const bool queued = waiting_.size() <= kMostWaiting && queue_([this] { start(); },
                                                                [this](Error error) {
                                                                  asked_ = false;
                                                                  refuse_all(error);
                                                                });
  if (queued) return;
  asked_ = false;
  refuse_all(Error(ErrorCode::busy, fmt::format("{} changes of nodes wait already", waiting_.size()))
                 .because("slurmctld answers more slowly than Sickbay asks"));
}

void NodeChanges::start() {
  std::vector<Change> sent;
  const std::size_t n = std::min(waiting_.size(), kMostAtOnce);
  std::move(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n), std::back_inserter(sent));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
  Json::Array changes;
  for (const Change& change : sent) changes.push_back(change.args);
  asked_ = false;
  ask_for_turn();  // for the rest: the lane gives others their turn in between
  call_(Json::object({{"changes", std::move(changes)}}),
        [this, sent = std::move(sent)](Result<Json> outcome) mutable {
          answered(std::move(sent), std::move(outcome));
        });
}

// The child stops when it has taken long: what it has not come to is done next, before all that came later.
void NodeChanges::answered(std::vector<Change> sent, Result<Json> outcome) {
  std::deque<Change> later;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!outcome) {
      sent[i].done(fail(outcome.error()));
      continue;
    }
    const Json& one = i < outcome->size() ? outcome->items()[i] : Json();
    if (one.has("later"))
      later.push_back(std::move(sent[i]));
    else if (one.has("error"))
      sent[i].done(fail(error_from_json(one["error"])));
    else if (one.has("changed"))
      sent[i].done(one["changed"].as_bool());
    else
      sent[i].done(fail(ErrorCode::internal, "sickbay-slurm did not say what became of a change"));
  }
  if (later.empty()) return;
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(later));
  waiting_ = std::move(later);
  ask_for_turn();
}

void NodeChanges::refuse_all(const Error& error) {
  for (Change& change : std::exchange(waiting_, {})) change.done(fail(error));
}

}  // namespace sickbay::slurm
