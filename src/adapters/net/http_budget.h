// SPDX-License-Identifier: Apache-2.0
// BodyBudget: how many bytes of requests' bodies one listening socket holds at a time.
//
// Counted is what has come, never what was announced: an announcement costs its sender nothing, so it must
// take nothing from others.  A body counts from its first byte until its request is answered.  The Unix
// socket and TCP have a budget each, so that strangers in the network cannot keep local users out; within
// one, a peer (a uid, an address) has a share, and root has room that nobody else can take. On the loop's
// thread only.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace sickbay {

class BodyBudget {
 public:
  /// `all` bytes in all, `of_peer` of them at most for one peer.  The last `of_peer` are for root.
  BodyBudget(std::size_t all, std::size_t of_peer) : all_(all), of_peer_(of_peer) {}

  std::size_t used() const { return used_; }

 private:
  friend class BodyShare;
  bool fits(const std::string& peer, bool is_root, std::size_t more) const;

  const std::size_t all_, of_peer_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> by_peer_;  // none with 0
};

/// The part of one connection.  Given back at its end.
class BodyShare {
 public:
  BodyShare(std::shared_ptr<BodyBudget> budget, std::string peer, bool is_root)
      : budget_(std::move(budget)), peer_(std::move(peer)), is_root_(is_root) {}
  ~BodyShare() { hold(0); }
  BodyShare(BodyShare&& other) noexcept;

  /// Holds `bytes` from now on, in place of what it held.  False: there is no room, and nothing has changed.
  bool hold(std::size_t bytes);

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::string peer_;
  bool is_root_;
  std::size_t held_ = 0;
};

}  // namespace sickbay
