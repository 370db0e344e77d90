// SPDX-License-Identifier: Apache-2.0
// sickbay-folder: looks at a user's files, copies his folder and removes the copy, as that user.
//
// sickbayd starts it, with one order on its standard input and one answer on its standard output
// (apps/folder/folder_order.h).  It has no rights of its own and needs none.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "apps/folder/folder_order.h"

namespace {
constexpr std::size_t kOrderBound = 4 << 20;
}  // namespace

int main(int argc, char**) {
  if (argc > 1 || ::isatty(STDIN_FILENO) == 1) {
    std::fprintf(stderr,
                 "sickbay-folder is a part of sickbayd, which gives it an order; it has no use of its own\n");
    return 64;
  }
  // The user's own work goes first.
  if (::nice(10) == -1) errno = 0;
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || text.size() > kOrderBound) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  const auto order = sickbay::Json::parse(text);
  if (!order) {
    std::fprintf(stderr, "%s\n", order.error().message("sickbay-folder").c_str());
    return 65;
  }
  const std::string answer = sickbay::do_folder_order(*order).dump() + "\n";
  return std::fwrite(answer.data(), 1, answer.size(), stdout) == answer.size() ? 0 : 74;
}
