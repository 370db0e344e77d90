// SPDX-License-Identifier: Apache-2.0
#include "service/snapshot.h"

#include "base/digest/sha256.h"
#include "base/json.h"

namespace sickbay {
namespace {

constexpr int kFormat = 1;
constexpr std::size_t kDigest = 64;  // hexadecimal digits at the end

}  // namespace

std::optional<SnapshotHead> snapshot_head(std::string_view line) {
  const auto head = Json::parse(line);
  if (!head || (*head)["sickbay_state"].as_int() != kFormat) return std::nullopt;
  return SnapshotHead{(*head)["program"].as_string(), (*head)["config"].as_string(), (*head)["seq"].as_int(),
                      (*head)["mark"].as_string()};
}

std::string snapshot_bytes(const SnapshotHead& head, std::string_view state) {
  std::string bytes = Json::object({{"sickbay_state", kFormat},
                                    {"program", head.program},
                                    {"config", head.config},
                                    {"seq", head.seq},
                                    {"mark", head.mark},
                                    {"bytes", state.size()}})
                          .dump();
  bytes += '\n';
  bytes += state;
  bytes += sha256_hex(bytes);
  return bytes;
}

Result<SnapshotFile> parse_snapshot(std::string_view bytes) {
  if (bytes.size() < kDigest) return fail(ErrorCode::bad_input, "it is cut short");
  const std::string_view whole = bytes.substr(0, bytes.size() - kDigest);
  const std::size_t line = whole.find('\n');
  if (line == std::string_view::npos) return fail(ErrorCode::bad_input, "it has no head");
  auto head = snapshot_head(whole.substr(0, line));
  if (!head) return fail(ErrorCode::bad_input, "its head is of another format");
  if (sha256_hex(whole) != bytes.substr(whole.size()))
    return fail(ErrorCode::bad_input, "it is not what was written");
  return SnapshotFile{std::move(*head), std::string(whole.substr(line + 1))};
}

}  // namespace sickbay
