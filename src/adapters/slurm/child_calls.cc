// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/child_calls.h"

#include <fmt/format.h>

#include <algorithm>

namespace sickbay::slurm {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(200);
/// A child this old that cannot reach slurmctld is replaced.
constexpr auto kLongestAway = std::chrono::seconds(60);
constexpr auto kLongestPause = std::chrono::milliseconds(30000);

}  // namespace

void CallCounts::add(const std::string& call, bool ok, double seconds) {
  CallCount& count = by_name_[call];
  count.call = call;
  ++count.count;
  if (!ok) ++count.errors;
  count.seconds += seconds;
}

std::vector<CallCount> CallCounts::list() const {
  std::vector<CallCount> out;
  for (const auto& [name, count] : by_name_) out.push_back(count);
  return out;
}

ChildCalls::ChildCalls(Loop& loop, Setup setup, CallCounts& counts)
    : loop_(loop), setup_(std::move(setup)), counts_(counts) {}

ChildCalls::~ChildCalls() {
  if (under_way_) loop_.cancel(under_way_->limit);
}

Status ChildCalls::start_child() {
  if (child_) return {};
  if (loop_.now() < not_before_)
    return fail(Error(ErrorCode::slurm_away, "sickbay-slurm is not running").because(last_failure_));
  auto started = ChildProcess::start(
      loop_, setup_.path, setup_.environment,
      {[this](Json json) { on_frame(json); }, [this](std::string why) { on_gone(why); }, setup_.log});
  if (!started) {
    last_failure_ = started.error().line();
    give_up_child();
    return fail(std::move(started.error()));
  }
  child_ = std::move(*started);
  started_ = loop_.now();
  ready_ = answered_ = false;
  return {};
}

void ChildCalls::call(std::string name, Json args, bool effect, Answer answer) {
  SB_CHECK(!under_way_, "sickbay-slurm does one call at a time");
  const std::int64_t id = ++last_id_;
  const auto limit = loop_.at(loop_.now() + setup_.call_limit, [this, id] {
    if (!under_way_ || under_way_->id != id) return;
    last_failure_ = fmt::format("it did not answer {} in {} s and was killed", under_way_->name,
                                std::chrono::duration_cast<std::chrono::seconds>(setup_.call_limit).count());
    // Killed: what it may still do must be over before anything else is asked.
    child_.reset();
    finish(fail(Error(ErrorCode::timed_out, "Slurm did not answer in time").because(last_failure_)),
           elapsed());
  });
  under_way_ = std::make_unique<UnderWay>(UnderWay{id, name, effect, std::move(answer), loop_.now(), limit});
  // A child that ended while idle shows it only now.  It took nothing of this request, so a second one may.
  Status sent;
  for (int tries = 0; tries < 2; ++tries) {
    const bool fresh = !child_;
    sent = start_child();
    if (!sent) break;
    sent = child_->send(Request{id, name, args}.to_json());
    if (sent) return;
    last_failure_ = sent.error().cause.empty() ? sent.error().line() : sent.error().cause;
    child_.reset();
    // (An old one that had ended is no failure to start.)
    if (fresh) give_up_child();
  }
  finish(fail(std::move(sent.error())), 0);
}

void ChildCalls::on_frame(const Json& json) {
  if (json["ready"].as_bool()) {
    ready_ = true;
    return;
  }
  auto reply = Reply::from_json(json);
  // An answer to another question: the two sides are out of step, and only a new child mends that.
  if (!reply || !under_way_ || reply->id != under_way_->id) {
    last_failure_ = reply ? "it answered a call that nobody made" : reply.error().line();
    child_.reset();
    if (under_way_) finish(fail(ErrorCode::internal, "sickbay-slurm: " + last_failure_), elapsed());
    return;
  }
  answered_ = true;
  failed_starts_ = 0;
  // slurm.conf may name another controller by now, and libslurm reads it only once.
  const bool away = !reply->outcome && reply->outcome.error().code == ErrorCode::slurm_away;
  if (away && loop_.now() - started_ > kLongestAway) child_.reset();
  finish(std::move(reply->outcome), static_cast<double>(reply->took_us) / 1e6);
}

void ChildCalls::on_gone(const std::string& why) {
  std::string words = child_->last_words();
  last_failure_ = words.empty() ? why : std::move(words);
  child_.reset();
  // One that never answered may do so again at once: the pause grows.
  if (!answered_) give_up_child();
  if (!under_way_) return;
  // libslurm ends the process before it sends anything when its configuration is bad: then even an effect
  // certainly did not happen.
  const bool unknown = under_way_->effect && ready_;
  finish(fail(Error(unknown ? ErrorCode::timed_out : ErrorCode::slurm_away,
                    unknown ? "sickbay-slurm ended during the call; nobody knows whether it took effect"
                            : "sickbay-slurm ended without an answer")
                  .because(last_failure_)),
         elapsed());
}

void ChildCalls::give_up_child() {
  // 200 ms, doubled each time, 30 s at most.
  auto pause = kFirstPause;
  for (int i = 0; i < failed_starts_ && pause < kLongestPause; ++i) pause *= 2;
  ++failed_starts_;
  not_before_ = loop_.now() + std::min<std::chrono::milliseconds>(pause, kLongestPause);
}

double ChildCalls::elapsed() const {
  return std::chrono::duration<double>(loop_.now() - under_way_->since).count();
}

void ChildCalls::finish(Result<Json> outcome, double seconds) {
  // Taken out first: the answer may ask the next thing.
  const auto done = std::move(under_way_);
  loop_.cancel(done->limit);
  counts_.add(done->name, outcome.has_value(), seconds);
  done->answer(std::move(outcome));
}

}  // namespace sickbay::slurm
