// SPDX-License-Identifier: Apache-2.0
// The ground truth's journal.  The one place that knows where and how it is kept.
#include "lab/truth.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "adapters/sqlite/journal.h"
#include "lab/child.h"
#include "model/ids.h"

namespace sickbay::lab {
namespace {

std::string truth_file(const Layout& l) { return l.path("truth.db"); }

}  // namespace

Result<std::vector<Event>> read_truth(const Layout& l) {
  std::vector<Event> events;
  if (::access(truth_file(l).c_str(), F_OK) != 0) return events;  // nothing was broken yet
  auto journal = open_journal_reader(truth_file(l));
  if (!journal) return tl::unexpected(journal.error());
  auto done = (*journal)->read(0, [&](const Event& event) {
    events.push_back(event);
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return events;
}

Status write_truth(const Layout& l, const std::string& machine, const std::string& kind, Json body) {
  // A journal has one writer; commands and watchers take turns, each for a few milliseconds.
  const std::string turn = l.path("state/truth.lock");
  const int fd = ::open(turn.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(os_error("could not open " + turn));
  ::flock(fd, LOCK_EX);  // released by close
  Status done;
  if (auto journal = open_journal(truth_file(l)); !journal) {
    done = fail(std::move(journal.error()));
  } else {
    std::vector<Event> events(1);
    events[0].at =
        std::max((*journal)->last_stamp(), std::chrono::floor<Micros>(std::chrono::system_clock::now()));
    events[0].subject = machine == "ctl" ? "cluster" : node_subject(machine);
    events[0].kind = kind;
    events[0].body = std::move(body);
    done = (*journal)->append(events);
  }
  ::close(fd);
  return done;
}

}  // namespace sickbay::lab
