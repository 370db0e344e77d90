// SPDX-License-Identifier: Apache-2.0
// The journal: durable appends by events per transaction, and the replay of a million events.
//
// Appends are fsyncs, so their figures belong to the disk under the temporary folder (TMPDIR) as much as to
// us: fdatasync_4k is the bare cost of one there, measured in the same run.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "adapters/sqlite/journal.h"
#include "figure.h"

namespace {

using namespace sickbay;
using bench::figure;
using bench::median_ms;
using bench::require;

// An event as the daemon writes them: an intent, about 150 bytes.
Event event(std::int64_t n) {
  Event e;
  e.at = from_micros(1'790'000'000'000'000 + n);
  e.subject = "c" + std::to_string(n / 20);
  e.kind = "intent";
  e.body = Json::object({{"key", e.subject + ".r2.a1:submit"},
                         {"verb", "submit"},
                         {"args", Json::object({{"job_id", n}, {"node", "n0042"}, {"exclude", "n[1-3]"}})}});
  return e;
}

std::vector<Event> batch(std::int64_t first, int count) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) events.push_back(event(first + i));
  return events;
}

// The median over five rounds of `commits` transactions of `per_commit` events.
void appends(Journal& journal, const char* name, int per_commit, int commits) {
  std::vector<std::vector<Event>> batches;
  const double ms = median_ms(
      5,
      [&] {
        batches.clear();
        for (int i = 0; i < commits; ++i)
          batches.push_back(batch(journal.last_seq() + i * per_commit, per_commit));
      },
      [&] {
        for (auto& events : batches) require(journal.append(events).has_value(), "an append failed");
      });
  figure(name, 1000.0 * per_commit * commits / ms, "events/s");
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_journal.XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "no temporary folder");

  const int file = ::open((folder + "/plain").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  constexpr int kSyncs = 200;
  figure("fdatasync_4k",
         median_ms(
             5, [] {},
             [&] {
               for (int i = 0; i < kSyncs; ++i)
                 require(
                     ::pwrite(file, page.data(), page.size(), i * 4096L) == 4096 && ::fdatasync(file) == 0,
                     "cannot write");
             }) /
             kSyncs,
         "ms");
  ::close(file);

  auto journal = open_journal(folder + "/journal.db").value();
  appends(*journal, "append_1_per_commit", 1, 500);
  appends(*journal, "append_10_per_commit", 10, 200);
  appends(*journal, "append_100_per_commit", 100, 100);

  constexpr std::int64_t kEvents = 1'000'000;
  while (journal->last_seq() < kEvents) {
    const auto count = std::min<std::int64_t>(1000, kEvents - journal->last_seq());
    auto events = batch(journal->last_seq(), static_cast<int>(count));
    require(journal->append(events).has_value(), "an append failed");
  }
  figure("journal_1m_events", static_cast<double>(journal->size_bytes()) / (1 << 20), "MiB");
  std::int64_t seen = 0;
  const double replay = median_ms(
      5, [&] { seen = 0; },
      [&] {
        const auto all = journal->read(0, [&](const Event& e) {
          seen += e.seq == seen + 1;
          return true;
        });
        require(all.has_value(), "the journal cannot be read");
      });
  require(seen == kEvents, "all events, without gaps");
  figure("replay_1m", kEvents / replay * 1000, "events/s");
  figure("read_subject_20_events",
         1000 * median_ms(
                    101, [&] { seen = 0; },
                    [&] {
                      (void)journal->read_subject("c20000", 0, [&](const Event&) {
                        ++seen;
                        return true;
                      });
                    }),
         "us");
  require(seen == 20, "all events of the subject");
  journal.reset();
  std::filesystem::remove_all(folder);
  return 0;
}
