// SPDX-License-Identifier: Apache-2.0
// Lines out, exit code remembered.
#include "report.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/json.h"

namespace sickbay::verify {
namespace {

/// One write(2): pipes keep up to 4 KiB together, and files append in one piece.
void write_line(const Json& fields) {
  const std::string line = fields.dump() + "\n";
  while (::write(STDOUT_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json line_head(const std::string& node, int rank, std::string phase) {
  Json line = Json::object({{"sickbay_verify", 1}, {"node", node}, {"rank", rank}});
  return std::move(line.set("phase", std::move(phase)));
}

}  // namespace

void say_alive(const std::string& node, int rank, std::uint64_t ticks) {
  write_line(line_head(node, rank, "alive").set("ticks", static_cast<std::int64_t>(ticks)));
}

Reporter::Reporter(std::string node, int rank, Baseline baseline)
    : node_(std::move(node)), rank_(rank), baseline_(std::move(baseline)) {}

void Reporter::start(const std::string& mode, const std::string& kind) {
  mode_ = mode;
  Json line = line_head(node_, rank_, "start").set("mode", mode);
  if (!kind.empty()) line.set("kind", kind);
  write_line(line);
}

void Reporter::report(Finding finding) {
  bool off_while_busy = false;
  if (finding.ok) {
    const bool slow = finding.slow;
    baseline_.judge(finding);
    off_while_busy = finding.busy && finding.slow && !slow;
    if (off_while_busy) finding.slow = false;
  }
  wrong_ = wrong_ || !finding.ok;
  slow_ = slow_ || finding.slow;
  Json line = line_head(node_, rank_, finding.phase);
  if (!finding.peer.empty()) line.set("peer", finding.peer);
  line.set("ok", finding.ok).set("slow", finding.slow).set("value", finding.value).set("unit", finding.unit);
  line.set("expected", Json::array({number_or_null(finding.lowest), number_or_null(finding.highest)}));
  if (finding.busy) line.set("busy", true);
  if (finding.lossy) line.set("lossy", true);
  if (finding.crawls) line.set("crawls", true);
  if (off_while_busy) line.set("off_while_busy", true);
  for (const auto& [name, value] : finding.also) line.set(name, value);
  for (const auto& [name, value] : finding.words) line.set(name, value);
  if (finding.phase == "storage") {
    Json places = Json::object();
    for (const auto& [place, said] : finding.places) places.set(place, said);
    line.set("places", std::move(places));
  }
  write_line(line.set("detail", finding.detail));
}

int Reporter::done(const std::string& counted) {
  Json line = line_head(node_, rank_, "done").set("mode", mode_).set("ok", !wrong_).set("slow", slow_);
  if (!counted.empty()) line.set("counted", counted);
  write_line(line);
  return exit_code();
}

}  // namespace sickbay::verify
