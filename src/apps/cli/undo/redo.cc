// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/redo.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "adapters/posix/files.h"
#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "base/digest/sha256.h"
#include "base/resource_limits.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/words.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kMostValue = 128 << 10;  // the kernel's bound of one variable
constexpr std::string_view kVariableKey = "environment:";
// What an earlier replay was told.
constexpr std::string_view kReplayNames[] = {
    "SICKBAY_CHECKPOINT_JOB=", "SICKBAY_CHECKPOINT_FROM=", "SICKBAY_REPLAYS="};

bool is_replay_name(const std::string& entry) {
  return std::ranges::any_of(kReplayNames, [&](std::string_view name) { return entry.starts_with(name); });
}

// The recorded value of a variable, or null.
const std::string* recorded_value(const Record& record, const std::string& name, std::string& room) {
  for (const std::string& entry : record.submission.environment)
    if (entry.starts_with(name + "=")) {
      room = entry.substr(name.size() + 1);
      return &room;
    }
  return nullptr;
}

// What `key` is at the position: what the history says of it, else what was recorded.
std::string value_at(const Json& work, const Record& record, const std::string& key) {
  if (work.has(key)) return work[key].as_string();
  if (!key.starts_with(kVariableKey)) return {};
  std::string room;
  const std::string* value = recorded_value(record, key.substr(kVariableKey.size()), room);
  return value == nullptr ? std::string() : sha256_hex(*value);
}

Result<Json> environment_changes(const RedoWish& wish, const Json& work, const Record& record,
                                 const Objects& objects, Json changes) {
  for (const std::string& word : wish.environment) {
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    if (name.empty() || name.find_first_not_of(
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != name.npos)
      return fail(Error(ErrorCode::usage, quote_for_message(word) + " is no variable with its value")
                      .remedied_by("--env NAME=VALUE, or --env NAME to have it unset"));
    std::string digest;
    if (sign != word.npos) {
      auto kept = objects.keep_text(std::string_view(word).substr(sign + 1));
      if (!kept) return fail(kept.error());
      digest = *kept;
    }
    const std::string key = std::string(kVariableKey) + name, was = value_at(work, record, key);
    // (No difference as text: a variable may hold a key.)
    if (was != digest) changes.push(change_json(key, was, digest));
  }
  return changes;
}

// Repairs that come after what was inserted or changed, as far as they still fit.
Status add_rest(Redo& redo, const std::vector<Thing>& things, const Objects& objects) {
  const Json& work = redo.position["work"];
  std::map<std::string, std::string> now;  // by key, as the repairs before leave it
  for (const Thing& thing : things) now[thing.key] = thing.now;
  for (const Repair& repair : redo.repairs)
    for (const Json& change : repair.changes.items())
      now[change["key"].as_string()] = change["to"].as_string();
  for (const Json& rest : redo.position["rest"].items()) {
    Repair again{rest["op"].as_string(), Json::array()};
    for (const Json& change : rest["changes"].items()) {
      const std::string& key = change["key"].as_string();
      const std::string& from = change["from"].as_string();
      const std::string& to = change["to"].as_string();
      const auto thing = std::ranges::find(things, key, &Thing::key);
      if (!now.contains(key)) now[key] = value_at(work, redo.kept.record, key);
      const std::string is = now[key];
      // The owner says that the file has both: then the repair is told as done, with what the file holds.
      if (redo.wish.as_is && thing != things.end()) {
        again.changes.push(change_json(key, is, is));
        continue;
      }
      // Neither what the repair began from nor what it made: to write `to` would undo what the repair before
      // it did.
      if (is != from && is != to)
        return fail(Error(ErrorCode::conflict,
                          fmt::format("the repair {} cannot be done again as it was", again.again))
                        .because(fmt::format("it changed {} into something that the repair before it has "
                                             "changed otherwise",
                                             safe(change["key"])))
                        .remedied_by("have both changes in the file, then: sickbay redo --as-is"));
      if (thing != things.end() && is != to) {
        Thing one = *thing;
        one.digest = to;
        if (auto can = can_put_back(objects, one); !can) return can;
        std::erase_if(redo.to_put_back, [&](const Thing& other) { return other.key == key; });
        redo.to_put_back.push_back(std::move(one));
      }
      again.changes.push(change_json(key, is, to, change["diff"].as_string()));
      now[key] = to;
    }
    if (again.changes.size() > 0) redo.repairs.push_back(std::move(again));
  }
  return {};
}

// The word that names the script: the one that was given, where its file holds what is to run; else a file of
// ours that does.
Result<std::string> script_word(const Record& record, const Json& work, const Objects& objects) {
  const std::string& repaired = work["script"].as_string();
  const std::string digest = repaired.empty() ? sha256_hex(record.submission.script) : repaired;
  if (!record.script_path.empty()) {
    auto text = read_file(record.script_path, 64 << 20);
    if (text && sha256_hex(*text) == digest) return record.submission.script_name;
  }
  auto text = objects.read(digest, 64 << 20);
  if (!text) return fail(std::move(text.error()).in("reading the script that was recorded"));
  const std::string& name = record.submission.script_name;
  // Under its own name in a folder of its digest: sbatch names the job after the file.
  const std::string folder = objects.folder() + "/scripts/" + digest.substr(0, 12);
  if (auto made = make_folder(folder, 0700); !made) return fail(made.error());
  const std::string path = folder + "/" + name.substr(name.rfind('/') + 1);
  if (auto written = write_durably(path, *text, 0700); !written) return fail(written.error());
  return path;
}

// The nodes that the submission excludes by itself: by the command line, else by the script.
std::string excluded_already(const Submission& submission) {
  const auto line = parse_sbatch_line(submission.sbatch_options);
  if (const GivenOption* given = line ? line->last("exclude") : nullptr) return given->value.value_or("");
  std::string last;
  if (const auto script = parse_script_options(submission.script))
    for (const GivenOption& given : *script)
      if (given.name == "exclude") last = given.value.value_or("");
  return last;
}

void take_on(const Record& record, const std::vector<std::string>& environment) {
  // sbatch hands its environment on to the job: what this shell has and the recorded one had not must not
  // reach it.
  ::clearenv();
  for (const std::string& entry : environment)
    if (const std::size_t sign = entry.find('='); sign != entry.npos && sign > 0)
      ::setenv(entry.substr(0, sign).c_str(), entry.c_str() + sign + 1, 1);
  ::umask(record.submission.umask & 0777);
  for (const auto& [name, value] : record.submission.limits) {
    const auto row = std::ranges::find(kResourceLimits, name, &ResourceLimit::name);
    rlimit limit = {};
    if (row == kResourceLimits.end() || ::getrlimit(row->resource, &limit) != 0) continue;
    limit.rlim_cur = value < 0 ? limit.rlim_max : std::min(limit.rlim_max, static_cast<rlim_t>(value));
    (void)::setrlimit(row->resource, &limit);  // (sbatch propagates it; one that cannot be had is not had)
  }
}

}  // namespace

Result<Redo> look_on(ApiClient& api, JobId job, const RedoWish& wish) {
  auto history = fetch_history(api, job);
  if (!history) return fail(history.error());
  if (auto own = must_be_own(*history); !own) return fail(own.error());
  const Json position = history->view["position"];
  const auto conflict = [](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::conflict, std::move(what)).remedied_by(std::move(remedy)));
  };
  if (!position.is_object())
    return conflict(fmt::format("job {} was not gone back in: there is nothing to replay from", job),
                    fmt::format("sickbay undo {} --to CHECKPOINT", job));
  if (position["replays"].size() > 0)
    return conflict(
        fmt::format("it was replayed from here already, as job {}",
                    position["replays"].items().front().as_int()),
        fmt::format("go back anew to go on in another way: sickbay undo {} --to CHECKPOINT", job));
  auto kept = kept_of(*history, position["source"].as_string());
  if (!kept) return fail(kept.error());
  Redo redo{std::move(*history), position, std::move(*kept), {}, {}, wish};
  auto live = live_jobs();
  if (!live) return fail(live.error());
  const auto running =
      concerning(std::move(*live), redo.history.jobs, redo.history.cases, redo.kept.work_dir);
  if (!running.empty())
    return conflict(fmt::format("job {} ({}) of this history is still there and writes to the same files",
                                running.front().job, for_terminal(running.front().state)),
                    fmt::format("end it: scancel {}", running.front().job));
  const Objects objects(redo.kept.work_dir);
  if (auto made = objects.make(); !made) return fail(made.error());
  const Json& work = redo.position["work"];
  auto things = look_at_things(work, redo.kept.record);
  if (!things) return fail(things.error());
  Json changes = Json::array();
  for (Thing& thing : *things) {
    if (!thing.differs()) continue;
    if (thing.key == "script" && thing.now.empty())
      return conflict("the script " + thing.path + " is not there any more", "put it back");
    if (!thing.now.empty()) {
      auto digest = objects.keep_file(thing.path);
      if (!digest) return fail(digest.error());
      thing.now = *digest;
    }
    changes.push(change_json(thing.key, thing.digest, thing.now,
                             diff_text(objects, thing.digest, thing.now, thing.path)));
  }
  auto all = environment_changes(wish, work, redo.kept.record, objects, std::move(changes));
  if (!all) return fail(all.error());
  if (const std::string was = value_at(work, redo.kept.record, "exclude");
      !wish.exclude.empty() && wish.exclude != was)
    all->push(change_json("exclude", was, wish.exclude));
  if (all->size() > 0) redo.repairs.push_back({{}, std::move(*all)});
  if (auto rest = add_rest(redo, *things, objects); !rest) return fail(rest.error());
  return redo;
}

std::vector<std::string> words_again(const Record& record, const std::string& exclude,
                                     const std::string& nodes, const std::string& script, bool json) {
  std::vector<std::string> words = record.own;
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  // A replay can be gone back in as well; and without a case its history would not hang together.
  for (const char* word : {"--record", "--require-case"})
    if (!has(word)) words.emplace_back(word);
  if (json) words.emplace_back("--json");
  const auto& options = record.submission.sbatch_options;
  words.insert(words.end(), options.begin(), options.end());
  if (!exclude.empty()) {
    // The last --exclude is the only one that counts, so it must hold the nodes of the one before as well.
    const std::string before = excluded_already(record.submission);
    words.push_back("--exclude=" + before + (before.empty() ? "" : ",") + exclude);
  }
  if (!nodes.empty()) words.push_back("--nodelist=" + nodes);
  if (!script.empty()) {
    if (script.starts_with('-')) words.emplace_back("--");
    words.push_back(script);
  }
  words.insert(words.end(), record.submission.script_args.begin(), record.submission.script_args.end());
  return words;
}

Result<std::vector<std::string>> environment_again(const Record& record, const Json& position,
                                                   const Objects& objects) {
  std::vector<std::string> entries = record.submission.environment;
  std::erase_if(entries, is_replay_name);
  const auto set = [&entries](const std::string& name, const std::string* value) {
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    if (value != nullptr) entries.push_back(name + "=" + *value);
  };
  for (const auto& [key, digest] : position["work"].members()) {
    if (!key.starts_with(kVariableKey)) continue;
    const std::string name = key.substr(kVariableKey.size());
    if (digest.as_string().empty()) {
      set(name, nullptr);
      continue;
    }
    auto value = objects.read(digest.as_string(), kMostValue);
    if (!value) return fail(std::move(value.error()).in("reading the variable " + name));
    set(name, &*value);
  }
  const std::string replays = position["op"].as_string();
  set("SICKBAY_REPLAYS", &replays);
  const std::int64_t checkpoint = position["checkpoint"].as_int();
  if (checkpoint == 0) return entries;
  // /scratch/17 is the series of job 17 in the store /scratch.
  const std::string& folder = position["folder"].as_string();
  const std::size_t slash = folder.rfind('/');
  const std::string job =
      slash == folder.npos ? "" : folder.substr(slash + 1, folder.find('.', slash) - slash - 1);
  const std::string from = std::to_string(checkpoint);
  set("SICKBAY_CHECKPOINT_FROM", &from);
  if (to_integer(job)) {
    const std::string store = folder.substr(0, slash);
    set("SICKBAY_CHECKPOINT_JOB", &job);
    set("SICKBAY_CHECKPOINTS", &store);
  }
  return entries;
}

Result<int> go_on(ApiClient& api, Redo& redo) {
  Record record = redo.kept.record;
  const Objects objects(redo.kept.work_dir);
  for (const Repair& repair : redo.repairs) {
    // Its files first: told is what has been done.
    for (const Json& change : repair.changes.items())
      for (Thing& thing : redo.to_put_back)
        if (!repair.again.empty() && thing.key == change["key"].as_string())
          if (auto back = put_back(objects, thing); !back)
            return fail(std::move(back.error()).in("doing the repair " + repair.again + " again"));
    auto told = api.post(
        "/v1/undo",
        Json::object(
            {{"job", redo.history.job}, {"do", "repair"}, {"of", repair.again}, {"changes", repair.changes}}),
        new_idempotency_key());
    if (!told)
      return fail(std::move(told.error()).in("telling the history of the repair; nothing was submitted"));
  }
  // Once more: the repairs that were just told are part of the position now.
  auto now = fetch_history(api, redo.history.job);
  if (!now) return fail(now.error());
  redo.position = now->view["position"];
  auto environment = environment_again(record, redo.position, objects);
  if (!environment) return fail(environment.error());
  std::string script;
  const auto line = parse_sbatch_line(record.submission.sbatch_options);
  // (--wrap has no script file.)
  if (!line || line->last("wrap") == nullptr) {
    auto word = script_word(record, redo.position["work"], objects);
    if (!word) return fail(word.error());
    script = std::move(*word);
  }
  // A script that was repaired may exclude other nodes now.
  if (const std::string& repaired = redo.position["work"]["script"].as_string(); !repaired.empty()) {
    auto text = objects.read(repaired, 64 << 20);
    if (!text) return fail(std::move(text.error()).in("reading the repaired script"));
    record.submission.script = std::move(*text);
  }
  const std::string exclude = redo.position["work"]["exclude"].as_string();
  const auto words = words_again(record, exclude, redo.wish.nodes, script, redo.wish.json);
  // Where it was submitted: the script's word and all other relative names are meant from there.
  if (::chdir(redo.kept.work_dir.c_str()) != 0)
    return fail(file_error(errno, "change to the folder of the submission,", redo.kept.work_dir));
  take_on(record, *environment);
  return run_submit(words,
                    Json::object({{"op", redo.position["op"]}, {"checkpoint", redo.position["checkpoint"]}}))
      .code;
}

Json Redo::to_json(bool done) const {
  Json list = Json::array();
  for (const Repair& repair : repairs)
    list.push(Json::object({{"again", repair.again}, {"changes", repair.changes}}));
  return Json::object({{"done", done},
                       {"op", position["op"]},
                       {"checkpoint", position["checkpoint"]},
                       {"repairs", std::move(list)}});
}

std::string redo_text(const Redo& redo) {
  const std::int64_t checkpoint = redo.position["checkpoint"].as_int();
  std::string text = fmt::format(
      "Replay from {}, {}\n", safe(redo.position["op"]),
      checkpoint == 0 ? std::string("from the beginning") : fmt::format("checkpoint {}", checkpoint));
  for (const Repair& repair : redo.repairs)
    for (const Json& change : repair.changes.items()) {
      text += fmt::format("  repaired {}{}\n", safe(change["key"]),
                          repair.again.empty() ? "" : " (as " + for_terminal(repair.again) + ", again)");
      std::string_view diff = change["diff"].as_string();
      while (!diff.empty()) {
        const auto end = std::min(diff.find('\n'), diff.size());
        text += "    " + for_terminal(diff.substr(0, end)) + "\n";
        diff.remove_prefix(std::min(end + 1, diff.size()));
      }
    }
  if (redo.repairs.empty()) text += "  nothing was repaired: the same as before\n";
  return text;
}

}  // namespace sickbay::cli
