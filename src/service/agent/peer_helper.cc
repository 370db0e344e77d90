// SPDX-License-Identifier: Apache-2.0
#include "service/agent/peer_helper.h"

#include <fmt/format.h>

#include <utility>

#include "base/error_words.h"

namespace sickbay::agent {

PeerHelper::PeerHelper(Loop& loop, OperationRunner& runner, Hooks hooks)
    : loop_(loop), runner_(runner), hooks_(std::move(hooks)) {}

PeerHelper::~PeerHelper() {
  loop_.cancel(timer_);
  if (early_end_) early_end_->ask("the agent ends");
}

void PeerHelper::take(const Json& serve) {
  const std::int64_t session = serve["session"].as_int();
  if (session == 0) return end("the test is over");
  if (session == session_) return;
  // It was told of before, and it is over here, or was refused: that word was lost.
  if (session <= last_) return tell_ended(session, last_end_["ok"].as_bool(), last_end_["text"].as_string());
  // sickbayd has one for us at a time: the old one is none any more.
  end("another test begins");
  last_ = session;
  if (session_ != 0) return tell_ended(session, false, "the helper before it has not ended yet");
  session_ = session;
  wanted_ = serve;
}

void PeerHelper::begin() {
  if (!waits() || runs()) return;
  const Json wanted = std::exchange(wanted_, Json());
  auto call = hooks_.find(wanted["specification"].as_string(), wanted["operation"].as_string());
  if (!call) return tell_ended(session_, false, what_and_cause(call.error()));
  hooks_.log(fmt::format("event=helper operation={} for={}", call->operation, Json(wanted["for"]).dump()));
  early_end_ = call->early_end = std::make_shared<EarlyEnd>();
  listens_ = call->listens;
  runner_.run(std::move(*call), lifetime_.guard([this, mine = session_](OperationEnd end) {
    if (mine != session_) return;
    const bool asked = early_end_->asked();
    const bool ok = !asked && end.result != OperationEnd::Result::unknown;
    const std::string why = asked ? early_end_->why() : end.text;
    early_end_.reset();
    loop_.cancel(std::exchange(timer_, 0));
    hooks_.log(fmt::format("event=helper_over ok={} why={}", ok ? "yes" : "no", Json(why).dump()));
    tell_ended(mine, ok, why);
    hooks_.over();
  }));
  if (listens_ == 0) return tell_begun();
  look();
}

// By the list of sockets: who asked by a connection would be the one client that some servers take.
void PeerHelper::look() {
  OperationCall call;
  call.operation = "helper_listens";
  call.kind = "collect";
  call.run = "builtin:sockets";
  call.arguments =
      Json::object({{"protocol", "tcp*"}, {"local", fmt::format("*:{}", listens_)}, {"state", "LISTEN"}});
  runner_.run(std::move(call), lifetime_.guard([this, mine = session_](OperationEnd end) {
    if (mine != session_ || !runs()) return;
    if (end.outputs["sockets"].as_int() > 0) return tell_begun();
    timer_ = loop_.at(loop_.now() + kLook, [this] {
      timer_ = 0;
      look();
    });
  }));
}

void PeerHelper::tell_begun() {
  hooks_.post(Json::object({{"act", "begun"}, {"session", session_}}),
              lifetime_.guard([this, mine = session_](Result<Json> answer) {
                if (!answer && mine == session_) end("nobody waits for it: " + answer.error().what);
              }));
}

// Until that is told the agent says that it serves: else it would be asked to begin anew.
void PeerHelper::tell_ended(std::int64_t session, bool ok, const std::string& text) {
  last_end_ = Json::object({{"act", "ended"}, {"session", session}, {"ok", ok}, {"text", text}});
  hooks_.post(last_end_, lifetime_.guard([this, session](Result<Json>) {
    if (session_ == session && !runs()) session_ = 0;
  }));
}

void PeerHelper::end(const std::string& why) {
  if (runs()) return early_end_->ask(why);
  if (!waits()) return;
  wanted_ = Json();
  session_ = 0;
}

}  // namespace sickbay::agent
