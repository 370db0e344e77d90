// SPDX-License-Identifier: Apache-2.0
// PostBook: what came of each POST of people, by its Idempotency-Key, so that one that is repeated acts once.
//
// A key belongs to its caller and to one request (method, path and body).  A POST is `pending` until it is
// answered, and whoever posts the same meanwhile waits for that answer; `known` when what it did is durable:
// its first event carries the answer (member `post`, doc/formats/journal.md), so that a restart knows it,
// too; and forgotten when it was refused, so that a retry acts anew.  A key that comes with another request
// is a conflict.  POSTs of agents are told from repeats by (boot, n) and stand in no book.
// All on the loop's thread.  Source: doc/design/decisions.md 8.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/event.h"
#include "ports/http.h"
#include "ports/lifetime.h"

namespace sickbay {

class PostBook {
 public:
  class Post;

  /// Takes in one event, at replay and after.
  void apply(const Event& event);

  /// Begins the POST `request`, whose answer goes to `reply` and to all that wait for the same.  The endpoint
  /// answers the Post; null: there is nothing to be done, `reply` is answered or waits.
  std::shared_ptr<Post> begin(const HttpRequest& request, std::shared_ptr<HttpReply> reply);

  /// How many answers are known.
  std::size_t size() const { return by_age_.size(); }

  /// All that a replay brings back, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(callers_, by_age_, last_age_, stamp_);
  }

  static constexpr std::chrono::hours kKept{24};   ///< by the journal's stamps
  static constexpr std::size_t kMostOfOne = 1000;  ///< answers of one caller, so that none drives out others'
  static constexpr std::size_t kMost = 50'000;     ///< of all

 private:
  using Uid = std::uint32_t;
  struct Entry {
    std::string request;   ///< digest; empty: of an old journal, fits any
    int status = 0;        ///< of the answer; 0 while it is pending
    std::string body;      ///< of the answer
    std::int64_t age = 0;  ///< its place in by_age_; while it is pending, which Post it is of
    std::vector<std::shared_ptr<HttpReply>> waiting = {};
    /// (Who waits is no state: a replay has nobody.)
    template <class A>
    void walk(A& archive) {
      archive(request, status, body, age);
    }
  };
  struct Of {  // one caller
    static constexpr int kFields = 2;
    std::map<std::string, Entry> by_key;
    std::map<std::int64_t, std::string> by_age;
  };
  struct Age {
    static constexpr int kFields = 2;
    Uid uid;
    TimePoint at;
  };

  void know(Uid uid, const std::string& key, Entry answered);
  void answered(const Post& post, const HttpResponse& response);
  void dropped(const Post& post);
  void forget(Uid uid, const std::string& key);
  void forget_oldest(std::int64_t age);
  Entry* pending(const Post& post);

  std::map<Uid, Of> callers_;
  std::map<std::int64_t, Age> by_age_;  ///< known answers, the oldest first
  std::int64_t last_age_ = 0;
  TimePoint stamp_ = kNoTime;  ///< of the newest event
  Lifetime lifetime_;
};

/// One POST on its way.  Dropped without an answer it is forgotten, and so are those that wait for it: each
/// reply says then what a dropped reply says.
class PostBook::Post final : public HttpReply {
 public:
  /// Has the first of `events` carry the answer that follows when they are durable.  False: the journal has
  /// taken an earlier try of this POST meanwhile, which is answered now; nothing is left to be done.
  [[nodiscard]] bool mark(std::vector<Event>& events, int status, const Json& answer);

  /// Answers all who wait.  An answer that was marked is known from now on, any other forgotten: what was
  /// refused may act anew, and what changed nothing will find the same again.
  void respond(HttpResponse response) override;
  ~Post() override;

  // A POST is answered whole.
  void begin_stream(std::string content_type) override;
  bool write(std::string chunk) override;
  void end() override;
  void on_close(std::function<void()> closed) override;
  bool is_open() const override;

 private:
  friend class PostBook;
  Post(PostBook& book, Uid uid, std::string key, const Entry& entry)
      : book_(book),
        of_book_(book.lifetime_.watch()),
        uid_(uid),
        key_(std::move(key)),
        request_(entry.request),
        age_(entry.age) {}

  PostBook& book_;
  const Lifetime::Watch of_book_;
  const Uid uid_;
  const std::string key_, request_;
  const std::int64_t age_;
  bool marked_ = false, answered_ = false;
};

}  // namespace sickbay
