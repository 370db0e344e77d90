// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/mapped.h"

#include <fmt/format.h>

#include <optional>

#include "base/words.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostMaps = 4 << 20;  // 40,000 mappings

std::optional<std::uint64_t> address(std::string_view text) {
  const auto value = to_integer(text, 16);
  return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

// One line, with its path still in the text.
struct Line {
  std::uint64_t from = 0, to = 0, offset = 0;
  std::string_view rights, path;
};

Mapped whole(const Line& line) {
  return {line.from,  line.to, line.rights[1] == 'w', line.rights[2] == 'x', std::string(line.path),
          line.offset};
}

// The next line of `text` that is one, which is shortened; nothing at the end.
std::optional<Line> next_mapping(std::string_view& text) {
  // 7f1c0a000000-7f1c0a021000 r-xp 00001000 fe:01 1234      /usr/lib/libmpich.so.12
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    const std::string_view range = next_word(rest), rights = next_word(rest);
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos || rights.size() < 3) continue;
    const auto from = address(range.substr(0, dash)), to = address(range.substr(dash + 1));
    if (!from || !to) continue;  // [vsyscall] is beyond what a process has
    const auto offset = address(next_word(rest));
    for (int column = 0; column < 2; ++column) next_word(rest);  // its device and its inode
    const std::size_t begin = rest.find_first_not_of(' ');
    return Line{*from, *to, offset.value_or(0), rights,
                begin == std::string_view::npos ? "" : rest.substr(begin)};
  }
  return std::nullopt;
}

Result<std::string> maps_of(const node::Tree& tree, std::int64_t pid) {
  return tree.read(fmt::format("/proc/{}/maps", pid), kMostMaps);
}

}  // namespace

std::vector<Mapped> parse_maps(std::string_view text) {
  std::vector<Mapped> all;
  while (const auto line = next_mapping(text)) all.push_back(whole(*line));
  return all;
}

std::vector<Mapped> mapped_by(const node::Tree& tree, std::int64_t pid) {
  const auto text = maps_of(tree, pid);
  return text ? parse_maps(*text) : std::vector<Mapped>();
}

std::optional<Mapped> mapping_of(const node::Tree& tree, std::int64_t pid, std::uint64_t address) {
  const auto text = maps_of(tree, pid);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (const auto line = next_mapping(rest))
    if (line->from <= address && address < line->to) return whole(*line);
  return std::nullopt;
}

bool is_mpi_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libpmpi");
}

}  // namespace sickbay::ranks
