// SPDX-License-Identifier: Apache-2.0
// The ground truth's file.  The one place that knows its format.
#include "lab/truth.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "lab/child.h"

namespace sickbay::lab {
namespace {

std::string truth_file(const Layout& l) { return l.path("truth.ndjson"); }

}  // namespace

Result<std::vector<Event>> read_truth(const Layout& l) {
  std::vector<Event> events;
  auto text = read_text(truth_file(l));
  if (!text) return events;  // nothing was broken yet
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    auto json = Json::parse(line);
    if (!json) return fail(std::move(json.error()).in("reading " + truth_file(l)));
    auto event = Event::from_json(*json);
    if (!event) return fail(std::move(event.error()).in("reading " + truth_file(l)));
    events.push_back(std::move(*event));
  }
  return events;
}

Status write_truth(const Layout& l, const std::string& machine, const std::string& kind, Json body) {
  const int fd = ::open(truth_file(l).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return fail(os_error("could not write " + truth_file(l)));
  ::flock(fd, LOCK_EX);  // released by close
  auto before = read_truth(l);
  Event event;
  if (before && !before->empty()) event.seq = before->back().seq, event.at = before->back().at;
  event.seq += 1;
  event.at = std::max(event.at, std::chrono::floor<Micros>(std::chrono::system_clock::now()));
  event.subject = machine == "ctl" ? "cluster" : "node:" + machine;
  event.kind = kind;
  event.body = std::move(body);
  const std::string line = event.text() + "\n";
  const bool good = before && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  auto error = before ? os_error("could not write " + truth_file(l)) : std::move(before.error());
  ::close(fd);
  if (!good) return fail(std::move(error));
  return {};
}

}  // namespace sickbay::lab
