// SPDX-License-Identifier: Apache-2.0
// Lifetime: callbacks that must do nothing once the object that they belong to is gone.
//
// An object that hands `[this]` to a loop or a port cannot know when it is called back, nor take it back.  It
// keeps a Lifetime and hands out guarded callbacks instead.  Declare it as the LAST member: members go in
// reverse order, so it ends before whatever the callbacks would touch.  For one thread: the owner and its
// callbacks live on the loop's; only making, copying and dropping of guards may happen elsewhere.
#pragma once
#include <concepts>
#include <memory>
#include <utility>

namespace sickbay {

class Lifetime {
 public:
  /// Says whether the owner is gone, to those who have something to do even then.
  class Watch {
   public:
    bool over() const { return alive_.expired(); }

   private:
    friend class Lifetime;
    explicit Watch(std::weak_ptr<const bool> alive) : alive_(std::move(alive)) {}
    std::weak_ptr<const bool> alive_;
  };

  Lifetime() = default;
  // A copy would keep the callbacks of another object alive.
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  Watch watch() const { return Watch(alive_); }

  /// `f`, which does nothing once the owner is gone.
  template <class F>
  auto guard(F f) const {
    return Guarded<F>{watch(), std::move(f)};
  }

 private:
  template <class F>
  struct Guarded {
    Watch watch;
    F f;
    template <class... A>
    requires std::invocable<F&, A...>
    void operator()(A&&... a) {
      if (!watch.over()) f(std::forward<A>(a)...);
    }
    template <class... A>
    requires std::invocable<const F&, A...>
    void operator()(A&&... a) const {
      if (!watch.over()) f(std::forward<A>(a)...);
    }
  };

  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace sickbay
