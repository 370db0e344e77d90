// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cluster/journal_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "adapters/posix/files.h"
#include "adapters/sqlite/backup.h"
#include "adapters/sqlite/check.h"
#include "adapters/sqlite/salvage.h"
#include "apps/cli/answer.h"
#include "apps/cli/page.h"
#include "base/text_table.h"

namespace sickbay::cli {
namespace {

constexpr std::size_t kShown = 40;

Json to_json(const JournalCheck& check, const std::string& path) {
  Json lost = Json::array();
  for (const JournalCheck::Lost& one : check.lost)
    lost.push(
        Json::object({{"first", one.first}, {"last", one.last}, {"subject", one.subject}, {"why", one.why}}));
  return Json::object({{"file", path},
                       {"whole", check.is_whole()},
                       {"events", check.events},
                       {"archives", check.archives},
                       {"lost", std::move(lost)},
                       {"trouble", check.trouble}});
}

std::string lost_text(const JournalCheck& check, const TextPage& page) {
  std::string text;
  TextTable table({{"events"}, {"subject"}, {"", {}, true}});
  for (const JournalCheck::Lost& one : check.lost) {
    if (table.size() == kShown) break;
    table.add(
        {one.first == one.last ? fmt::format("{}", one.first) : fmt::format("{}-{}", one.first, one.last),
         one.subject.empty() ? "not known" : for_terminal(one.subject), one.why});
  }
  if (!table.empty()) text += table.text({page.width, page.colours});
  if (check.lost.size() > kShown)
    text += fmt::format("and {} more; --json prints all\n", check.lost.size() - kShown);
  for (const std::string& trouble : check.trouble) text += for_terminal(trouble) + "\n";
  return text;
}

}  // namespace

Result<int> verify_journal(const std::string& path, bool json) {
  const auto check = check_journal(path);
  if (!check) return fail(about_path(check.error()));
  if (json) {
    print_json(to_json(*check, path));
  } else {
    print(fmt::format(
        "{}: {} events, {}{}\n", path, check->events,
        check->is_whole() ? "all as they were written" : "and not all as they were written",
        check->archives.empty() ? "" : fmt::format("; with {}", fmt::join(check->archives, ", "))));
    print(lost_text(*check, page_of_stdout()));
    if (!check->is_whole())
      print(
          "A copy of before ('sickbay journal --backup' makes them) is the best remedy; else stop sickbayd "
          "and "
          "write what can be kept to a new file with --salvage.\n");
  }
  return check->is_whole() ? 0 : 1;
}

Result<int> salvage_to(const std::string& path, const std::string& out, bool json) {
  const auto salvage = salvage_journal(path, out);
  if (!salvage) return fail(about_path(salvage.error()));
  if (json) {
    print_json(Json::object({{"out", out},
                             {"kept", salvage->kept},
                             {"given_up", salvage->given_up},
                             {"rest", salvage->rest},
                             {"found", to_json(salvage->found, path)}}));
  } else {
    print(lost_text(salvage->found, page_of_stdout()));
    print(fmt::format("{}: {} events kept\n", out, salvage->kept));
    if (!salvage->given_up.empty())
      print(fmt::format("given up, since half of a history could have something done twice: {}{}\n",
                        fmt::join(salvage->given_up, ", "),
                        salvage->rest.empty() ? "" : "; what is whole of them is in " + salvage->rest));
    print(fmt::format("With sickbayd stopped, move {0} aside with its -wal and -shm, and {1} in its place.\n",
                      path, out));
  }
  return salvage->found.is_whole() ? 0 : 1;
}

Result<int> back_up_to(const std::string& path, const std::string& folder, std::size_t keep, bool json) {
  if (auto made = make_folder(folder, 0700); !made) return fail(made.error());
  const auto backup = back_up_journal(path, folder, keep, page_of_stdout().now);
  if (!backup) return fail(about_path(backup.error()));
  if (json) {
    print_json(
        Json::object({{"file", backup->file}, {"events", backup->events}, {"removed", backup->removed}}));
    return 0;
  }
  print(fmt::format("{}: {} events\n", backup->file, backup->events));
  for (const std::string& file : backup->removed) print(fmt::format("removed {}\n", file));
  return 0;
}

}  // namespace sickbay::cli
