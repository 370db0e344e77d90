// SPDX-License-Identifier: Apache-2.0
// What tests of several processes share: each with its own files and series on one folder, as threads; and a
// process that dies at a chosen name.
#pragma once
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "checkpoint/checkpoint_test_parts.h"
#include "ckpt/flush.h"
#include "ckpt/go_back.h"
#include "ckpt/take.h"

namespace sickbay::ckpt::test {

using checkpoint::test::read_text;
using checkpoint::test::write_text;

/// The real files, but who renames something to a name that ends so is dead at that moment.
class DyingFiles : public checkpoint::Files {
 public:
  explicit DyingFiles(std::string at) : at_(std::move(at)) {}
  Result<std::unique_ptr<checkpoint::OutFile>> create(const std::string& path, std::uint32_t mode) override {
    return real_->create(path, mode);
  }
  Result<std::unique_ptr<checkpoint::InFile>> open(const std::string& path) override {
    return real_->open(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (to.ends_with(at_)) ::_exit(9);
    return real_->rename(from, to);
  }
  Status remove(const std::string& path) override { return real_->remove(path); }
  Status sync_folder(const std::string& folder) override { return real_->sync_folder(folder); }
  Status make_folder(const std::string& path) override { return real_->make_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder) override { return real_->list(folder); }
  Result<std::unique_ptr<checkpoint::FileLock>> lock(const std::string& path) override {
    return real_->lock(path);
  }

 private:
  std::string at_;
  std::unique_ptr<checkpoint::Files> real_ = checkpoint::make_posix_files();
};

/// Processes of one session, each with a folder of its own below `folder`, in which its file "state" lies.
class Processes {
 public:
  Processes(const std::string& folder, std::int64_t ranks, std::string session)
      : folder_(folder), ranks_(ranks), session_(std::move(session)) {}

  Participant participant(std::int64_t rank) const {
    Participant me;
    me.job = me.in_job = 17;
    me.rank = rank;
    me.ranks = ranks_;
    me.node = node_ + std::to_string(rank);
    if (fast_) me.nodes = ranks_;
    me.session = session_;
    return me;
  }
  /// From now on with a fast place on a node for each, of so many bytes; another `node` is another machine.
  void use_fast(std::uint64_t bytes, const std::string& node = "n") {
    fast_ = FastWish{folder_ + "/fast/%N", bytes};
    node_ = node;
  }
  /// What lies in the fast place of that rank's node.
  std::string fast_place(std::int64_t rank) const {
    for (const auto& one :
         std::filesystem::directory_iterator(folder_ + "/fast/" + node_ + std::to_string(rank)))
      if (one.is_directory()) return one.path().string() + "/r" + std::to_string(rank);
    return "";
  }
  void lose_node(std::int64_t rank) const {
    std::filesystem::remove_all(folder_ + "/fast/" + node_ + std::to_string(rank));
  }
  std::string place(std::int64_t rank) const { return folder_ + "/of" + std::to_string(rank); }
  std::string state(std::int64_t rank) const { return read_text(place(rank) + "/state"); }
  void write(std::int64_t rank, const std::string& text) const { write_text(place(rank) + "/state", text); }
  void write_all(const std::string& text) const {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) write(rank, text + std::to_string(rank));
  }
  Series series(checkpoint::Files& files) const { return *Series::open(files, folder_ + "/store", 17, ""); }
  /// With the fast place of that rank, where they have one.
  Series series(checkpoint::Files& files, std::int64_t rank) const {
    Series own = series(files);
    if (fast_)
      if (const auto used = own.use_fast(*fast_, participant(rank), false); !used)
        ADD_FAILURE() << used.error().line();
    return own;
  }

  /// As that rank.
  Result<Taken> take(std::int64_t rank, const TakeWish& wish, Micros patience = kLong) const {
    return take_by(*checkpoint::make_posix_files(), rank, wish, real_waiting(patience));
  }
  Result<Taken> take(std::int64_t rank, const TakeWish& wish, const Waiting& waiting) const {
    return take_by(*checkpoint::make_posix_files(), rank, wish, waiting);
  }
  Result<WentBack> back(std::int64_t rank, const BackWish& given = {}, Micros patience = kLong) const {
    const auto files = checkpoint::make_posix_files();
    Series own = series(*files, rank);
    BackWish wish = given;
    wish.target = place(rank);
    return go_back(own, participant(rank), wish, real_waiting(patience));
  }
  Result<Flushed> flush(std::int64_t rank, const FlushWish& wish = {}, Micros patience = kLong) const {
    return flush_by(*checkpoint::make_posix_files(), rank, wish, patience);
  }
  Result<Flushed> flush_by(checkpoint::Files& files, std::int64_t rank, const FlushWish& wish,
                           Micros patience) const {
    Series own = series(files, rank);
    return ckpt::flush(own, participant(rank), wish, real_waiting(patience));
  }
  /// All of them at once, but those of `without`, who do nothing (and have an error of their own).
  template <typename Work>
  auto all(const Work& work, const std::vector<std::int64_t>& without = {}) const {
    std::vector<decltype(work(std::int64_t{0}))> done;
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      done.push_back(fail(ErrorCode::internal, "it did nothing"));
    std::vector<std::thread> threads;
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      if (std::ranges::find(without, rank) == without.end())
        threads.emplace_back([&, rank] { done[static_cast<std::size_t>(rank)] = work(rank); });
    for (std::thread& thread : threads) thread.join();
    return done;
  }
  /// Begins a process that flushes as `rank` and dies where it would rename to `name`.  Wait for it.
  ::pid_t dying_flush(std::int64_t rank, const std::string& name) const {
    const ::pid_t pid = ::fork();
    if (pid != 0) return pid;
    DyingFiles files(name);
    (void)flush_by(files, rank, {}, kLong);
    ::_exit(0);  // it lived
  }
  /// Begins a process that takes part as `rank` and dies where it would rename to `name`.  Wait for it.
  ::pid_t dying(std::int64_t rank, const std::string& name) const {
    const ::pid_t pid = ::fork();
    if (pid != 0) return pid;
    DyingFiles files(name);
    (void)take_by(files, rank, {}, real_waiting(kLong));
    ::_exit(0);  // it lived
  }

  static constexpr Micros kLong = std::chrono::seconds(60), kShort = std::chrono::milliseconds(300);

 private:
  Result<Taken> take_by(checkpoint::Files& files, std::int64_t rank, const TakeWish& wish,
                        const Waiting& waiting) const {
    Series own = series(files, rank);
    const std::vector<checkpoint::Source> sources = {
        {"state", place(rank) + "/state"},
    };
    return take_checkpoint(own, participant(rank), sources, wish, waiting);
  }

  std::string folder_;
  std::int64_t ranks_;
  std::string session_;
  std::string node_ = "n";
  std::optional<FastWish> fast_;
};

/// The exit code of a process of `dying`.
inline int code_of(::pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace sickbay::ckpt::test
