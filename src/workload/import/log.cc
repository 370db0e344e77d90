// SPDX-License-Identifier: Apache-2.0
#include "workload/import/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace sickbay::workload {

Result<Input> open_input(const std::string& path) {
  auto input = Input::open(path);
  if (!input && input.error().code == ErrorCode::not_found && input.error().remedy_text.empty())
    input.error().remedy_text =
        "check the path; a relative one begins at the current folder, '-' is standard input";
  return input;
}

Status read_range(const Input& input, std::uint64_t begin, std::uint64_t end, std::string& to) {
  // (resize() alone would clear what is overwritten at once; the buffer only ever grows.)
  if (to.size() < end - begin) to.resize(end - begin);
  std::size_t done = 0;
  while (done < end - begin) {
    auto n = input.read_at(begin + done, to.data() + done, end - begin - done);
    if (!n) return fail(std::move(n.error()));
    if (*n == 0)
      return fail(Error(ErrorCode::bad_input, fmt::format("{} became shorter while it was read",
                                                          quote_for_message(input.name(), 200)))
                      .remedied_by("import a copy that nobody writes to"));
    done += *n;
  }
  return {};
}

namespace {

// The size up to and with the last line end; all of it where the last megabyte has none.
Result<std::uint64_t> size_of_whole_lines(const Input& input) {
  constexpr std::uint64_t kTail = std::uint64_t{1} << 20;
  const std::uint64_t size = input.size(), from = size > kTail ? size - kTail : 0;
  std::string tail;
  if (auto read = read_range(input, from, size, tail); !read) return fail(std::move(read.error()));
  const auto at = std::string_view(tail).substr(0, size - from).rfind('\n');
  return at == std::string_view::npos ? size : from + at + 1;
}

}  // namespace

Result<std::vector<Log>> open_logs(const std::vector<std::string>& paths, const ReadOptions& options,
                                   bool growing, const std::string& name) {
  constexpr std::uint64_t kHead = std::uint64_t{1} << 20;
  std::vector<Log> logs;
  std::uint64_t base = 0;
  std::size_t empty = 0;
  for (const std::string& path : paths) {
    auto input = open_input(path);
    if (!input) return fail(std::move(input.error()));
    auto size = growing ? size_of_whole_lines(*input) : Result<std::uint64_t>(input->size());
    if (!size) return fail(std::move(size.error()));
    std::string head;
    if (auto read = read_range(*input, 0, std::min(*size, kHead), head); !read)
      return fail(std::move(read.error()));
    // An empty one among others is a day without jobs; all of them empty is a mistake.
    const bool nothing = *size <= kHead && trimmed(head).empty() && ++empty < paths.size();
    auto opened = nothing ? Result<OpenedReader>(open_empty()) : open_reader(head, *size <= kHead, options);
    if (!opened)
      return fail(std::move(opened.error())
                      .in("reading " + quote_for_message(name.empty() ? input->name() : name, 200)));
    const std::string_view records =
        std::string_view(head).substr(std::min(head.size(), opened->header_bytes));
    const bool cuttable = opened->reader->find_start(records) != std::string_view::npos;
    logs.push_back(
        {name.empty() ? input->name() : name, std::move(*input), std::move(*opened), *size, base, cuttable});
    base += *size;
  }
  return logs;
}

namespace {

std::uint64_t mixed(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const auto product = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The number of '\n' among the eight bytes of a word.
int line_ends(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U, kLow = 0x7f7f7f7f7f7f7f7fU;
  const std::uint64_t x = word ^ (kOnes * '\n');
  // 0x80 where a byte is 0; counted by a product, since a plain x86-64 has no instruction for it.
  return static_cast<int>((~(((x & kLow) + kLow) | x | kLow) >> 7) * kOnes >> 56);
}

}  // namespace

std::uint64_t ContentHash::add(std::string_view text) {
  constexpr std::uint64_t kA = 0xa0761d6478bd642fU, kB = 0xe7037ed1a0b428dbU;
  std::uint64_t lines = 0;
  const char* p = text.data();
  std::size_t left = text.size();
  for (; left >= 16; p += 16, left -= 16) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, p, 8);
    std::memcpy(&y, p + 8, 8);
    a_ = mixed(a_ ^ x, kA ^ y);
    b_ = mixed(b_ ^ y, kB ^ x) + a_;
    lines += static_cast<std::uint64_t>(line_ends(x) + line_ends(y));
  }
  std::uint64_t rest[2] = {0, 0};
  std::memcpy(rest, p, left);
  for (std::size_t i = 0; i < left; ++i) lines += p[i] == '\n';
  a_ = mixed(a_ ^ rest[0], kA ^ rest[1] ^ (text.size() << 8));
  b_ = mixed(b_ ^ rest[1], kB ^ rest[0]) + a_;
  return lines;
}

void ContentHash::add(const ContentHash& other) {
  const std::uint64_t both[2] = {other.a_, other.b_};
  char bytes[sizeof both];
  std::memcpy(bytes, both, sizeof both);
  add(std::string_view(bytes, sizeof bytes));
}

std::string ContentHash::hex() const { return fmt::format("{:016x}{:016x}", a_, b_); }

}  // namespace sickbay::workload
