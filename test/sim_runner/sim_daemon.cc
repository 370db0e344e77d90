// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/sim_daemon.h"

#include <fmt/format.h>

#include "engine/identify/rerun.h"
#include "model/sbatch_array.h"
#include "service/case_request.h"

namespace sickbay::sim {

SimDaemon::SimDaemon(const World& its_world, Journal& journal)
    : world(its_world),
      loop(world.loop, world.on_work),
      effects(loop, world.manager, world.processes, world.cases, world.config,
              {.script = "#!/bin/sh\nexec sickbay-verify.sh\n", .environment = {}, .uid = 0, .gid = 0}),
      seats(world.config),
      controller(loop, journal, world.manager, effects, seats, world.config),
      submissions(loop, controller, world.cases, world.config.keep_submission,
                  [](const Error&) { SB_CHECK(false, "nothing in memory fails to go"); }) {
  effects.set_examine([this](const std::string& node, const std::string&, Done<Json> done) {
    examine(world.agents[node], node, std::move(done));
  });
}

// As an agent does it, and as its task expires where there is none.
void SimDaemon::examine(const std::string& how, const std::string& node, Done<Json> done) {
  const bool silent = how == "silent", sick = how == "sick";
  loop.at(loop.now() + (silent ? std::chrono::minutes(30) : std::chrono::seconds(2)), [=] {
    if (silent) return done(fail(ErrorCode::timed_out, "no agent on " + node + " has done the diagnosis"));
    Json told = Json::object({{"passed", !sick}, {"whole", true}, {"faults", sick ? 1 : 0}, {"unknown", 0}});
    if (sick) told.set("drains", 1).set("sick", "node/disk: disk is broken");
    done(std::move(told));
  });
}

Event SimDaemon::opened(std::int64_t no, const Submission& submission, const Json& options,
                        const Json& more) const {
  Event event = new_event(
      case_name(no), identify::kCaseOpened,
      Json::object({{"owner", submission.owner.to_json()},
                    {"options", options_with_way(options, identify::to_string(world.config.identify.rerun))},
                    {"script_name", submission.script_name},
                    {"work_dir", submission.work_dir},
                    {"output_dir", fmt::format("{}/sickbay-{}", submission.work_dir, case_name(no))},
                    {"notes", Json::array()}}));
  for (const auto& [name, value] : more.members()) event.body.set(name, value);
  if (const auto array = array_of(submission)) event.body.set("array", *array);
  return event;
}

Event SimDaemon::bound(std::int64_t no, JobId job) {
  return new_event(case_name(no), identify::kJobBound,
                   Json::object({{"run", RunId{no, RunKind::program, 1}.text()}, {"job_id", job}}));
}

void SimDaemon::submit(const Submission& submission, const Json& options, const Json& more,
                       Done<std::int64_t> done) {
  const std::int64_t no = controller.seats().cases().new_case_number();
  (void)world.cases.save(no, submission);
  controller.take({opened(no, submission, options, more)},
                  [this, submission, no, done = std::move(done)](Status kept) {
                    if (!kept) return done(fail(kept.error()));
                    const auto submitted = world.cluster.sbatch(submission);
                    if (!submitted) return done(fail(submitted.error()));
                    controller.take({bound(no, submitted->job_id)}, [no, done](Status bound_kept) {
                      if (!bound_kept) return done(fail(bound_kept.error()));
                      done(no);
                    });
                  });
}

}  // namespace sickbay::sim
