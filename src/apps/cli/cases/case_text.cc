// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/case_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "apps/cli/claim_text.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "base/text_table.h"
#include "model/failure_text.h"
#include "model/rank_report.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kLastLines = 20;  // of a failed run's output

constexpr auto kCauses = std::to_array<CauseRow>({
    {"normal", 0, "normal", kGood},
    {"a", 10, "(a) program", kUnclear},
    {"b", 11, "(b) node", kBad},
    {"c", 16, "(c) program, now and then", kUnclear},
    {"d", 17, "(d) node or link, now and then", kBad},
    {"non_deterministic", 12, "non-deterministic", kUnclear},
    {"inconclusive", 13, "inconclusive", kUnclear},
    {"expired", 13, "expired", kFaint},
    {"cancelled", 14, "cancelled", kFaint},
    {"out_of_memory", 14, "out of memory", kUnclear},
    {"deadline", 14, "deadline", kUnclear},
    {"mixed", 15, "several causes", kUnclear},
});

// What each state means to somebody who waits; shown while there is no verdict.
struct StateRow {
  std::string_view state, sentence;
};
constexpr auto kStates = std::to_array<StateRow>({
    {"unbound", "No job belongs to this case yet."},
    {"watching", "The job has not ended; Sickbay is watching it."},
    {"investigating", "The job failed; Sickbay is finding out why."},
    {"waiting", "The job failed; the experiment waits for nodes."},
    {"closed", "The case is closed without a verdict."},
});

std::string_view result_sgr(std::string_view result) {
  if (result == "ok" || result == "for") return kGood;
  if (result == "failed" || result == "against") return kBad;
  return kUnclear;
}

std::string_view outcome_sgr(std::string_view outcome) {
  if (outcome == "ok") return kGood;
  return outcome == "failed" ? kBad : std::string_view();
}

std::string job_text(const Json& job_id) {
  return job_id.as_int() > 0 ? std::to_string(job_id.as_int()) : "-";
}

// What squeue and sacct call the job of a case: "1234_7" for a task of an array.
std::string job_name(const Json& view) {
  const std::string task = safe(view["task"]);
  return task.empty() ? job_text(view["job_id"]) : task;
}

TextTable::Page table_page(const TextPage& page, int indent = 2) {
  return {.width = page.width, .colours = page.colours, .indent = indent};
}

// What is said of a run that hangs and has not ended; in a list it is the member "hang" itself.
std::string running_hang(const Json& view) {
  if (view["hang"].is_string()) return safe(view["hang"]);
  for (const Json& run : view["runs"].items())
    if (run["hang"].is_object() && run["hang_over_at"].as_int() == 0 &&
        run["outcome"].as_string() == "running")
      return safe(run["hang"]["text"]);
  return {};
}

std::string sentence_of(const Json& view) {
  if (const Json& verdict = view["verdict"]; verdict.is_object()) return safe(verdict["sentence"]);
  if (const Json& tasks = view["tasks"]; tasks.is_object() && tasks["count"].as_int() > 0) {
    std::int64_t failed = 0, ended = 0;
    for (const Json& row : tasks["failed"].items()) failed += row["count"].as_int();
    for (const Json& row : tasks["ended"].items()) ended += row["count"].as_int();
    return fmt::format("{} of {} tasks have ended, {} failed{}", failed + ended, tasks["count"].as_int(),
                       failed, failed > 0 ? "; Sickbay is finding out why." : ".");
  }
  if (const std::string hang = running_hang(view); !hang.empty()) return "The job hangs: " + hang + ".";
  for (const StateRow& row : kStates)
    if (row.state == view["state"].as_string()) return std::string(row.sentence);
  return "There is no verdict yet.";
}

std::string_view sentence_sgr(const Json& view) {
  const Json& verdict = view["verdict"];
  return verdict.is_object() ? cause_row(verdict["cause"].as_string()).sgr : std::string_view();
}

// "SIGSEGV", "signal 9", "1"; empty while the run has no end.
std::string exit_text(const Json& run) {
  const Json& print = run["fingerprint"];
  if (!print["signal_name"].as_string().empty()) return safe(print["signal_name"]);
  if (run["exit_signal"].as_int() != 0) return fmt::format("signal {}", run["exit_signal"].as_int());
  return run["end"].as_int() == 0 ? std::string() : std::to_string(run["exit_code"].as_int());
}

// The run of another case whose word this one took; empty for a run of its own.
const std::string& said_by(const Json& run) { return run["verification"]["from"].as_string(); }

std::string duration_text(const Json& run, TimePoint now) {
  if (!said_by(run).empty()) return {};
  const std::int64_t start = run["start"].as_int(), end = run["end"].as_int();
  if (start == 0) return {};
  if (end != 0) return end >= start ? describe_duration(Micros(end - start)) : std::string();
  if (run["state"].as_string() == "PENDING" || to_micros(now) < start) return {};
  return describe_duration(std::chrono::floor<std::chrono::seconds>(Micros(to_micros(now) - start))) +
         " so far";
}

std::string state_text(const Json& run) {
  if (!said_by(run).empty()) return "as " + for_terminal(said_by(run));
  std::string text = safe(run["state"]);
  // Of a run that has ended the flag is old news: nobody looks at its nodes again for it.
  const bool ended = run["end"].as_int() != 0;
  for (const std::string& flag : run["flags"].as_strings())
    if (!ended || flag != "COMPLETING") text += "+" + for_terminal(flag);
  return text.empty() ? "(not submitted)" : text;
}

// Why it ended, as its output says; empty where it does not, or tells only what followed on another end.
std::string cause_of(const Json& run) {
  const Json& print = run["fingerprint"];
  return telling_from(print["cause_tells"].as_string()) >= Telling::gives_up ? safe(print["cause"])
                                                                             : std::string();
}

// What this run is to the case.
std::string role_text(const Json& run, const Json& view) {
  std::string text;
  if (run["kind"].as_string() == "verification") {
    const std::int64_t checks = run["verification"]["checks"].as_int(-1);
    text = checks > 0    ? fmt::format("verifies {}.r{}", safe(view["case"]), checks)
           : checks == 0 ? "control: other nodes"
                         : "verification";
  } else if (run["kind"].as_string() == "check") {
    text = fmt::format("--check of {}.r{}", safe(view["case"]), run["checks"].as_int());
  } else {
    text = "program";
  }
  std::string symptom = safe(run["symptom"]);
  std::ranges::replace(symptom, '_', ' ');
  // That it ended badly says less than why.
  if (const std::string cause = cause_of(run); !cause.empty() && symptom == "abnormal exit")
    text += ": " + cause;
  else if (!symptom.empty() && symptom != "none")
    text += ": " + symptom;
  const std::string& outcome = run["outcome"].as_string();
  if (outcome == "lost" || outcome == "not_started" || outcome == "no_failure" || outcome == "cancelled") {
    std::string word = outcome;
    std::ranges::replace(word, '_', ' ');
    text += ": " + word;
    if (const std::string reason = safe(run["reason"]); !reason.empty() && reason != "None")
      text += " (" + reason + ")";
  }
  if (const std::string reused = safe(run["reused"]); !reused.empty()) text += ", " + reused + " used again";
  return text;
}

std::string runs_text(const Json& view, const TextPage& page) {
  using enum TextTable::Column::Align;
  TextTable table({{"RUN"},
                   {"JOB", right},
                   {"NODES", left, true},
                   {"STATE"},
                   {"EXIT"},
                   {"DURATION", right},
                   {"WHAT", left, true}});
  for (const Json& run : view["runs"].items())
    table.add({safe(run["run"]), job_text(run["job_id"]), safe(run["nodes"]),
               TextTable::Cell(state_text(run), outcome_sgr(run["outcome"].as_string())), exit_text(run),
               duration_text(run, page.now), role_text(run, view)});
  return table.empty() ? std::string() : heading("Runs", page) + table.text(table_page(page));
}

// The ranks of a program by where they stand, each group on its line.
std::string judgement_text(const std::string& title, const Json& judgement, const TextPage& page) {
  std::string text = heading(title, page);
  if (!judgement["text"].as_string().empty())
    text += paragraph("  ", for_terminal(judgement["text"].as_string()), page);
  for (const Json& one : judgement["groups"].items())
    if (const auto group = read_rank_group(one))
      text += paragraph("  - ", for_terminal(text_of(*group)), page);
  if (const std::int64_t left = judgement["left_out"].as_int(); left > 0)
    text += fmt::format("  - and {} other groups\n", left);
  for (const Json& one : judgement["unread"].items())
    text += paragraph("  not read: ", safe(one["what"]) + ": " + safe(one["why"]), page);
  return text;
}

// Of a run that was never known to hang: what it looked like, to the last.
std::string suspicion_text(const Json& run, const TextPage& page) {
  const Json& judgement = run["suspicion"];
  TaskIds ranks;
  for (const Json& one : judgement["groups"].items())
    if (const auto group = read_rank_group(one)) ranks.add(group->ranks);
  const std::string call = safe(judgement["call"]);
  return judgement_text(fmt::format("{} looked like a hang{}{} when it ended", safe(run["run"]),
                                    call.empty() ? "" : " in " + call,
                                    ranks.empty() ? "" : " on " + sickbay::ranks_text(ranks)),
                        judgement, page);
}

std::string ranks_text(const Json& view, const TextPage& page) {
  std::string text;
  for (const Json& run : view["runs"].items()) {
    if (run["suspicion"].is_object()) text += suspicion_text(run, page);
    if (!run["hang"].is_object()) continue;
    std::string title = fmt::format("HANG of {}, known {}", safe(run["run"]),
                                    local_time(from_micros(run["hang_at"].as_int())));
    if (const std::int64_t over = run["hang_over_at"].as_int(); over > 0)
      title += fmt::format(", over {}: the ranks went on", local_time(from_micros(over)));
    text += judgement_text(title, run["hang"], page);
    // Its owner wanted it ended: he is to know why it was not.
    if (view["options"]["hang"].as_string() == "cancel" && run["hang_over_at"].as_int() == 0 &&
        !run["hang"]["proven"].as_bool())
      text += paragraph("  ", "Not ended, for it is not proven: " + safe(run["hang"]["unproven"]), page);
  }
  // As they stand now: only where that says more.
  if (text.empty() && view["ranks"]["word"].as_string() == "suspicion")
    text = judgement_text("Ranks", view["ranks"], page);
  return text;
}

// Rows that differ in the node only are one row: of 512 nodes, 511 say the same.
class NodeGroups {
 public:
  /// `rest` are the row's other cells; rows come out in the order of their first node.
  void add(const std::string& node, std::vector<TextTable::Cell> rest) {
    std::string key;
    for (const TextTable::Cell& cell : rest) key += cell.text + '\n';
    const auto [at, is_new] = index_.emplace(std::move(key), groups_.size());
    if (is_new) groups_.push_back({{}, std::move(rest)});
    groups_[at->second].nodes.push_back(node);
  }
  void add_to(TextTable& table) const {
    for (const Group& group : groups_) {
      std::vector<TextTable::Cell> cells = {for_terminal(compress_hostlist(group.nodes))};
      cells.insert(cells.end(), group.rest.begin(), group.rest.end());
      table.add(std::move(cells));
    }
  }

 private:
  struct Group {
    std::vector<std::string> nodes;
    std::vector<TextTable::Cell> rest;
  };
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_;
};

std::string verification_text(const Json& view, const TextPage& page) {
  using enum TextTable::Column::Align;
  NodeGroups groups;
  const auto add = [&](const Json& run, const std::string& who, const Json& row) {
    const std::string& result = row["result"].as_string();
    // What the launcher said when it was ended explains nothing; why it was ended does.
    const bool cut_off = result == "unknown" && run["outcome"].as_string() == "cancelled";
    const std::string& refusal = run["verification"]["refusal"].as_string();
    groups.add(who, {TextTable::Cell(safe(row["result"]), result_sgr(result)),
                     !cut_off          ? safe(row["reason"])
                     : refusal.empty() ? "cancelled"
                                       : "cancelled: " + for_terminal(refusal),
                     safe(run["run"])});
  };
  for (const Json& run : view["runs"].items()) {
    const Json& verification = run["verification"];
    for (const Json& row : verification["nodes"].items()) add(run, row["node"].as_string(), row);
    for (const Json& row : verification["links"].items())
      add(run, row["a"].as_string() + " - " + row["b"].as_string(), row);
  }
  TextTable table({{"NODES", left, true}, {"RESULT"}, {"REASON", left, true}, {"RUN"}});
  groups.add_to(table);
  return table.empty() ? std::string() : heading("Verification", page) + table.text(table_page(page));
}

// Where the program is the cause, it says nothing of a node that a rank failed first there, or that it had no
// processor: a reader would take the one for the other answer.
std::string_view side_of(const Json& row, const Json& view) {
  const std::string_view cause = view["verdict"]["cause"].as_string(), what = row["what"].as_string();
  const bool program = cause == "a" || cause == "c";
  return program && (what == "first_death" || what == "starved" || what == "lossy") ? "told"
                                                                                    : row["side"].as_string();
}

std::string evidence_text(const Json& view, const TextPage& page) {
  using enum TextTable::Column::Align;
  NodeGroups groups;
  for (const std::string_view side : {"against", "suspect", "for", "told"})
    for (const Json& row : view["evidence"].items())
      if (side_of(row, view) == side)
        groups.add(row["node"].as_string(), {TextTable::Cell(std::string(side), result_sgr(side)),
                                             safe(row["text"]), safe(row["run"])});
  TextTable table({{"NODES", left, true}, {"SPEAKS"}, {"EVIDENCE", left, true}, {"RUN"}});
  groups.add_to(table);
  return table.empty() ? std::string() : heading("Evidence by node", page) + table.text(table_page(page));
}

// The second answer: what is broken, whether it is why the job failed or not.
std::string faulty_text(const Json& view, const TextPage& page) {
  using enum TextTable::Column::Align;
  NodeGroups groups;
  for (const Json& f : view["verdict"]["faulty"].items()) {
    const std::string& peer = f["peer"].as_string();
    groups.add(f["node"].as_string() + (peer.empty() ? "" : " - " + peer),
               {TextTable::Cell(safe(f["what"]), kBad), safe(f["reason"]), safe(f["by"])});
  }
  TextTable table({{"NODES", left, true}, {"WHAT"}, {"REASON", left, true}, {"FOUND BY"}});
  groups.add_to(table);
  return table.empty() ? std::string() : heading("Found faulty", page) + table.text(table_page(page));
}

// The last lines of the latest failed run of P that left some.
std::string output_text(const Json& view, const TextPage& page) {
  const Json* failed = nullptr;
  for (const Json& run : view["runs"].items())
    if (run["kind"].as_string() == "program" && run["outcome"].as_string() == "failed" &&
        !run["fingerprint"]["last_lines"].items().empty())
      failed = &run;
  if (failed == nullptr) return {};
  const Json& print = (*failed)["fingerprint"];
  std::string where = "Last output of " + safe((*failed)["run"]);
  if (print["rank"].is_int()) where += fmt::format(", rank {}", print["rank"].as_int());
  if (!print["node"].as_string().empty()) where += " on " + safe(print["node"]);
  std::string text = heading(where, page);
  if (const std::string path = safe((*failed)["output"]); !path.empty()) text += "  (" + path + ")\n";
  const Json::Array& lines = print["last_lines"].items();
  for (std::size_t i = lines.size() > kLastLines ? lines.size() - kLastLines : 0; i < lines.size(); ++i)
    text += paragraph("  | ", lines[i].as_string(), page);
  return text;
}

// The tasks of a job array: those that failed one by one where they have a case, the others by how they
// ended.
std::string tasks_text(const Json& view, const TextPage& page) {
  const Json& tasks = view["tasks"];
  if (!tasks.is_object()) return {};
  using enum TextTable::Column::Align;
  TextTable table({{"TASKS", left, true},
                   {"COUNT", right},
                   {"STATE"},
                   {"EXIT"},
                   {"NODES"},
                   {"CASE"},
                   {"WHAT", left, true}});
  const auto count = [](const Json& row) { return std::to_string(row["count"].as_int()); };
  for (const Json& row : tasks["failed"].items()) {
    const std::string exit = row["exit_signal"].as_int() != 0
                                 ? fmt::format("signal {}", row["exit_signal"].as_int())
                                 : std::to_string(row["exit_code"].as_int());
    std::string what = safe(row["cause"]);
    if (row["same_as"].is_int()) what = fmt::format("the same failure as task {}", row["same_as"].as_int());
    table.add({safe(row["tasks"]), count(row), TextTable::Cell(safe(row["state"]), kBad), exit,
               safe(row["nodes"]), safe(row["case"]), what});
  }
  for (const Json& row : tasks["ended"].items())
    table.add({safe(row["tasks"]), count(row), safe(row["state"]), "", "", "", ""});
  if (const std::string lost = safe(tasks["lost"]); !lost.empty())
    table.add({lost, "", "", "", "", "", "lost by Slurm"});
  if (const std::string left = safe(tasks["left"]); !left.empty())
    table.add({left, "", "", "", "", "", "not ended, as last noted"});
  return table.empty() ? std::string() : heading("Tasks", page) + table.text(table_page(page));
}

std::string bullets(std::string_view title, const Json& lines, const TextPage& page, bool numbered = false) {
  if (lines.items().empty()) return {};
  std::string text = heading(title, page);
  int n = 0;
  for (const Json& line : lines.items())
    text += paragraph(numbered ? fmt::format("  {}. ", ++n) : "  - ", line.as_string(), page);
  return text;
}

std::string case_line(const Json& view) {
  if (view.has("unasked"))
    return fmt::format("Job {} has no case: this is from evidence alone", view["job_id"].as_int());
  if (view["case"].as_string().empty()) return "(sickbayd sent no case)";
  std::string text = fmt::format("Case {}", safe(view["case"]));
  if (view["job_id"].as_int() > 0)
    text += fmt::format(", {} {}", view.has("array") ? "job array" : "job", job_name(view));
  if (const std::string parent = safe(view["parent"]); !parent.empty())
    text += fmt::format(" (job {}, a task of {})", view["job_id"].as_int(), parent);
  if (const std::string user = safe(view["owner"]["user"]); !user.empty()) text += " of " + user;
  text += ", opened " + local_time(from_micros(view["opened"].as_int()));
  if (view["closed"].as_int() > 0) text += ", closed " + local_time(from_micros(view["closed"].as_int()));
  return text;
}

std::string verdict_label(const Json& verdict) {
  std::string text(cause_row(verdict["cause"].as_string()).label);
  const std::vector<std::string> nodes = verdict["nodes"].as_strings();
  if (!nodes.empty()) text += " " + for_terminal(compress_hostlist(nodes));
  return verdict["final"].as_bool() ? text : text + ", provisional";
}

std::string verdict_text(const Json& view, const TextPage& page) {
  const Json& verdict = view["verdict"];
  if (!verdict.is_object()) return {};
  std::string text = paragraph("  verdict:    ", verdict_label(verdict), page);
  if (!verdict["confidence"].as_string().empty())
    text += "  confidence: " + safe(verdict["confidence"]) + "\n";
  if (!verdict["why"].items().empty()) {
    text += heading("Why", page);
    for (const Json& line : verdict["why"].items()) text += paragraph("  - ", line.as_string(), page);
  }
  return text + bullets("What is missing", verdict["missing"], page);
}

// Who may start runs for the job.
std::string claim_of(const Json& view, const TextPage& page) {
  return claim_text(view["claim"], fmt::format("job:{}", view["job_id"].as_int()), page);
}

bool is_ours(const Json& view) {
  return view["claim"]["holder"].as_string() == "identify" && view["claim"]["by"] == view["case"];
}

// A failed job that somebody else holds is why nothing happens: that belongs to the head of the page.
std::string waits_text(const Json& view, const TextPage& page) {
  if (!view["claim"].is_object() || is_ours(view) || is_decided(view)) return {};
  if (const std::string& state = view["state"].as_string(); state != "investigating" && state != "waiting")
    return {};
  return paragraph("  waits for:  ", claim_of(view, page), page);
}

// What a re-run waits for, and where one was kept: what the verdict's lines do not say.
std::string rerun_text(const Json& view, const TextPage& page) {
  const Json& rerun = view["rerun"];
  std::string text;
  if (rerun["question"].is_object() && !is_decided(view))
    text += paragraph(
        "  asks:       ",
        rerun["question"]["text"].as_string() + " (" + rerun["question"]["answers"].as_string() + ")", page);
  if (!is_decided(view) && rerun["held_by"].size() > 0) {
    std::string jobs;
    for (const Json& job : rerun["held_by"].items())
      jobs += fmt::format("{}{} {} ({}, {})", jobs.empty() ? "" : ", ", job["job_id"].as_int(),
                          job["name"].as_string(), job["state"].as_string(), job["why"].as_string());
    text += paragraph("  waits for:  ", "the end of jobs that may use the same files: " + jobs, page);
  }
  if (!rerun["kept"].as_string().empty())
    text += paragraph("  result:     ", "of the run on other nodes, in " + rerun["kept"].as_string(), page);
  const Json& shared = view["same_failure"];
  if (shared["joined"].is_string()) text += paragraph("  same as:    ", shared["joined"].as_string(), page);
  if (const auto followers = shared["followers"].as_strings(); !followers.empty()) {
    constexpr std::size_t kMost = 8;
    std::string names = fmt::format(
        "{}",
        fmt::join(followers.begin(),
                  followers.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, followers.size())), ", "));
    if (followers.size() > kMost) names += fmt::format(" and {} more", followers.size() - kMost);
    text += paragraph("  shared by:  ", names, page);
  }
  return text;
}

std::string claimed_text(const Json& view, const TextPage& page) {
  if (!view["claim"].is_object() || !waits_text(view, page).empty()) return {};
  return "\n" +
         paragraph("", fmt::format("Job {} is claimed by {}", view["job_id"].as_int(), claim_of(view, page)),
                   page);
}

// In a list: why the program failed, where nobody thinks of a node.
std::string listed_cause(const Json& item) {
  constexpr std::size_t kMost = 60;
  const std::string cause = safe(item["cause"]);
  const std::string_view verdict = item["verdict"]["cause"].as_string();
  if (cause.empty() || verdict == "b" || verdict == "d") return "";
  const std::string_view shown = whole_characters(cause, kMost);
  return fmt::format(": {}{}", shown, shown.size() < cause.size() ? "..." : "");
}

}  // namespace

const CauseRow& cause_row(std::string_view name) {
  const auto row = std::ranges::find(kCauses, name, &CauseRow::name);
  return row != kCauses.end() ? *row : *std::ranges::find(kCauses, "inconclusive", &CauseRow::name);
}

bool is_decided(const Json& view) {
  return view["state"].as_string() == "closed" || view["verdict"]["final"].as_bool();
}

int verdict_exit_code(const Json& view) {
  if (!is_decided(view)) return kExitUnderWay;
  return cause_row(view["verdict"]["cause"].as_string()).exit_code;
}

std::string case_text(const Json& view, const TextPage& page) {
  std::string text;
  for (const std::string& line : wrapped(sentence_of(view), page.width))
    text += painted(line, sentence_sgr(view), page.colours) + "\n";
  text += paragraph("", case_line(view), page);
  if (const std::string asked = safe(view["asked"]); !asked.empty())
    text += paragraph("  asked for:  ", asked, page);
  text += waits_text(view, page);
  text += rerun_text(view, page);
  text += verdict_text(view, page);
  text += faulty_text(view, page);
  text += tasks_text(view, page);
  if (!is_decided(view)) text += bullets("Under way", view["under_way"], page);
  text += runs_text(view, page) + ranks_text(view, page);
  text += verification_text(view, page);
  text += evidence_text(view, page);
  text += output_text(view, page);
  text += bullets("Notes", view["notes"], page);
  text += bullets("What to do next", view["verdict"]["next"], page, true);
  text += claimed_text(view, page);
  if (!is_decided(view))
    text +=
        fmt::format("\nNot final yet: 'sickbay why {} --wait' waits for the verdict.\n", safe(view["case"]));
  return text;
}

std::string case_brief(const Json& view, const TextPage& page) {
  std::string text = paragraph("", case_line(view), page);
  for (const std::string& line : wrapped(sentence_of(view), page.width))
    text += painted(line, sentence_sgr(view), page.colours) + "\n";
  text += waits_text(view, page);
  text += rerun_text(view, page);
  return text + tasks_text(view, page) + runs_text(view, page) + ranks_text(view, page);
}

std::string cases_text(const Json& list, const TextPage& page) {
  using enum TextTable::Column::Align;
  TextTable table({{"CASE"}, {"JOB", right}, {"USER"}, {"STATE"}, {"OPENED"}, {"VERDICT", left, true}});
  for (const Json& item : list["items"].items()) {
    const Json& verdict = item["verdict"];
    const std::string waits = safe(item["waits_for"]);
    table.add({safe(item["case"]), job_name(item), safe(item["user"]), safe(item["state"]),
               local_time(from_micros(item["opened"].as_int())),
               TextTable::Cell((verdict.is_object() ? verdict_label(verdict) : "-") + listed_cause(item) +
                                   (waits.empty() ? "" : ", waits for " + waits),
                               sentence_sgr(item))});
  }
  if (table.empty())
    return "No cases.  'sickbay submit' opens one; 'sickbay cases --all' shows closed ones too.\n";
  return table.text(table_page(page, 0));
}

}  // namespace sickbay::cli
