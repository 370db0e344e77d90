// SPDX-License-Identifier: Apache-2.0
#include "service/standby/follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/event_kinds.h"
#include "model/ids.h"
#include "service/standby/term_events.h"

namespace sickbay {
namespace {

// The term whose beginning the row tells of; 0: another event.
std::int64_t term_of(const JournalRow& row) {
  if (row.kind != kTermBegan) return 0;
  const auto body = Json::parse(row.body);
  return body ? (*body)["term"].as_int() : 0;
}

}  // namespace

Follower::Follower(Loop& loop, HttpClient& active, JournalCopy& copy, Listener listener, CaseFollower* cases)
    : loop_(loop), active_(active), copy_(copy), listener_(std::move(listener)), cases_(cases) {}

void Follower::start() {
  running_ = true;
  // Nothing yet: what is archived while a first copy is read would leave a part of a subject in it, too.
  if (copy_.place().seq == 0 && !copy_.is_anew()) return begin_anew(false, "there is none yet");
  again(Micros(0));
}

void Follower::stop() {
  running_ = false;
  ++question_;
  if (cases_ != nullptr) cases_->stop();
  loop_.cancel(timer_);
  standing_.following = false;
}

void Follower::again(Micros in) {
  loop_.cancel(timer_);
  timer_ = loop_.at(loop_.now() + in, lifetime_.guard([this] { ask(); }));
}

void Follower::ask() {
  if (!running_) return;
  // (A copy that is begun anew has it compared at its end.)
  if (cases_ != nullptr && !copy_.is_anew() && loop_.now() >= compare_at_)
    return compare_cases(false, [this] { ask(); });
  const RowsAsk ask{copy_.place(), copy_.is_anew(), copy_.is_anew() && is_at_end_};
  HttpQuestion question;
  question.method = "POST";
  question.target = kRowsTarget;
  question.body = to_json(ask).dump();
  question.time_limit = kLimit;
  active_.ask(std::move(question), lifetime_.guard([this, mine = ++question_](Result<Json> json) {
    if (mine == question_) take(std::move(json));
  }));
}

void Follower::trouble(const Error& error, Micros again_in) {
  standing_.following = false;
  // Each second the same is said once.
  if (standing_.trouble != error.what) {
    standing_.trouble = error.what;
    say(fmt::format("event=standby trouble={}", Json(error.line()).dump()));
  }
  again(again_in);
}

void Follower::take(Result<Json> json) {
  if (!json) return trouble(json.error(), kAgain);
  const auto answer = rows_answer_from(*json);
  if (!answer) return trouble(answer.error(), kAgain);
  if (listener_.active) listener_.active(answer->term);
  if (running_) take(*answer);
}

void Follower::take(const RowsAnswer& answer) {
  if (!answer.fits)
    return begin_anew(true, fmt::format("{} has no event {} like ours", answer.name, copy_.place().seq));
  const bool anew = copy_.is_anew();
  const auto summary = std::ranges::find(answer.rows, std::string(kArchived), &JournalRow::kind);
  if (!anew && summary != answer.rows.end())
    return begin_anew(false,
                      fmt::format("{} archived {} before it was copied", answer.name, summary->subject));
  if (cases_ != nullptr && !anew) return bring(answer);
  store(answer);
}

// The next question acknowledges the rows, so what they need comes before them.
void Follower::bring(const RowsAnswer& answer) {
  std::vector<std::int64_t> opened;
  for (const JournalRow& row : answer.rows) {
    const auto no = parse_case_name(row.subject);
    if (no && row.kind == kCaseOpened) opened.push_back(*no);
    if (row.kind == kCaseClosed) compare_at_ = std::min(compare_at_, loop_.now() + kCompareSoon);
  }
  if (opened.empty()) return store(answer);
  cases_->fetch(std::move(opened), [this, answer](Result<CaseFollower::Changed> fetched) {
    if (!running_) return;
    if (!fetched) return trouble(Error(fetched.error()).in("copying what was submitted"), kAgain);
    store(answer);
  });
}

void Follower::compare_cases(bool anew, std::function<void()> then) {
  cases_->compare(anew, [this, then = std::move(then)](Result<CaseFollower::Changed> changed) {
    if (!running_) return;
    if (!changed) return trouble(Error(changed.error()).in("comparing what was submitted"), kAgain);
    compare_at_ = loop_.now() + kCompare;
    if (changed->copied + changed->removed > 0)
      say(fmt::format("event=standby submissions=compared copied={} removed={}", changed->copied,
                      changed->removed));
    then();
  });
}

void Follower::store(const RowsAnswer& answer) {
  const bool anew = copy_.is_anew();
  if (Status kept = copy_.append(answer.rows); !kept) return trouble(kept.error(), kAgain);
  std::int64_t term = 0;
  for (const JournalRow& row : answer.rows) term = std::max(term, term_of(row));
  if (anew)
    new_term_ = std::max(new_term_, term);
  else if (term > 0 && listener_.has_term)
    listener_.has_term(term);
  is_at_end_ = copy_.place().seq >= answer.last;
  standing_.behind = std::max<std::int64_t>(0, answer.last - copy_.place().seq);
  if (anew && answer.rows.empty() && !answer.mark.empty()) return end_anew(answer.mark);
  if (!anew) {
    if (!std::exchange(standing_.following, true))
      say(fmt::format("event=standby following={} term={} seq={}", answer.name, answer.term,
                      copy_.place().seq));
    standing_.trouble.clear();
  }
  again(Micros(0));
}

void Follower::begin_anew(bool keep_old, const std::string& why) {
  // One that is being made is not worth keeping; the one before it is, if it was.
  keep_old_ = copy_.is_anew() ? keep_old_ : keep_old;
  say(fmt::format("event=standby copy=anew why={}", Json(why).dump()));
  is_at_end_ = false;
  compare_at_ = kNoTime;
  new_term_ = 0;
  standing_.following = false;
  if (Status begun = copy_.begin_anew(); !begun) return trouble(begun.error(), kAnewAgain);
  ++standing_.copies;
  again(Micros(0));
}

void Follower::end_anew(const std::string& mark) {
  const auto ours = copy_.mark();
  if (!ours) return trouble(ours.error(), kAgain);
  // Something was archived while it was read, and a part of it is in the copy.
  if (*ours != mark) {
    loop_.cancel(timer_);
    timer_ = loop_.at(loop_.now() + kAnewAgain, lifetime_.guard([this] {
      begin_anew(false, "the journal was changed while it was copied");
    }));
    return;
  }
  // All of it: a case may have another one's number where the two went apart.
  if (cases_ != nullptr && loop_.now() >= compare_at_)
    return compare_cases(true, [this, mark] { end_anew(mark); });
  const auto aside = copy_.end_anew(keep_old_, loop_.now());
  if (!aside) return trouble(aside.error(), kAgain);
  say(fmt::format("event=standby copy=whole seq={}{}", copy_.place().seq,
                  aside->empty() ? "" : fmt::format(" aside={}", Json(*aside).dump())));
  if (new_term_ > 0 && listener_.has_term) listener_.has_term(new_term_);
  again(Micros(0));
}

}  // namespace sickbay
