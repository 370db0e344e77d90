// SPDX-License-Identifier: Apache-2.0
// EarlyEnd: a request to end something that runs before its time.
//
// Whoever starts it keeps one and hands it on; whoever runs it says what to do when it is asked.  On the
// loop's thread only.
#pragma once
#include <functional>
#include <string>
#include <utility>

namespace sickbay {

class EarlyEnd {
 public:
  /// Ends what runs, for `why`.  A second call does nothing.
  void ask(std::string why) {
    if (asked_) return;
    asked_ = true;
    why_ = std::move(why);
    if (end_) std::exchange(end_, nullptr)();
  }
  bool asked() const { return asked_; }
  const std::string& why() const { return why_; }
  /// What ends it, in place of what was said before; at once where it has been asked.  Must bear to be called
  /// when it has ended by itself.
  void on_ask(std::function<void()> end) {
    if (asked_) return end();
    end_ = std::move(end);
  }

 private:
  bool asked_ = false;
  std::string why_;
  std::function<void()> end_;
};

}  // namespace sickbay
