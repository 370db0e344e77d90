// SPDX-License-Identifier: Apache-2.0
#include "plan/failure_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "base/csv.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/spelling.h"
#include "base/text.h"
#include "model/event_lines.h"
#include "model/node_reason.h"
#include "model/slurm_state.h"

namespace sickbay::plan {
namespace {

constexpr std::size_t kMostLine = 4096;  // bytes; more is no row of a list
constexpr std::size_t kMostName = 256;   // of a node, a system or a cause
constexpr std::size_t kMostNodes = 1'000'000;
// The years that a stamp may be of: 1970 to 2200.  What lies outside is a column taken for another.
constexpr std::int64_t kMostSeconds = 7'258'118'400;

enum Column : std::uint8_t { node, start, end, duration, cause, system };
constexpr std::array<std::string_view, 6> kColumns = {"node", "start", "end", "duration", "cause", "system"};

// Rows of one node and system as they stand in the list.
using Rows = std::map<std::string, std::map<std::string, std::vector<Failure>>, std::less<>>;

Result<TimePoint> parse_stamp(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    return fail(Error(ErrorCode::bad_input, fmt::format("{} {}", quote_for_message(text), what))
                    .remedied_by("write it as 2005-06-21T10:54:00Z, as '2005-06-21 10:54' or in seconds "
                                 "since 1970"));
  };
  // A stamp of digits alone is seconds since 1970: years alone are no stamps.
  const bool whole = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  TimePoint at;
  if (whole) {
    std::int64_t seconds = 0;
    const auto [rest, wrong] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (wrong != std::errc() || seconds > kMostSeconds) return refuse("is no time");
    at = from_unix_seconds(seconds);
  } else {
    std::string full(text);
    // What spreadsheets and published lists write is filled up to the one form that parse_time() reads.
    if (full.size() > 10 && full[10] == ' ') full[10] = 'T';
    if (full.size() == 16) full += ":00";
    if (full.size() == 19) full += 'Z';
    const auto parsed = parse_time(full);
    if (!parsed) return refuse("is no time");
    at = *parsed;
  }
  if (to_micros(at) < 0 || to_unix_seconds(at) > kMostSeconds) return refuse("is not between 1970 and 2200");
  return at;
}

Result<Micros> parse_length(std::string_view text) {
  // "90s" first, then sacct's "01:30:00": no text is both.
  if (const auto length = parse_duration(text)) return *length;
  if (const auto length = parse_elapsed(text)) return *length;
  return fail(Error(ErrorCode::bad_input, fmt::format("{} is no duration", quote_for_message(text)))
                  .remedied_by("write it with its unit, as 90s, 2h or 1d, or as 01:30:00"));
}

// Where each column stands; npos where it does not.
using Places = std::array<std::size_t, kColumns.size()>;

Result<Places> read_header(std::string_view line) {
  const auto cells = csv_cells(line);
  const auto refuse = [](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by(std::move(remedy)));
  };
  constexpr std::string_view kForm =
      "the first line names the columns: node,start,end or node,start,duration, and cause and system where "
      "there are such";
  if (!cells) return refuse("the header's quotes do not close", std::string(kForm));
  Places places;
  places.fill(std::string::npos);
  for (std::size_t i = 0; i < cells->size(); ++i)
    for (std::size_t c = 0; c < kColumns.size(); ++c)
      if (equal_ignoring_case(trimmed((*cells)[i]), kColumns[c]) && places[c] == std::string::npos)
        places[c] = i;
  for (const Column needed : {node, start})
    if (places[needed] == std::string::npos)
      return refuse(fmt::format("the list of failures has no column '{}'", kColumns[needed]),
                    std::string(kForm));
  if (places[end] == std::string::npos && places[duration] == std::string::npos)
    return refuse("the list of failures has neither a column 'end' nor 'duration'", std::string(kForm));
  return places;
}

struct Row {
  std::string system, node;
  Failure failure;
};

Result<Row> read_row(std::string_view line, const Places& places) {
  const auto refuse = [](std::string what, std::string remedy) {
    return fail(Error(ErrorCode::bad_input, std::move(what)).remedied_by(std::move(remedy)));
  };
  if (line.size() > kMostLine)
    return refuse(fmt::format("{} bytes are no row", line.size()), "is a line end missing?");
  const auto cells = csv_cells(line);
  if (!cells)
    return refuse("a quote is not closed, or something stands behind it", "double the quotes within a cell");
  const auto cell = [&](Column c) {
    return places[c] < cells->size() ? trimmed((*cells)[places[c]]) : std::string_view();
  };
  Row row{std::string(cell(system)), std::string(cell(node)), {}};
  row.failure.cause = std::string(cell(cause));
  if (row.node.empty()) return refuse("the node has no name", "each row needs a node and a start");
  for (const std::string& name : {row.system, row.node, row.failure.cause})
    if (name.size() > kMostName)
      return refuse(fmt::format("a name of {} bytes", name.size()), "is a quote or a comma missing?");
  const auto begins = parse_stamp(cell(start));
  if (!begins) return fail(begins.error());
  row.failure.start = *begins;
  if (!cell(end).empty()) {
    const auto ends = parse_stamp(cell(end));
    if (!ends) return fail(ends.error());
    if (*ends < *begins)
      return refuse("it ends before it starts", "put start and end right, or leave the end empty");
    row.failure.end = *ends;
  } else if (!cell(duration).empty()) {
    const auto length = parse_length(cell(duration));
    if (!length) return fail(length.error());
    // (Compared before it is added: the sum could wrap.)
    if (length->count() / 1'000'000 > kMostSeconds - to_unix_seconds(*begins))
      return refuse("it ends after 2200", "see the duration's unit");
    row.failure.end = *begins + *length;
  }
  return row;
}

// The systems of what was read: sorted, and what overlaps on a node made one failure.
FailureList list_of(Rows rows) {
  FailureList list;
  for (auto& [name, of_nodes] : rows) {
    System one;
    one.name = name;
    for (auto& [node_name, failures] : of_nodes) {
      std::stable_sort(failures.begin(), failures.end(),
                       [](const Failure& a, const Failure& b) { return a.start < b.start; });
      const auto place = static_cast<std::uint32_t>(one.nodes.size());
      one.nodes.push_back(node_name);
      bool first = true;
      for (Failure& f : failures) {
        f.node = place;
        Failure* last = first ? nullptr : &one.failures.back();
        // A node that is down cannot fail again: these are two rows of one outage.
        // Where the end is not known the next failure shows that it was back in between.
        if (last && (f.start == last->start || (last->end != kNever && f.start < last->end))) {
          if (last->end == kNever || (f.end != kNever && f.end > last->end)) last->end = f.end;
          if (last->cause.empty()) last->cause = f.cause;
          ++list.merged;
          continue;
        }
        one.failures.push_back(std::move(f));
        first = false;
      }
    }
    std::sort(one.failures.begin(), one.failures.end(), [](const Failure& a, const Failure& b) {
      return a.start != b.start ? a.start < b.start : a.node < b.node;
    });
    // The window is what the list shows: from its first failure to its last word.
    one.from = one.failures.front().start;
    one.until = one.from;
    for (const Failure& f : one.failures)
      one.until = std::max({one.until, f.start, f.end == kNever ? f.start : f.end});
    list.systems.push_back(std::move(one));
  }
  return list;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t at = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Result<FailureList> parse_failure_list(std::string_view text) {
  // The mark that some spreadsheets put before UTF-8.
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::size_t number = 0;
  std::optional<Places> places;
  Rows rows;
  std::size_t good = 0, all = 0, nodes = 0;
  std::vector<BadRow> bad;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    if (!places) {
      auto header = read_header(line.substr(0, kMostLine));
      if (!header) return fail(std::move(header.error()).in("reading the list of failures"));
      places = *header;
      continue;
    }
    ++all;
    auto row = read_row(line, *places);
    if (row && nodes >= kMostNodes && !rows[row->system].contains(row->node))
      row = fail(Error(ErrorCode::bad_input, fmt::format("over {} nodes", kMostNodes))
                     .remedied_by("give parts of the list one by one"));
    if (!row) {
      if (bad.size() < kToldRows)
        bad.push_back({number, row.error().line(), std::string(row.error().remedy())});
      continue;
    }
    ++good;
    auto& failures = rows[row->system][row->node];
    if (failures.empty()) ++nodes;
    failures.push_back(std::move(row->failure));
  }
  if (good == 0) {
    Error error(ErrorCode::bad_input, !places ? "the list of failures is empty"
                                      : bad.empty()
                                          ? "the list of failures has no rows"
                                          : fmt::format("no row of the list of failures can be read; line "
                                                        "{}: {}",
                                                        bad.front().line, bad.front().what));
    return fail(std::move(error).remedied_by(
        bad.empty() ? "give rows of node,start,end below a header that says so" : bad.front().remedy));
  }
  // (The look above makes a system's entry also where its row is refused.)
  std::erase_if(rows, [](const auto& one) { return one.second.empty(); });
  FailureList list = list_of(std::move(rows));
  list.rows = all;
  list.bad_rows = all - good;
  list.bad = std::move(bad);
  return list;
}

std::string failure_list_text(const FailureList& list) {
  // The start stands first: no line begins with a name, which might be taken for a remark.
  std::string text = "start,end,node,system,cause\n";
  const auto add = [&](std::string_view cell) {
    text += ',';
    if (!cell.empty()) append_csv_text(text, cell);
  };
  for (const System& one : list.systems)
    for (const Failure& f : one.failures) {
      text += format_time(f.start) + ',' + (f.end == kNever ? "" : format_time(f.end));
      add(one.nodes[f.node]);
      add(one.name);
      add(f.cause);
      text += '\n';
    }
  return text;
}

Result<FailureList> failures_of_journal(std::string_view lines) {
  struct Seen {
    bool known = false, down = false, lost = false;
    std::string reason;
    TimePoint since = kNoTime;
  };
  std::map<std::string, Seen> nodes;
  Rows rows;
  TimePoint last = kNoTime;
  const auto events = for_each_event(lines, [&](const Event& event) {
    last = event.at;
    if (event.kind != kNodesSeen) return;
    for (const Json& group : event.body["groups"].items()) {
      const auto names = expand_hostlist(group["nodes"].as_string());
      if (!names) continue;  // a journal of a newer version: what else it says is still of use
      const auto state = parse_node_state(group["state"].as_string());
      const bool silent = state && state->has(NodeFlag::not_responding);
      const bool down = group["down"].as_bool() && !group["gone"].as_bool();
      const std::string reason = group["reason"].as_string();
      for (const std::string& name : *names) {
        Seen& seen = nodes[name];
        // What was down at the first look failed at a time that nobody knows.
        if (down && !seen.down && seen.known) {
          // Journals before there were reasons tell of no person, so Slurm is believed.
          seen.lost = !group.has("reason") || who_set_down(reason, seen.reason, silent) == DownBy::slurm;
          seen.since = event.at;
        }
        if (!down && seen.down && seen.lost) {
          rows[""][name].push_back({0, seen.since, event.at, seen.reason});
          seen.lost = false;
        }
        seen.known = !group["gone"].as_bool();
        seen.down = down;
        seen.reason = reason;
      }
    }
  });
  if (!events) return fail(events.error());
  for (const auto& [name, seen] : nodes)
    if (seen.down && seen.lost) rows[""][name].push_back({0, seen.since, kNever, seen.reason});
  if (rows.empty())
    return fail(Error(ErrorCode::bad_input,
                      fmt::format("the journal's {} events tell of no node that Slurm lost", *events))
                    .remedied_by("give a longer journal, or a list of failures: --failures FILE"));
  FailureList list = list_of(std::move(rows));
  // Up to the last event nothing more has failed: that is a part of the window, too.
  list.systems.front().until = std::max(list.systems.front().until, last);
  list.rows = list.systems.front().failures.size() + list.merged;
  return list;
}

}  // namespace sickbay::plan
