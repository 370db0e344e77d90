// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/follow.h"

#include <fmt/format.h>

#include <optional>
#include <thread>

#include "apps/cli/answer.h"

namespace sickbay::cli {

Result<StreamLine> parse_stream_line(std::string_view line) {
  auto json = Json::parse(line);
  if (!json) return fail(json.error());
  StreamLine parsed;
  if (json->has("position")) {
    parsed.seq = (*json)["position"].as_int();
    return parsed;
  }
  auto event = Event::from_json(*json);
  if (!event) return fail(event.error());
  parsed.seq = event->seq;
  parsed.event = std::move(*event);
  return parsed;
}

namespace {

std::string events_target(std::int64_t after, const std::string& subject) {
  std::string target = fmt::format("/v1/events?after={}", after);
  if (!subject.empty()) target += "&subject=" + percent_encoded(subject);
  return target;
}

}  // namespace

// A long past comes in parts: what is behind the last one is asked for until a part is empty.
Status past_events(ApiClient& api, const std::string& subject, std::int64_t after,
                   const std::function<void(const Event&)>& each) {
  for (bool more = true; more;) {
    more = false;
    std::optional<Error> broken;
    Status ended = api.stream(events_target(after, subject), [&](std::string_view line) {
      auto parsed = parse_stream_line(line);
      if (!parsed) {
        broken = parsed.error();
        return false;
      }
      if (parsed->event) each(*parsed->event);
      // Also of a line without an event: it is the place to go on from.
      after = parsed->seq;
      return more = true;
    });
    if (broken) return fail(std::move(*broken));
    if (!ended) return ended;
  }
  return {};
}

Status follow_events(FollowOrder order, const std::function<bool(const Event&)>& each,
                     const std::function<bool()>& idle) {
  using std::chrono::steady_clock;
  auto seen_alive = steady_clock::now();
  bool go_on = true;
  while (go_on) {
    const std::int64_t before = order.after;
    const auto begun = steady_clock::now();
    ApiTimes times;
    times.stream_silence = order.tick;
    auto api = connect_to_sickbayd(times);
    Status ended;
    if (!api) {
      ended = fail(api.error());
    } else {
      std::optional<Error> broken;
      ended =
          api->stream(events_target(order.after, order.subject) + "&follow=1", [&](std::string_view line) {
            seen_alive = steady_clock::now();
            auto parsed = parse_stream_line(line);
            if (!parsed) {
              broken = parsed.error();
              return false;
            }
            // Each once: a stream that is taken up again may begin with what is known.
            if (parsed->seq <= order.after) return true;
            order.after = parsed->seq;
            return !parsed->event || (go_on = each(*parsed->event));
          });
      if (broken) return fail(*broken);
    }
    if (!go_on) break;
    // Silence is no fault: nothing has happened, and `idle` is due.
    const bool silent = !ended && ended.error().code == ErrorCode::timed_out;
    if (silent) {
      seen_alive = steady_clock::now();
      go_on = !idle || idle();
      continue;
    }
    if (ended && order.after > before) continue;  // a long past comes in parts
    // Over TCP everything does; an empty part after a while means that nothing happened.
    if (ended && api->is_remote() && steady_clock::now() - begun > std::chrono::seconds(1)) {
      seen_alive = steady_clock::now();
      continue;
    }
    // The stream ended, or sickbayd is away: a restart takes a moment.
    if (!ended && ended.error().code != ErrorCode::daemon_away && ended.error().code != ErrorCode::busy)
      return ended;
    if (steady_clock::now() - seen_alive > order.patience)
      return ended
                 ? Status(fail(ErrorCode::daemon_away, "sickbayd ends the stream of events again and again"))
                 : ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  return {};
}

Result<std::int64_t> last_seq() {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto status = api->get("/v1/status");
  if (!status) return fail(status.error());
  return (*status)["journal"]["seq"].as_int();
}

}  // namespace sickbay::cli
