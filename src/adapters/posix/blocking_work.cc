// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/blocking_work.h"

#include <thread>

namespace sickbay {

BlockingWork::BlockingWork(Loop& loop, Start start)
    : start_(std::move(start)), way_(std::make_shared<Way>()) {
  way_->loop = &loop;
}

BlockingWork::~BlockingWork() {
  const std::lock_guard<std::mutex> lock(way_->mutex);
  way_->loop = nullptr;
}

void BlockingWork::on_a_thread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

void BlockingWork::Way::post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (loop != nullptr) loop->post(std::move(task));
}

}  // namespace sickbay
