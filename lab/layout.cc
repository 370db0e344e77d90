// SPDX-License-Identifier: Apache-2.0
// The plan of a lab: names, addresses, ports, and lab.conf.
#include "lab/layout.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fnv.h"
#include "lab/child.h"

namespace sickbay::lab {
namespace {

constexpr int kControllerHost = 250;  // of the lab's range; login hosts come after it

std::string address_of(const Layout& l, int host) { return fmt::format("10.77.{}.{}", l.range, host); }

bool good_name(const std::string& name) {
  if (name.empty() || name.size() > 24 || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// Name, place and bounds of the numbers that `up` takes.
struct NumberRow {
  const char* key;
  int Wishes::*field;
  int least, most;
};
constexpr NumberRow kNumbers[] = {
    {"nodes", &Wishes::nodes, 1, 100},
    {"spares", &Wishes::spares, 0, 100},
    {"logins", &Wishes::logins, 0, 4},
    {"cpus", &Wishes::cpus, 1, 1024},
};
struct TextRow {
  const char* key;
  std::string Wishes::*field;
};
constexpr TextRow kTexts[] = {
    {"name", &Wishes::name},
    {"folder", &Wishes::folder},
    {"slurm_user", &Wishes::slurm_user},
    {"release", &Wishes::release},
};

struct FlagRow {
  const char* key;
  bool Wishes::*field;
};
constexpr FlagRow kFlags[] = {{"sickbayd", &Wishes::sickbayd}, {"agents", &Wishes::agents}};

// "a/../x/" in /here is "/here/x".
std::string plain_path(const std::string& path) {
  std::string plain = std::filesystem::absolute(path).lexically_normal().string();
  if (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

}  // namespace

const std::vector<User>& lab_users() {
  static const std::vector<User> users = {{"alice", 60001}, {"bob", 60002}};
  return users;
}

std::string default_folder(const std::string& name) { return "/var/tmp/sickbay-lab-" + name; }

Result<Layout> plan_layout(Wishes wishes) {
  if (!good_name(wishes.name))
    return fail(Error(ErrorCode::usage, fmt::format("'{}' is not a name for a lab", wishes.name))
                    .remedied_by("use a lower-case letter, then at most 23 letters, digits and '-'"));
  for (const NumberRow& row : kNumbers)
    if (const int n = wishes.*row.field; n < row.least || n > row.most)
      return fail(Error(ErrorCode::usage, fmt::format("--{} {} is out of range", row.key, n))
                      .remedied_by(fmt::format("choose {} to {}", row.least, row.most)));
  if (wishes.slurm_user != "root" && wishes.slurm_user != "slurm")
    return fail(Error(ErrorCode::usage, fmt::format("--slurm-user '{}' is not known", wishes.slurm_user))
                    .remedied_by("choose root or slurm"));
  if (wishes.folder.empty()) wishes.folder = default_folder(wishes.name);
  wishes.folder = plain_path(wishes.folder);
  // The longest socket path is LAB/root/run/sickbay/sickbayd.sock, and sun_path holds 107 characters.
  if (wishes.folder.size() > 70 || wishes.folder.find_first_of(" \t\n#,=\"'\\%") != std::string::npos)
    return fail(Error(ErrorCode::usage, fmt::format("--dir {} cannot hold a lab", wishes.folder))
                    .because("slurm.conf and Unix sockets take no long paths, spaces or special characters")
                    .remedied_by("choose a path of at most 70 plain characters"));
  for (std::string& folder : wishes.shown) folder = plain_path(folder);
  Layout l;
  l.wishes = std::move(wishes);
  // Names that differ get ranges and bridges that differ, mostly; nothing depends on it, since every lab has
  // its bridge in a network namespace of its own.
  const std::uint32_t h = fnv32(l.wishes.name + l.wishes.folder);
  l.range = 1 + static_cast<int>(h % 250);
  l.first_port = 17000 + l.range * 8;
  l.bridge = fmt::format("sb-{:08x}", h);
  return l;
}

std::vector<Machine> Layout::machines() const {
  std::vector<Machine> all;
  for (int i = 1; i <= wishes.nodes + wishes.spares; ++i)
    all.push_back({fmt::format("n{}", i), address_of(*this, i), i > wishes.nodes});
  return all;
}

Machine Layout::controller() const { return {"ctl", address_of(*this, kControllerHost)}; }

std::vector<Machine> Layout::logins() const {
  std::vector<Machine> all;
  for (int i = 1; i <= wishes.logins; ++i)
    all.push_back({fmt::format("login{}", i), address_of(*this, kControllerHost + i), false, true});
  return all;
}

std::vector<Machine> Layout::hosts() const {
  std::vector<Machine> all = machines();
  for (Machine& m : logins()) all.push_back(std::move(m));
  return all;
}

Result<Machine> Layout::machine(const std::string& name) const {
  if (name == "ctl") return controller();
  for (Machine& m : hosts())
    if (m.name == name) return m;
  return fail(
      Error(ErrorCode::not_found, fmt::format("lab '{}' has no node '{}'", wishes.name, name))
          .remedied_by(fmt::format("its machines are ctl{} and n1 to n{}",
                                   wishes.logins > 0 ? fmt::format(", login1 to login{}", wishes.logins) : "",
                                   wishes.nodes + wishes.spares)));
}

std::string print_layout(const Layout& l) {
  std::string text = "# what `sickbay lab up` made; the other lab commands read it\n";
  for (const TextRow& row : kTexts) text += fmt::format("{} {}\n", row.key, l.wishes.*row.field);
  for (const NumberRow& row : kNumbers) text += fmt::format("{} {}\n", row.key, l.wishes.*row.field);
  for (const FlagRow& row : kFlags) text += fmt::format("{} {}\n", row.key, l.wishes.*row.field ? 1 : 0);
  for (const std::string& folder : l.wishes.shown) text += fmt::format("shown {}\n", folder);
  return text;
}

Result<Layout> parse_layout(const std::string& text) {
  Wishes wishes;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    bool known = key == "shown" && !value.empty();
    if (known) wishes.shown.push_back(value);
    for (const FlagRow& row : kFlags)
      if (key == row.key) wishes.*row.field = value == "1", known = true;
    for (const TextRow& row : kTexts)
      if (key == row.key) wishes.*row.field = value, known = true;
    for (const NumberRow& row : kNumbers)
      if (key == row.key) {
        const auto [end, failed] =
            std::from_chars(value.data(), value.data() + value.size(), wishes.*row.field);
        known = failed == std::errc{} && end == value.data() + value.size();
      }
    if (!known)
      return fail(ErrorCode::bad_input, fmt::format("lab.conf:{}: '{}' is not understood", number, line));
  }
  return plan_layout(std::move(wishes));
}

Result<Layout> load_layout(const std::string& name, const std::string& folder) {
  const std::string dir = folder.empty() ? default_folder(name) : folder;
  auto text = read_text(dir + "/lab.conf");
  if (!text)
    return fail(Error(ErrorCode::not_found, fmt::format("there is no lab '{}' in {}", name, dir))
                    .remedied_by(fmt::format("start it: sickbay lab up {}{}", name,
                                             folder.empty() ? "" : " --dir " + folder)));
  return parse_layout(*text);
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(os_error("could not read " + path));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Status write_text(const std::string& path, const std::string& text, unsigned mode) {
  // Written aside and renamed, so that a crash leaves the old file or the new one.
  const std::string aside = path + ".new";
  const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return fail(os_error("could not write " + aside));
  const bool good =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fchmod(fd, mode) == 0;
  if (!good) {
    auto error = os_error("could not write " + aside);
    ::close(fd);
    return fail(std::move(error));
  }
  ::close(fd);
  if (::rename(aside.c_str(), path.c_str()) != 0) return fail(os_error("could not write " + path));
  return {};
}

Status make_folder(const std::string& path, unsigned mode) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed || ::chmod(path.c_str(), mode) != 0) return fail(os_error("could not make the folder " + path));
  return {};
}

}  // namespace sickbay::lab
