// SPDX-License-Identifier: Apache-2.0
// The end of a job's output: bounded, and fit for a terminal whatever the job wrote.  A NUL parts output and
// error.
#include "model/fingerprint.h"

#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sickbay;
  const std::string_view text = fuzz::as_text(bytes, size);
  const std::size_t cut = std::min(text.find('\0'), size);
  const Fingerprint found = read_fingerprint(text.substr(0, cut), text.substr(std::min(cut + 1, size)));
  SB_CHECK(found.last_lines.size() <= kFingerprintLines, "lines are bounded");
  std::size_t total = 0;
  for (const std::string& line : found.last_lines) {
    total += line.size();
    SB_CHECK(safe_line(line) == line, "a safe line stays as it is");
    SB_CHECK(std::none_of(line.begin(), line.end(),
                          [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }),
             "no control characters");
  }
  SB_CHECK(total <= kFingerprintBytes, "bytes are bounded");
  SB_CHECK(safe_line(found.message) == found.message, "the message is safe too");
  SB_CHECK(safe_line(found.cause) == found.cause, "the cause is safe too");
  SB_CHECK(found.cause.size() <= kMostFailureWords, "the cause is bounded");
  SB_CHECK(found.cause.empty() == (found.cause_tells == Telling::nothing), "what tells something has words");
  SB_CHECK(found.signal.has_value() == !found.signal_name.empty(), "a signal has a name");
  SB_CHECK(!found.rank || *found.rank >= 0, "ranks count from 0");
  SB_CHECK(!found.node || !found.node->empty(), "a node has a name");
  return 0;
}
