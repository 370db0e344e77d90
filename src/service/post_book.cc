// SPDX-License-Identifier: Apache-2.0
#include "service/post_book.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "engine/identify/identify.h"
#include "service/agent_tasks.h"

namespace sickbay {
namespace {

constexpr std::size_t kDigits = 16;  // of the digest: against mistakes, not against an enemy, whose key it is

std::string digest_of(const HttpRequest& request) {
  return sha256_hex(request.method + "\n" + request.path + "\n" + request.body).substr(0, kDigits);
}

HttpResponse answer_with(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

HttpResponse conflict(const std::string& key) {
  return error_response(
      Error(ErrorCode::conflict,
            "the Idempotency-Key " + quote_for_message(key) + " stands for another request")
          .because("a key stands for one method, path and body")
          .remedied_by("give each request a new random key, and the same one only to repeat it"));
}

// What an event says of the POST that caused it.
struct Told {
  std::uint32_t uid = 0;
  std::string key, request;
  int status = 0;
  Json answer;
};

// Before the book only two kinds had a key, and the answer follows from the event.
struct OldRow {
  std::string_view kind;
  std::optional<std::uint32_t> (*uid)(const Event&);
  Json (*answer)(const Event&);
};
constexpr auto kOld = std::to_array<OldRow>({
    {identify::kCaseOpened,
     [](const Event& e) { return std::optional(Owner::from_json(e.body["owner"]).uid); },
     [](const Event& e) {
       return Json::object({{"case", e.subject}});
     }},
    // It names its caller only by name, and only root's number is known here.
    {AgentTasks::kDiagnoseWanted,
     [](const Event& e) { return e.body["by"].as_string() == "root" ? std::optional(0U) : std::nullopt; },
     [](const Event& e) {
       return Json::object({{"task", e.body["task"]}});
     }},
});

std::optional<Told> told_by(const Event& event) {
  if (const Json& post = event.body["post"]; post.is_object())
    return Told{static_cast<std::uint32_t>(post["uid"].as_int()), post["key"].as_string(),
                post["request"].as_string(), static_cast<int>(post["status"].as_int()), post["answer"]};
  const std::string& key = event.body["idempotency_key"].as_string();
  if (key.empty()) return std::nullopt;
  for (const OldRow& row : kOld)
    if (row.kind == event.kind)
      if (const auto uid = row.uid(event)) return Told{*uid, key, "", 201, row.answer(event)};
  return std::nullopt;
}

}  // namespace

// --- what is known

void PostBook::apply(const Event& event) {
  stamp_ = std::max(stamp_, event.at);
  while (!by_age_.empty() && by_age_.begin()->second.at < stamp_ - kKept)
    forget_oldest(by_age_.begin()->first);
  auto told = told_by(event);
  if (!told || told->key.empty() || told->status == 0) return;
  know(told->uid, told->key, {told->request, told->status, json_response(told->status, told->answer).body});
}

void PostBook::know(Uid uid, const std::string& key, Entry answered) {
  Of& of = callers_[uid];
  Entry& entry = of.by_key[key];
  if (entry.status != 0) {
    by_age_.at(entry.age).at = stamp_;  // answered just before its event came round
    return;
  }
  const auto waiting = std::exchange(entry.waiting, {});
  const bool same = entry.request.empty() || answered.request.empty() || entry.request == answered.request;
  entry = std::move(answered);
  entry.age = ++last_age_;
  of.by_age.emplace(entry.age, key);
  by_age_.emplace(entry.age, Age{uid, stamp_});
  const HttpResponse response = same ? answer_with(entry.status, entry.body) : conflict(key);
  if (of.by_age.size() > kMostOfOne) forget_oldest(of.by_age.begin()->first);
  if (by_age_.size() > kMost) forget_oldest(by_age_.begin()->first);
  for (const auto& reply : waiting) reply->respond(response);
}

void PostBook::forget_oldest(std::int64_t age) {
  const Uid uid = by_age_.at(age).uid;
  by_age_.erase(age);
  Of& of = callers_.at(uid);
  const std::string key = std::move(of.by_age.at(age));
  of.by_age.erase(age);
  forget(uid, key);
}

void PostBook::forget(Uid uid, const std::string& key) {
  Of& of = callers_.at(uid);
  of.by_key.erase(key);
  if (of.by_key.empty()) callers_.erase(uid);
}

// --- what is on its way

std::shared_ptr<PostBook::Post> PostBook::begin(const HttpRequest& request,
                                                std::shared_ptr<HttpReply> reply) {
  const Uid uid = request.caller.uid;
  const std::string& key = request.idempotency_key;
  const std::string digest = digest_of(request);
  const auto [it, fresh] = callers_[uid].by_key.try_emplace(key);
  Entry& entry = it->second;
  if (fresh) {
    entry.request = digest;
    entry.age = ++last_age_;
    entry.waiting.push_back(std::move(reply));
    return std::shared_ptr<Post>(new Post(*this, uid, key, entry));
  }
  if (!entry.request.empty() && entry.request != digest)
    reply->respond(conflict(key));
  else if (entry.status != 0)
    reply->respond(answer_with(entry.status, entry.body));
  else
    entry.waiting.push_back(std::move(reply));
  return nullptr;
}

PostBook::Entry* PostBook::pending(const Post& post) {
  const auto of = callers_.find(post.uid_);
  if (of == callers_.end()) return nullptr;
  const auto it = of->second.by_key.find(post.key_);
  if (it == of->second.by_key.end() || it->second.status != 0 || it->second.age != post.age_) return nullptr;
  return &it->second;
}

void PostBook::answered(const Post& post, const HttpResponse& response) {
  Entry* entry = pending(post);
  if (entry == nullptr) return;  // answered by the journal
  if (post.marked_ && response.status < 300)
    return know(post.uid_, post.key_, {post.request_, response.status, response.body});
  const auto waiting = std::exchange(entry->waiting, {});
  forget(post.uid_, post.key_);  // first: who is answered may ask again
  for (const auto& reply : waiting) reply->respond(response);
}

void PostBook::dropped(const Post& post) {
  Entry* entry = pending(post);
  if (entry == nullptr) return;
  const auto waiting = std::exchange(entry->waiting, {});
  forget(post.uid_, post.key_);
}

bool PostBook::Post::mark(std::vector<Event>& events, int status, const Json& answer) {
  if (answered_ || of_book_.over() || book_.pending(*this) == nullptr) return false;
  if (events.empty()) return true;
  marked_ = true;
  events.front().body.set(
      "post",
      Json::object(
          {{"uid", uid_}, {"key", key_}, {"request", request_}, {"status", status}, {"answer", answer}}));
  return true;
}

void PostBook::Post::respond(HttpResponse response) {
  if (std::exchange(answered_, true) || of_book_.over()) return;
  book_.answered(*this, response);
}

PostBook::Post::~Post() {
  if (!answered_ && !of_book_.over()) book_.dropped(*this);
}

void PostBook::Post::begin_stream(std::string) { SB_CHECK(false, "a POST is answered whole"); }
bool PostBook::Post::write(std::string) { return false; }
void PostBook::Post::end() {}
void PostBook::Post::on_close(std::function<void()>) {}
bool PostBook::Post::is_open() const {
  if (of_book_.over()) return false;
  const Entry* entry = book_.pending(*this);
  return entry != nullptr && std::ranges::any_of(entry->waiting, &HttpReply::is_open);
}

}  // namespace sickbay
