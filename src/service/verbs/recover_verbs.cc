// SPDX-License-Identifier: Apache-2.0
// Verbs of recoveries: restart_component, check_component, requeue_job, begin_now.  The first two are done by
// the node's agent, which gets them as a task.  The task is kept under the command's key, so that a command
// that is met twice waits for the first one's end; and an agent that ended in the midst of a restart says so
// in place of restarting again (service/agent/component_restarts.h).  A requeue is known by Slurm's count of
// the job's restarts.  Source: doc/design/recover.md.
#include <array>

#include "model/verbs.h"
#include "ports/resource_manager.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

void act(VerbTools& tools, const Command& command, std::string_view what, Answer answer) {
  if (!tools.act_on_node)
    return tools.loop.post(
        [answer] { answer(fail(ErrorCode::conflict, "agents are not listened to here")); });
  Json order = Json::object({{"act", std::string(what)}, {"components", command.args["components"]}});
  if (command.args.has("check")) order.set("check", command.args["check"]);
  tools.act_on_node(command.args["node"].as_string(), command.key, order, std::move(answer));
}

void restart_component(VerbTools& tools, const Command& command, bool, Answer answer) {
  act(tools, command, "restart", std::move(answer));
}
void check_component(VerbTools& tools, const Command& command, bool, Answer answer) {
  act(tools, command, "check", std::move(answer));
}

// Where Slurm counts more restarts than the intent has, it is done, by whomever.
void requeue_job(VerbTools& tools, const Command& command, bool, Answer answer) {
  const Json& args = command.args;
  if (args["level"].as_string() == "domain")
    return answer(Json::object({{"requeued", false}, {"said", "Slurm requeues a job only as a whole"}}));
  RequeueOrder order;
  order.job = JobHandle::from_json(args);
  order.restart_cnt = static_cast<std::uint32_t>(args["restart_cnt"].as_int());
  order.exclude = args["exclude"].as_strings();
  tools.manager.requeue(std::move(order), [answer](Result<Requeued> done) {
    if (!done) return answer(fail(done.error()));
    answer(Json::object(
        {{"requeued", true}, {"did", done->did}, {"excluded", done->excluded}, {"said", done->said}}));
  });
}

void begin_now(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.begin_now(JobHandle::from_json(command.args), [answer](Result<bool> done) {
    if (!done) return answer(fail(done.error()));
    answer(Json::object({{"begins", *done}}));
  });
}

}  // namespace

std::span<const VerbRow> recover_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({
      {verb::kRestartComponent, restart_component},
      {verb::kCheckComponent, check_component},
      {verb::kRequeueJob, requeue_job},
      {verb::kBeginNow, begin_now},
  });
  return kRows;
}

}  // namespace sickbay
