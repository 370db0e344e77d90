// SPDX-License-Identifier: Apache-2.0
#include "lab/other_release.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "lab/child.h"
#include "lab/lab.h"
#include "lab/shown.h"

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;

bool same_folder(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

std::string program_of(const std::string& folder) { return folder + "/build/bin/sickbay"; }

// As it was called, byte for byte.
std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string one; std::getline(in, one, '\0');) arguments.push_back(one);
  return arguments;
}

Status mount_release(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail(os_error("could not make a mount namespace"));
  // /usr last: nothing of this program's own system may be loaded after it.
  for (const char* part : {"/etc", "/usr"})
    if (::mount((folder + "/root" + part).c_str(), part, nullptr, MS_BIND, nullptr) != 0)
      return fail(os_error(fmt::format("could not mount {}/root{}", folder, part)));
  return {};
}

}  // namespace

Result<std::string> find_release(const std::string& word) {
  const bool path = word.find('/') != std::string::npos;
  const std::string checkout = own_checkout();
  std::string folder = word;
  if (!path) {
    if (checkout.empty())
      return fail(Error(ErrorCode::not_found, fmt::format("there is no Slurm {} here", word))
                      .because("this program was installed, and knows of no checkout with other releases")
                      .remedied_by(fmt::format(
                          "in a checkout of Sickbay: sudo tools/slurm-release {0}; then: sickbay lab up "
                          "--slurm CHECKOUT/build/slurm-{0}",
                          word)));
    folder = fmt::format("{}/build/slurm-{}", checkout, word);
  }
  std::error_code failed;
  folder = fs::absolute(folder, failed).lexically_normal().string();
  if (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (::access(program_of(folder).c_str(), X_OK) == 0 && fs::is_directory(folder + "/root/usr", failed))
    return folder;
  const std::string make = checkout.empty() ? "tools/slurm-release" : checkout + "/tools/slurm-release";
  return fail(Error(ErrorCode::not_found, path ? folder + " holds no release of Slurm"
                                               : fmt::format("there is no Slurm {} here yet", word))
                  .because(fmt::format("{} and {}/root/usr are not both there", program_of(folder), folder))
                  .remedied_by(fmt::format("sudo {} {}    (minutes, once; --list names what there is)", make,
                                           path ? "VERSION" : word)));
}

Status go_to_release(const std::string& folder) {
  if (folder.empty() || same_folder("/usr", folder + "/root/usr")) return {};
  if (auto root = need_root("a lab of another Slurm"); !root) return root;
  if (auto found = find_release(folder); !found) return tl::unexpected(found.error());
  // All that is needed is read before the programs and libraries below it change.
  const std::vector<std::string> arguments = own_arguments();
  const std::string program = program_of(folder);
  const char* before = std::getenv("PATH");
  const std::string path =
      folder + "/build/bin:" + (before != nullptr ? before : "/usr/sbin:/usr/bin:/sbin:/bin");
  ::setenv("PATH", path.c_str(), 1);  // in the lab `sickbay` is that release's
  std::vector<char*> raw;
  raw.push_back(const_cast<char*>(program.c_str()));
  for (std::size_t i = 1; i < arguments.size(); ++i) raw.push_back(const_cast<char*>(arguments[i].c_str()));
  raw.push_back(nullptr);
  if (auto mounted = mount_release(folder); !mounted) return mounted;
  ::execv(program.c_str(), raw.data());
  return fail(os_error("could not run " + program));
}

}  // namespace sickbay::lab
