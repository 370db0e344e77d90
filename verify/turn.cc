// SPDX-License-Identifier: Apache-2.0
// The flock behind Turn.  LOCK_NB with short sleeps, since flock itself knows no limit of time.
#include "turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "beat.h"

namespace sickbay::verify {

namespace {
// Who did not get his turn in time stands behind one that was stopped in his: the next one waits no more.
bool in_vain = false;
}  // namespace

Turn::Turn(double seconds) : folder_(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr double kStep = 0.005;
  for (double waited = 0; folder_ >= 0 && waited < (in_vain ? kStep : seconds); waited += kStep) {
    if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    tick();
    ::usleep(static_cast<useconds_t>(kStep * 1e6));
  }
  in_vain = folder_ >= 0;
}

Turn::~Turn() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace sickbay::verify
