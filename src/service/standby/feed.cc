// SPDX-License-Identifier: Apache-2.0
#include "service/standby/feed.h"

#include <utility>

namespace sickbay {

StandbyFeed::StandbyFeed(Loop& loop, JournalRows& rows, std::function<Standing()> standing,
                         std::function<void(std::int64_t)> has)
    : loop_(loop), rows_(rows), standing_(std::move(standing)), has_(std::move(has)) {}

void StandbyFeed::ask(const Json& body, Done<Json> done) {
  auto asked = rows_ask_from(body);
  if (!asked) return done(fail(std::move(asked.error())));
  woken();  // one that still waits belongs to a connection that is given up
  answer(*asked, done, true);
}

void StandbyFeed::woken() {
  auto waiting = std::exchange(waiting_, std::nullopt);
  if (!waiting) return;
  loop_.cancel(waiting->timer);
  answer(waiting->ask, waiting->done, false);
}

void StandbyFeed::answer(const RowsAsk& ask, const Done<Json>& done, bool may_wait) {
  const Standing standing = standing_();
  if (standing.term == 0)
    return done(fail(
        Error(ErrorCode::busy, "this sickbayd is not the active one").because("it does not hold the lease")));
  auto last = rows_.last_seq();
  if (!last) return done(fail(std::move(last.error())));
  RowsAnswer answer{standing.name, standing.term, true, *last, {}, ""};
  if (ask.after.seq > 0) {
    const auto sum = rows_.sum_at(ask.after.seq);
    if (!sum) return done(fail(sum.error()));
    answer.fits = *sum == ask.after.sum;
    if (!answer.fits) return done(to_json(answer));
  }
  // (Once: a question that waited is of before, and so is what it says.)
  if (!ask.anew && may_wait) has_(ask.after.seq);
  auto rows = rows_.rows_after(ask.after.seq, kPageBytes);
  if (!rows) return done(fail(std::move(rows.error())));
  answer.rows = std::move(*rows);
  if (answer.rows.empty() && ask.mark) {
    auto mark = rows_.mark_until(ask.after.seq);
    if (!mark) return done(fail(std::move(mark.error())));
    answer.mark = std::move(*mark);
  }
  if (!answer.rows.empty() || ask.mark || !may_wait) return done(to_json(answer));
  waiting_ = Waiting{ask, done, loop_.at(loop_.now() + kHold, lifetime_.guard([this] { woken(); }))};
}

}  // namespace sickbay
