// SPDX-License-Identifier: Apache-2.0
#include "model/event.h"

namespace sickbay {

Json Event::to_json() const {
  return Json::object(
      {{"seq", seq}, {"at", to_micros(at)}, {"v", v}, {"subject", subject}, {"kind", kind}, {"body", body}});
}

std::string Event::text() const { return to_json().dump(); }

Result<Event> Event::from_json(const Json& json) {
  if (!json["seq"].is_int() || !json["at"].is_int() || !json["subject"].is_string() ||
      !json["kind"].is_string())
    return fail(ErrorCode::bad_input,
                "an event needs the members seq, at, subject and kind: " + json.dump().substr(0, 120));
  Event event;
  event.seq = json["seq"].as_int();
  event.at = from_micros(json["at"].as_int());
  event.v = static_cast<int>(json["v"].as_int(1));
  event.subject = json["subject"].as_string();
  event.kind = json["kind"].as_string();
  event.body = json["body"];
  return event;
}

Event new_event(std::string subject, std::string_view kind, Json body) {
  Event event;
  event.v = newest_version(kind);
  event.subject = std::move(subject);
  event.kind = kind;
  event.body = std::move(body);
  return event;
}

}  // namespace sickbay
