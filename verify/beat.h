// SPDX-License-Identifier: Apache-2.0
// A rank says that it goes on, so that whoever waits for it need not wait for the limit of the whole.
//
// Two things are told, for they fail apart: that the process runs at all (the line comes; a stopped or frozen
// one sends none), and that its work does (the number in it rises; it does not while a disk holds up a
// sync).  Both are slow on a busy machine and stand still on none.  Reader: watch.h.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace sickbay::verify {

/// A piece of work is done: a slice, a pass, a block, a look at whether an answer is there.  Any thread.
void tick();
/// How many there were.
std::uint64_t ticks();

/// Prints an "alive" line every `every` seconds, from its own thread, from now until its end; 0: never.
class Beat {
 public:
  Beat(std::string node, int rank, double every);
  ~Beat();
  Beat(const Beat&) = delete;
  Beat& operator=(const Beat&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace sickbay::verify
