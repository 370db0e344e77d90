// SPDX-License-Identifier: Apache-2.0
// What runs find, what they find no more, and repairs that were cut short: told once each, kept until
// delivered.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/diagnosis_mode.h"
#include "model/finding_action.h"
#include "service/agent/agent.h"

namespace sickbay::agent {
namespace {

constexpr std::chrono::hours kTellAgain{1};  // a finding that stands
constexpr std::size_t kMostUnkept = 1000;
constexpr std::size_t kMostStanding = 500;         // told as standing: who finds more has one cause
constexpr std::size_t kMostRefusal = 1000;         // bytes
constexpr std::string_view kAgentRules = "agent";  // specification of what the agent says of its rules

std::string fired_key(const Json& finding) {
  return rule_of_finding(finding) + "/" + finding["result"].as_string();
}

// A key of `fired`: SPECIFICATION/RULE/RESULT; names have no slash.
struct FiredKey {
  std::string specification, rule, result;
};
FiredKey read_key(const std::string& key) {
  const std::size_t first = key.find('/'), last = key.rfind('/');
  if (first == std::string::npos || first == last) return {};
  return {key.substr(0, first), key.substr(first + 1, last - first - 1), key.substr(last + 1)};
}

}  // namespace

// What fires together is kept together, with one write: a rule for each of ten thousand links may.
void Agent::found(const Order& wanted, const diagnose::Finding& finding) {
  // A night's test that makes room for a job is no news of the node: it is in this agent's journal, and the
  // next night tests again.  Who has asked for it is told.
  if (finding.for_a_job && wanted.task == 0 && !wanted.asked) return;
  Json item = Json::object(
      {{"boot_id", options_.boot_id}, {"n", 0}, {"at", to_micros(loop_.now())}, {"run", run_number_}});
  item.set("mode", wanted.mode);  // for confirm(); sickbayd has no use for it
  const Json said = diagnose::to_json(finding);
  for (const auto& [name, value] : said.members()) item.set(name, value);
  if (sick_.empty() && finding.result == OperationEnd::Result::fault && takes_node_out(finding.action))
    sick_ = fmt::format("{}/{}: {}", finding.specification, finding.rule, finding.text);
  run_findings_.push_back(item);
  found_.push_back(std::move(item));
  if (found_.size() == 1) loop_.post(lifetime_.guard([this] { keep_found(); }));
}

void Agent::keep_found() {
  if (found_.empty()) return;
  std::vector<Json> all = std::exchange(found_, {});
  // Where not all are told, those that ask for more than a notice are.
  std::stable_partition(all.begin(), all.end(), [](const Json& item) {
    return item["action"].as_string() != "notify" && item["action"].as_string() != "none";
  });
  std::vector<Json> news;
  std::map<std::string, const Json*> by_key;
  std::int64_t left_out = 0;
  (void)store_.update_state([&](Json& state) {
    news.clear();
    by_key.clear();
    left_out = 0;
    const Json& fired = state["fired"];
    for (const Json& item : all) {
      const std::string key = fired_key(item);
      const Json& before = fired[key];
      const bool is_news = before.is_null() || before["again"].as_bool() ||
                           loop_.now() - from_micros(before["at"].as_int()) >= kTellAgain ||
                           before["action"] != item["action"] || before["boot_id"] != item["boot_id"];
      if (!is_news || by_key.contains(key)) continue;
      if (before.is_null() && fired.size() + news.size() >= kMostStanding) {
        ++left_out;
        continue;
      }
      by_key[key] = &item;
      news.push_back(item);
    }
  });
  for (const Json& item : news)
    say(fmt::format("event=finding specification={} rule={} result={} action={} text={}",
                    item["specification"].as_string(), item["rule"].as_string(), item["result"].as_string(),
                    item["action"].as_string(), item["text"].dump()));
  Json more;
  if (left_out > 0) {
    say("event=findings_left_out count=" + std::to_string(left_out));
    more =
        said_besides(all.front()["specification"].as_string(), "too_many", "unknown",
                     fmt::format("over {} findings stand: the others are in this agent's journal alone, and "
                                 "come as these go",
                                 kMostStanding));
    more.set("mode", all.front()["mode"]);
    run_findings_.push_back(more);
    bool known = false;
    (void)store_.update_state([&](Json& state) { known = !state["fired"][fired_key(more)].is_null(); });
    if (!known) {
      news.push_back(more);
      by_key[fired_key(more)] = &more;
    }
  }
  if (news.empty()) return;
  const auto is_fault = [](const Json& item) { return item["result"].as_string() == "fault"; };
  if (options_.jobs && std::ranges::any_of(news, is_fault))
    if (const Json jobs = options_.jobs(); jobs.size() > 0)
      for (Json& item : news)
        if (is_fault(item)) item.set("jobs", jobs);
  keep(std::move(news));
  // After the spool: a crash in between tells it twice rather than never.
  (void)store_.update_state([&](Json& state) {
    Json fired = state["fired"].is_object() ? state["fired"] : Json::object();
    for (const auto& [key, item] : by_key)
      fired.set(key, Json::object({{"at", (*item)["at"]},
                                   {"boot_id", (*item)["boot_id"]},
                                   {"mode", (*item)["mode"]},
                                   {"action", (*item)["action"]}}));
    state.set("fired", std::move(fired));
  });
}

// What a whole run of the mode that found it finds no more.
void Agent::tell_cleared(const Order& wanted, const diagnose::Run& run) {
  const std::string& specification = run.rules->specification.name;
  Json fired;
  (void)store_.update_state([&](Json& state) { fired = state["fired"]; });
  std::set<std::string> found_again;
  for (const Json& finding : run_findings_) found_again.insert(fired_key(finding));
  std::vector<std::string> gone;
  std::vector<Json> said;
  std::optional<std::vector<std::string>> cleared;  // asked when something stands, which is rare
  for (const auto& [key, before] : fired.members()) {
    const FiredKey is = read_key(key);
    if (is.specification != specification || before["mode"].as_string() != wanted.mode) continue;
    if (found_again.contains(key)) continue;
    if (!cleared) cleared = diagnose::cleared_rules(run);
    if (is.result == "unknown") {
      // Known again: nobody acted on it, nobody need be told.
      if (run.phase == diagnose::Phase::over && !run.stopped) gone.push_back(key);
    } else if (std::ranges::find(*cleared, is.rule) != cleared->end()) {
      Json end = said_besides(specification, is.rule, "ok", "a whole run found nothing of it");
      said.push_back(end.set("mode", wanted.mode));
      gone.push_back(key);
    }
  }
  if (!said.empty()) keep(std::move(said));
  forget_fired(gone);
}

void Agent::keep_unknown_runs(const std::string& specification, const std::map<std::string, int>& runs) {
  Json kept = Json::object();
  for (const auto& [operation, count] : runs)
    if (count > 0) kept.set(operation, count);
  (void)store_.update_state([&](Json& state) {
    Json all = state["unknown_runs"].is_object() ? state["unknown_runs"] : Json::object();
    if (kept.size() > 0 || all.has(specification)) state.set("unknown_runs", all.set(specification, kept));
  });
}

// What rules found that the specifications have no more (or that only look now): no run will find them false.
void Agent::tell_gone_rules() {
  if (rules_.empty()) return;  // a folder that is missing says nothing about the node
  Json fired;
  (void)store_.update_state([&](Json& state) { fired = state["fired"]; });
  std::vector<std::string> gone;
  for (const auto& [key, before] : fired.members()) {
    const FiredKey is = read_key(key);
    const auto rules = std::ranges::find_if(
        rules_, [&](const auto& one) { return one->specification.name == is.specification; });
    const auto has_rule = [&] {
      const auto& productions = (*rules)->specification.productions;
      const auto at = std::ranges::find(productions, is.rule, &diagnose::ProductionSpec::name);
      if (at == productions.end()) return false;
      const auto number = static_cast<std::size_t>(at - productions.begin());
      return is.result == "unknown" || (*rules)->operations[(*rules)->productions[number].operation].kind ==
                                           diagnose::OperationKind::critical;
    };
    if (rules != rules_.end() && has_rule()) continue;
    if (is.result != "unknown")
      keep(said_besides(is.specification, is.rule, "ok",
                        "the rule is gone from the specifications of this node"));
    gone.push_back(key);
  }
  forget_fired(gone);
}

// sickbayd acts on nothing that is old (doc/design/decisions.md 14), and what stands would be told again in
// an hour only; an end that it heard late it would hear of never again.  So each is news once more to the
// next run of its mode, and that run is made now.
void Agent::confirm(const std::vector<Json>& late) {
  if (only_once_ || late.empty()) return;
  std::vector<std::pair<std::size_t, std::string>> runs;
  (void)store_.update_state([&](Json& state) {
    runs.clear();
    Json fired = state["fired"].is_object() ? state["fired"] : Json::object();
    for (const Json& item : late) {
      if (item["result"].as_string() == "unknown") continue;           // nobody would have acted on it
      if (item["specification"].as_string() == kAgentRules) continue;  // no run finds it
      const std::string key =
          fmt::format("{}/{}/fault", item["specification"].as_string(), item["rule"].as_string());
      Json stands = fired[key];
      const bool gone = stands.is_null();
      if (gone && item["result"].as_string() != "ok") continue;  // its end is told behind it
      const std::string mode(item["mode"].as_string_or(stands["mode"].as_string_or("quick")));
      if (gone)
        stands = Json::object(
            {{"at", item["at"]}, {"boot_id", item["boot_id"]}, {"mode", mode}, {"action", "none"}});
      fired.set(key, stands.set("again", true));
      for (std::size_t i = 0; i < rules_.size(); ++i)
        if (rules_[i]->specification.name == item["specification"].as_string())
          runs.emplace_back(i, stands["mode"].as_string_or(mode));
    }
    state.set("fired", std::move(fired));
  });
  tell_gone_rules();  // no run would
  look_again(runs, "after a late finding");
}

void Agent::take_standing(const Json& told) {
  if (only_once_ || told.size() == 0) return;
  const auto waiting = store_.waiting(kMostStanding);
  if (!waiting) return;
  std::set<std::string> on_its_way;  // its end, perhaps, which sickbayd has not heard yet
  for (const Json& item : *waiting) on_its_way.insert(rule_of_finding(item));
  std::vector<std::pair<std::size_t, std::string>> runs;
  (void)store_.update_state([&](Json& state) {
    runs.clear();
    Json fired = state["fired"].is_object() ? state["fired"] : Json::object();
    for (const Json& item : told.items()) {
      const std::string& rule = item["rule"].as_string();
      const std::string key = rule + "/fault";
      const FiredKey is = read_key(key);
      if (is.rule.empty() || is.specification == kAgentRules ||
          !is_diagnosis_mode(item["mode"].as_string()) || on_its_way.contains(rule) || fired.has(key))
        continue;
      // Found again, it is news: who found it before was another.
      fired.set(key, Json::object({{"at", to_micros(loop_.now())},
                                   {"boot_id", ""},
                                   {"mode", item["mode"]},
                                   {"action", "none"},
                                   {"again", true}}));
      for (std::size_t i = 0; i < rules_.size(); ++i)
        if (rules_[i]->specification.name == is.specification) runs.emplace_back(i, item["mode"].as_string());
    }
    if (!runs.empty() || fired.size() > state["fired"].size()) state.set("fired", std::move(fired));
  });
  tell_gone_rules();
  look_again(runs, "after its state was lost");
}

void Agent::look_again(const std::vector<std::pair<std::size_t, std::string>>& runs, const std::string& why) {
  for (const auto& [rules, mode] : std::set(runs.begin(), runs.end())) {
    say(fmt::format("event=looks_again specification={} mode={} why={}", rules_[rules]->specification.name,
                    mode, Json(why).dump()));
    order(asked_for(rules, mode, why), true);
  }
}

void Agent::tell_rules_refused(const std::string& why) {
  // (Not within a character: the state, which is JSON, would give back another text, and it would be news
  // again.)
  const std::string text(whole_characters(why, kMostRefusal));
  Json before;
  (void)store_.update_state([&](Json& state) { before = state["rules_refused"]; });
  if (text.empty() && before.is_null()) return;
  if (!text.empty()) say("event=rules_refused what=" + Json(text).dump());
  const bool known =
      before["text"].as_string() == text && loop_.now() - from_micros(before["at"].as_int()) < kTellAgain;
  if (!text.empty() && known) return;
  Json finding = said_besides(kAgentRules, "rules", text.empty() ? "ok" : "fault",
                              text.empty() ? "the rule files can be used again"
                                           : "the rule files are refused, those before them stay: " + text);
  if (!text.empty()) finding.set("action", "notify").set("to", "operator");
  keep(std::move(finding));
  (void)store_.update_state([&](Json& state) {
    state.set("rules_refused",
              text.empty() ? Json() : Json::object({{"text", text}, {"at", to_micros(loop_.now())}}));
  });
}

// After the spool: a crash in between tells it twice rather than never.
void Agent::forget_fired(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  (void)store_.update_state([&](Json& state) {
    Json fired = Json::object();
    for (const auto& [key, before] : state["fired"].members())
      if (std::ranges::find(keys, key) == keys.end()) fired.set(key, before);
    state.set("fired", std::move(fired));
  });
}

Json Agent::said_besides(std::string_view specification, std::string_view rule, std::string_view result,
                         std::string_view text) const {
  return Json::object({{"boot_id", options_.boot_id},
                       {"n", 0},
                       {"at", to_micros(loop_.now())},
                       {"run", run_number_},
                       {"specification", specification},
                       {"rule", rule},
                       {"result", result},
                       {"action", "none"},
                       {"to", ""},
                       {"components", Json::array()},
                       {"text", text},
                       {"values", Json::object()}});
}

// It comes the way of findings, so that none is lost and none is counted twice; a sickbayd that knows no
// repairs takes it for something that nobody need act on.
void Agent::tell_repair(const std::string& specification, const std::string& rule,
                        const std::string& operation, std::string_view result, const std::string& text,
                        Micros took) {
  say(fmt::format("event=repair_ended operation={} specification={} result={} text={}", operation,
                  specification, result, Json(text).dump()));
  Json told = said_besides(specification, rule, "unknown",
                           fmt::format("the repair {} ended: {}{}{}", operation, result,
                                       text.empty() ? "" : ": ", text.substr(0, kMostRefusal)));
  told.set("repair", Json::object({{"operation", operation},
                                   {"result", result},
                                   {"text", text.substr(0, kMostRefusal)},
                                   {"took_us", took.count()}}));
  keep(std::move(told));
}

// Repairs that an agent before this one began and did not end: done, half done or not at all.  Their count
// in the budget stands; they are not made up for.
void Agent::tell_cut_repairs() {
  std::vector<Json> cut;
  (void)store_.update_state([&](Json& state) {
    cut.clear();
    for (const Json& item : state["repairs"].items()) {
      const std::string& by = item["by"].as_string();
      if (!by.empty() && by != options_.self && !(options_.lives && options_.lives(by))) cut.push_back(item);
    }
  });
  for (const Json& item : cut) {
    const std::string text =
        fmt::format("the repair {} was under way when the agent ended: whether it took effect is unknown",
                    item["operation"].as_string());
    say("event=repair_cut operation=" + item["operation"].as_string());
    keep(said_besides(item["specification"].as_string(), item["rule"].as_string(), "unknown", text));
    tell_repair(item["specification"].as_string(), item["rule"].as_string(), item["operation"].as_string(),
                "unknown", "the agent ended before it did", loop_.now() - from_micros(item["at"].as_int()));
    // After the spool: a crash in between tells it twice rather than never.
    end_repair(item);
  }
}

// Nobody is at the repair of that note any more.
void Agent::end_repair(const Json& noted) {
  const Status written = store_.update_state([&](Json& state) {
    Json kept = Json::array();
    for (const Json& item : state["repairs"].items())
      kept.push(item == noted ? Json::object({{"specification", item["specification"]},
                                              {"operation", item["operation"]},
                                              {"at", item["at"]}})
                              : item);
    state.set("repairs", std::move(kept));
  });
  if (!written) say("event=repair_end_not_noted why=" + Json(written.error().line()).dump());
}

void Agent::keep(Json finding) { keep(std::vector<Json>{std::move(finding)}); }

void Agent::keep(std::vector<Json> findings) {
  for (Json& finding : findings) unkept_.push_back(std::move(finding));
  while (unkept_.size() > kMostUnkept) unkept_.pop_front();
  if (const Status kept = store_.keep({unkept_.begin(), unkept_.end()}); kept)
    unkept_.clear();
  else
    say("event=finding_not_kept why=" + Json(kept.error().line()).dump());
  if (sickbayd_ != nullptr) deliver();
}

}  // namespace sickbay::agent
