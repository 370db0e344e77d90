// SPDX-License-Identifier: Apache-2.0
// Tries, their pauses and their end.  The acts themselves stand in service/verbs.
#include "service/effects.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/verbs.h"
#include "service/config.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{30};

const VerbRow* row_of(std::string_view verb) {
  for (const auto rows : {run_verbs(), output_verbs(), node_verbs(), recover_verbs(), nonstop_verbs(),
                          people_verbs(), folder_verbs()})
    for (const VerbRow& row : rows)
      if (row.verb == verb) return &row;
  return nullptr;
}

// One command on its way, over all its tries.
struct Try {
  Command command;
  bool again = false;
  Done<Json> done;
  TimePoint began = kNoTime;
  std::chrono::seconds pause = kFirstPause;
};

}  // namespace

struct Effects::Work {
  VerbTools tools;
  std::size_t under_way = 0;
  std::function<void(std::function<void()> then)> begin = nullptr;

  void attempt(const std::shared_ptr<Try>& t) {
    const VerbRow* row = row_of(t->command.verb);
    if (row == nullptr)
      return tools.loop.post([this, t] {
        settle(t, fail(ErrorCode::too_new, fmt::format("this sickbayd knows no verb '{}'", t->command.verb)));
      });
    // A verb that finds out at once that it cannot be done says so at once; who started it must not hear of
    // it from inside (ports/loop.h).
    const auto inside = std::make_shared<bool>(true);
    row->start(tools, t->command, t->again, [this, t, inside](Result<Json> result) {
      if (!*inside) return answered(t, std::move(result));
      tools.loop.post([this, t, result = std::move(result)]() mutable { answered(t, std::move(result)); });
    });
    *inside = false;
  }

  void answered(const std::shared_ptr<Try>& t, Result<Json> result) {
    const bool final = result || !passes_by_itself(result.error().code) ||
                       (result.error().code == ErrorCode::busy && !row_of(t->command.verb)->outlasts_busy);
    if (final || tools.loop.now() - t->began > tools.config.retry_bound) return settle(t, std::move(result));
    t->again = true;  // nobody knows how far the last try came
    tools.loop.at(tools.loop.now() + t->pause, [this, t] {
      if (!begin) return attempt(t);
      begin([this, t] { attempt(t); });
    });
    t->pause = std::min(2 * t->pause, kLongestPause);
  }

  void settle(const std::shared_ptr<Try>& t, Result<Json> result) {
    --under_way;
    t->done(std::move(result));
  }
};

Effects::Effects(Loop& loop, ResourceManager& manager, ProcessRunner& processes, CaseStore& cases,
                 const Config& config, Verification v)
    : work_(new Work{{loop, manager, processes, cases, config, std::move(v), {}, {}, {}}}) {}
Effects::~Effects() = default;

void Effects::set_act_on_node(ActOnNode act) { work_->tools.act_on_node = std::move(act); }
void Effects::set_examine(Examine examine) { work_->tools.examine = std::move(examine); }
void Effects::set_ask_node(AskNode ask) { work_->tools.ask_node = std::move(ask); }
void Effects::set_folder_program(std::string path) { work_->tools.folder_program = std::move(path); }

void Effects::begin_tries_by(std::function<void(std::function<void()> then)> begin) {
  work_->begin = std::move(begin);
}

void Effects::start(const Command& command, bool again, Done<Json> done) {
  auto t = std::make_shared<Try>();
  t->command = command;
  t->again = again;
  t->done = std::move(done);
  t->began = work_->tools.loop.now();
  ++work_->under_way;
  work_->attempt(t);
}

std::size_t Effects::under_way() const { return work_->under_way; }

}  // namespace sickbay
