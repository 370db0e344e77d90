// SPDX-License-Identifier: Apache-2.0
#include "apps/daemon/snapshots.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <limits>

#include "adapters/posix/files.h"
#include "adapters/sqlite/journal.h"
#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/text.h"

namespace sickbay {
namespace {

constexpr const char* kOurselves = "/proc/self/exe";
constexpr std::size_t kProgramBound = std::size_t{1} << 30;
constexpr std::chrono::minutes kLongest{60};  // of a child at the lowest priority

}  // namespace

Snapshots::Snapshots(std::string path, const std::vector<std::string>& config_texts)
    : path_(std::move(path)) {
  Sha256 digest;
  for (const std::string& text : config_texts) {
    digest.add(fmt::format("{}\n", text.size()));  // so that nothing can move from one to the next
    digest.add(text);
  }
  config_ = digest.hex();
}

// Of the file that runs, also where another lies in its place by now.
const std::string& Snapshots::program() {
  if (program_.empty()) {
    const auto file = read_file(kOurselves, kProgramBound);
    program_ = file ? sha256_hex(*file) : "unknown";
  }
  return program_;
}

std::string Snapshots::why_it_does_not_stand(const SnapshotHead& head, SqliteJournal& journal) {
  if (head.program != program()) return "another sickbayd made it";
  if (head.config != config_) return "the configuration is another one";
  if (head.seq > journal.last_seq()) return "the journal is older than it";
  const auto mark = journal.mark_until(head.seq);
  if (!mark) return mark.error().line();
  if (*mark != head.mark) return "events that it stands for were archived, or the journal is another one";
  return "";
}

std::optional<KeptState> Snapshots::load(SqliteJournal& journal) {
  why_not_.clear();
  const auto bytes = read_file(path_, std::numeric_limits<std::size_t>::max());
  if (!bytes) {
    if (bytes.error().code != ErrorCode::not_found) why_not_ = bytes.error().line();
    return std::nullopt;
  }
  auto snapshot = parse_snapshot(*bytes);
  why_not_ = snapshot ? why_it_does_not_stand(snapshot->head, journal) : snapshot.error().line();
  if (!why_not_.empty()) return std::nullopt;
  return KeptState{snapshot->head.seq, std::move(snapshot->state)};
}

Result<SnapshotHead> Snapshots::write(SqliteJournal& journal, const Controller& controller, std::int64_t last,
                                      std::int64_t marked, const std::string& mark,
                                      const ReadAgain& read_again) {
  SnapshotHead head{program(), config_, last, ""};
  if (head.program == "unknown") return fail(ErrorCode::os, std::string("cannot read ") + kOurselves);
  KeptState state{last, controller.save()};
  // The daemon archives beside us: what was replayed may have been one thing, and what is marked another.
  auto before = journal.mark_until(marked), all = journal.mark_until(last);
  if (!before) return fail(std::move(before.error()));
  if (!all) return fail(std::move(all.error()));
  if (*before != mark) return fail(ErrorCode::conflict, "events were archived while they were read");
  head.mark = std::move(*all);
  auto again = read_again(state);
  if (!again) return fail(std::move(again.error()));
  if (*again != state.bytes)
    return fail(ErrorCode::internal, "the state does not come back as it was written");
  if (auto written = write_durably(path_, snapshot_bytes(head, state.bytes), 0600); !written)
    return fail(std::move(written.error()));
  return head;
}

// Of the file as it is now, which a child may have written.
std::optional<SnapshotHead> Snapshots::head_in_file() const {
  std::ifstream file(path_);
  std::string line;
  return std::getline(file, line) ? snapshot_head(line) : std::nullopt;
}

bool Snapshots::order_if_due(SqliteJournal& journal, ProcessRunner& processes,
                             std::vector<std::string> arguments, std::function<void(std::string)> done) {
  if (under_way_ || journal.last_seq() < kWorthIt) return false;
  const auto head = head_in_file();
  const std::int64_t from = head && why_it_does_not_stand(*head, journal).empty() ? head->seq : 0;
  if (journal.last_seq() - from < kWorthIt) return false;
  under_way_ = true;
  ProcessSpec child;
  child.argv = std::move(arguments);
  child.time_limit = kLongest;
  child.kill_strays = true;  // it does not outlive us
  for (const char* name : {"PATH", "SICKBAY_ROOT", "SLURM_CONF"})
    if (const char* value = std::getenv(name)) child.environment.push_back(fmt::format("{}={}", name, value));
  processes.run(std::move(child), [this, done = std::move(done)](Result<ProcessOutcome> ended) {
    under_way_ = false;
    if (!ended) return done(ended.error().line());
    const bool made = ended->exit_code == 0;
    const std::string_view said = trimmed(made ? ended->out : ended->err);
    done(fmt::format("made={} {}", made ? "yes" : "no",
                     made ? said : Json(said.substr(0, said.find('\n'))).dump()));
  });
  return true;
}

}  // namespace sickbay
