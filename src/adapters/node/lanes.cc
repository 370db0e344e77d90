// SPDX-License-Identifier: Apache-2.0
// A thread hands its answer over by Loop::post, and is joined there: it is past all work by then.
#include "adapters/node/lanes.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "adapters/node/call.h"
#include "base/duration.h"

namespace sickbay::node {

// What threads see of us: nothing, once we are gone.
struct Lanes::Shared {
  std::mutex mutex;
  Lanes* lanes;
};

struct Lanes::Lane {
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  std::thread thread;
  Loop::TimerId timer = 0;
  TimePoint began = kNoTime;
  std::function<void(OperationEnd)> done;  // empty: answered already
};

Lanes::Lanes(Loop& loop) : loop_(loop), shared_(std::make_shared<Shared>()) { shared_->lanes = this; }

Lanes::~Lanes() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->lanes = nullptr;
  }
  for (auto& [key, lane] : lanes_) {
    loop_.cancel(lane->timer);
    *lane->cancelled = true;
    // To join would wait for a thread in a system call that may never return.
    lane->thread.detach();
  }
}

void Lanes::start(const std::string& key, std::chrono::milliseconds limit, Work work,
                  std::function<void(OperationEnd)> done, const std::shared_ptr<EarlyEnd>& early_end) {
  const auto answer = [this, &done](std::string why) {
    // Posted, since `done` may start the next operation: it must not run inside our own start.
    loop_.post([done = std::move(done), why = std::move(why)] { done(unknown(why)); });
  };
  if (const auto busy = lanes_.find(key); busy != lanes_.end())
    return answer(fmt::format("{} has hung for {}: it is not asked again until it answers", key,
                              describe_duration(loop_.now() - busy->second->began)));
  if (lanes_.size() >= kMostThreads) return answer(fmt::format("{} threads wait already", kMostThreads));

  auto lane = std::make_unique<Lane>();
  lane->began = loop_.now();
  // Signals are the loop's.
  // A thread inherits the mask: so all are blocked around its start alone.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    lane->thread = std::thread([shared = shared_, cancelled = lane->cancelled, key, work = std::move(work)] {
      timespec cpu{};
      const auto began = std::chrono::steady_clock::now();
      OperationEnd end = work(*cancelled);
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
      end.cpu = Micros(cpu.tv_sec * 1'000'000 + cpu.tv_nsec / 1000);
      end.wall = std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - began);
      // Held until it is posted: ~Lanes waits for it, so the loop is there as long as we use it.
      const std::lock_guard lock(shared->mutex);
      if (shared->lanes == nullptr) return;
      shared->lanes->loop_.post([shared, key, end = std::move(end)]() mutable {
        if (shared->lanes != nullptr) shared->lanes->finished(key, std::move(end));
      });
    });
  } catch (const std::system_error& wrong) {  // the one way in which the library says that there is no thread
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return answer(fmt::format("cannot start a thread: {}", wrong.what()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  lane->done = std::move(done);
  lane->timer = loop_.at(loop_.now() + limit, [this, key, limit] {
    give_up(key, fmt::format("{} did not answer within {}", key, describe_duration(limit)));
  });
  if (early_end)
    // Asked from anywhere, answered from the loop; the lane may be another one's by then.
    early_end->on_ask(
        [shared = shared_, flag = std::weak_ptr(lane->cancelled), key, asked = std::weak_ptr(early_end)] {
          const auto token = asked.lock();
          if (shared->lanes == nullptr || !token) return;
          shared->lanes->loop_.post([shared, flag, key, why = key + " was ended: " + token->why()] {
            if (shared->lanes == nullptr) return;
            const auto lane_now = shared->lanes->lanes_.find(key);
            if (lane_now != shared->lanes->lanes_.end() && lane_now->second->cancelled == flag.lock())
              shared->lanes->give_up(key, why);
          });
        });
  lanes_.emplace(key, std::move(lane));
}

// Nobody waits for it any more; its thread is joined when it comes back.
void Lanes::give_up(const std::string& key, std::string why) {
  Lane& late = *lanes_.at(key);
  loop_.cancel(std::exchange(late.timer, 0));
  *late.cancelled = true;
  if (const auto tell = std::exchange(late.done, nullptr)) tell(unknown(std::move(why)));
}

void Lanes::finished(const std::string& key, OperationEnd end) {
  auto node = lanes_.extract(key);
  if (node.empty()) return;
  Lane& lane = *node.mapped();
  loop_.cancel(lane.timer);
  // Waits for no more than the thread's last steps: it has posted this.
  lane.thread.join();
  // Empty where it was given up: it has been answered.
  if (lane.done) lane.done(std::move(end));
}

}  // namespace sickbay::node
