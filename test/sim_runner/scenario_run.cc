// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/scenario_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/slurm_state.h"

namespace sickbay::sim {

/// "afterok:solve" with the job's id for its name.
Result<std::string> ScenarioRun::with_ids(const std::string& dependency) const {
  std::string text;
  std::size_t at = 0;
  while (at < dependency.size()) {
    const auto end = std::min(dependency.find_first_of(":,?", at), dependency.size());
    const std::string word = dependency.substr(at, end - at);
    if (at > 0 && dependency[at - 1] == ':') {
      const auto job = jobs.find(word);
      if (job == jobs.end()) return fail(ErrorCode::bad_input, fmt::format("no job '{}' yet", word));
      text += fmt::format("{}", job->second);
    } else {
      text += word;
    }
    if (end < dependency.size()) text += dependency[end];
    at = end + 1;
  }
  return text;
}

void ScenarioRun::submit(const ScenarioJob& job) {
  Submission submission;
  submission.owner = {job.user, uid_of(job.user), uid_of(job.user)};
  submission.script = "#!/bin/sh\n#SIM " + job.does + "\nsrun ./" + job.name + "\n";
  submission.script_name = job.name + ".sh";
  submission.sbatch_options = job.sbatch_options;
  submission.work_dir = "/shared/" + job.user;
  if (job.own_folder) submission.work_dir += "/" + (job.replays.empty() ? job.name : job.replays);
  SimFolders& storage = world.cluster().folders();
  folders[job.name] = submission.work_dir;
  if (job.own_folder) storage.set_size(submission.work_dir, job.folder);
  if (job.no_output_folder) {
    const std::string folder = "/shared/" + job.user + "/no-folder";
    storage.remove(folder);
    submission.sbatch_options.push_back("--output=" + folder + "/slurm-%j.out");
  }
  Json options = job.options;
  Json more = job.more;
  Json inputs = Json::array();
  for (const std::string& name : job.inputs) {
    const std::string path = submission.work_dir + "/" + name;
    if (const auto file = storage.file(path))
      inputs.push(
          Json::object({{"path", path}, {"digest", file->digest}, {"size", file->size}, {"mtime", 0}}));
  }
  if (inputs.size() > 0) more.set("inputs", inputs);
  if (!job.replays.empty()) {
    const history::State& state = world.controller().seats().histories().state();
    const history::Part* part = history::part_of(state, jobs[job.replays]);
    const history::OpRef position = part == nullptr ? history::OpRef{} : history::position_of(state, *part);
    if (!position)
      return say(fmt::format("> {} not submitted: nobody went back in {}", job.name, job.replays));
    more.set("replays", Json::object({{"op", position.text()},
                                      {"checkpoint", history::operation(state, position)->checkpoint}}));
  }
  if (!job.dependency.empty()) {
    const auto dependency = with_ids(job.dependency);
    if (!dependency) return say(fmt::format("> {} not submitted: {}", job.name, dependency.error().line()));
    submission.sbatch_options.push_back("--dependency=" + *dependency);
  }
  if (job.without_case) {
    const auto submitted = world.cluster().sbatch(submission);
    if (!submitted) return say(fmt::format("> {} not submitted: {}", job.name, submitted.error().line()));
    jobs[job.name] = submitted->job_id;
    strangers_[submitted->job_id] = job.name;
    return;
  }
  world.submit(submission, options, more, [this, name = job.name](Result<std::int64_t> no) {
    if (!no) return say(fmt::format("> {} not submitted: {}", name, no.error().line()));
    cases[name] = *no;
    const auto& state = world.controller().seats().cases().state();
    jobs[name] = state.cases.at(*no).job_id();
  });
}

std::optional<JobId> ScenarioRun::job_of(const std::string& name, const std::string& run) {
  if (run.empty()) {
    const auto job = jobs.find(name);
    return job == jobs.end() ? std::nullopt : std::optional(job->second);
  }
  const auto no = cases.find(name);
  if (no == cases.end()) return std::nullopt;
  const std::string wanted = fmt::format("{}.{}.", case_name(no->second), run);
  std::optional<JobId> found;
  for (const JobInfo& job : world.cluster().keyed_jobs())
    if (key_in_comment(job.comment).starts_with(wanted)) found = job.job_id;
  return found;
}

ScenarioResult ScenarioRun::result() {
  world.on_event = [this](const Event& event) {
    if ((scenario_.show_claims || !is_about_claims(event)) &&
        (scenario_.show_answers || !is_provisional_answer(event)) &&
        (scenario_.show_places || !is_about_place(event)))
      say(event_line(event, start_));
  };
  world.cluster().on_job = [this](const JobInfo& job) {
    if (const auto stranger = strangers_.find(job.job_id); stranger != strangers_.end())
      say(stranger_line(stranger->second, job));
  };
  world.start_sickbayd();
  for (SimReservation reservation : scenario_.reservations) {
    reservation.start += start_ - TimePoint();
    reservation.end += start_ - TimePoint();
    world.cluster().add_reservation(reservation);
  }
  if (scenario_.background.live_jobs > 0) world.cluster().add_background(scenario_.background);
  ScenarioResult result;
  for (const auto& job : scenario_.jobs)
    world.loop().at(start_ + job.at, [this, &job] {
      say(fmt::format("> {} submits {}", job.user, job.name));
      submit(job);
    });
  for (const auto& act : scenario_.acts)
    world.loop().at(start_ + act.at, [this, &act, &result] {
      say("> " + act.text);
      if (const auto done = act.act(*this); !done)
        result.broken.push_back(fmt::format("'{}' did not work: {}", act.text, done.error().line()));
    });
  // Until every case has closed, every act is over and no node is out; whatever is left runs into `until`.
  Micros last{0};
  for (const auto& act : scenario_.acts) last = std::max(last, act.at);
  for (const auto& job : scenario_.jobs) last = std::max(last, job.at);
  const auto with_case = static_cast<std::size_t>(std::count_if(
      scenario_.jobs.begin(), scenario_.jobs.end(), [](const auto& job) { return !job.without_case; }));
  const auto unfinished = [&] {
    return world.loop().elapsed() <= last || !world.sickbayd_runs() || cases.size() < with_case ||
           !world.controller().seats().cases().state().open.empty() ||
           world.controller().seats().patrols().state().open() != nullptr ||
           !world.controller().seats().recoveries().state().open.empty() ||
           drain::wants_nodes(world.controller().seats().cluster(),
                              world.controller().seats().drains().state(),
                              world.controller().seats().drains().policy());
  };
  if (!world.loop().run_while(unfinished, start_ + scenario_.until)) say("> the end of the scenario's time");
  if (!world.sickbayd_runs()) world.start_sickbayd();
  for (const auto& [no, subject] : world.controller().seats().cases().state().cases)
    for (const auto& line : closing_lines(subject)) timeline_ += line + "\n";
  if (scenario_.show_history)
    for (const auto& line : history_lines(world.controller().seats().histories().state()))
      timeline_ += line + "\n";
  check_rules(result);
  result.timeline = std::move(timeline_);
  return result;
}

void ScenarioRun::check_rules(ScenarioResult& result) {
  for (const auto& [key, count] : world.cluster().starts_by_key())
    if (count > 1) result.broken.push_back(fmt::format("{} was started {} times", key, count));
  const auto& state = world.controller().seats().cases().state();
  for (const JobInfo& job : world.cluster().keyed_jobs()) {
    const auto seen = parse_job_state(job.state, job.flags);
    if (seen && is_terminal(*seen)) continue;
    const std::string key = key_in_comment(job.comment);
    const auto no = parse_case_name(key.substr(0, key.find('.')));
    const auto round = parse_patrol_run(key);
    if (const patrol::Round* open = world.controller().seats().patrols().state().open();
        round && (open == nullptr || open->no != round->round))
      result.broken.push_back(fmt::format("job {} ({}) outlives its round: {}", job.job_id, key, job.state));
    if (no && !state.open.count(*no))
      result.broken.push_back(fmt::format("job {} ({}) outlives its case: {}", job.job_id, key, job.state));
  }
  const Config config = scenario_.config;
  Seats replayed(config);
  for (const Event& event : world.journal().events()) replayed.replay(event);
  if (replayed.canonical_text() != world.controller().canonical_text())
    result.broken.push_back("a replay of the journal gives another state");
}

ScenarioResult run_scenario(const Scenario& scenario) { return ScenarioRun(scenario).result(); }

}  // namespace sickbay::sim
