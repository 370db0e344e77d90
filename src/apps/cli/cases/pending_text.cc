// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/pending_text.h"

#include <fmt/format.h>

#include <array>

#include "apps/cli/cases/case_text.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kStampLength = std::string_view("2026-11-22T14:00:00Z").size();

// Who can see to it, on the wire and for people.
struct WhoRow {
  std::string_view who, text;
};
constexpr auto kWho = std::to_array<WhoRow>({
    {"time", "nothing to do"},
    {"user", "for the job's owner"},
    {"operators", "for operators"},
});

std::string_view who_text(std::string_view who) {
  for (const WhoRow& row : kWho)
    if (row.who == who) return row.text;
  return who;
}

std::string nodes_table(const Json& facts, const TextPage& page) {
  using enum TextTable::Column::Align;
  TextTable table({{"NODES", left, true}, {"COUNT", right}, {"STATE"}, {"REASON", left, true}});
  for (const Json& group : facts["nodes"].items())
    table.add({for_terminal(group["nodes"].as_string()), std::to_string(group["count"].as_int()),
               for_terminal(group["hurdle"].as_string()), for_terminal(group["reason"].as_string())});
  if (table.empty()) return {};
  return heading("Nodes of partition " + for_terminal(facts["partition"].as_string()), page) +
         table.text({.width = page.width, .colours = page.colours, .indent = 2});
}

}  // namespace

int pending_exit_code(const Json& pending) {
  return pending["lasting"].as_bool() ? kExitNeverAsItIs : kExitUnderWay;
}

std::int64_t waiting_job(const Json& view) {
  for (const Json& run : view["runs"].items())
    if (run["kind"].as_string() == "program" && run["state"].as_string() == "PENDING" &&
        run["end"].as_int() == 0)
      return run["job_id"].as_int();
  return 0;
}

std::string in_local_time(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.size() >= kStampLength && text[kStampLength - 1] == 'Z')
      if (const auto time = parse_time(text.substr(0, kStampLength))) {
        out += local_time(*time);
        text.remove_prefix(kStampLength);
        continue;
      }
    out += text[0];
    text.remove_prefix(1);
  }
  return out;
}

std::string pending_text(const Json& pending, const TextPage& page) {
  std::string text;
  const std::string sentence = for_terminal(in_local_time(pending["sentence"].as_string()));
  for (const std::string& line : wrapped(sentence, page.width))
    text += painted(line, pending["lasting"].as_bool() ? kBad : kUnclear, page.colours) + "\n";
  std::string reason = pending["reason"].as_string();
  if (const std::string& detail = pending["reason_detail"].as_string(); !detail.empty())
    reason += " (" + detail + ")";
  text += paragraph("  Slurm's reason: ", reason, page);
  if (const std::int64_t start = pending["expected_start"].as_int(); start > 0)
    text += paragraph(
        "  expected start: ",
        local_time(from_micros(start)) + ", as slurmctld reckons now; it may be earlier or later", page);

  text += heading("What would let it run", page);
  bool is_first = true;  // the sentence has told it
  for (const Json& row : pending["reasons"].items()) {
    std::string line = is_first ? std::string() : in_local_time(row["text"].as_string()) + ": ";
    line += in_local_time(row["remedy"].as_string());
    text += paragraph("  - ", fmt::format("{} ({})", line, who_text(row["who"].as_string())), page);
    is_first = false;
  }
  return text + nodes_table(pending["facts"], page);
}

}  // namespace sickbay::cli
