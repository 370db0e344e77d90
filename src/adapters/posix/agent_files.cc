// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/agent_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "adapters/posix/files.h"
#include "base/descriptor.h"

namespace sickbay {
namespace {

constexpr std::size_t kStateBytes = 16 << 20;

// A lock on the folder for as long as it lives.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)), error_(errno) {
    while (fd_ && ::flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  bool held() const { return static_cast<bool>(fd_); }
  int error() const { return error_; }

 private:
  Descriptor fd_;
  int error_;
};

// One whole line of the spool.
struct Line {
  std::int64_t n = 0;
  Json finding;
  std::size_t begin = 0, end = 0;
};

class AgentFiles final : public AgentStore {
 public:
  AgentFiles(std::string folder, AgentFilesLimits limits) : folder_(std::move(folder)), limits_(limits) {}

  Status keep(std::vector<Json> findings) override {
    if (findings.empty()) return {};
    const Lock lock(path("lock"));
    if (!lock.held()) return fail(file_error(lock.error(), "open", path("lock")));
    auto text = read_spool();
    if (!text) return fail(std::move(text.error()));
    std::size_t good = 0;
    // Behind the last one that was given or delivered: sickbayd drops a repeat by its number (decisions.md
    // 14).
    std::int64_t last = delivered_number();
    const std::vector<Line> lines = lines_of(*text, &good);
    if (!lines.empty()) last = std::max(last, lines.back().n);
    // A spool that was lost begins above all old numbers: the time in seconds is greater than their count.
    if (last == 0) last = static_cast<std::int64_t>(::time(nullptr));
    std::string more;
    for (Json& finding : findings) more += finding.set("n", ++last).dump() + "\n";
    if (good + more.size() > limits_.spool_bytes) {
      // Rewritten without what is delivered and, when that is not enough, without the older half.
      const std::int64_t old = delivered_number();
      std::size_t from = good;
      for (const Line& line : lines)
        if (line.n > old && good - line.begin + more.size() <= limits_.spool_bytes / 2) {
          from = line.begin;
          break;
        }
      // As a whole beside the old one: a power cut leaves the old spool or the new.
      return write_durably(path("spool"), text->substr(from, good - from) + more, 0600);
    }
    return append(good, more);
  }

  Result<std::vector<Json>> waiting(std::size_t most) override {
    struct stat info {};
    if (::stat(path("spool").c_str(), &info) != 0 || info.st_size == 0) return std::vector<Json>();
    const Lock lock(path("lock"));
    if (!lock.held()) return fail(file_error(lock.error(), "open", path("lock")));
    auto text = read_spool();
    if (!text) return fail(std::move(text.error()));
    const std::int64_t old = delivered_number();
    std::vector<Json> findings;
    for (Line& line : lines_of(*text, nullptr))
      if (line.n > old && findings.size() < most) findings.push_back(std::move(line.finding));
    return findings;
  }

  Status delivered(std::int64_t n) override {
    const Lock lock(path("lock"));
    if (!lock.held()) return fail(file_error(lock.error(), "open", path("lock")));
    if (n <= delivered_number()) return {};
    // First the number, then the spool: after a crash between the two something is kept twice, and nothing
    // lost.
    if (Status written = write_durably(path("delivered"), std::to_string(n) + "\n", 0600); !written)
      return written;
    auto text = read_spool();
    if (!text) return fail(std::move(text.error()));
    const std::vector<Line> lines = lines_of(*text, nullptr);
    // (It shrinks only when all is delivered; else keep() cuts it when it is full.)
    if (!lines.empty() && lines.back().n > n) return {};
    if (::truncate(path("spool").c_str(), 0) != 0 && errno != ENOENT)
      return fail(file_error(errno, "empty", path("spool")));
    return {};
  }

  Status update_state(const std::function<void(Json& state)>& change) override {
    const Lock lock(path("lock"));
    if (!lock.held()) return fail(file_error(lock.error(), "open", path("lock")));
    Json state = Json::object();
    if (auto text = read_file(path("state.json"), kStateBytes)) {
      // A state that cannot be read is begun anew: budgets are then counted from here.
      if (auto read = Json::parse(*text); read && read->is_object()) state = std::move(*read);
    } else if (text.error().code != ErrorCode::not_found) {
      return fail(std::move(text.error()));
    }
    const std::string before = state.dump();
    change(state);
    const std::string after = state.dump();
    if (after == before) return {};
    return write_durably(path("state.json"), after, 0600);
  }

  Status log(const Json& line) override {
    const std::string file = path("journal.log");
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return fail(file_error(errno, "open", file));
    const std::string text = line.dump() + "\n";
    const ssize_t n = ::write(fd, text.data(), text.size());
    const int error = errno;
    struct stat info {};
    const bool full =
        ::fstat(fd, &info) == 0 && static_cast<std::size_t>(info.st_size) > limits_.journal_bytes;
    ::close(fd);
    if (n != static_cast<ssize_t>(text.size()))
      return fail(file_error(n < 0 ? error : ENOSPC, "write", file));
    // Two old files at most: the disk of a node is not the log's.
    if (full) {
      ::rename((file + ".1").c_str(), (file + ".2").c_str());
      ::rename(file.c_str(), (file + ".1").c_str());
    }
    return {};
  }

 private:
  std::string path(const char* file) const { return folder_ + "/" + file; }

  Result<std::string> read_spool() const {
    auto text = read_file(path("spool"), 4 * limits_.spool_bytes);
    if (!text && text.error().code == ErrorCode::not_found) return std::string();
    return text;
  }

  std::int64_t delivered_number() const {
    const auto text = read_file(path("delivered"), 64);
    std::int64_t n = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), n);
    return n;
  }

  // The whole lines; what is none is passed over.  `good`: behind the last line end.
  static std::vector<Line> lines_of(const std::string& text, std::size_t* good) {
    std::vector<Line> lines;
    std::size_t at = 0;
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      auto read = Json::parse(std::string_view(text).substr(at, end - at));
      if (!read || (*read)["n"].as_int() <= 0) continue;
      const std::int64_t n = (*read)["n"].as_int();
      lines.push_back({n, std::move(*read), at, end + 1});
    }
    // Behind it may be half a line, of a power cut: it is cut off by the next append().
    if (good != nullptr) *good = at;
    return lines;
  }

  // Writes `more` behind the first `good` bytes.  On a failure the file is as it was.
  Status append(std::size_t good, std::string_view more) const {
    const std::string file = path("spool");
    const bool fresh = ::access(file.c_str(), F_OK) != 0;
    // A new file's name must be durable, too.
    if (fresh) return write_durably(file, more, 0600);
    const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return fail(file_error(errno, "open", file));
    int wrong = ::ftruncate(fd, static_cast<off_t>(good)) == 0 ? 0 : errno;
    std::size_t done = 0;
    while (wrong == 0 && done < more.size()) {
      const ssize_t n = ::pwrite(fd, more.data() + done, more.size() - done, static_cast<off_t>(good + done));
      if (n >= 0)
        done += static_cast<std::size_t>(n);
      else if (errno != EINTR)
        wrong = errno;
    }
    if (wrong == 0 && ::fsync(fd) != 0) wrong = errno;
    if (wrong != 0 && ::ftruncate(fd, static_cast<off_t>(good)) != 0) {
      // Half a line stays; the next writer cuts it off.
    }
    ::close(fd);
    if (wrong != 0) return fail(file_error(wrong, "write", file));
    return {};
  }

  const std::string folder_;
  const AgentFilesLimits limits_;
};

}  // namespace

Result<std::unique_ptr<AgentStore>> open_agent_files(const std::string& folder, AgentFilesLimits limits) {
  if (Status made = make_folder(folder, 0700); !made) return fail(std::move(made.error()));
  return std::unique_ptr<AgentStore>(std::make_unique<AgentFiles>(folder, limits));
}

}  // namespace sickbay
