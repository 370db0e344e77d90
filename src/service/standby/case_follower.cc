// SPDX-License-Identifier: Apache-2.0
#include "service/standby/case_follower.h"

#include <utility>

namespace sickbay {

void CaseFollower::ask(const CasesAsk& ask, std::function<void(Result<CasesAnswer>)> then) {
  HttpQuestion question;
  question.method = "POST";
  question.target = kCasesTarget;
  question.body = to_json(ask).dump();
  question.time_limit = kLimit;
  active_.ask(std::move(question),
              lifetime_.guard([this, mine = act_, then = std::move(then)](Result<Json> json) {
                if (mine != act_) return;
                if (!json) return then(fail(std::move(json.error())));
                then(cases_answer_from(*json));
              }));
}

void CaseFollower::end(Result<Changed> how) {
  ++act_;
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(how));
}

void CaseFollower::fetch(std::vector<std::int64_t> cases, Done<Changed> done) {
  ++act_;
  done_ = std::move(done);
  changed_ = {};
  wanted_ = std::set<std::int64_t>(cases.begin(), cases.end());
  fetch_next();
}

void CaseFollower::fetch_next() {
  if (wanted_.empty()) return end(changed_);
  CasesAsk these;
  for (auto no = wanted_.begin(); no != wanted_.end() && these.cases.size() < kMostCases; ++no)
    these.cases.push_back(*no);
  ask(these, [this](Result<CasesAnswer> answer) {
    if (!answer && answer.error().code == ErrorCode::not_found) return end(changed_);
    if (!answer) return end(fail(std::move(answer.error())));
    const std::size_t before = wanted_.size();
    for (const auto& [no, submission] : answer->submitted) {
      if (wanted_.erase(no) == 0) continue;
      if (Status saved = cases_.save(no, submission); !saved) return end(fail(std::move(saved.error())));
      ++changed_.copied;
    }
    for (const std::int64_t no : answer->gone) {
      if (wanted_.erase(no) == 0) continue;
      if (Status removed = cases_.remove(no); !removed) return end(fail(std::move(removed.error())));
    }
    for (const std::int64_t no : answer->unreadable) wanted_.erase(no);
    // (Each answer has one at least; who gives none is asked no more.)
    if (wanted_.size() == before)
      return end(fail(ErrorCode::bad_input, "the active does not say what was submitted"));
    fetch_next();
  });
}

void CaseFollower::compare(bool anew, Done<Changed> done) {
  ++act_;
  done_ = std::move(done);
  changed_ = {};
  anew_ = anew;
  there_.clear();
  list_next(0);
}

void CaseFollower::list_next(std::int64_t after) {
  ask({{}, after}, [this](Result<CasesAnswer> answer) {
    if (!answer && answer.error().code == ErrorCode::not_found) return end(changed_);
    if (!answer) return end(fail(std::move(answer.error())));
    there_.insert(answer->listed.begin(), answer->listed.end());
    if (!answer->is_end && !answer->listed.empty()) return list_next(answer->listed.back());
    listed();
  });
}

void CaseFollower::listed() {
  const auto ours = cases_.list();
  if (!ours) return end(fail(ours.error()));
  wanted_ = there_;
  for (const std::int64_t no : *ours) {
    if (there_.contains(no)) {
      if (!anew_) wanted_.erase(no);
      continue;
    }
    if (Status removed = cases_.remove(no); !removed) return end(fail(std::move(removed.error())));
    ++changed_.removed;
  }
  fetch_next();
}

}  // namespace sickbay
