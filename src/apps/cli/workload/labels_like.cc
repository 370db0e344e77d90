// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/workload/labels_like.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/answer.h"
#include "apps/cli/page.h"
#include "base/text.h"
#include "base/text_table.h"
#include "workload/report/likeness.h"
#include "workload/store/store.h"
#include "workload/store/store_path.h"

namespace sickbay::cli {
namespace {

using duck::Value;
using Align = TextTable::Column::Align;

struct LikeOptions {
  std::string store;
  double least = 0.8;
  bool json = false;
};

std::int64_t count_of(const Value& v) {
  const auto* n = std::get_if<std::int64_t>(&v);
  return n == nullptr ? 0 : *n;
}
double number_of(const Value& v) {
  const auto* d = std::get_if<double>(&v);
  return d == nullptr ? static_cast<double>(count_of(v)) : *d;
}
std::string text_of(const Value& v) {
  const auto* text = std::get_if<std::string>(&v);
  return text == nullptr ? std::string() : *text;
}
double share(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

constexpr std::string_view kLike =
    "SELECT application, count(*), coalesce(sum(coalesce(cpu_time, cpus * elapsed)), 0) / 3600.0::DOUBLE, "
    "count(DISTINCT user_name), min(label_confidence) FROM jobs_like WHERE labelled_by = 'like' "
    "GROUP BY application ORDER BY 2 DESC, 1";
constexpr std::string_view kAll =
    "SELECT count(*), count(*) FILTER (WHERE coalesce(application, 'unknown') <> 'unknown') FROM jobs";

Result<int> run_like(const LikeOptions& o) {
  auto path = workload::store_path(o.store);
  if (!path) return fail(path.error());
  workload::StoreOptions options;
  options.path = *path;
  options.mode = workload::StoreMode::read;
  auto store = workload::Store::open(options);
  if (!store) return fail(store.error());
  auto& connection = store->connection();
  if (auto made = connection.execute(workload::likeness_sql(o.least)); !made) return fail(made.error());
  auto all = connection.query(std::string(kAll));
  if (!all) return fail(all.error());
  auto check = connection.query(workload::likeness_check_sql());
  if (!check) return fail(check.error());
  auto rows = connection.query(std::string(kLike));
  if (!rows) return fail(rows.error());

  const std::int64_t jobs = count_of(all->rows[0][0]), labelled = count_of(all->rows[0][1]);
  const std::int64_t asked = count_of(check->rows[0][0]), right = count_of(check->rows[0][1]);
  std::int64_t like = 0;
  Json applications = Json::array();
  TextTable table({{"APPLICATION"},
                   {"JOBS", Align::right},
                   {"CORE-H", Align::right},
                   {"USERS", Align::right},
                   {"LEAST SURE", Align::right}});
  for (const auto& row : rows->rows) {
    like += count_of(row[1]);
    applications.push(Json::object({{"application", text_of(row[0])},
                                    {"jobs", count_of(row[1])},
                                    {"core_hours", number_of(row[2])},
                                    {"users", count_of(row[3])},
                                    {"least_confidence", number_of(row[4])}}));
    table.add({for_terminal(text_of(row[0])), std::to_string(count_of(row[1])),
               fmt::format("{:.0f}", number_of(row[2])), std::to_string(count_of(row[3])),
               fmt::format("{:.2f}", number_of(row[4]))});
  }
  if (o.json) {
    print_json(Json::object({{"least", o.least},
                             {"jobs", jobs},
                             {"labelled", labelled},
                             {"like", like},
                             {"witnesses", asked},
                             {"witnesses_that_agree", right},
                             {"applications", std::move(applications)}}));
    return 0;
  }
  std::string text = fmt::format(
      "{} of {} jobs without a label are like their user's labelled jobs: {:.1f} % would be labelled, {:.1f} "
      "% are by "
      "evidence\n",
      like, jobs - labelled, 100 * share(labelled + like, jobs), 100 * share(labelled, jobs));
  if (asked > 0)
    text += fmt::format("Of {} witnesses {:.1f} % are what the others of their shape are\n", asked,
                        100 * share(right, asked));
  if (like > 0) {
    const TextPage page = page_of_stdout();
    text += "\n" + table.text({.width = page.width, .colours = page.colours}) +
            fmt::format("\nReports take them in with: sickbay report --like {:g}\n", o.least);
  }
  print(text);
  return 0;
}

}  // namespace

void add_labels_like_command(CLI::App& labels, Ending& ending) {
  auto o = std::make_shared<LikeOptions>();
  CLI::App* c =
      labels.add_subcommand("like", "what jobs without a label are, by the same user's jobs of their shape");
  c->add_option("--least", o->least, "how sure: 0.5 to 1")
      ->check(CLI::Range(0.5, 1.0))
      ->type_name("SHARE")
      ->capture_default_str();
  c->add_option("--store", o->store, "the store; default: $SICKBAY_STORE, else the user's own")
      ->type_name("FILE");
  c->add_flag("--json", o->json, "print JSON");
  c->footer("doc/formats/labels.md, \"By likeness\", says what a shape is. Nothing is stored.\n");
  c->callback([o, &ending] { ending = {run_like(*o), o->json}; });
}

}  // namespace sickbay::cli
