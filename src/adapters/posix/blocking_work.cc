// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/blocking_work.h"

#include <thread>

namespace sickbay {

BlockingWork::BlockingWork(Loop& loop, Start start, std::size_t at_once)
    : start_(std::move(start)), at_once_(at_once), way_(std::make_shared<Way>()) {
  way_->loop = &loop;
}

BlockingWork::~BlockingWork() {
  const std::lock_guard<std::mutex> lock(way_->mutex);
  way_->loop = nullptr;
}

void BlockingWork::begin_next() {
  while (under_way_ < at_once_ && !queue_.empty()) {
    const std::function<void()> begin = std::move(queue_.front().second);
    queue_.pop_front();
    ++under_way_;
    begin();
  }
}

bool BlockingWork::take_back(Ticket ticket) {
  return std::erase_if(queue_, [ticket](const auto& one) { return one.first == ticket; }) > 0;
}

void BlockingWork::on_a_thread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

void BlockingWork::Way::post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (loop != nullptr) loop->post(std::move(task));
}

}  // namespace sickbay
