// SPDX-License-Identifier: Apache-2.0
#include "workload/report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "workload/report/coverage.h"
#include "workload/report/facts.h"
#include "workload/report/render.h"
#include "workload/report/row_range.h"
#include "workload/report/run_one.h"

namespace sickbay::workload {
namespace {

using duck::Connection;

// Reports that wait for a connection to run on.  Several threads take from it; each result has its own place,
// so that their order is that of the plug-ins, whoever is done first.
class Queue {
 public:
  Queue(const RunOrder& order, const std::string& views) : order_(order), views_(views) {}

  void add(const Plugin& plugin, const ReportSpec& spec, ReportResult& result) {
    tasks_.push_back({&plugin, &spec, &result});
  }
  std::size_t size() const { return tasks_.size(); }

  /// Runs what is left, on a connection that has the views.
  void work(Connection& connection) {
    ReportRunner runner(connection, order_);
    for (std::size_t i = next_++; i < tasks_.size(); i = next_++) {
      const Task& task = tasks_[i];
      if (task.spec->executable) {
        const std::lock_guard one_at_a_time(executables_);
        *task.result = run_executable(*task.plugin, *task.spec, order_, views_);
      } else {
        *task.result = runner.run(*task.spec);
      }
    }
  }

 private:
  struct Task {
    const Plugin* plugin;
    const ReportSpec* spec;
    ReportResult* result;
  };
  const RunOrder& order_;
  const std::string& views_;
  std::vector<Task> tasks_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex executables_;
};

Status make_views(Connection& connection, const std::string& views) {
  if (auto made = connection.execute(views); !made)
    return fail(std::move(made.error()).in("making the views of the reports"));
  return {};
}

// One query leaves threads idle while it is planned and while its last rows are summed; another one has use
// for them.
Status run_side_by_side(Connection& connection, Queue& queue, const RunOrder& order,
                        const std::string& views) {
  const std::size_t connections = std::clamp<std::size_t>(queue.size(), 1, std::max(1, order.connections));
  std::vector<Connection> others;
  for (std::size_t i = 1; i < connections; ++i) {
    auto other = connection.another();
    if (!other) return fail(other.error());
    if (auto made = make_views(*other, views); !made) return made;
    others.push_back(std::move(*other));
  }
  std::vector<std::jthread> threads;
  for (Connection& other : others) threads.emplace_back([&queue, &other] { queue.work(other); });
  queue.work(connection);
  return {};
}

}  // namespace

Result<Document> make_document(Connection& connection, const RunOrder& asked) {
  RunOrder order = asked;
  if (auto found = find_rows(connection, order.views); !found) return fail(found.error());
  auto views = views_sql(connection, order.views);
  if (!views) return fail(views.error());
  if (auto made = make_views(connection, *views); !made) return fail(made.error());
  auto jobs = connection.query(
      "SELECT count(*), count(*) FILTER (WHERE ended_here) FROM j WHERE ended_here OR ran_here OR "
      "submitted_here");
  if (!jobs) return fail(jobs.error());
  const std::int64_t count = std::get<std::int64_t>(jobs->rows[0][1]);
  if (std::get<std::int64_t>(jobs->rows[0][0]) == 0) return fail(no_job_fits(connection, order));

  Document document;
  document.language = order.language;
  document.messages = order.messages;
  document.title =
      order.title.empty() ? std::string(message(document, "page.title", "Workload report")) : order.title;
  document.made_at = order.made_at;
  document.version = order.version;
  document.plugins = order.plugins;
  for (const SiteClass& one : order.views.site.size_classes)
    document.orders["size_class"].push_back(one.name);
  for (const SiteClass& one : order.views.site.run_time_classes)
    document.orders["time_class"].push_back(one.name);
  if (auto added = add_facts(connection, order, count, document); !added) return fail(added.error());

  Coverage coverage(connection, order.views, order.plugins);
  if (auto found = coverage.find(); !found)
    return fail(std::move(found.error()).in("looking which columns hold something"));
  for (const Plugin& plugin : order.plugins)
    for (const ReportSpec& spec : plugin.reports) document.results.emplace_back().spec = spec;
  Queue queue(order, *views);
  auto result = document.results.begin();
  for (const Plugin& plugin : order.plugins)
    for (const ReportSpec& spec : plugin.reports) {
      if (!spec.fault.empty()) {
        *result = failed(std::move(*result), spec.fault);
      } else if (const auto lacks = coverage.missing(spec); !lacks.empty()) {
        result->outcome = Outcome::left_out;
        result->why = why_left_out(document, lacks);
      } else {
        queue.add(plugin, spec, *result);
      }
      ++result;
    }
  if (auto ran = run_side_by_side(connection, queue, order, *views); !ran) return fail(ran.error());
  return document;
}

Result<std::vector<Error>> check_reports(Connection& empty_store, const std::vector<Plugin>& plugins,
                                         std::vector<std::string>& columns,
                                         const ExecutableCheck* executables) {
  RunOrder order;
  order.views.site = default_site();
  if (executables != nullptr) {
    order.run_program = executables->run_program;
    order.store_path = executables->store_path;
    order.time_limit = executables->time_limit;
    order.time_zone = "UTC";
    order.language = "en";
  }
  auto views = views_sql(empty_store, order.views);
  if (!views) return fail(views.error());
  if (auto made = empty_store.execute(*views); !made) return fail(made.error());
  std::vector<Error> errors;
  std::set<std::string> names(columns.begin(), columns.end());
  for (const Plugin& plugin : plugins)
    for (const ReportSpec& spec : plugin.reports) {
      if (!spec.fault.empty()) {
        errors.emplace_back(ErrorCode::bad_input, spec.fault);
        continue;
      }
      for (const auto& [column, unit] : spec.units) names.insert(column);
      if (spec.executable && executables == nullptr) continue;
      const ReportResult result = spec.executable ? run_executable(plugin, spec, order, *views)
                                                  : run_report(empty_store, spec, order);
      if (result.outcome == Outcome::failed)
        errors.emplace_back(ErrorCode::bad_input, result.why.starts_with(spec.path)
                                                      ? result.why
                                                      : fmt::format("{}: {}", spec.path, result.why));
      for (const duck::ResultColumn& column : result.table.columns) names.insert(column.name);
    }
  columns.assign(names.begin(), names.end());
  return errors;
}

}  // namespace sickbay::workload
