// SPDX-License-Identifier: Apache-2.0
#include "ckpt/tell.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/words.h"
#include "ckpt/go_back.h"
#include "ckpt/series.h"
#include "ckpt/take.h"

extern char** environ;

namespace sickbay::ckpt {
namespace {

constexpr auto kKinds = std::to_array<std::string_view>({"taken", "restored", "failed"});
// What `sickbay` ends with where there is nobody to be told of this job: it was not submitted through
// Sickbay.
constexpr int kNoSuchJob = 66;

bool is_program(const std::filesystem::path& path) { return ::access(path.c_str(), X_OK) == 0; }

// The folders in which the programs of this installation may be.
std::vector<std::filesystem::path> folders_near() {
  std::vector<std::filesystem::path> folders;
  std::error_code wrong;
  // (Beside a program of ours: what lies beside a user's is his.)
  if (const auto self = std::filesystem::read_symlink("/proc/self/exe", wrong);
      !wrong && self.filename().string().starts_with("sickbay"))
    folders.push_back(self.parent_path());
  // Inside of a user's program this is a library: PREFIX/lib/ARCH/libsickbay-ckpt.so, with PREFIX/bin not
  // far.
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&body_of), &here) != 0 && here.dli_fname != nullptr) {
    auto folder = std::filesystem::absolute(here.dli_fname, wrong).parent_path();
    for (int up = 0; up < 3 && folder.has_relative_path(); ++up) {
      folder = folder.parent_path();
      folders.push_back(folder / "bin");
    }
  }
  return folders;
}

}  // namespace

News news_of(const Taken& taken, const Series& series, const Participant& me) {
  return {.number = taken.number,
          .folder = series.store.folder(),
          .bytes = taken.raw,
          .stored_bytes = taken.written,
          .took = taken.took,
          .ranks = me.ranks,
          .parent = taken.parent};
}

News news_of(const WentBack& back, const Series& series, const Participant& me) {
  return {.kind = News::Kind::restored,
          .number = back.number,
          .folder = series.store.folder(),
          .bytes = back.raw,
          .took = back.took,
          .ranks = me.ranks};
}

Json body_of(const News& news, const Participant& me) {
  Json body = Json::object({{"job", me.in_job},
                            {"restart", me.restart},
                            {"checkpoint", news.number},
                            {"event", kKinds[static_cast<std::size_t>(news.kind)]},
                            {"folder", news.folder},
                            {"bytes", news.bytes},
                            {"stored_bytes", news.stored_bytes},
                            {"seconds", static_cast<double>(news.took.count()) / 1e6},
                            {"ranks", news.ranks},
                            {"tier", "shared"}});
  if (news.parent) body.set("parent", *news.parent);
  if (!news.why.empty()) body.set("why", news.why);
  return body;
}

std::string sickbay_program(const Variable& variable) {
  if (const char* set = std::getenv("SICKBAY_PROGRAM"); set != nullptr) return set;
  for (const auto& folder : folders_near())
    if (is_program(folder / "sickbay")) return folder / "sickbay";
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::filesystem::path folder = path.substr(begin, end - begin);
    if (folder.is_absolute() && is_program(folder / "sickbay")) return folder / "sickbay";
    begin = end + 1;
  }
  return "";
}

Status tell(const std::string& program, const News& news, const Participant& me, Telling how) {
  if (program.empty()) return {};
  // The shell is there to leave the child behind: an orphan is reaped by init, and not by a user's program,
  // which may have a handler for SIGCHLD that counts its own children.
  const bool stays = how == Telling::in_background;
  const std::string job = fmt::format("{}", me.in_job);
  const std::string body = body_of(news, me).dump();
  std::vector<const char*> words = {"/bin/sh",
                                    "-c",
                                    stays ? "\"$@\" &" : "exec \"$@\"",
                                    "sh",
                                    program.c_str(),
                                    "checkpoint",
                                    job.c_str(),
                                    "--tell",
                                    body.c_str(),
                                    nullptr};
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::pid_t child = 0;
  const int wrong =
      ::posix_spawn(&child, words[0], &actions, nullptr, const_cast<char**>(words.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (wrong != 0)
    return stays ? Status()
                 : fail(ErrorCode::os, fmt::format("cannot start {}: {}", program, std::strerror(wrong)));
  int state = 0;
  while (::waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return {};  // (somebody else has reaped it: nothing is known)
  if (stays) return {};
  const int code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  if (code == 0 || code == kNoSuchJob) return {};
  return fail(
      Error(ErrorCode::daemon_away,
            fmt::format("checkpoint {} is not in the history of job {}", news.number, me.in_job))
          .because(fmt::format("'sickbay checkpoint {} --tell' ended with {}", me.in_job, code))
          .remedied_by("see 'sickbay status' on this node; the checkpoint itself is not touched by that"));
}

}  // namespace sickbay::ckpt
