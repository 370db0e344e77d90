// SPDX-License-Identifier: Apache-2.0
// sickbay labels: which application ran, why we think so, how often that is right, and what the lists lack.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>

#include "apps/cli/answer.h"
#include "apps/cli/commands.h"
#include "apps/cli/page.h"
#include "apps/cli/workload/label_files.h"
#include "apps/cli/workload/labels_like.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/text_table.h"
#include "workload/label/lists.h"
#include "workload/relabel/relabel.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

using workload::AuditResult;
using workload::AuditSheet;
using workload::Label;
using workload::Share;
using workload::Store;
using workload::StoreMode;
using Align = TextTable::Column::Align;

struct LabelsOptions {
  std::vector<std::string> lists, names, accept;
  std::string store, field, out, marked;
  std::string steps, work_dir, submit_line, user, cluster, comment, account;
  std::uint64_t most = 20, users = 20, records = 300;
  std::int64_t seed = 1;
  bool json = false, dry_run = false;
};

Result<workload::Labeller> load_labels(const LabelsOptions& o) {
  auto files = label_files(o.lists);
  if (!files) return fail(files.error());
  return workload::Labeller::make(*files);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

Result<Store> open_store(const std::string& given, StoreMode mode) {
  auto path = workload::store_path(given);
  if (!path) return fail(path.error());
  workload::StoreOptions options;
  options.path = *path;
  options.mode = mode;
  return Store::open(options);
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text << '\n';
  out.close();
  if (!out) return fail(ErrorCode::storage_broken, fmt::format("cannot write {}", quote_for_message(path)));
  return {};
}

// list ---------------------------------------------------------------------------------------------------

Result<int> run_list(const LabelsOptions& o) {
  auto files = label_files(o.lists);
  if (!files) return fail(files.error());
  auto lists = workload::parse_lists(*files);
  if (!lists) return fail(lists.error());
  std::sort(lists->applications.begin(), lists->applications.end(), [](const auto& a, const auto& b) {
    return a.field != b.field ? a.field < b.field : a.name < b.name;
  });
  if (!o.field.empty()) {
    std::vector<std::string> fields;
    for (const auto& a : lists->applications) fields.push_back(a.field);
    std::erase_if(lists->applications, [&](const auto& a) { return !equal_ignoring_case(a.field, o.field); });
    if (lists->applications.empty()) {
      Error error(ErrorCode::not_found, fmt::format("there is no field {}", quote_for_message(o.field)));
      if (const std::string meant = did_you_mean(o.field, fields); !meant.empty())
        error.remedy_text = fmt::format("did you mean '{}'?", meant);
      return fail(std::move(error));
    }
  }
  TextTable table(
      {{"FIELD"}, {"APPLICATION"}, {"KEYWORDS", Align::left, true}, {"EXECUTABLES", Align::left, true}});
  Json all = Json::array();
  for (const auto& a : lists->applications) {
    std::string words, programs;
    Json json_words = Json::array(), json_programs = Json::array();
    for (const auto& k : a.keywords) {
      const bool program = k.match == workload::Match::executable;
      (program ? json_programs : json_words).push(k.text);
      (program ? programs : words) += (program ? programs : words).empty() ? k.text : ", " + k.text;
    }
    all.push(Json::object({{"name", a.name},
                           {"field", a.field},
                           {"keywords", std::move(json_words)},
                           {"executables", std::move(json_programs)},
                           {"wrapper", a.wrapper}}));
    table.add({for_terminal(a.field), for_terminal(a.name), for_terminal(words), for_terminal(programs)});
  }
  const TextPage page = page_of_stdout();
  if (o.json)
    print_json(all);
  else
    print(table.text({.width = page.width, .colours = page.colours}));
  return 0;
}

// test ---------------------------------------------------------------------------------------------------

Result<int> run_test(const LabelsOptions& o) {
  auto labeller = load_labels(o);
  if (!labeller) return fail(labeller.error());
  TextTable table(
      {{"NAME", Align::left, true}, {"APPLICATION"}, {"VERSION"}, {"FIELD"}, {"BY"}, {"EVIDENCE"}});
  Json all = Json::array();
  bool unknown = false;
  auto names = o.names;
  if (names.empty()) names.emplace_back();
  for (const std::string& name : names) {
    const Label l =
        labeller->label({name, o.steps, o.work_dir, o.submit_line, o.user, o.cluster, o.comment, o.account});
    unknown = unknown || l.application == "unknown";
    table.add({for_terminal(name), std::string(l.application), for_terminal(l.version), std::string(l.field),
               std::string(l.labelled_by), for_terminal(l.evidence)});
    all.push(Json::object({{"name", name},
                           {"application", l.application},
                           {"version", l.version},
                           {"field", l.field},
                           {"labelled_by", l.labelled_by},
                           {"evidence", l.evidence}}));
  }
  const TextPage page = page_of_stdout();
  if (o.json)
    print_json(all);
  else
    print(table.text({.width = page.width, .colours = page.colours}));
  return unknown ? 1 : 0;
}

// suggest ------------------------------------------------------------------------------------------------

// "3" or "3=NAME" or "3=NAME:FIELD"; several with ','.
Result<std::vector<workload::Accepted>> parse_accepted(const std::vector<std::string>& words,
                                                       const std::vector<workload::Suggestion>& groups) {
  std::vector<workload::Accepted> accepted;
  for (const std::string& word : words) {
    workload::Accepted a;
    const auto equals = word.find('=');
    const std::string number = word.substr(0, equals);
    std::size_t n = 0;
    for (const char c : number)
      n = is_digit(c) && n < 100'000 ? n * 10 + static_cast<std::size_t>(c - '0') : 100'000;
    if (number.empty() || n == 0 || n > groups.size())
      return fail(Error(ErrorCode::usage,
                        fmt::format("--accept {}: there is no such suggestion", quote_for_message(word)))
                      .remedied_by(fmt::format("give numbers from 1 to {}, as 3 or 3=NAME or 3=NAME:FIELD",
                                               groups.size())));
    a.suggestion = &groups[n - 1];
    if (equals != std::string::npos) {
      const auto colon = word.find(':', equals);
      a.application = word.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
      if (colon != std::string::npos) a.field = word.substr(colon + 1);
    }
    accepted.push_back(a);
  }
  return accepted;
}

using workload::Accepting;

// What accepting each of the suggestions, alone, will do; the one that does most comes first.
Result<std::vector<Accepting::Effect>> effects_of(workload::Suggestions& s,
                                                  const workload::Labeller& labeller,
                                                  const workload::StoredNames& stored,
                                                  duck::Connection& connection) {
  std::vector<Accepting> accepting;
  for (const auto& group : s.groups) {
    const workload::Accepted accepted{&group, "", ""};
    auto one = Accepting::make(labeller, {&accepted, 1});
    if (!one) return fail(one.error());
    accepting.push_back(std::move(*one));
  }
  if (auto seen = workload::see_all(connection, stored, accepting); !seen) return fail(seen.error());
  std::vector<std::size_t> order(s.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return accepting[a].effect().weight > accepting[b].effect().weight;
  });
  std::vector<workload::Suggestion> groups;
  std::vector<Accepting::Effect> effects;
  for (const std::size_t i : order) {
    groups.push_back(std::move(s.groups[i]));
    effects.push_back(accepting[i].effect());
  }
  s.groups = std::move(groups);
  return effects;
}

Json suggestions_json(const workload::Suggestions& s, const std::vector<Accepting::Effect>& effects,
                      const workload::StoredNames& stored) {
  Json groups = Json::array();
  for (std::size_t i = 0; i < s.groups.size(); ++i) {
    const auto& g = s.groups[i];
    const Accepting::Effect& e = effects[i];
    groups.push(Json::object({{"number", i + 1},
                              {"word", g.word},
                              {"weight", e.weight},
                              {"jobs", e.jobs},
                              {"users", e.users},
                              {"moved_jobs", e.moved},
                              {"group_jobs", g.jobs},
                              {"by", g.by},
                              {"keyword", g.keyword},
                              {"renames", Json(g.names)},
                              {"user", g.user},
                              {"examples", Json(g.examples)}}));
  }
  return Json::object({{"jobs", stored.jobs},
                       {"unlabelled_jobs", s.unlabelled},
                       {"unit", stored.unit},
                       {"weight", stored.weight},
                       {"unlabelled_weight", s.unlabelled_weight},
                       {"nameless_jobs", s.nameless},
                       {"nameless_weight", s.nameless_weight},
                       {"suggestions", std::move(groups)}});
}

std::string suggestions_text(const workload::Suggestions& s, const std::vector<Accepting::Effect>& effects,
                             const workload::StoredNames& stored) {
  bool moves = false;
  TextTable table({{"NO", Align::right},
                   {stored.unit == "core-hours" ? "CORE-H"
                    : stored.unit == "cores"    ? "CORES"
                                                : "WEIGHT",
                    Align::right},
                   {"JOBS", Align::right},
                   {"USERS", Align::right},
                   {"BY"},
                   {"PROPOSED", Align::left, true},
                   {"NAMES", Align::left, true}});
  for (std::size_t i = 0; i < s.groups.size(); ++i) {
    const auto& g = s.groups[i];
    std::string proposed = g.keyword.empty() ? "rename" : "keyword " + g.keyword, examples;
    for (const std::string& n : g.names) proposed += " " + n;
    for (const std::string& n : g.examples) examples += examples.empty() ? n : " " + n;
    const Accepting::Effect& e = effects[i];
    moves = moves || e.moved > 0;
    if (e.moved > 0) proposed += fmt::format(" (moves {})", e.moved);
    table.add({std::to_string(i + 1), fmt::format("{:.0f}", e.weight), std::to_string(e.jobs),
               std::to_string(e.users), g.by, for_terminal(proposed), for_terminal(examples)});
  }
  const TextPage page = page_of_stdout();
  std::string text = fmt::format("{} of {} jobs have no label", s.unlabelled, stored.jobs);
  if (stored.weight > 0)
    text += fmt::format(", {} of the {}", percent(s.unlabelled_weight / stored.weight), stored.unit);
  text += '\n';
  if (s.nameless > 0)
    text += fmt::format(
        "{} of them have only names that say nothing (default names, interpreters): in no group\n",
        s.nameless);
  text += "Jobs and users are those that accepting a line, alone, gives a label.\n";
  if (moves) text += "\"moves\": jobs that have a label already and get this one instead.\n";
  if (stored.unit != "core-hours")
    text += fmt::format("The log has no run times: the order is by {}, not by core-hours.\n", stored.unit);
  return text + "\n" + table.text({.width = page.width, .colours = page.colours});
}

Result<int> run_suggest(const LabelsOptions& o) {
  auto labeller = load_labels(o);
  if (!labeller) return fail(labeller.error());
  auto store = open_store(o.store, StoreMode::read);
  if (!store) return fail(store.error());
  auto stored = workload::read_names(store->connection());
  if (!stored) return fail(stored.error());
  auto suggestions = workload::suggest(*labeller, stored->unlabelled, o.most);
  auto effects = effects_of(suggestions, *labeller, *stored, store->connection());
  if (!effects) return fail(effects.error());
  if (o.accept.empty()) {
    if (o.json)
      print_json(suggestions_json(suggestions, *effects, *stored));
    else
      print(suggestions_text(suggestions, *effects, *stored));
    return 0;
  }
  auto accepted = parse_accepted(o.accept, suggestions.groups);
  if (!accepted) return fail(accepted.error());
  const std::string overlay = workload::overlay_of(*accepted).pretty();
  // What was accepted must be a list that can be laid over the others.
  auto files = label_files(o.lists);
  if (!files) return fail(files.error());
  files->push_back({o.out.empty() ? "the accepted suggestions" : o.out, overlay});
  if (auto better = workload::Labeller::make(*files); !better) return fail(better.error());
  if (o.out.empty()) {
    print(overlay + "\n");
    return 0;
  }
  auto accepting = Accepting::make(*labeller, *accepted);
  if (!accepting) return fail(accepting.error());
  if (auto seen = workload::see_all(store->connection(), *stored, {&*accepting, 1}); !seen)
    return fail(seen.error());
  const Accepting::Effect all = accepting->effect();
  if (auto written = write_file(o.out, overlay); !written) return fail(written.error());
  if (!o.json)
    print(
        fmt::format("{} accepted: {}\nGives a label to {} jobs of {} users, and another one to {} jobs.\n"
                    "To take effect: sickbay labels apply --labels {}\n",
                    accepted->size(), o.out, all.jobs, all.users, all.moved, o.out));
  return 0;
}

// audit --------------------------------------------------------------------------------------------------

Json share_json(const Share& s) {
  return Json::object(
      {{"right", s.hits}, {"marked", s.of}, {"precision", s.value}, {"low", s.low}, {"high", s.high}});
}

std::string share_text(const Share& s) {
  return fmt::format("{} ({} of {}; 95 % interval {} to {})", percent(s.value), s.hits, s.of, percent(s.low),
                     percent(s.high));
}

Result<int> judge_marked(const LabelsOptions& o) {
  std::ifstream in(o.marked, std::ios::binary);
  if (!in)
    return fail(
        about_path(Error(ErrorCode::not_found, fmt::format("cannot read {}", quote_for_message(o.marked)))));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto sheet = workload::parse_audit(text, o.marked);
  if (!sheet) return fail(sheet.error());
  const AuditResult result = workload::judge(*sheet);
  if (result.all.of == 0)
    return fail(Error(ErrorCode::bad_input, fmt::format("{}: no record is marked", o.marked))
                    .remedied_by("set \"right\" of each record to true or false"));
  if (o.json) {
    Json evidence = Json::object(), wrong = Json::array();
    for (const auto& [how, share] : result.by_evidence) evidence.set(how, share_json(share));
    for (const auto& r : result.wrong)
      wrong.push(
          Json::object({{"job_id", r.job_id}, {"job_name", r.job_name}, {"application", r.application}}));
    print_json(Json::object({{"all", share_json(result.all)},
                             {"by_evidence", std::move(evidence)},
                             {"users", result.users},
                             {"unmarked", result.unmarked},
                             {"wrong", std::move(wrong)}}));
    return 0;
  }
  std::string out = fmt::format("precision: {}, {} users\n", share_text(result.all), result.users);
  for (const auto& [how, share] : result.by_evidence)
    out += fmt::format("  by {}: {}\n", how, share_text(share));
  if (result.unmarked > 0)
    out += fmt::format("{} records are not marked and do not count\n", result.unmarked);
  for (const auto& r : result.wrong)
    out += fmt::format("wrong: job {} {} is not {}\n", for_terminal(r.job_id), for_terminal(r.job_name),
                       for_terminal(r.application));
  print(out);
  return 0;
}

Result<int> run_audit(const LabelsOptions& o) {
  if (!o.marked.empty()) return judge_marked(o);
  auto store = open_store(o.store, StoreMode::read);
  if (!store) return fail(store.error());
  auto sheet = workload::sample_labelled(store->connection(), o.seed, o.users, o.records);
  if (!sheet) return fail(sheet.error());
  if (sheet->records.empty())
    return fail(Error(ErrorCode::not_found, "the store has no labelled jobs")
                    .remedied_by("see 'sickbay labels suggest', then 'sickbay labels apply'"));
  const Json marked = workload::to_json(*sheet);
  if (!o.out.empty()) {
    if (auto written = write_file(o.out, marked.pretty()); !written) return fail(written.error());
    if (!o.json)
      print(fmt::format("{} records to mark: {}\nThen: sickbay labels audit --marked {}\n",
                        sheet->records.size(), o.out, o.out));
  }
  if (o.json) {
    print_json(marked);
  } else if (o.out.empty()) {
    TextTable table({{"USER"},
                     {"JOB"},
                     {"APPLICATION"},
                     {"BY"},
                     {"NAME", Align::left, true},
                     {"STEPS", Align::left, true},
                     {"FOLDER", Align::left, true}});
    for (const auto& r : sheet->records)
      table.add({for_terminal(r.user), for_terminal(r.job_id), for_terminal(r.application), r.labelled_by,
                 for_terminal(r.job_name), for_terminal(r.step_names), for_terminal(r.work_dir)});
    const TextPage page = page_of_stdout();
    print(table.text({.width = page.width, .colours = page.colours}));
  }
  return 0;
}

// apply --------------------------------------------------------------------------------------------------

Result<int> run_apply(const LabelsOptions& o) {
  auto labeller = load_labels(o);
  if (!labeller) return fail(labeller.error());
  auto store = open_store(o.store, o.dry_run ? StoreMode::read : StoreMode::write);
  if (!store) return fail(store.error());
  auto done = workload::relabel(*store, *labeller, o.dry_run);
  if (!done) return fail(done.error());
  if (o.json) {
    print_json(Json::object({{"jobs", done->jobs},
                             {"changed", done->changed},
                             {"labelled_before", done->labelled_before},
                             {"labelled", done->labelled}}));
    return 0;
  }
  const double all = done->jobs == 0 ? 1 : static_cast<double>(done->jobs);
  print(fmt::format("{} of {} jobs {} another label; {} are labelled ({}), {} were\n", done->changed,
                    done->jobs, o.dry_run ? "would get" : "got", done->labelled,
                    percent(static_cast<double>(done->labelled) / all), done->labelled_before));
  return 0;
}

}  // namespace

void add_labels_command(CLI::App& app, Ending& ending) {
  CLI::App* c = app.add_subcommand("labels", "which application a job ran, and how we know");
  c->require_subcommand(1);
  auto o = std::make_shared<LabelsOptions>();
  const auto common = [o](CLI::App* sub, bool store) {
    sub->add_option("--labels", o->lists, "lists to lay over the shipped and the site's: a file or a folder")
        ->type_name("FILE")
        ->allow_extra_args(false);  // what follows is a name to be tested
    if (store)
      sub->add_option("--store", o->store, "the store; default: $SICKBAY_STORE, else the user's own")
          ->type_name("FILE");
    sub->add_flag("--json", o->json, "print JSON");
    sub->footer("doc/formats/labels.md describes the lists and how they match.\n");
  };

  CLI::App* list = c->add_subcommand("list", "the applications that the lists know");
  common(list, false);
  list->add_option("--field", o->field, "only those of this field")->type_name("NAME");
  list->callback([o, &ending] { ending = {run_list(*o), o->json}; });

  CLI::App* test = c->add_subcommand("test", "how jobs of these names are labelled, and why");
  common(test, false);
  test->add_option("NAME", o->names, "names of jobs");
  test->add_option("--steps", o->steps, "names of the steps, with blanks between")->type_name("NAMES");
  test->add_option("--work-dir", o->work_dir, "the work folder")->type_name("PATH");
  test->add_option("--submit-line", o->submit_line, "the command line of the submission")->type_name("TEXT");
  test->add_option("--user", o->user, "the user")->type_name("NAME");
  test->add_option("--cluster", o->cluster, "the cluster")->type_name("NAME");
  test->add_option("--comment", o->comment, "the comment")->type_name("TEXT");
  test->add_option("--account", o->account, "the account; it only makes other evidence sure")
      ->type_name("NAME");
  test->footer("Exit codes: 0 all are labelled; 1 one is unknown.\n");
  test->callback([o, &ending] { ending = {run_test(*o), o->json}; });

  CLI::App* suggest =
      c->add_subcommand("suggest", "what to add to the lists, by the core-hours that it would label");
  common(suggest, true);
  suggest->add_option("--most", o->most, "groups shown")->type_name("NUMBER")->capture_default_str();
  suggest->add_option("--accept", o->accept, "take these: 3 or 3=NAME or 3=NAME:FIELD")
      ->type_name("NUMBER")
      ->delimiter(',');
  suggest->add_option("--out", o->out, "write what was accepted to this list; default: print it")
      ->type_name("FILE");
  suggest->callback([o, &ending] { ending = {run_suggest(*o), o->json}; });

  CLI::App* audit =
      c->add_subcommand("audit", "sample labelled jobs for a person to mark, and tell the precision");
  common(audit, true);
  audit->add_option("--users", o->users, "users drawn")->type_name("NUMBER")->capture_default_str();
  audit->add_option("--records", o->records, "records drawn of them")
      ->type_name("NUMBER")
      ->capture_default_str();
  audit->add_option("--seed", o->seed, "the same seed draws the same sample")
      ->type_name("NUMBER")
      ->capture_default_str();
  audit->add_option("--out", o->out, "write the sheet to be marked to this file")->type_name("FILE");
  audit->add_option("--marked", o->marked, "read this marked sheet, and tell the precision")
      ->type_name("FILE");
  audit->callback([o, &ending] { ending = {run_audit(*o), o->json}; });

  add_labels_like_command(*c, ending);

  CLI::App* apply =
      c->add_subcommand("apply", "label all jobs of a store anew, with the lists as they are now");
  common(apply, true);
  apply->add_flag("--dry-run", o->dry_run, "only count what would change");
  apply->callback([o, &ending] { ending = {run_apply(*o), o->json}; });
}

}  // namespace sickbay::cli
