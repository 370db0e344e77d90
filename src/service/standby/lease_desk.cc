// SPDX-License-Identifier: Apache-2.0
#include "service/standby/lease_desk.h"

#include <algorithm>
#include <utility>

namespace sickbay {

LeaseDesk::LeaseDesk(Loop& loop, std::vector<std::string> witnesses, Heard heard)
    : loop_(loop), heard_(std::move(heard)) {
  for (std::string& node : witnesses) places_.push_back({std::move(node), std::nullopt, nullptr, 0});
}

void LeaseDesk::answer(Place& place, Json json) {
  loop_.cancel(std::exchange(place.timer, 0));
  if (const auto poll = std::exchange(place.poll, nullptr)) poll(std::move(json));
}

void LeaseDesk::hand_out(std::size_t witness, LeaseAsk ask) {
  Place& place = places_[witness];
  // (One that waited is older, and of no use any more.)
  place.ask.reset();
  if (place.poll) return answer(place, Json::object({{"ask", to_json(ask)}}));
  place.ask = std::move(ask);
}

void LeaseDesk::take(const std::string& node, const Json& body, Done<Json> done) {
  const auto place = std::ranges::find(places_, node, &Place::node);
  if (place == places_.end())
    return done(fail(Error(ErrorCode::conflict, node + " is no witness of this sickbayd")
                         .remedied_by("name the same witnesses in the configuration of both sickbayds")));
  std::optional<LeaseAnswer> said;
  if (!body["answer"].is_null()) {
    auto read = lease_answer_from(body["answer"]);
    if (!read) return done(fail(std::move(read.error())));
    said = std::move(*read);
  }
  answer(*place, Json::object());  // one that still waits belongs to a connection that is given up
  place->poll = std::move(done);
  place->timer =
      loop_.at(loop_.now() + kHold, lifetime_.guard([this, at = &*place] { answer(*at, Json::object()); }));
  // What it says may bring the next ask, which goes the same way.
  if (said) heard_(static_cast<std::size_t>(place - places_.begin()), *said);
  if (auto ask = std::exchange(place->ask, std::nullopt); ask && place->poll)
    answer(*place, Json::object({{"ask", to_json(*ask)}}));
  else if (ask)
    place->ask = std::move(ask);
}

std::size_t LeaseDesk::present() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(places_, [](const Place& place) { return place.poll != nullptr; }));
}

}  // namespace sickbay
