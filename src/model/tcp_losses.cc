// SPDX-License-Identifier: Apache-2.0
#include "model/tcp_losses.h"

#include <algorithm>

namespace sickbay {
namespace {

constexpr std::int64_t kLongestSeen = std::int64_t{400} * 24 * 3600 * 1'000'000;  // a job runs a year at most
constexpr std::int64_t kMostSegments = std::int64_t{1} << 48;
constexpr std::size_t kMostAddress = 45;  // of an IPv6 address that ends in an IPv4 one

std::int64_t count_in(const Json& json, std::int64_t most) {
  return std::clamp<std::int64_t>(json.as_int(), 0, most);
}

// Nobody loses more than was sent.
template <class Count>
std::vector<Count> read_counts(const Json& list, std::size_t most) {
  std::vector<Count> counts;
  for (const Json& one : list.items()) {
    if (counts.size() == most) break;
    Count count;
    count.address = one["address"].as_string();
    if (!is_address(count.address)) continue;
    count.sent = count_in(one["sent"], kMostSegments);
    count.lost = count_in(one["lost"], count.sent);
    counts.push_back(std::move(count));
  }
  return counts;
}

template <class Count>
Json counts_to_json(const std::vector<Count>& counts) {
  Json list = Json::array();
  for (const Count& one : counts)
    list.push(Json::object({{"address", one.address}, {"sent", one.sent}, {"lost", one.lost}}));
  return list;
}

}  // namespace

std::int64_t TcpLosses::lost() const {
  std::int64_t sum = 0;
  for (const PeerLosses& one : peers) sum += one.lost;
  return sum;
}

bool is_address(std::string_view text) {
  return !text.empty() && text.size() <= kMostAddress &&
         text.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos;
}

Json to_json(const TcpLosses& losses) {
  Json json = Json::object(
      {{"seen_us", losses.seen.count()}, {"own", losses.own}, {"peers", counts_to_json(losses.peers)}});
  if (!losses.echoes.empty()) json.set("echoes", counts_to_json(losses.echoes));
  return json;
}

Result<TcpLosses> read_tcp_losses(const Json& json) {
  if (!json.has("seen_us") || !json["peers"].is_array())
    return fail(ErrorCode::bad_input, "losses of a network need seen_us and a list 'peers'");
  TcpLosses losses;
  losses.seen = Micros(count_in(json["seen_us"], kLongestSeen));
  for (const std::string& address : json["own"].as_strings())
    if (losses.own.size() < kMostOwnTold && is_address(address)) losses.own.push_back(address);
  losses.peers = read_counts<PeerLosses>(json["peers"], kMostPeersTold);
  losses.echoes = read_counts<EchoCount>(json["echoes"], kMostEchoes);
  return losses;
}

}  // namespace sickbay
