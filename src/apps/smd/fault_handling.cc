// SPDX-License-Identifier: Apache-2.0
#include "apps/smd/fault_handling.h"

#include <algorithm>

namespace sickbay::smd {

using Kind = PolicyStep::Kind;
using Outcome = NodeOutcome::Kind;

std::string replaced_later_line(std::uint32_t job, const std::string& node, std::int64_t when) {
  const std::string line = fmt::format("_try_replace: job {} node {} will be replaced later", job, node);
  if (when <= 0) return line + "\n";
  return line + fmt::format(", expected at {}\n", format_time(from_unix_seconds(when)));
}

FaultHandling::FaultHandling(std::uint32_t job, Fault fault, Policy policy, std::string file)
    : job_(job), fault_(fault), policy_(std::move(policy)), file_(std::move(file)) {}

std::string FaultHandling::take_said() { return std::exchange(said_, {}); }

Act FaultHandling::start() {
  say("is_failed: job {} searching for {} hosts", job_, fault_name(fault_));
  return Act(Act::Kind::query);
}

Act FaultHandling::next(const Reply& reply, TimePoint now) {
  switch (state_) {
    case State::query: {
      tries_since_ = now;
      return found(reply);
    }
    case State::replacing:
      return tried(reply, now);
    case State::delay_extending:
      // The trouble is told once, though it is asked for again in each round.
      delay_granted_ = extended_by(reply, step().delay, !delay_told_);
      delay_told_ = true;
      return wait_for_more(now);
    case State::waiting:
      return begin_tries(now);
    case State::dropping:
      return dropped(reply);
    case State::writing:
      return written(reply);
    case State::extending: {
      // (A refusal is told and is no failure: the job has its nodes.)
      const std::uint32_t minutes = extensions_.front();
      extensions_.erase(extensions_.begin());
      extended_by(reply, minutes, true);
      return extend_next();
    }
  }
  return finish();
}

std::size_t FaultHandling::left() const {
  return static_cast<std::size_t>(std::ranges::count(nodes_, Outcome::left, &NodeOutcome::kind));
}

// ---- which ----

Act FaultHandling::found(const Reply& reply) {
  if (!reply.good) {
    say("is_failed: smd_get_job_faulty_nodes() error job_id {}: {}", job_, reply.trouble.text);
    return stop(reply.trouble);
  }
  for (const FaultyNode& node : reply.faulty)
    // A service may tell of both kinds, whatever was asked for.
    if (node.fault == fault_) nodes_.push_back({node, Outcome::left, {}});
  hopeless_.assign(nodes_.size(), false);
  if (nodes_.empty()) {
    say("is_failed: job {} has no {} nodes", job_, fault_name(fault_));
    return finish();
  }
  say("is_failed: job {} has {} {} nodes", job_, nodes_.size(), fault_name(fault_));
  for (const NodeOutcome& one : nodes_)
    say("is_failed: job {} {} node {} cpu_count {}", job_, fault_name(fault_), one.node.name, one.node.cpus);
  say("_handle_fault: job {} handle {}", job_, fault_ == Fault::failed ? "failed_hosts" : "failing_hosts");
  at_ = static_cast<std::size_t>(-1);
  return next_step();
}

// The next step of the policy, while there are nodes for it.
Act FaultHandling::next_step() {
  ++at_;
  node_ = 0;
  // Nothing left to do, or no step left: what was done is written up either way.
  if (left() == 0 || at_ == policy_.steps.size()) return write_up();
  switch (step().kind) {
    case Kind::replace:
      // The moments of the tries: 20 s apart, from the first one on.
      grid_ = tries_since_;
      return begin_tries(tries_since_);
    case Kind::drop:
      state_ = State::dropping;
      return drop_next();
    case Kind::exit_job:
      // (Nodes are left, so the exit code says that the job may not go on.)
      say("_handle_fault: job {} exit job", job_);
      return write_up();
  }
  return finish();
}

// ---- replace ----

// One round over the nodes that are left.  The last one, when the delay ends, is silent: that it failed is
// told by the line behind it.
Act FaultHandling::begin_tries(TimePoint now) {
  last_round_ = waits_ > 0 && now >= tries_since_ + std::chrono::minutes(step().delay);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].kind == Outcome::left && !hopeless_[i]) ++asked;
  // As in the paper: at first, when the waiting begins, and then only when the number is another.
  const bool told = announced_ == asked && (waits_ == 0 || announced_in_wait_);
  if (!told && !last_round_) {
    say("_try_replace: job {} trying to replace {} nodes", job_, asked);
    announced_ = asked;
    announced_in_wait_ = waits_ > 0;
  }
  state_ = State::replacing;
  node_ = 0;
  return try_next(now);
}

Act FaultHandling::try_next(TimePoint now) {
  while (node_ < nodes_.size() && (nodes_[node_].kind != Outcome::left || hopeless_[node_])) ++node_;
  if (node_ == nodes_.size()) return after_round(now);
  Act act(Act::Kind::replace);
  act.node = nodes_[node_].node.name;
  return act;
}

Act FaultHandling::tried(const Reply& reply, TimePoint now) {
  NodeOutcome& one = nodes_[node_];
  if (!reply.good) {
    if (!last_round_ || reply.trouble.hope == Hope::none)
      say("_try_replace: smd_replace_node() error job_id {}: {}", job_, reply.trouble.text);
    // Three kinds (service.cc): nothing can be done for this job; not for this node; not now.
    if (reply.trouble.hope == Hope::none) return stop(reply.trouble);
    if (reply.trouble.hope == Hope::next) hopeless_[node_] = true;
  } else if (reply.replaced.by.empty()) {
    if (!last_round_) said_ += replaced_later_line(job_, one.node.name, reply.replaced.when);
  } else {
    say("_try_replace: job {} node {} replaced by {}", job_, one.node.name, reply.replaced.by);
    one.kind = Outcome::replaced;
    one.by = reply.replaced.by;
    // The whole new set each time: the last one is what the nodes file gets.
    set_ = reply.replaced.set;
    changed_ = changed_ || !set_.nodes.empty();
  }
  ++node_;
  return try_next(now);
}

Act FaultHandling::after_round(TimePoint now) {
  bool hope = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    hope = hope || (nodes_[i].kind == Outcome::left && !hopeless_[i]);
  if (!hope || now >= tries_since_ + std::chrono::minutes(step().delay)) return end_replacing();
  // The credit for waiting may grow only while the job waits, so what was refused is asked for again.
  return delay_granted_ ? wait_for_more(now) : extend_for_delay();
}

Act FaultHandling::extend_for_delay() {
  if (!delay_told_)
    say("_time_limit_extend: job {} extending job time limit by {} minutes", job_, step().delay);
  state_ = State::delay_extending;
  Act act(Act::Kind::extend);
  act.minutes = step().delay;
  return act;
}

// The tries stand 20 seconds apart, however long each takes.
Act FaultHandling::wait_for_more(TimePoint now) {
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(grid_ - tries_since_);
  say("_try_replace: job {} waited for {} sec cnt {} trying every {} sec...", job_, waited.count(), waits_++,
      kTryEvery.count());
  // A try that took longer than 20 s skips a moment; the next one is at its usual time.
  while (grid_ <= now) grid_ += kTryEvery;
  state_ = State::waiting;
  Act act(Act::Kind::wait);
  act.until = std::min(grid_, tries_since_ + Micros(std::chrono::minutes(step().delay)));
  return act;
}

Act FaultHandling::end_replacing() {
  const auto replaced = std::ranges::count(nodes_, Outcome::replaced, &NodeOutcome::kind);
  // Noted, and asked for at the end: the paper's lines have it behind the nodes file.
  if (replaced > 0 && step().extend > 0)
    extensions_.push_back(step().extend * static_cast<std::uint32_t>(replaced));
  if (left() > 0) {
    say("_try_replace: job {} failed to replace down or failing nodes:", job_);
    for (const NodeOutcome& one : nodes_)
      if (one.kind == Outcome::left) say("   {}", one.node.name);
  }
  return next_step();
}

// ---- drop ----

Act FaultHandling::drop_next() {
  while (node_ < nodes_.size() && nodes_[node_].kind != Outcome::left) ++node_;
  if (node_ < nodes_.size()) {
    Act act(Act::Kind::drop);
    act.node = nodes_[node_].node.name;
    return act;
  }
  const auto count = std::ranges::count(nodes_, Outcome::dropped, &NodeOutcome::kind);
  if (count > 0 && step().extend > 0)
    extensions_.push_back(step().extend * static_cast<std::uint32_t>(count));
  return next_step();
}

Act FaultHandling::dropped(const Reply& reply) {
  NodeOutcome& one = nodes_[node_++];
  if (reply.good) {
    say("_drop_nodes: job {} node {} dropped all right", job_, one.node.name);
    one.kind = Outcome::dropped;
    set_ = reply.set;
    changed_ = changed_ || !set_.nodes.empty();
  } else {
    // A node that cannot be dropped stays left; the others are still tried.
    say("_drop_nodes: smd_drop_node() error job_id {}: {}", job_, reply.trouble.text);
    if (reply.trouble.hope == Hope::none) return stop(reply.trouble);
  }
  return drop_next();
}

// ---- the end ----

Act FaultHandling::write_up() {
  if (!changed_) return extend_next();
  state_ = State::writing;
  Act act(Act::Kind::write_file);
  act.set = set_;
  return act;
}

Act FaultHandling::written(const Reply& reply) {
  if (!reply.good) {
    say("_generate_node_file: job {} cannot write the nodes file: {}", job_, reply.trouble.text);
    file_failed_ = true;
    return finish();
  }
  file_written_ = true;
  // (The paper says "replaced" of dropped ones, too.)
  if (left() == 0)
    say("_generate_node_file: job {} all nodes replaced", job_);
  else
    say("_generate_node_file: job {} {} of {} nodes replaced", job_, nodes_.size() - left(), nodes_.size());
  if (std::ranges::count(nodes_, Outcome::dropped, &NodeOutcome::kind) > 0)
    say("source the {} hostfile to get the new job environment", file_);
  return extend_next();
}

Act FaultHandling::extend_next() {
  // No more time for a job that ends.
  if (left() > 0 || extensions_.empty()) return finish();
  state_ = State::extending;
  say("_time_limit_extend: job {} extending job time limit by {} minutes", job_, extensions_.front());
  Act act(Act::Kind::extend);
  act.minutes = extensions_.front();
  return act;
}

bool FaultHandling::extended_by(const Reply& reply, std::uint32_t minutes, bool say_trouble) {
  if (reply.good) {
    say("_increase_job_runtime: job {} run time limit extended by {}min successfully", job_, minutes);
    extended_ += minutes;
  } else if (say_trouble) {
    say("_increase_job_runtime: smd_extend_job_time() error job_id {}: {}", job_, reply.trouble.text);
  }
  return reply.good;
}

Act FaultHandling::finish() {
  Act act(Act::Kind::finish);
  // Without its nodes file the next step would be started on the lost node.
  act.exit_code = left() > 0 || file_failed_ ? 1 : 0;
  return act;
}

Act FaultHandling::stop(const Trouble& trouble) {
  stopped_ = true;
  stopping_ = trouble;
  Act act(Act::Kind::finish);
  act.exit_code = 1;
  return act;
}

}  // namespace sickbay::smd
