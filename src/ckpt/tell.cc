// SPDX-License-Identifier: Apache-2.0
#include "ckpt/tell.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
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
          .parent = taken.parent,
          .fast = taken.fast};
}

News news_of(const WentBack& back, const Series& series, const Participant& me) {
  return {.kind = News::Kind::restored,
          .number = back.number,
          .folder = series.store.folder(),
          .bytes = back.raw,
          .took = back.took,
          .ranks = me.ranks,
          .fast = back.fast};
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
                            {"tier", news.fast ? "memory" : "shared"}});
  if (news.parent) body.set("parent", *news.parent);
  if (!news.why.empty()) body.set("why", news.why);
  return body;
}

std::string program_near(const char* name, const char* set, const Variable& variable) {
  // An empty value counts: it switches the telling off.
  if (const char* given = std::getenv(set); given != nullptr) return given;
  for (const auto& folder : folders_near())
    if (is_program(folder / name)) return folder / name;
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::filesystem::path folder = path.substr(begin, end - begin);
    // A relative folder of PATH (also an empty one, ".") is where the job runs: what lies there is no program
    // of ours.
    if (folder.is_absolute() && is_program(folder / name)) return folder / name;
    begin = end + 1;
  }
  return "";
}

std::string sickbay_program(const Variable& variable) {
  return program_near("sickbay", "SICKBAY_PROGRAM", variable);
}

Result<int> run_beside(const std::vector<std::string>& given, Telling how, bool quiet) {
  // The shell is there to leave the child behind: an orphan is reaped by init, and not by a user's program,
  // which may have a handler for SIGCHLD that counts its own children.
  const bool stays = how == Telling::in_background;
  std::vector<const char*> words = {"/bin/sh", "-c", stays ? "\"$@\" &" : "exec \"$@\"", "sh"};
  for (const std::string& word : given) words.push_back(word.c_str());
  words.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (quiet) ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  // (What the program has open, a pipe to its mpiexec, must not stay open behind it.)
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
  // Signals that this thread takes not are the program's matter.
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::pid_t child = 0;
  const int wrong =
      ::posix_spawn(&child, words[0], &actions, &attributes, const_cast<char**>(words.data()), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (wrong != 0)
    return fail(ErrorCode::os, fmt::format("cannot start {}: {}", given.front(), std::strerror(wrong)));
  int state = 0;
  while (::waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return 0;  // (somebody else has reaped it: nothing is known)
  if (stays) return 0;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

Status tell(const std::string& program, const News& news, const Participant& me, Telling how) {
  if (program.empty()) return {};
  const auto code = run_beside(
      {program, "checkpoint", fmt::format("{}", me.in_job), "--tell", body_of(news, me).dump()}, how, true);
  if (how == Telling::in_background) return {};
  if (!code) return tl::unexpected<Error>(code.error());
  if (*code == 0 || *code == kNoSuchJob) return {};
  return fail(
      Error(ErrorCode::daemon_away,
            fmt::format("checkpoint {} is not in the history of job {}", news.number, me.in_job))
          .because(fmt::format("'sickbay checkpoint {} --tell' ended with {}", me.in_job, *code))
          .remedied_by("see 'sickbay status' on this node; the checkpoint itself is not touched by that"));
}

}  // namespace sickbay::ckpt
