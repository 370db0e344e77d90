// SPDX-License-Identifier: Apache-2.0
#include "client/controller_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr std::string_view kHostKey = "SlurmctldHost";
constexpr std::string_view kStandby = " is the standby";
// A name of the DNS (RFC 1035: 255 bytes with the lengths of its labels).
constexpr std::size_t kLongestHost = 253;

bool is_host(std::string_view text) {
  // No '-' in front: the name may come to stand on a command line, where it would be an option. '%' names
  // the interface of a link-local address.
  return !text.empty() && text.size() <= kLongestHost && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
                  std::string_view("-._:%").find(c) != std::string_view::npos;
         });
}

bool read_port(std::string_view digits, std::uint16_t& port) {
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return failed == std::errc() && end == digits.data() + digits.size() && port > 0;
}

}  // namespace

std::string ControllerPlace::text() const {
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<ControllerPlace> parse_controller(std::string_view text, std::uint16_t port) {
  const auto wrong = [text] {
    return fail(
        Error(ErrorCode::bad_input, fmt::format("{} is no place of a controller", quote_for_message(text)))
            .remedied_by("give HOST or HOST:PORT, as head1, head1:6830 or [fd00::1]:6830"));
  };
  ControllerPlace place{std::string(text), port};
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return wrong();
    place.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || !read_port(rest.substr(1), place.port))) return wrong();
  } else if (std::count(text.begin(), text.end(), ':') == 1) {  // more of them: an address of IPv6
    const std::size_t colon = text.find(':');
    place.host = text.substr(0, colon);
    if (!read_port(text.substr(colon + 1), place.port)) return wrong();
  }
  if (!is_host(place.host)) return wrong();
  return place;
}

std::vector<ControllerPlace> slurm_controllers(std::string_view configuration, std::uint16_t port) {
  // "SlurmctldHost[0]        = head1(10.0.0.1)", "SlurmctldHost=head1(10.0.0.1)  # the old one", in order.
  std::vector<ControllerPlace> places;
  while (!configuration.empty()) {
    const std::size_t end = std::min(configuration.find('\n'), configuration.size());
    const std::string_view whole = configuration.substr(0, end), line = whole.substr(0, whole.find('#'));
    configuration.remove_prefix(std::min(end + 1, configuration.size()));
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals));
    if (!equal_ignoring_case(key.substr(0, key.find('[')), kHostKey)) continue;
    std::string_view host = trimmed(line.substr(equals + 1));
    // "head1(10.0.0.1)": the address in brackets is what Slurm itself connects to.
    if (const std::size_t open = host.find('('); open != host.npos && host.ends_with(')'))
      host = host.substr(open + 1, host.size() - open - 2);
    if (is_host(host)) places.push_back({std::string(host), port});
  }
  return places;
}

Error standby_answer(const std::string& name, const std::string& other) {
  return Error(ErrorCode::busy, name + std::string(kStandby))
      .because(fmt::format("of two sickbayds {} is asked first", other))
      .remedied_by("ask there; 'sickbay status' here says how it stands");
}

// (Older ones say the same, and who is only busy says something else.)
bool is_standby_answer(const Error& error) {
  return error.code == ErrorCode::busy && error.what.ends_with(kStandby);
}

bool ControllerRound::goes_on(const Error* error) {
  said_.clear();
  const bool is_standby = error != nullptr && is_standby_answer(*error);
  const bool is_away = error != nullptr && error->code == ErrorCode::daemon_away;
  if (!is_standby && (answered_ || !is_away)) {
    answered_ = answered_ || error == nullptr || error->code != ErrorCode::denied;
    tried_.clear();
    asked_ = 0;
    return false;
  }
  tried_ += fmt::format("{}{}: {}", tried_.empty() ? "" : "; ", at().text(),
                        is_standby || error->cause.empty() ? error->what : error->cause);
  at_ = (at_ + 1) % places_.size();
  if (++asked_ < places_.size()) return true;
  said_ = std::exchange(tried_, {});
  asked_ = 0;
  return false;
}

}  // namespace sickbay
