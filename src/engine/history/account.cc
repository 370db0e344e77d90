// SPDX-License-Identifier: Apache-2.0
#include "engine/history/account.h"

#include <algorithm>
#include <map>
#include <optional>

#include "model/slurm_state.h"

namespace sickbay::history {
namespace {

// A run that its owner or an operator ended has not failed, though what it did since is to be done again.
bool is_failure(const std::string& state) {
  const auto seen = parse_job_state(state);
  if (!seen) return false;
  const RunEnd end = run_end(*seen);
  return seen->base != JobBase::cancelled && seen->base != JobBase::completed && end != RunEnd::not_ended;
}

// One part, from its first operation to its last, which is the order in which they were told.
class Ledger {
 public:
  Ledger(const State& state, const Part& part) : state_(state), part_(part) {
    if (part.base_checkpoint != 0) inherit(part.base, part.base_checkpoint);
  }

  Account run() {
    for (const auto& [n, op] : part_.operations) {
      switch (op.what) {
        case What::started:
          // (The program tells sooner what it goes on from than Slurm is looked at.)
          if (!running_ || op.restart != told_by_program_) begin(op.when, 0);
          break;
        case What::restored:
          go_on(op);
          break;
        case What::checkpoint:
          take(op);
          break;
        case What::ended:
          if (is_failure(op.state)) fail_at(op, op.state);
          running_ = false;
          break;
        case What::requeued:
          if (running_) fail_at(op, "REQUEUED");
          running_ = false;
          break;
        default:
          break;
      }
    }
    return std::move(account_);
  }

 private:
  // A run begins with what its checkpoint had done, or with nothing.
  void begin(TimePoint at, int checkpoint) {
    settle(checkpoint);
    running_ = true;
    began_ = at;
    behind_ = checkpoint == 0 ? Micros(0) : progress_[checkpoint];
    // A replay goes on from where its owner went back to, which nobody tells a second time.
    if (checkpoint == 0 && first_ && part_.base_checkpoint != 0) behind_ = progress_[part_.base_checkpoint];
    first_ = false;
  }
  void go_on(const Operation& op) {
    if (!progress_.contains(op.told.checkpoint) && op.to) inherit(op.to, op.told.checkpoint);
    restored_ = true;
    settle(op.told.checkpoint);
    running_ = true;
    began_ = op.at;
    behind_ = progress_[op.told.checkpoint];
    told_by_program_ = op.restart;
    first_ = false;
  }
  void take(const Operation& op) {
    ++account_.checkpoints;
    account_.checkpointing += op.told.took;
    // What the job has computed up to it, over all its restarts.
    progress_[op.told.checkpoint] = running_ ? behind_ + (op.at - began_) : behind_;
    if (!op.dropped) last_ = op.told.checkpoint;
  }
  void fail_at(const Operation& op, const std::string& state) {
    Failure failure;
    failure.op = part_.ref(op.n);
    // Slurm told of the restart only, and it counts the new run: the one that failed is the run before.
    failure.restart = op.what == What::requeued && op.restart > 0 ? op.restart - 1 : op.restart;
    failure.state = state;
    failure.at = op.when;
    failure.ran = std::max(Micros(0), op.when - began_);
    failure.without = running_ ? behind_ + failure.ran : Micros(0);
    failure.checkpoint = last_;
    // A guess until the next run says from what it really goes on (settle).
    failure.recomputed = std::max(Micros(0), failure.without - progress_[last_]);
    account_.failures.push_back(failure);
    open_ = true;
    restored_ = false;
  }
  // The run after a failure says what it really went on from: first that it began, then, where it does, from
  // which checkpoint.
  void settle(int checkpoint) {
    if (account_.failures.empty() || (!open_ && !restored_)) return;
    Failure& failure = account_.failures.back();
    failure.gone_on = true;
    failure.checkpoint = checkpoint;
    failure.recomputed =
        checkpoint == 0 ? failure.without : std::max(Micros(0), failure.without - progress_[checkpoint]);
    open_ = false;
    restored_ = false;
    if (checkpoint != 0) last_ = checkpoint;
  }
  // What a checkpoint of the job before had done.
  // (Where the news of that one were lost, `from` is the last one before it.)
  void inherit(const OpRef& from, int number) {
    const Operation* known = operation(state_, from);
    const int told = known != nullptr && known->what == What::checkpoint ? known->told.checkpoint : number;
    const Part* other = part_of(state_, from.job);
    if (other == &part_ && told != number) progress_[number] = progress_[told];
    if (other == nullptr || other == &part_) return;
    Ledger before(state_, *other);
    (void)before.run();
    progress_[number] = before.progress_[told];
    last_ = number;
  }

  const State& state_;
  const Part& part_;
  Account account_;
  // By number of the checkpoint: what the job had computed when it was taken; 0 is the beginning.
  std::map<int, Micros> progress_{{0, Micros(0)}};
  int last_ = 0;
  std::optional<std::uint32_t> told_by_program_;  ///< the restart that the program said it goes on in
  // open_: the last failure waits for the run that goes on; restored_: that run has said from which
  // checkpoint.
  bool running_ = false, first_ = true, open_ = false, restored_ = false;
  TimePoint began_ = kNoTime;
  Micros behind_{0};
};

}  // namespace

Micros Account::recomputed() const {
  Micros sum{0};
  for (const Failure& failure : failures) sum += failure.recomputed;
  return sum;
}

Micros Account::saved() const {
  Micros sum{0};
  for (const Failure& failure : failures) sum += failure.saved();
  return sum;
}

Json Account::to_json() const {
  Json list = Json::array();
  for (const Failure& f : failures)
    list.push(Json::object({{"op", f.op.text()},
                            {"restart", f.restart},
                            {"state", f.state},
                            {"at", to_micros(f.at)},
                            {"ran_us", f.ran.count()},
                            {"checkpoint", f.checkpoint},
                            {"gone_on", f.gone_on},
                            {"recomputed_us", f.recomputed.count()},
                            {"without_us", f.without.count()},
                            {"saved_us", f.saved().count()}}));
  return Json::object({{"checkpoints", checkpoints},
                       {"checkpointing_us", checkpointing.count()},
                       {"failures", std::move(list)},
                       {"recomputed_us", recomputed().count()},
                       {"saved_us", saved().count()}});
}

Account account_of(const State& state, const Part& part) { return Ledger(state, part).run(); }

}  // namespace sickbay::history
