// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys, and the one reader that walks it.
#include "service/config.h"

#include <fmt/format.h>

#include <array>

#include "base/duration.h"
#include "base/json.h"
#include "base/spelling.h"

namespace sickbay {
namespace {

// How one key is read: an error text, or "" when it was taken.
using Taker = std::string (*)(Config&, const Json&);
struct KeyRow {
  std::string_view section, key, type, meaning;
  Taker take;
};

template <class Field>
std::string take_text(Field& field, const Json& value) {
  if (!value.is_string()) return fmt::format("must be a string, not {}", value.type_name());
  field = value.as_string();
  return "";
}

std::string take_names(std::vector<std::string>& field, const Json& value) {
  if (!value.is_array()) return fmt::format("must be a list of names, not {}", value.type_name());
  for (const Json& item : value.items())
    if (!item.is_string()) return fmt::format("must hold names only, not {}", item.type_name());
  field = value.as_strings();
  return "";
}

template <class Duration>
std::string take_duration(Duration& field, const Json& value) {
  if (!value.is_string())
    return fmt::format("must be a duration like \"30s\" or \"5m\", not {}", value.type_name());
  auto read = parse_duration(value.as_string());
  if (!read) return read.error().what;
  field = std::chrono::duration_cast<Duration>(*read);
  if (field <= Duration::zero()) return "must be more than 0";
  return "";
}

std::string take_flag(bool& field, const Json& value) {
  if (!value.is_bool()) return fmt::format("must be true or false, not {}", value.type_name());
  field = value.as_bool();
  return "";
}

std::string take_count(int& field, const Json& value, int least, int most) {
  if (!value.is_int() || value.as_int() < least || value.as_int() > most)
    return fmt::format("must be a whole number from {} to {}", least, most);
  field = static_cast<int>(value.as_int());
  return "";
}

// clang-format off
constexpr auto kKeys = std::to_array<KeyRow>({
    {"operators", "users", "names", "users who may see and cancel all cases, besides root and SlurmUser",
     [](Config& c, const Json& v) { return take_names(c.operators.users, v); }},
    {"operators", "groups", "names", "groups whose members may do so",
     [](Config& c, const Json& v) { return take_names(c.operators.groups, v); }},
    {"slurm", "conf", "path", "slurm.conf; default: SLURM_CONF, else Slurm's own",
     [](Config& c, const Json& v) { return take_text(c.slurm.conf, v); }},
    {"slurm", "bin_dir", "path", "where sbatch and sacct are",
     [](Config& c, const Json& v) { return take_text(c.slurm.bin_dir, v); }},
    {"slurm", "refresh_floor", "duration", "shortest time between two looks at the queue while a case is open",
     [](Config& c, const Json& v) { return take_duration(c.refresh_floor, v); }},
    {"slurm", "retry_bound", "duration", "how long an action waits for Slurm to come back before it fails",
     [](Config& c, const Json& v) { return take_duration(c.retry_bound, v); }},
    {"verify", "script", "path", "batch script of the verification program; default: the shipped one",
     [](Config& c, const Json& v) { return take_text(c.verify.script, v); }},
    {"verify", "program", "path", "sickbay-verify on the nodes",
     [](Config& c, const Json& v) { return take_text(c.verify.program, v); }},
    {"verify", "options", "text", "its options",
     [](Config& c, const Json& v) { return take_text(c.verify.options, v); }},
    {"verify", "baseline", "path", "recorded figures of this cluster",
     [](Config& c, const Json& v) { return take_text(c.verify.baseline, v); }},
    {"verify", "environment", "names", "\"NAME=value\" for its jobs: which network MPI uses, say",
     [](Config& c, const Json& v) { return take_names(c.verify.environment, v); }},
    {"verify", "user", "name", "service account that verifications run as",
     [](Config& c, const Json& v) { return take_text(c.verify.user, v); }},
    {"verify", "qos", "name", "QOS of verifications (a high one)",
     [](Config& c, const Json& v) { return take_text(c.verify.qos, v); }},
    {"verify", "account", "name", "account of verifications",
     [](Config& c, const Json& v) { return take_text(c.verify.account, v); }},
    {"verify", "folder", "path", "folder for their output, on storage that all nodes share",
     [](Config& c, const Json& v) { return take_text(c.verify.folder, v); }},
    {"verify", "time_limit", "duration", "time limit of a verification",
     [](Config& c, const Json& v) { return take_duration(c.verify.time_limit, v); }},
    {"identify", "bind_limit", "duration", "a case without a job expires after this",
     [](Config& c, const Json& v) { return take_duration(c.identify.bind_limit, v); }},
    {"identify", "verification_wait", "duration", "a verification queued for longer says nothing",
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_wait, v); }},
    {"identify", "verification_retry", "duration", "pause before a verification that said nothing is tried again",
     [](Config& c, const Json& v) { return take_duration(c.identify.verification_retry, v); }},
    {"identify", "verification_attempts", "number", "how often a verification is tried",
     [](Config& c, const Json& v) { return take_count(c.identify.verification_attempts, v, 1, 10); }},
    {"identify", "rerun_wait", "duration", "a re-run queued for longer is given up",
     [](Config& c, const Json& v) { return take_duration(c.identify.rerun_wait, v); }},
    {"identify", "control_age", "duration", "how long a pass of the verification elsewhere counts as its own proof",
     [](Config& c, const Json& v) { return take_duration(c.identify.control_age, v); }},
    {"identify", "max_reruns", "number", "re-runs of the program, 1 or 2",
     [](Config& c, const Json& v) { return take_count(c.identify.max_reruns, v, 1, 2); }},
    {"drain", "act", "yes or no", "false, the default: sickbayd only says which nodes it would drain",
     [](Config& c, const Json& v) { return take_flag(c.drain.act, v); }},
    {"drain", "on_verdict", "yes or no", "a final verdict against a node is a reason to drain it",
     [](Config& c, const Json& v) { return take_flag(c.drain.on_verdict, v); }},
    {"drain", "window", "duration", "the breaker counts the drains of this time, at most 24 h",
     [](Config& c, const Json& v) {
       if (std::string wrong = take_duration(c.drain.window, v); !wrong.empty()) return wrong;
       return std::string(c.drain.window > drain::kLongestWindow ? "must be at most 24h" : "");
     }},
    {"drain", "most", "number", "drains per window and partition, at most",
     [](Config& c, const Json& v) { return take_count(c.drain.most, v, 1, 1000); }},
    {"drain", "most_percent", "number", "and in percent of the partition's nodes; the smaller counts, but at least 1",
     [](Config& c, const Json& v) { return take_count(c.drain.most_percent, v, 1, 100); }},
    {"drain", "most_out_percent", "number", "of a partition's nodes drained by Sickbay at one time; at least 1",
     [](Config& c, const Json& v) { return take_count(c.drain.most_out_percent, v, 1, 100); }},
    {"drain", "lift_after", "duration", "a fault that is gone for this long: our drain is lifted",
     [](Config& c, const Json& v) { return take_duration(c.drain.lift_after, v); }},
    {"drain", "undo_rest", "duration", "rules whose drains were undone only observe for this long",
     [](Config& c, const Json& v) { return take_duration(c.drain.undo_rest, v); }},
    {"drain", "check_every", "duration", "a blamed node that failed its deep diagnosis is examined again after this",
     [](Config& c, const Json& v) { return take_duration(c.drain.check_every, v); }},
    {"notify", "command", "text", "shell command that gets each finding that asks for it, as JSON on its standard input",
     [](Config& c, const Json& v) {
       std::string wrong = take_text(c.notify.command, v);
       c.drain.notify = !c.notify.command.empty();
       return wrong;
     }},
    {"notify", "user", "name", "user who runs it",
     [](Config& c, const Json& v) { return take_text(c.notify.user, v); }},
});
// clang-format on

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view source) {
  Json::ParseOptions options;
  options.comments = true;
  options.source = source;
  auto json = Json::parse(text, options);
  if (!json)
    return fail(std::move(json.error()).remedied_by("correct the file; doc/formats/config.md describes it"));
  const auto complain = [&](const Json& at, const std::string& what) {
    const auto [line, column] = line_and_column(text, at.offset());
    return fail(Error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", source, line, column, what))
                    .remedied_by("correct the file; doc/formats/config.md lists the keys"));
  };
  const auto hint = [](const std::string& near) {
    return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near);
  };
  Config config;
  if (!json->is_object())
    return complain(*json, fmt::format("the configuration must be an object, not {}", json->type_name()));
  for (const auto& [section, body] : json->members()) {
    std::vector<std::string> sections;
    for (const KeyRow& row : kKeys)
      if (sections.empty() || sections.back() != row.section) sections.emplace_back(row.section);
    bool known = false;
    for (const std::string& s : sections) known |= s == section;
    if (!known)
      return complain(body,
                      fmt::format("unknown key '{}'{}", section, hint(did_you_mean(section, sections))));
    if (!body.is_object())
      return complain(body, fmt::format("'{}' must be an object, not {}", section, body.type_name()));
    for (const auto& [key, value] : body.members()) {
      const KeyRow* row = nullptr;
      std::vector<std::string> keys;
      for (const KeyRow& r : kKeys)
        if (r.section == section) {
          keys.emplace_back(r.key);
          if (r.key == key) row = &r;
        }
      if (row == nullptr)
        return complain(
            value, fmt::format("unknown key '{}' in '{}'{}", key, section, hint(did_you_mean(key, keys))));
      if (std::string wrong = row->take(config, value); !wrong.empty())
        return complain(value, fmt::format("'{}.{}' {}", section, key, wrong));
    }
  }
  return config;
}

std::string describe_config() {
  std::string text;
  for (const KeyRow& row : kKeys)
    text += fmt::format("| `{}.{}` | {} | {} |\n", row.section, row.key, row.type, row.meaning);
  return text;
}

}  // namespace sickbay
