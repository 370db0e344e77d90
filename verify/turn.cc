// SPDX-License-Identifier: Apache-2.0
// The flock behind Turn.  LOCK_NB with short sleeps, since flock itself knows no limit of time.
#include "turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace sickbay::verify {

Turn::Turn(double seconds) : folder_(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr double kStep = 0.005;
  for (double waited = 0; folder_ >= 0 && waited < seconds; waited += kStep) {
    if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    ::usleep(static_cast<useconds_t>(kStep * 1e6));
  }
}

Turn::~Turn() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace sickbay::verify
