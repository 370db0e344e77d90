// SPDX-License-Identifier: Apache-2.0
#include "service/active_leave.h"

#include <utility>

#include "base/json_text.h"

namespace sickbay {

ActiveLeave::ActiveLeave(Loop& loop, int at_once, std::function<void(const std::string&)> wake,
                         std::function<void()> changed)
    : loop_(loop), turns_(at_once, loop.now()), wake_(std::move(wake)), changed_(std::move(changed)) {}
ActiveLeave::~ActiveLeave() { loop_.cancel(timer_); }

void ActiveLeave::await(std::set<std::string> nodes) {
  awaited_ = std::move(nodes);
  settle();
}

void ActiveLeave::settle() {
  if (awaited_.empty()) turns_.settle(loop_.now());
}

void ActiveLeave::hear(const std::string& node, std::optional<ActiveWord> word) {
  if (!is_bounded()) return;
  if (word) {
    const ActiveTurns::View before = turns_.view(node);
    turns_.hear(node, *word, loop_.now());
    const ActiveTurns::View after = turns_.view(node);
    if (before.state != after.state || before.since != after.since) changed_();
  }
  if (awaited_.erase(node) > 0) settle();
  give();
}

void ActiveLeave::lend(const std::string& node) {
  if (!is_bounded()) return;
  turns_.lend(node, loop_.now());
  changed_();
  give();
}

// (Who is woken asks for its answer, and that changes nothing here but the end of its own lease.)
void ActiveLeave::give() {
  const TimePoint now = loop_.now();
  const std::size_t before = turns_.holding();
  const std::vector<std::string> given = turns_.give(now);
  if (turns_.holding() != before || !given.empty()) changed_();
  loop_.cancel(std::exchange(timer_, 0));
  if (const TimePoint next = turns_.next(now); next != kNever)
    timer_ = loop_.at(next, [this] {
      timer_ = 0;
      give();
    });
  for (const std::string& node : given) wake_(node);
}

bool ActiveLeave::is_news(const std::string& node) const {
  return is_bounded() && turns_.is_news(node, loop_.now());
}

Json ActiveLeave::answer(const std::string& node) {
  Json told = counts();
  if (!is_bounded()) return told;
  turns_.still_there(node, loop_.now());  // it waited all the time
  return told.set("leave_us", turns_.tell(node, loop_.now()).count());
}

Json ActiveLeave::counts() const {
  return Json::object(
      {{"at_once", turns_.most()}, {"holding", turns_.holding()}, {"waiting", turns_.waiting()}});
}

void ActiveLeave::write_view(JsonText& text, const std::string& node) const {
  const ActiveTurns::View view = turns_.view(node);
  if (view.state.empty()) {
    text.raw("null");
    return;
  }
  text.begin_object()
      .member("state", view.state)
      .member("since", to_micros(view.since))
      .member("at_once", std::int64_t{turns_.most()})
      .member("holding", static_cast<std::int64_t>(turns_.holding()))
      .member("waiting", static_cast<std::int64_t>(turns_.waiting()))
      .end_object();
}

}  // namespace sickbay
