// SPDX-License-Identifier: Apache-2.0
#include "lab/clock.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace sickbay::lab {
namespace {

namespace fs = std::filesystem;

// Of a build, and of an installation.
std::string beside_this_program() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& place :
       {self / "libsickbay_clock_shift.so", self / "../lib/sickbay/libsickbay_clock_shift.so"})
    if (fs::exists(place)) return place.string();
  return "";
}

std::string boot_file(const Layout& l, const std::string& machine) {
  return l.path("nodes/" + machine + "/booted-at");
}

}  // namespace

Status check_clock_library() {
  if (!beside_this_program().empty()) return {};
  return fail(Error(ErrorCode::missing_program, "libsickbay_clock_shift.so is not beside this program")
                  .because("the kernel has one wall clock and one boot for all; only a preloaded library can "
                           "tell a node's programs of others")
                  .remedied_by("build or install all of Sickbay (ninja sickbay_clock_shift)"));
}

std::string clock_library(const Layout& l) { return l.path("etc/libsickbay_clock_shift.so"); }

Result<std::string> place_clock_library(const Layout& l) {
  if (auto there = check_clock_library(); !there) return tl::unexpected(there.error());
  // By rename, for another node's programs may run with the one that is there.
  const std::string to = clock_library(l), next = fmt::format("{}.{}", to, ::getpid());
  std::error_code failed;
  fs::copy_file(beside_this_program(), next, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::rename(next, to, failed);
  if (failed)
    return fail(ErrorCode::os, fmt::format("could not copy the library to {}: {}", to, failed.message()));
  return to;
}

Status note_boot(const Layout& l, const std::string& machine, std::chrono::seconds ago) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return write_text(boot_file(l, machine), fmt::format("{}\n", now.tv_sec - ago.count()));
}

std::optional<std::int64_t> booted_at(const Layout& l, const std::string& machine) {
  const auto text = read_text(boot_file(l, machine));
  if (!text) return std::nullopt;
  return std::atoll(text->c_str());
}

}  // namespace sickbay::lab
