// SPDX-License-Identifier: Apache-2.0
#include "service/pending_api.h"

#include <fmt/format.h>

#include "engine/pending/explain.h"
#include "model/ids.h"

namespace sickbay {
namespace {

Json answer_of(const PendingFacts& facts, TimePoint now) {
  Json json = pending::explain(facts, now).to_json();
  json.set("job_id", facts.job_id);
  json.set("reason", facts.reason);
  json.set("reason_detail", facts.reason_detail);
  // An estimate that has passed is none any more.
  json.set("expected_start", facts.expected_start > now ? to_micros(facts.expected_start) : 0);
  json.set("facts", facts.to_json());
  return json;
}

}  // namespace

void PendingEndpoints::explain(Api& api, Api::Call& c) {
  const auto asked = parse_job_id(c.part);
  if (!asked) return c.refuse(asked.error());
  api.manager_.explain(*asked, [&api, c, job_id = *asked](Result<PendingFacts> facts) {
    if (!facts) return c.refuse(facts.error());
    if (!c.by_operator && facts->uid != c.request.caller.uid)
      return c.refuse(Error(ErrorCode::denied, fmt::format("job {} belongs to another user", job_id))
                          .remedied_by("its owner and operators may ask why it waits"));
    if (facts->state != "PENDING") {
      std::string what = fmt::format("job {} does not wait: it is {}", job_id, facts->state);
      // A task that is well has no case of its own; its array may have one.
      if (const JobId array = facts->request.array_job; array != 0 && array != job_id)
        what += fmt::format(", a task of job array {} ('sickbay why {}' tells of that)", array, array);
      return c.refuse(Error(ErrorCode::conflict, std::move(what))
                          .remedied_by(fmt::format("'scontrol show job {}' shows it", job_id)));
    }
    // What squeue and scontrol would not show him, nor do we.
    if (facts->private_reservations && !c.by_operator)
      for (PendingReservation& reservation : facts->reservations) reservation.name.clear();
    c.answer(200, answer_of(*facts, api.controller_.now()));
  });
}

}  // namespace sickbay
