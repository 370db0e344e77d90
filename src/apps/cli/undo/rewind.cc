// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/rewind.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "adapters/posix/installed_file.h"
#include "apps/cli/child.h"
#include "apps/cli/page.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/words.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kShortDigest = 12;
constexpr int kDamaged = 65, kNoCheckpoint = 66;  // exit codes of sickbay-ckpt verify

std::string own_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

std::string short_digest(const std::string& digest) {
  return digest.empty() ? "(no file)" : digest.substr(0, kShortDigest);
}

}  // namespace

Result<JobHistory> fetch_history(ApiClient& api, JobId job) {
  auto view = api.get(fmt::format("/v1/history?job={}", job));
  if (!view) return fail(view.error());
  JobHistory history{job, std::move(*view), {}, {}};
  for (const Json& part : history.view["parts"].items()) {
    history.jobs.push_back(static_cast<JobId>(part["job"].as_int()));
    history.cases.push_back(part["case"].as_string());
  }
  return history;
}

Status must_be_own(const JobHistory& history) {
  const std::string& owner = history.view["owner"].as_string();
  if (owner == own_name()) return {};
  return fail(Error(ErrorCode::denied, fmt::format("job {} is {}'s", history.job, safe(Json(owner))))
                  .because("its files and its jobs are put back with its owner's own rights")
                  .remedied_by("run it as that user; --plan shows what would be done"));
}

Result<Kept> kept_of(const JobHistory& history, const std::string& source) {
  for (const Json& part : history.view["parts"].items()) {
    if (part["case"].as_string() != source) continue;
    if (!part["recorded"].as_bool())
      return fail(
          Error(ErrorCode::conflict,
                fmt::format("job {} was not submitted with --record", part["job"].as_int()))
              .because("the history has digests alone, so what its files held cannot be put back")
              .remedied_by("put them back yourself and submit the job again: sickbay submit --record"));
    Kept kept{part["work_dir"].as_string(), {}};
    auto record = read_record(Objects(kept.work_dir), source, part["script_digest"].as_string());
    if (!record) return fail(record.error());
    kept.record = std::move(*record);
    return kept;
  }
  return fail(Error(ErrorCode::conflict, "the beginning of this history is not kept any more")
                  .because("cases are archived 30 days after their end")
                  .remedied_by("submit the job again, with --record"));
}

Result<std::string> look_at_images(const std::string& folder, std::int64_t checkpoint) {
  struct stat about = {};
  if (folder.empty() || ::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    return "not looked at: " + folder + " is not seen from here";
  const std::size_t slash = folder.rfind('/');
  const std::string series = folder.substr(slash + 1);
  const std::size_t dot = series.find('.');
  const std::string program = installed_file("sickbay-ckpt");
  if (!to_integer(series.substr(0, dot)))
    return std::string("not looked at: it was not taken by sickbay-ckpt");
  ChildSpec verify{{program.empty() ? "sickbay-ckpt" : program, "verify", "--store", folder.substr(0, slash),
                    "--job", series.substr(0, dot), "--from", std::to_string(checkpoint)},
                   {}};
  if (dot != series.npos) verify.argv.insert(verify.argv.end(), {"--name", series.substr(dot + 1)});
  const auto code = run_child(verify, [](std::string_view) {});
  if (!code && code.error().code == ErrorCode::missing_program)
    return std::string("not looked at: sickbay-ckpt is not installed here");
  if (!code) return fail(code.error());
  if (*code == 0) return std::string("whole");
  return fail(
      Error(ErrorCode::conflict,
            fmt::format("checkpoint {} in {} is {}", checkpoint, folder,
                        *code == kDamaged        ? "damaged"
                        : *code == kNoCheckpoint ? "not there"
                                                 : fmt::format("not to be read (exit code {})", *code)))
          .because("nothing was changed: no job was ended for it")
          .remedied_by("go back to another one: 'sickbay checkpoints' lists them"));
}

Result<Rewind> look_back(ApiClient& api, JobId job, const std::string& what, const std::string& op) {
  auto history = fetch_history(api, job);
  if (!history) return fail(history.error());
  auto answer =
      api.post("/v1/undo", Json::object({{"job", job}, {"do", what}, {"op", op}, {"dry_run", true}}),
               new_idempotency_key());
  if (!answer) return fail(answer.error());
  Rewind rewind{what, op, std::move(*history), (*answer)["plan"], {}, {}, {}, {}};
  if (rewind.only_crossed_out()) return rewind;
  auto kept = kept_of(rewind.history, rewind.plan["source"].as_string());
  if (!kept) return fail(kept.error());
  rewind.kept = std::move(*kept);
  auto things = look_at_things(rewind.plan["work"], rewind.kept.record);
  if (!things) return fail(things.error());
  rewind.things = std::move(*things);
  const Objects objects(rewind.kept.work_dir);
  for (const Thing& thing : rewind.things)
    // Before anything is ended or written: half a way back would be worse than none.
    if (auto can = can_put_back(objects, thing); !can) return fail(can.error());
  if (const std::int64_t checkpoint = rewind.plan["checkpoint"].as_int(); checkpoint != 0) {
    auto images = look_at_images(rewind.plan["folder"].as_string(), checkpoint);
    if (!images) return fail(images.error());
    rewind.images = std::move(*images);
  }
  auto live = live_jobs();
  if (!live) return fail(live.error());
  rewind.ends = concerning(std::move(*live), rewind.history.jobs, rewind.history.cases, rewind.kept.work_dir);
  return rewind;
}

Status go_back(ApiClient& api, Rewind& rewind) {
  if (auto own = must_be_own(rewind.history); !own) return own;
  Json restored = Json::array();
  if (!rewind.only_crossed_out()) {
    const Objects objects(rewind.kept.work_dir);
    if (auto made = objects.make(); !made) return made;
    // First the jobs, for what is completing may still write to the files; the history last, so that it
    // tells only what was done.
    if (auto ended = end_jobs(rewind.ends); !ended) return ended;
    for (Thing& thing : rewind.things) {
      const std::string was = thing.digest;
      if (auto back = put_back(objects, thing); !back)
        return fail(std::move(back.error()).in(fmt::format("putting back {}", thing.path)));
      if (thing.differs())
        restored.push(change_json(thing.key, thing.now, was, diff_text(objects, thing.now, was, thing.path)));
    }
  }
  auto told = api.post("/v1/undo",
                       Json::object({{"job", rewind.history.job},
                                     {"do", rewind.what},
                                     {"op", rewind.op},
                                     {"restored", std::move(restored)}}),
                       new_idempotency_key());
  if (!told) {
    Error error = told.error();
    error.what = "the files are put back, but the history could not be told: " + error.what;
    error.remedy_text = "run the same command again: what is put back already stays as it is";
    return fail(std::move(error));
  }
  rewind.plan = (*told)["plan"];
  return {};
}

Json Rewind::to_json(bool done) const {
  Json files = Json::array(), jobs = Json::array();
  for (const Thing& thing : things)
    files.push(Json::object({{"key", thing.key},
                             {"path", thing.path},
                             {"do", !thing.differs()       ? "leave"
                                    : thing.digest.empty() ? "remove"
                                                           : "restore"},
                             {"from", thing.now},
                             {"to", thing.digest}}));
  for (const LiveJob& one : ends) jobs.push(Json::object({{"job", one.job}, {"state", one.state}}));
  return Json::object({{"done", done},
                       {"plan", plan},
                       {"images", images},
                       {"cancels", std::move(jobs)},
                       {"files", std::move(files)}});
}

std::string rewind_text(const Rewind& rewind, bool done) {
  const Json& plan = rewind.plan;
  if (rewind.only_crossed_out())
    return fmt::format(
        "Checkpoint {} {} crossed out: it is not gone back to any more. Nothing else changes.\n",
        safe(plan["drops"]), done ? "is" : "would be");
  std::string text = fmt::format("{} {}, {}\n", done ? "Gone back to" : "Would go back to", safe(plan["to"]),
                                 plan["checkpoint"].as_int() == 0
                                     ? std::string("from the beginning")
                                     : fmt::format("checkpoint {} in {} ({})", plan["checkpoint"].as_int(),
                                                   safe(plan["folder"]), for_terminal(rewind.images)));
  for (const LiveJob& one : rewind.ends)
    text += fmt::format("  cancel   job {} ({})\n", one.job, for_terminal(one.state));
  for (const Thing& thing : rewind.things)
    text += thing.differs()
                ? fmt::format("  {}  {}: {} -> {} (what it held is kept)\n",
                              thing.digest.empty() ? "remove " : "restore", for_terminal(thing.path),
                              short_digest(thing.now), short_digest(thing.digest))
                : fmt::format("  leave    {}: {}\n", for_terminal(thing.path), short_digest(thing.digest));
  for (const Json& op : plan["rest"].items())
    text += fmt::format("  again    {}: this repair is done again by the replay\n", safe(op));
  if (done)
    text +=
        fmt::format("Now repair what was wrong, in these files; then: sickbay redo {}\n", rewind.history.job);
  return text;
}

}  // namespace sickbay::cli
