// SPDX-License-Identifier: Apache-2.0
#include "service/case_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engine/identify/rerun_state.h"
#include "model/hang_mode.h"

namespace sickbay {
namespace {

constexpr std::size_t kScriptBound = 4 << 20;    // slurmctld's own MaxScriptSize
constexpr std::size_t kCommandBound = 64 << 10;  // of --check: one shell command
constexpr std::size_t kMostNotes = 32, kNoteBound = 1000;
constexpr std::size_t kJournalBound = 64 << 10;  // of options and notes, and likewise of inputs, as JSON
constexpr std::size_t kOperationBound = 24;      // "4294967295.1000000"

struct OptionRow {
  std::string_view name;
  bool (*is)(const Json&);
  std::string_view must_be;
};
bool is_flag(const Json& value) { return value.is_bool(); }
// A new option of a case is a row here, a line of doc/formats/api.md, and its reader in engine/identify.
constexpr auto kOptions = std::to_array<OptionRow>({
    {"deliver", is_flag, "true or false"},
    // (true and false: of clients that knew two ways only.)
    {"rerun",
     [](const Json& v) { return v.is_bool() || identify::rerun_way_from(v.as_string()).has_value(); },
     "\"same\", \"copy\", \"ask\" or \"never\""},
    {"requeue", is_flag, "true or false"},
    {"recover", is_flag, "true or false"},
    {"check", [](const Json& v) { return v.is_string() && v.as_string().size() <= kCommandBound; },
     "a command of at most 65536 bytes"},
    {"expect_time_s", [](const Json& v) { return v.is_int() && v.as_int() >= 0; }, "a number of seconds"},
    {"until_verdict", is_flag, "true or false"},
    {"steps", [](const Json& v) { return v.as_string() == "tell" || v.as_string() == "fail"; },
     "\"tell\" or \"fail\""},
    {"hang", [](const Json& v) { return hang_mode_from(v.as_string()).has_value(); },
     "\"off\", \"notify\" or \"cancel\""},
    {"workdir", [](const Json& v) { return v.as_string() == "same" || v.as_string() == "copy"; },
     "\"same\" or \"copy\""},
});

tl::unexpected<Error> unfit(std::string what, std::string why, std::string remedy) {
  return fail(
      Error(ErrorCode::bad_input, std::move(what)).because(std::move(why)).remedied_by(std::move(remedy)));
}

Status check_options(const Json& options) {
  if (!options.is_object() && !options.is_null())
    return unfit(fmt::format("'options' of a case must be an object, not {}", options.type_name()),
                 "each option has a name", "send the options that doc/formats/api.md lists");
  for (const auto& [name, value] : options.members()) {
    const auto row = std::ranges::find(kOptions, name, &OptionRow::name);
    if (row == kOptions.end()) {
      std::string known;
      for (const OptionRow& one : kOptions) known.append(known.empty() ? "" : ", ").append(one.name);
      return unfit(fmt::format("unknown option {} of a case", quote_for_message(name)), "known are " + known,
                   "leave it out, or start the sickbayd that knows it");
    }
    if (!row->is(value))
      return unfit(fmt::format("option '{}' of a case must be {}", name, row->must_be),
                   fmt::format("it is {}", quote_for_message(value.dump())),
                   "correct it, or leave it out for its default");
  }
  return {};
}

Status check_notes(const Json& notes) {
  const bool fit = notes.is_null() || (notes.is_array() && notes.size() <= kMostNotes &&
                                       std::ranges::all_of(notes.items(), [](const Json& note) {
                                         return note.is_string() && note.as_string().size() <= kNoteBound;
                                       }));
  if (fit) return {};
  return unfit(fmt::format("'notes' of a case must be a list of at most {} texts of at most {} bytes",
                           kMostNotes, kNoteBound),
               "the journal keeps them for good", "send fewer and shorter notes");
}

Status check_flag(const Json& body, std::string_view name) {
  if (body[name].is_null() || body[name].is_bool()) return {};
  return unfit(fmt::format("'{}' of a case must be true or false", name),
               fmt::format("it is {}", quote_for_message(body[name].dump())),
               "correct it, or leave it out for its default");
}

}  // namespace

Json options_with_way(const Json& options, std::string_view usual) {
  const Json& said = options["rerun"];
  const Json& folder = options["workdir"];  // the old word for the way, beside a flag
  Json way = said.is_string()                    ? said
             : said.is_bool() && !said.as_bool() ? Json("never")
             : folder.is_string()                ? folder
                                                 : Json(usual);
  Json full = Json::object();
  for (const auto& [name, value] : options.members())
    if (name != "workdir" && name != "rerun") full.set(name, value);
  return full.set("rerun", std::move(way));
}

Result<CaseRequest> CaseRequest::from_json(const Json& body) {
  auto submission = Submission::from_json(body["submission"]);
  if (!submission) return fail(std::move(submission.error()));
  if (submission->script.size() > kScriptBound)
    return unfit("the script is over 4 MiB", "slurmctld takes none that is longer (MaxScriptSize)",
                 "move what is long into a file that the script runs");
  if (auto fit = check_options(body["options"]); !fit) return fail(std::move(fit.error()));
  if (auto fit = check_notes(body["notes"]); !fit) return fail(std::move(fit.error()));
  if (body["options"].dump().size() + body["notes"].dump().size() > kJournalBound)
    return unfit("'options' and 'notes' of a case are over 64 KiB together",
                 "the journal keeps them for good", "put a long 'check' into a script, and call that");
  if (body["inputs"].dump().size() > kJournalBound)
    return unfit("'inputs' of a case are over 64 KiB", "the journal keeps them for good",
                 "name fewer files, or shorter paths");
  auto inputs = read_inputs(body["inputs"]);
  if (!inputs) return fail(std::move(inputs.error()));
  const Json& digest = body["script_digest"];
  if (!is_digest(digest.as_string()) || !(digest.is_null() || digest.is_string()))
    return unfit("'script_digest' of a case must be 64 hexadecimal digits", "it is a SHA-256",
                 "send what doc/formats/api.md says, or none");
  for (const std::string_view name : {"names_folder", "submits_jobs", "recorded"})
    if (auto fit = check_flag(body, name); !fit) return fail(std::move(fit.error()));
  const Json& replays = body["replays"];
  if (!replays.is_null() &&
      (!replays.is_object() || replays.size() > 2 || replays["op"].as_string().empty() ||
       replays["op"].as_string().size() > kOperationBound ||
       !(replays["checkpoint"].is_int() || replays["checkpoint"].is_null())))
    return unfit("'replays' of a case must be {\"op\": \"17.4\", \"checkpoint\": 2}",
                 "it names an operation of a history", "send what doc/formats/api.md says, or none");
  return CaseRequest{std::move(*submission),
                     body["options"],
                     body["notes"],
                     std::move(*inputs),
                     digest.as_string(),
                     body["names_folder"].as_bool(),
                     body["submits_jobs"].as_bool(),
                     body["recorded"].as_bool(),
                     replays};
}

}  // namespace sickbay
