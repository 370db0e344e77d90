// SPDX-License-Identifier: Apache-2.0
// What a member of a JSON object costs, in small objects and in wide ones that a stranger may send.
//
// The figures to compare are those of one operation at different widths: where the cost of a member grows
// with the width, a request of a megabyte can hold sickbayd's loop for seconds.
#include <string>

#include "base/json.h"
#include "figure.h"

namespace {

using namespace sickbay;
using bench::figure;
using bench::median_ms;
using bench::require;
using bench::ThreadTime;

constexpr int kRuns = 7;

std::vector<std::string> names(int width) {
  std::vector<std::string> all;
  for (int i = 0; i < width; ++i) all.push_back("name" + std::to_string(i * 7919LL % width));
  return all;
}

// Nanoseconds a member of `work`, which handles `members` of them `times` times.
template <class Work>
double per_member(int members, int times, Work work) {
  const double ms = median_ms<ThreadTime>(
      kRuns, [] {},
      [&] {
        for (int i = 0; i < times; ++i) work();
      });
  return 1e6 * ms / members / times;
}

}  // namespace

int main() {
  for (const int width : {10, 64, 1000, 160'000}) {
    const std::vector<std::string> keys = names(width);
    const int times = std::max(1, 160'000 / width);
    Json object;
    figure(("json_set_" + std::to_string(width)).c_str(),
           per_member(width, times,
                      [&] {
                        object = Json();
                        for (const auto& key : keys) object.set(key, 1);
                      }),
           "ns");
    require(object.size() == static_cast<std::size_t>(width), "all members are set");
    const std::string text = object.dump();
    std::size_t read = 0;
    figure(("json_parse_" + std::to_string(width)).c_str(),
           per_member(width, times, [&] { read = Json::parse(text).value().size(); }), "ns");
    require(read == static_cast<std::size_t>(width), "all members are read");
  }
  return 0;
}
