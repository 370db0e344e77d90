// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/undo/history_text.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/duration.h"
#include "base/time.h"

namespace sickbay::cli {
namespace {

std::string lasted_text(const Json& us) { return describe_duration(Micros(us.as_int())); }

std::string changes_text(const Json& changes) {
  std::string text;
  for (const Json& change : changes.items()) text += (text.empty() ? "" : ", ") + safe(change["key"]);
  return text;
}

// What an operation says besides its number and its time.
std::string operation_words(const Json& op) {
  const std::string& what = op["what"].as_string();
  const std::string by = op["by"].as_string().empty() ? std::string() : " by " + safe(op["by"]);
  if (what == "submitted") return "submitted " + safe(op["text"]) + by;
  if (what == "started") return "started on " + safe(op["nodes"]);
  if (what == "requeued") return fmt::format("begun anew by Slurm (restart {})", op["restart"].as_int());
  if (what == "ended") {
    std::string text = "ended " + safe(op["state"]);
    if (op["exit_signal"].as_int() != 0) return text + fmt::format(", signal {}", op["exit_signal"].as_int());
    if (op["exit_code"].as_int() != 0) return text + fmt::format(", exit code {}", op["exit_code"].as_int());
    return text;
  }
  if (what == "lost") return "lost: Slurm does not know it any more";
  const Json& told = op["checkpoint"];
  if (what == "checkpoint")
    return fmt::format("checkpoint {}{}", told["checkpoint"].as_int(),
                       op["dropped"].as_bool() ? " (dropped)" : "");
  if (what == "checkpoint_failed")
    return fmt::format("checkpoint {} failed {}", told["checkpoint"].as_int(), safe(told["why"]));
  if (what == "restored") return fmt::format("went on from checkpoint {}", told["checkpoint"].as_int());
  if (what == "repaired") return "repaired" + by + ": " + changes_text(op["changes"]);
  if (what == "rewound") {
    const std::string& did = op["did"].as_string();
    const std::string of = op["of"].as_string().empty() ? std::string() : " of " + safe(op["of"]);
    const std::string where = op["checkpoint"].as_int() == 0
                                  ? "the beginning"
                                  : fmt::format("checkpoint {}", op["checkpoint"].as_int());
    return fmt::format("rewound to {}{}{}", where, by,
                       did == "rewind" ? "" : fmt::format(" ({}{})", safe(Json(did)), of));
  }
  if (what == "operated")
    return fmt::format("{} of {} by Sickbay ({})", safe(op["verb"]), safe(op["nodes"]), safe(op["act"]));
  return safe(op["what"]);
}

// Operations by what they go on from, "" for the first.
using Children = std::map<std::string, std::vector<const Json*>>;

void draw_branch(const Children& children, const Json* op, std::string first, const std::string& rest,
                 std::string& text) {
  while (op != nullptr) {
    text += fmt::format("{}{} {} {}\n", first, safe((*op)["op"]),
                        local_time(from_micros((*op)["at"].as_int())), operation_words(*op));
    first = rest;
    const auto kids = children.find((*op)["op"].as_string());
    op = nullptr;
    if (kids == children.end()) return;
    // One child goes on in the same column: only where ways part the tree is indented, or a long job would
    // run off the page.
    if (kids->second.size() == 1) {
      op = kids->second.front();
      continue;
    }
    for (std::size_t i = 0; i < kids->second.size(); ++i) {
      const bool last = i + 1 == kids->second.size();
      draw_branch(children, kids->second[i], rest + (last ? "`-- " : "|-- "), rest + (last ? "    " : "|   "),
                  text);
    }
  }
}

std::string account_text(const Json& part) {
  const Json& account = part["account"];
  std::string text;
  for (const Json& failure : account["failures"].items()) {
    const std::string from = failure["checkpoint"].as_int() == 0
                                 ? "the beginning"
                                 : fmt::format("checkpoint {}", failure["checkpoint"].as_int());
    text += fmt::format("  {} {}: {} computed again from {}{}; without checkpoints {}\n", safe(failure["op"]),
                        safe(failure["state"]), lasted_text(failure["recomputed_us"]), from,
                        failure["gone_on"].as_bool() ? "" : " (if it goes on there)",
                        lasted_text(failure["without_us"]));
  }
  if (text.empty()) return text;
  return fmt::format("Job {}: {} lost to failures, {} saved by {} checkpoints, which took {}\n",
                     part["job"].as_int(), lasted_text(account["recomputed_us"]),
                     lasted_text(account["saved_us"]), account["checkpoints"].as_int(),
                     lasted_text(account["checkpointing_us"])) +
         text;
}

}  // namespace

std::string history_text(const Json& view, const TextPage&) {
  Children children;
  for (const Json& part : view["parts"].items())
    for (const Json& op : part["operations"].items()) children[op["under"].as_string()].push_back(&op);
  std::string text;
  for (const Json* op : children[""]) draw_branch(children, op, "", "", text);
  std::string account;
  for (const Json& part : view["parts"].items()) account += account_text(part);
  if (!account.empty()) text += "\n" + account;
  const Json& position = view["position"];
  if (position.is_object()) {
    text += fmt::format("\nGone back to {}, {}.", safe(position["op"]),
                        position["checkpoint"].as_int() == 0
                            ? std::string("from the beginning")
                            : fmt::format("from checkpoint {}", position["checkpoint"].as_int()));
    for (const Json& job : position["replays"].items())
      text += fmt::format(" Replayed as job {}.", job.as_int());
    text += "\n";
  }
  return text;
}

std::string checkpoints_text(const Json& view, const TextPage&) {
  std::vector<std::string> lines;
  for (const Json& part : view["parts"].items())
    for (const Json& op : part["operations"].items()) {
      if (op["what"].as_string() != "checkpoint") continue;
      const Json& told = op["checkpoint"];
      lines.push_back(fmt::format("{} {} checkpoint {}{} {} bytes ({} stored) in {}, {} {}\n", safe(op["op"]),
                                  local_time(from_micros(op["at"].as_int())), told["checkpoint"].as_int(),
                                  op["dropped"].as_bool() ? " (dropped)" : "", told["bytes"].as_int(),
                                  told["stored_bytes"].as_int(), lasted_text(told["took_us"]),
                                  safe(told["tier"]), safe(told["folder"])));
    }
  if (lines.empty()) return "No checkpoint was told of.\n";
  std::string text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line;
  return text;
}

std::string acts_text(const Json& list, const TextPage&) {
  std::string text;
  for (const Json& act : list["items"].items())
    text += fmt::format("{} {} {} {} by {}: {}{}\n", safe(act["act"]),
                        local_time(from_micros(act["at"].as_int())), safe(act["verb"]), safe(act["nodes"]),
                        safe(act["by"]), act["undo"].as_string() == "here" ? "can be undone: " : "",
                        safe(act["said"]));
  return text.empty() ? "Sickbay has changed nothing that is remembered.\n" : text;
}

}  // namespace sickbay::cli
