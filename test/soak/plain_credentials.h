// SPDX-License-Identifier: Apache-2.0
// Credentials that say in plain text who signed: munged has tests of its own, and a soak is not about it.
#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "ports/credentials.h"

namespace sickbay::soak {

/// "PLAIN:0:PAYLOAD": whoever encodes is root.
class PlainCredentials final : public Credentials {
 public:
  explicit PlainCredentials(Loop& loop) : loop_(loop) {}
  void encode(std::string payload, std::uint32_t, Done<std::string> done) override {
    std::string text(kStart);  // in hexadecimal, for it stands in a header
    for (const char c : payload) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    loop_.post([text = std::move(text), done = std::move(done)] { done(text); });
  }
  void decode(std::string text, Done<Credential> done) override {
    loop_.post([text = std::move(text), done = std::move(done)] {
      if (!text.starts_with(kStart)) return done(fail(ErrorCode::denied, "a forged credential"));
      Credential read;
      read.uid = read.gid = 0;
      for (std::size_t i = kStart.size(); i + 1 < text.size(); i += 2)
        read.payload += static_cast<char>(std::strtol(text.substr(i, 2).c_str(), nullptr, 16));
      done(read);
    });
  }

 private:
  static constexpr std::string_view kStart = "PLAIN:0:";
  Loop& loop_;
};

}  // namespace sickbay::soak
