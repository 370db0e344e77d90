// SPDX-License-Identifier: Apache-2.0
// sickbay why, cases, watch, cancel: what the user asks about cases.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "apps/cli/answer.h"
#include "apps/cli/cases/case_text.h"
#include "apps/cli/cases/experiment.h"
#include "apps/cli/cases/pending_text.h"
#include "apps/cli/commands.h"
#include "apps/cli/event_text.h"
#include "apps/cli/follow.h"
#include "base/text.h"
#include "model/ids.h"

namespace sickbay::cli {
namespace {

constexpr std::string_view kTargetHelp =
    "a case (c17), one of its runs (c17.r2), a job id, or a task of a job array (1234_7)";

struct WhyOptions {
  std::string target;
  bool wait = false, json = false, experiment = false;
};

// The view of a case over a connection of its own.  Whoever waits does not give up because sickbayd is busy,
// as it is when one user waits for dozens of cases at once.
Result<Json> fetch_patiently(const std::string& target) {
  constexpr int kTries = 10;
  std::chrono::milliseconds pause{100};
  for (int tries = 1;; ++tries, pause *= 2) {
    auto api = connect_to_sickbayd();
    Result<Json> view = api ? fetch_case(*api, target) : Result<Json>(fail(api.error()));
    if (view || view.error().code != ErrorCode::busy || tries == kTries) return view;
    // (0.1 s, 0.2 s, ... 26 s: 51 s in all.)
    std::this_thread::sleep_for(pause);
  }
}

// The view once there is a final verdict.
Result<Json> wait_for_verdict(const std::string& target) {
  // First the seq, then the view: what happens in between comes through the stream.
  auto seq = last_seq();
  if (!seq) return fail(seq.error());
  auto view = fetch_patiently(target);
  if (!view || is_decided(*view)) return view;
  FollowOrder order;
  order.subject = (*view)["case"].as_string();
  order.after = *seq;
  // The verdict stands in the view; the stream only says when to look.  So that nobody waits for ever for an
  // event behind which the view could not be had, it is looked at now and then without one.
  order.tick = std::chrono::seconds(15);
  auto look = [&] {
    // A task of a job array gets a case of its own when it has failed.
    auto next = fetch_patiently(parse_task_name(target) ? target : order.subject);
    // Away for a moment: it comes back, or the stream says so.
    if (!next && next.error().code == ErrorCode::daemon_away) return true;
    view = std::move(next);
    return view && !is_decided(*view);
  };
  auto followed = follow_events(
      order, [&](const Event&) { return look(); }, look);
  if (!followed) return fail(followed.error());
  return view;
}

// Why a job of this case waits, or, where there is no case, the job of that number; null: it does not wait.
// `view` becomes the error that says most where neither is known.
Json fetch_pending(ApiClient& api, const std::string& target, Result<Json>& view) {
  if (!view && view.error().code != ErrorCode::not_found) return {};
  const std::string job = view ? std::to_string(waiting_job(*view)) : target;
  if (job == "0" || job.find_first_not_of("0123456789") != job.npos) return {};
  auto pending = api.get(fmt::format("/v1/jobs/{}/pending", job));
  if (pending) return std::move(*pending);
  // (Of a case there is enough to tell without it: it may have started this moment.)
  if (view || pending.error().code == ErrorCode::not_found) return {};
  // The job is known and does not wait: that belongs to why there is no case.
  if (pending.error().code == ErrorCode::conflict)
    view.error().cause += "; " + pending.error().what;
  else
    view = fail(std::move(pending.error()));
  return {};
}

// Of a job without a case: what can be said from evidence alone, where the site looks at all jobs.
void fetch_failure(ApiClient& api, const std::string& target, Result<Json>& view) {
  if (view || view.error().code != ErrorCode::not_found || !parse_job_id(target)) return;
  auto failure = api.get(fmt::format("/v1/jobs/{}/failure", target));
  if (failure || failure.error().code == ErrorCode::denied)
    view = std::move(failure);
  else if (failure.error().code == ErrorCode::conflict)
    view.error().cause += "; " + failure.error().what;
}

// A case for a job that has none yet; nothing is done where it has one.
Status open_case_for(WhyOptions& o) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  if (auto view = fetch_case(*api, o.target); view || view.error().code != ErrorCode::not_found)
    return view ? Status() : fail(view.error());
  const auto job = parse_job_id(o.target);
  if (!job)
    return fail(Error(ErrorCode::usage, "--experiment wants the number of a job")
                    .remedied_by("squeue and sacct show it"));
  auto opened = begin_experiment(*api, *job);
  if (!opened) return fail(opened.error());
  fmt::print(stderr, "sickbay: case {} is opened for job {}\n", *opened, o.target);
  o.target = *opened;
  return {};
}

// Two answers may be there, the case and why the job waits: both are shown, and what waits now gives the
// exit code.
Result<int> run_why(WhyOptions o) {
  if (o.experiment)
    if (auto opened = open_case_for(o); !opened) return fail(opened.error());
  Result<Json> view;
  Json pending;
  if (auto target = parse_case_target(o.target); !target) {
    view = fail(target.error());
  } else if (o.wait) {
    view = wait_for_verdict(o.target);
  } else if (auto api = connect_to_sickbayd(); !api) {
    view = fail(api.error());
  } else {
    view = fetch_case(*api, o.target);
    fetch_failure(*api, o.target, view);
    if (!view || !view->has("unasked")) pending = fetch_pending(*api, o.target, view);
  }
  if (!view && pending.is_null()) return fail(view.error());
  if (o.json) {
    if (view && !pending.is_null()) view->set("pending", pending);
    print_json(view ? *view : pending);
  } else {
    if (view) print(case_text(*view, page_of_stdout()) + (pending.is_null() ? "" : "\n"));
    if (!pending.is_null()) print(pending_text(pending, page_of_stdout()));
  }
  return pending.is_null() ? verdict_exit_code(*view) : pending_exit_code(pending);
}

struct CasesOptions {
  bool all = false, json = false;
  std::string user;
};

Result<Json> fetch_cases(const CasesOptions& o) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  std::string target = fmt::format("/v1/cases?all={}", o.all ? 1 : 0);
  if (!o.user.empty()) target += "&user=" + percent_encoded(o.user);
  return api->get(target);
}

Result<int> run_cases(const CasesOptions& o) {
  auto list = fetch_cases(o);
  if (!list) return fail(list.error());
  // Only then: the name service need not know a user whose cases are there.
  if (!o.user.empty() && (*list)["items"].size() == 0 && getpwnam(o.user.c_str()) == nullptr)
    return fail(Error(ErrorCode::not_found, fmt::format("there is no user {}", quote_for_message(o.user)))
                    .because("neither a case nor this host's name service knows that name")
                    .remedied_by("'sickbay cases --all' shows whose cases there are"));
  if (o.json)
    print_json(*list);
  else
    print(cases_text(*list, page_of_stdout()));
  return 0;
}

struct WatchOptions {
  std::string target;
  bool json = false;
};

// On a terminal: the page anew at each event, and every 2 s for the running times.
Result<int> watch_live(const std::string& subject, std::int64_t after) {
  using std::chrono::steady_clock;
  constexpr auto kCalm = std::chrono::milliseconds(200);  // events come in bursts
  auto drawn = steady_clock::time_point();
  std::optional<Error> failed;
  bool decided = false;
  const auto draw = [&] {
    auto api = connect_to_sickbayd();
    if (!api) return true;
    auto answer = subject.empty() ? api->get("/v1/cases?all=0") : fetch_case(*api, subject);
    if (!answer && answer.error().code == ErrorCode::daemon_away) return true;  // as above, over TCP
    if (!answer) {
      failed = answer.error();
      return false;
    }
    const TextPage page = page_of_stdout();
    decided = !subject.empty() && is_decided(*answer);
    const std::string text = subject.empty() ? cases_text(*answer, page)
                             : decided       ? case_text(*answer, page)
                                             : case_brief(*answer, page);
    // Cursor home and clear to the end, in one write: the page does not flicker.
    print("\x1b[H\x1b[J" + text + (decided ? "" : "\n" + local_time(page.now) + "   Ctrl-C ends\n"));
    std::fflush(stdout);
    drawn = steady_clock::now();
    return !decided;
  };
  const bool goes_on = draw();
  if (failed) return fail(std::move(*failed));
  if (!goes_on) return 0;
  FollowOrder order;
  order.subject = subject;
  order.after = after;
  order.tick = std::chrono::seconds(2);
  auto followed = follow_events(
      order, [&](const Event&) { return steady_clock::now() - drawn < kCalm || draw(); }, draw);
  if (failed) return fail(std::move(*failed));
  if (!followed) return fail(followed.error());
  return 0;
}

Result<int> run_watch(const WatchOptions& o) {
  std::string subject;
  auto seq = last_seq();
  if (!seq) return fail(seq.error());
  if (!o.target.empty()) {
    auto api = connect_to_sickbayd();
    auto view = api ? fetch_case(*api, o.target) : Result<Json>(fail(api.error()));
    if (!view) return fail(view.error());
    subject = (*view)["case"].as_string();
    if (is_decided(*view)) *seq = 0;  // nothing more will come: show what there was
  }
  if (!o.json && isatty(STDOUT_FILENO) != 0) return watch_live(subject, *seq);

  FollowOrder order;
  order.subject = subject;
  order.after = *seq;
  const TextPage page = page_of_stdout();
  auto followed = follow_events(order, [&](const Event& event) {
    print(o.json ? event.text() + "\n" : event_line(event, page));
    std::fflush(stdout);
    return subject.empty() || event.kind != "case_closed";
  });
  if (!followed) return fail(followed.error());
  return 0;
}

struct CancelOptions {
  std::string target;
  bool json = false;
};

Result<int> run_cancel(const CancelOptions& o) {
  auto api = connect_to_sickbayd();
  if (!api) return fail(api.error());
  auto view = fetch_case(*api, o.target);
  if (!view) return fail(view.error());
  const std::string& name = (*view)["case"].as_string();
  auto answer = api->post("/v1/cases/" + name + "/cancel", Json::object(), new_idempotency_key());
  if (!answer) return fail(answer.error());
  if (o.json)
    print_json(*answer);
  else
    print(
        fmt::format("case {} is cancelled; your own job{} was left alone (scancel ends it)\n", name,
                    (*view)["job_id"].as_int() > 0 ? " " + std::to_string((*view)["job_id"].as_int()) : ""));
  return 0;
}

}  // namespace

void add_why_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("why", "say why a job failed: program or node; or why it waits");
  auto o = std::make_shared<WhyOptions>();
  c->add_option("TARGET", o->target, std::string(kTargetHelp))->required();
  c->add_flag("-w,--wait", o->wait, "wait for the final verdict");
  c->add_flag("-x,--experiment", o->experiment,
              "open a case for a job of your own that failed without one, while Slurm has its script");
  c->add_flag("--json", o->json, "print the case, or why the job waits, as JSON (doc/formats/api.md)");
  c->footer(
      "Exit codes tell the verdict:\n"
      "  0   normal: the job completed\n"
      "  10  (a) the program or its input\n"
      "  11  (b) a node\n"
      "  12  non-deterministic: it does not fail each time\n"
      "  13  inconclusive, or the case expired\n"
      "  14  cancelled, out of memory, or its deadline passed\n"
      "  15  tasks of a job array failed for different causes\n"
      "  16  (c) the program or its input, now and then\n"
      "  17  (d) a node or a link, now and then\n"
      "  20  still under way: no final verdict yet, or the job waits for its start\n"
      "  21  the job waits, and will not start before somebody changes it or the cluster\n\n"
      "Of a job that waits, also one submitted by plain sbatch, it says why, from what slurmctld knows,\n"
      "and what would let it run.  Of one that failed without a case it says what evidence alone tells, "
      "where\n"
      "the site looks at all jobs (identify.jobs).  You may ask about your own jobs; operators about all.\n");
  c->callback([o, &ending] { ending = {run_why(*o), o->json}; });
}

void add_cases_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("cases", "list cases: yours, or for operators all");
  auto o = std::make_shared<CasesOptions>();
  c->add_flag("-a,--all", o->all, "closed ones, too");
  c->add_option("-u,--user", o->user, "only this user's")->type_name("NAME");
  c->add_flag("--json", o->json, "print the list as JSON");
  c->callback([o, &ending] { ending = {run_cases(*o), o->json}; });
}

void add_watch_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("watch", "follow a case, or all of them, as things happen");
  auto o = std::make_shared<WatchOptions>();
  c->add_option("TARGET", o->target, std::string(kTargetHelp));
  c->add_flag("--json", o->json, "print each event as a line of JSON");
  c->footer("On a terminal the page is drawn anew; in a pipe each event is one line.  Ends with the case.\n");
  c->callback([o, &ending] { ending = {run_watch(*o), o->json}; });
}

void add_cancel_command(CLI::App& app, Ending& ending) {
  CLI::App* c =
      app.add_subcommand("cancel", "end an investigation and the runs that Sickbay submitted for it");
  auto o = std::make_shared<CancelOptions>();
  c->add_option("TARGET", o->target, std::string(kTargetHelp))->required();
  c->add_flag("--json", o->json, "print the answer as JSON");
  c->footer("Your own job is left alone; scancel ends it.\n");
  c->callback([o, &ending] { ending = {run_cancel(*o), o->json}; });
}

}  // namespace sickbay::cli
