// SPDX-License-Identifier: Apache-2.0
// The endpoints of recoveries (engine/recover).  Their rows stand in api.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"
#include "model/event_kinds.h"
#include "service/api_call.h"
#include "service/seats/recover_seat.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostShown = 200;  // recoveries of one answer, the last ones
constexpr std::size_t kMostText = 1000;

Error no_such(std::string_view what, std::string_view word, const std::vector<std::string>& known,
              std::string_view listed_by) {
  const std::string near = did_you_mean(word, known);
  return Error(ErrorCode::not_found, fmt::format("no {} {}", what, quote_for_message(word)))
      .remedied_by(near.empty() ? fmt::format("'{}' lists them", listed_by)
                                : fmt::format("did you mean {}?", near));
}

// What a POST says is wrong.  Errors: bad_input, not_found.
Result<recover::Fault> fault_of(const Json& body, const cluster::View& view, const recover::State& state,
                                const std::string& by) {
  recover::Fault fault;
  if (body["class"].as_string() == to_string(recover::FaultClass::cluster)) {  // planned, and refused
    fault.of = recover::FaultClass::cluster;
    fault.source = "by " + by;
    return fault;
  }
  fault.node = body["node"].as_string();
  fault.component = body["component"].as_string();
  fault.source = "by " + by;
  fault.text = body["text"].as_string().substr(0, kMostText);
  if (view.node(fault.node) == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, node] : view.nodes) names.push_back(name);
    return fail(no_such("node", fault.node, names, "sickbay nodes"));
  }
  const std::string word(body["class"].as_string_or(fault.component.empty() ? "node" : "component"));
  const auto of = recover::fault_class_from(word);
  if (!of || *of == recover::FaultClass::job)
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("no class {} of faults to recover from", quote_for_message(word)))
                    .remedied_by("choose component, node, network or cluster"));
  fault.of = *of;
  if (*of != recover::FaultClass::component) return fault;
  if (fault.component.empty()) return fail(ErrorCode::bad_input, "a fault of class component names one");
  std::vector<std::string> names;
  if (const auto known = state.components.find(fault.node); known != state.components.end())
    for (const recover::Component& one : known->second) names.push_back(one.name);
  if (names.empty())
    return fail(
        Error(ErrorCode::not_found, fmt::format("the agent of {} has told of no component", fault.node))
            .remedied_by("describe some in its components.d and start sickbay-agent anew"));
  if (std::ranges::find(names, fault.component) == names.end())
    return fail(no_such("component of " + fault.node, fault.component, names, "sickbay tree"));
  return fault;
}

Json optional_us(const std::optional<recover::Seconds>& seconds) {
  return seconds ? Json(std::chrono::duration_cast<Micros>(*seconds).count()) : Json();
}

}  // namespace

void RecoverEndpoints::ask(Api& api, Call& c) {
  if (c.body.has("job")) return ask_for_job(api, c);
  RecoverSeat& seat = api.controller_.seats().recoveries();
  const auto fault =
      fault_of(c.body, api.controller_.seats().cluster().view, seat.state(), c.request.caller.user);
  if (!fault) return c.refuse(fault.error());
  open(api, c, *fault);
}

void RecoverEndpoints::ask_for_job(Api& api, Call& c) {
  const std::int64_t id = c.body["job"].as_int();
  if (id <= 0 || id > UINT32_MAX)
    return c.refuse(Error(ErrorCode::bad_input, "'job' must be the number of a job"));
  if (!c.body["component"].as_string().empty() || c.body["class"].as_string_or("job") != "job")
    return c.refuse(Error(ErrorCode::bad_input, "a fault of a job has no component, and no other class")
                        .remedied_by("name the job, or what else is to be restarted"));
  RefreshOrder order;
  order.jobs = {static_cast<JobId>(id)};
  order.nodes = false;
  api.manager_.refresh(order, [&api, c, id = static_cast<JobId>(id)](Result<Snapshot> seen) {
    if (!seen) return c.refuse(seen.error());
    const auto job = std::ranges::find(seen->jobs, id, &JobInfo::job_id);
    if (job == seen->jobs.end())
      return c.refuse(
          Error(ErrorCode::not_found, fmt::format("Slurm has no job {}", id))
              .remedied_by("slurmctld forgets a job soon after its end (MinJobAge): submit it again"));
    if (job->array_job_id == id)
      return c.refuse(Error(ErrorCode::conflict, fmt::format("job {} cannot be requeued by itself", id))
                          .because("its number is that of a job array")
                          .remedied_by("name the job of a task: squeue --array -O JobArrayID,JobID"));
    if (job->state == "PENDING")
      return c.refuse(Error(ErrorCode::conflict, fmt::format("job {} waits in the queue", id))
                          .because("it has not begun, or is requeued already")
                          .remedied_by(fmt::format("'sickbay why {}' tells what it waits for", id)));
    recover::Fault fault = recover::Fault::of_job(*job, c.body["node"].as_string(), c.body["alone"].as_bool(),
                                                  "by " + c.request.caller.user);
    fault.text = c.body["text"].as_string().substr(0, kMostText);
    open(api, c, fault);
  });
}

void RecoverEndpoints::open(Api& api, const Call& c, const recover::Fault& fault) {
  RecoverSeat& seat = api.controller_.seats().recoveries();
  const cluster::View& view = api.controller_.seats().cluster().view;
  const recover::Plan plan = recover::make_plan(view, seat.state(), seat.policy(), fault);
  const Json shown = recover::plan_view(plan);
  if (c.body["dry_run"].as_bool()) return c.answer(200, Json::object({{"plan", shown}}));
  if (fault.of == recover::FaultClass::cluster)
    return c.refuse(
        Error(ErrorCode::conflict, "there is nothing that Sickbay would restart")
            .because(plan.refused)
            .remedied_by("restart its nodes yourself: scontrol reboot ASAP nextstate=RESUME ALL"));
  // (A node whose hardware is broken leaves service: that is to be done.)
  if (plan.start < 0 && !fault.of_hardware())
    return c.refuse(
        Error(ErrorCode::conflict, "there is nothing that Sickbay would restart").because(plan.refused));
  const std::string cell = recover::cell_of(fault);
  for (const std::int64_t no : seat.state().open)
    if (const recover::Fault& other = seat.state().recoveries.at(no).fault;
        recover::cell_of(other) == cell || (fault.job.job_id != 0 && other.job.job_id == fault.job.job_id))
      return c.refuse(Error(ErrorCode::conflict, fmt::format("{} is open for {}", recovery_name(no), cell))
                          .remedied_by("'sickbay recover --show' tells how it stands, --stop ends it"));
  const std::int64_t no = seat.new_number();
  c.keep(api, {new_event(recovery_name(no), kRecoveryOpened, fault.to_json())}, 201,
         Json::object({{"recovery", recovery_name(no)}, {"plan", shown}}),
         [&seat] { seat.take_back_number(); });
}

void RecoverEndpoints::stop(Api& api, Call& c) {
  const recover::State& state = api.controller_.seats().recoveries().state();
  const auto no = parse_recovery_name(c.part);
  const auto it = no ? state.recoveries.find(*no) : state.recoveries.end();
  if (it == state.recoveries.end())
    return c.refuse(Error(ErrorCode::not_found, fmt::format("no recovery {}", quote_for_message(c.part)))
                        .remedied_by("'sickbay recover --show' lists them"));
  const Json answer = Json::object({{"recovery", it->second.name()}, {"open", it->second.open()}});
  // Said twice, or too late, it changes nothing.
  if (!it->second.open() || !it->second.stopped_by.empty()) return c.answer(200, answer);
  c.keep(
      api,
      {new_event(it->second.name(), recover::kRecoveryStop, Json::object({{"by", c.request.caller.user}}))},
      200, answer);
}

void RecoverEndpoints::list(Api& api, Call& c) {
  const auto& all = api.controller_.seats().recoveries().state().recoveries;
  Json items = Json::array();
  auto it = all.begin();
  std::advance(it, all.size() > kMostShown ? all.size() - kMostShown : 0);
  for (; it != all.end(); ++it) items.push(recover::recovery_view(it->second));
  c.answer(200, Json::object({{"items", std::move(items)}}));
}

void RecoverEndpoints::tree(Api& api, Call& c) {
  const RecoverSeat& seat = api.controller_.seats().recoveries();
  const recover::State& state = seat.state();
  const recover::RestartTree tree = recover::tree_of(api.controller_.seats().cluster().view, state, {});
  Json cells = Json::array();
  for (const recover::Cell& cell : tree.cells()) {
    const recover::CellRecord* record = state.rates.record(cell.name);
    const auto takes = state.rates.restart_time(cell.name, cell.kind());
    cells.push(
        Json::object({{"cell", cell.name},
                      {"level", to_string(cell.level)},
                      {"parent", cell.parent},
                      {"nodes", compress_hostlist(cell.nodes)},
                      {"components", cell.components},
                      {"failures", record == nullptr ? 0 : record->failures},
                      {"mttf_us", optional_us(state.rates.mttf(cell.name))},
                      {"mttr_us", optional_us(state.rates.mttr(cell.name))},
                      {"takes_us", optional_us(takes                              ? takes
                                               : cell.takes > recover::Seconds(0) ? std::optional(cell.takes)
                                                                                  : std::nullopt)},
                      {"measured", takes.has_value()}}));
  }
  Json faults = Json::array();
  for (const std::string& fault : tree.faults()) faults.push(fault);
  c.answer(200, Json::object({{"observed_us", optional_us(state.rates.observed())},
                              {"cells", std::move(cells)},
                              {"faults", std::move(faults)}}));
}

}  // namespace sickbay
