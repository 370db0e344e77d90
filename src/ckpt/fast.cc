// SPDX-License-Identifier: Apache-2.0
#include "ckpt/fast.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/fnv.h"
#include "base/json.h"
#include "base/size.h"
#include "base/text.h"

namespace sickbay::ckpt {
namespace {

constexpr const char *kJobName = "job.json", *kFlushName = "lock.flush";
constexpr std::size_t kMostJobBytes = 4096;
// Tries for lock.use, 10 ms apart: a sweeping process or a keeper holds it for a moment only.
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPause{10};

// What lies in a folder that anybody may write to (/dev/shm) may be anybody's.
Status is_own(const std::string& folder) {
  struct stat info {};
  const auto refused = [&](std::string_view why) {
    return fail(Error(ErrorCode::denied, fmt::format("{} {}", folder, why))
                    .remedied_by("name a folder of your own: SICKBAY_CHECKPOINT_FAST=/dev/shm/NAME (or "
                                 "--fast); nothing was written there"));
  };
  // lstat and not stat: a link that somebody else laid in /dev/shm would lead to a folder of his choice.
  if (::lstat(folder.c_str(), &info) != 0) return refused(std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refused("is no folder");
  if (info.st_uid != ::geteuid()) return refused(fmt::format("is of another user ({})", info.st_uid));
  // (What is made below it is nobody else's to read; the mode of a folder of the user's own is his.)
  if ((info.st_mode & 022) != 0) return refused("may be written to by others");
  return {};
}

std::uint64_t half_of(const std::string& folder) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return 0;
  return std::uint64_t{space.f_blocks} * space.f_frsize / 2;
}

// The hash of the whole path: two series of one number on different storage must not meet on a node.
std::string name_of(const std::string& series) {
  return fmt::format("{}-{:016x}", series.substr(series.rfind('/') + 1), fnv64(series));
}

struct JobHere {
  JobId job = 0, in_job = 0;
};

std::optional<JobHere> read_job(checkpoint::Files& files, const std::string& folder) {
  const auto text = checkpoint::read_whole(files, folder + "/" + kJobName, kMostJobBytes);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || !json->is_object()) return std::nullopt;
  JobHere here;
  here.job = static_cast<JobId>((*json)["job"].as_int());
  here.in_job = static_cast<JobId>((*json)["in_job"].as_int());
  return here.job == 0 || here.in_job == 0 ? std::nullopt : std::optional(here);
}

// By which sweep_fast() sees that it may go.
Status say_whose(checkpoint::Files& files, const std::string& folder, const Participant& me) {
  const auto had = read_job(files, folder);
  if (had && had->job == me.job && had->in_job == me.in_job) return {};
  const Json job = Json::object({{"job", me.job}, {"in_job", me.in_job}});
  auto told = checkpoint::write_whole(files, folder, kJobName, job.dump() + "\n");
  // (Another process of the job may write the same at this moment.)
  return told || read_job(files, folder) ? Status() : told;
}

}  // namespace

Result<std::optional<FastWish>> parse_fast(const std::string& text) {
  if (text.empty()) return std::nullopt;
  FastWish wish;
  wish.folder = text;
  const auto refused = [&](const std::string& why) {
    return fail(
        Error(ErrorCode::usage, fmt::format("{} is no fast place for checkpoints", quote_for_message(text)))
            .because(why)
            .remedied_by("name a folder of each node and the bytes it may hold: /dev/shm/NAME:8G"));
  };
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    const auto size = parse_size(std::string_view(text).substr(colon + 1), BareUnit::bytes);
    if (!size) return refused(size.error().line());
    wish.folder = text.substr(0, colon);
    wish.bytes = static_cast<std::uint64_t>(size->count);
  }
  if (!wish.folder.starts_with('/')) return refused("its path does not begin with '/'");
  wish.folder = std::filesystem::path(wish.folder).lexically_normal().string();
  while (wish.folder.size() > 1 && wish.folder.ends_with('/')) wish.folder.pop_back();
  if (wish.folder == "/") return refused("it is the root of all");
  return wish;
}

Result<std::string> fast_store(const FastWish& wish, const std::string& series, const Participant& me,
                               std::int64_t rank) {
  auto folder = fill_in(wish.folder, me);
  if (!folder) return folder;
  return fmt::format("{}/{}/r{}", *folder, name_of(series), rank);
}

Result<Fast> open_fast(checkpoint::Files& files, const FastWish& wish, const std::string& series,
                       const Participant& me, bool uses) {
  auto folder = fill_in(wish.folder, me);
  if (!folder) return tl::unexpected<Error>(std::move(folder.error()));
  if (auto made = files.make_folder(*folder); !made) return tl::unexpected<Error>(std::move(made.error()));
  // After it was made: if it had been there before, it may be anybody's.
  if (auto safe = is_own(*folder); !safe) return tl::unexpected<Error>(std::move(safe.error()));
  const auto own = fast_store(wish, series, me, me.rank);
  if (!own) return tl::unexpected<Error>(own.error());
  auto store = checkpoint::Store::open(files, *own);
  if (!store) return tl::unexpected<Error>(std::move(store.error()));
  Fast fast{std::move(*store), *folder};
  // Processes of a node, rounded up: each has its part of the bytes, so nothing is to be agreed upon.
  const auto here = static_cast<std::uint64_t>(
      std::max<std::int64_t>((me.ranks + me.nodes - 1) / std::max<std::int64_t>(me.nodes, 1), 1));
  fast.most = wish.bytes.value_or(half_of(*folder)) / here;
  // (A keeper holds it for a moment.)
  for (int tries = 0; uses && !fast.use && tries < kTries; ++tries) {
    auto lock = files.lock(fast.store.folder() + "/" + kFastUse);
    if (lock) fast.use = std::move(*lock);
    if (lock || lock.error().code != ErrorCode::busy) break;
    std::this_thread::sleep_for(kPause);
  }
  if (auto told = say_whose(files, fast.store.folder(), me); !told)
    return tl::unexpected<Error>(std::move(told.error()));
  return fast;
}

Result<std::string> folder_in_fast(checkpoint::Files& files, const FastWish& wish, const std::string& series,
                                   const Participant& me, const std::string& name) {
  const auto folder = fill_in(wish.folder, me);
  if (!folder) return folder;
  std::string own = fmt::format("{}/{}/{}", *folder, name_of(series), name);
  if (auto made = files.make_folder(own); !made) return tl::unexpected<Error>(std::move(made.error()));
  if (auto safe = is_own(*folder); !safe) return tl::unexpected<Error>(std::move(safe.error()));
  if (auto told = say_whose(files, own, me); !told) return tl::unexpected<Error>(std::move(told.error()));
  return own;
}

// (Not the whole control file: others' packs are not here, and nothing is restored by this one.)
Status note_in_fast(checkpoint::Store& store, const Participant& me, std::int64_t number, TimePoint at,
                    const checkpoint::Image& image) {
  checkpoint::Control own;
  own.number = number;
  own.job = me.job;
  own.uid = me.uid;
  own.at = at;
  own.images = {image};
  return store.publish(own, {});
}

// A number that comes again is of a series that was removed and began anew; its old packs would be in the
// way, and their chunks belong to nobody.
Status drop_from(checkpoint::Files& files, const checkpoint::Store& store, std::int64_t number) {
  const auto names = files.list(store.folder());
  if (!names) return tl::unexpected<Error>(names.error());
  for (const std::string& name : *names)
    if (checkpoint::number_of(name).value_or(0) >= number)
      if (auto gone = files.remove(store.folder() + "/" + name); !gone) return gone;
  return {};
}

std::vector<std::string> sweep_fast(checkpoint::Files& files, const Fast& fast, const Participant& me,
                                    const JobIsGone& is_gone) {
  namespace fs = std::filesystem;
  std::vector<std::string> gone;
  const auto all = files.list(fast.folder);
  if (!all) return gone;
  // The folder of this series. The others are of other jobs, or of none.
  const std::string own = fs::path(fast.store.folder()).parent_path().filename().string();
  for (const std::string& name : *all) {
    const std::string folder = fast.folder + "/" + name;
    const auto ranks = files.list(folder);
    if (name == own || !is_own(folder) || !ranks || ranks->empty()) continue;
    std::vector<std::unique_ptr<checkpoint::FileLock>> held;
    bool ended = true;
    for (const std::string& rank : *ranks) {
      const std::string place = folder + "/" + rank;
      const auto job = read_job(files, place);
      // A folder that does not say whose it is stays. Of a replay both jobs count: the one that runs and the
      // one whose checkpoints it uses.
      ended = job && job->job != me.job && job->in_job != me.in_job && job->job != me.in_job &&
              job->in_job != me.job;
      // The locks stay held until the folder is gone: else a process of that job could begin in the midst of
      // it.
      for (const char* lock : {kFastUse, kFlushName}) {
        if (!ended) break;
        auto free = files.lock(place + "/" + lock);
        ended = free.has_value();
        if (free) held.push_back(std::move(*free));
      }
      // Last, for it asks Slurm.
      ended = ended && is_gone(job->in_job) && (job->job == job->in_job || is_gone(job->job));
      if (!ended) break;
    }
    if (!ended) continue;
    std::error_code wrong;
    fs::remove_all(folder, wrong);  // (no link is followed)
    if (!wrong) gone.push_back(folder);
  }
  return gone;
}

}  // namespace sickbay::ckpt
